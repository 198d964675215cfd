package files

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"batcher/source"
)

// The binary form of the consumed set, version 1.
//
// An entry is EntrySize = 48 bytes:
//
//	offset  size  what
//	     0    16  KeyHash of the key
//	    16    16  Identity of the object that was consumed
//	    32    16  first 16 bytes of the SHA-256 of its stored bytes; zeros if
//	              unknown (the rest of the object was given up as a gap)
//
// Every entry belongs to a UTC day, a signed number of days since 1970-01-01
// (see Source.Day). The order of entries is by day, then by key hash as bytes.
//
// A run (EncodeRun, DecodeRun), which stands in a state segment, is one line of
// JSON in exactly the form that encoding/json writes, with no spaces,
//
//	{"format":1,"kind":"consumed","count":N,"days":[[day,count],…]}
//
// then one byte 0x0A, then N entries in order, without separators. Days are
// strictly ascending, their counts are positive and add up to N, N is at least
// 1, and within a day the key hashes are strictly ascending. A key occurs at
// most once in a run, also over different days.
//
// FilesProgress.Recent (EncodeRecent, DecodeRecent) is a concatenation of
// records of RecentSize = 52 bytes: the day as a big-endian two's complement
// 32-bit number, then the entry. Records are in order, a key occurs at most
// once, and the whole is at most RecentLimit = 12288 bytes; what does not fit
// any more becomes a run, and Recent begins anew, empty.
//
// Where several runs have one key the last in FilesProgress.Segments holds, and
// Recent holds over all runs.
const (
	EntrySize   = 48
	RecentSize  = 4 + EntrySize
	RecentLimit = 12 << 10

	runFormat = 1
	runKind   = "consumed"
)

// UndatedDay is the day of a key without a date under a time path.
const UndatedDay int32 = 0

// Entry is what is remembered of one consumed object.
type Entry struct {
	Day      int32
	Key      source.Hash // see KeyHash
	Identity source.Hash // see Source.Identity
	Content  source.Hash // of the stored bytes; zero if unknown
}

func compareEntries(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Day, b.Day), bytes.Compare(a.Key[:], b.Key[:]))
}

func (e *Entry) appendTo(b []byte) []byte {
	b = append(b, e.Key[:]...)
	b = append(b, e.Identity[:]...)
	return append(b, e.Content[:]...)
}

func entryAt(day int32, b []byte) Entry {
	return Entry{Day: day, Key: source.Hash(b[:16]), Identity: source.Hash(b[16:32]), Content: source.Hash(b[32:48])}
}

// Run is a decoded segment of consumed objects. It is immutable and keeps the
// bytes it was decoded from.
type Run struct {
	days   []int32 // distinct, ascending
	starts []int   // index of the first entry of each day
	body   []byte
}

type runHead struct {
	Format int        `json:"format"`
	Kind   string     `json:"kind"`
	Count  int64      `json:"count"`
	Days   [][2]int64 `json:"days"`
}

// EncodeRun sorts the entries and returns them as a run. It refuses an empty
// list and two entries of one day and key; that a key does not occur on two
// days is the caller's duty.
func EncodeRun(entries []Entry) ([]byte, error) {
	if len(entries) == 0 {
		return nil, fmt.Errorf("encode consumed run: no entries")
	}
	entries = slices.SortedFunc(slices.Values(entries), compareEntries)
	head := runHead{Format: runFormat, Kind: runKind, Count: int64(len(entries))}
	for i := range entries {
		if i > 0 && compareEntries(entries[i-1], entries[i]) == 0 {
			return nil, fmt.Errorf("encode consumed run: key %s twice on day %d", entries[i].Key, entries[i].Day)
		}
		if i == 0 || entries[i-1].Day != entries[i].Day {
			head.Days = append(head.Days, [2]int64{int64(entries[i].Day), 0})
		}
		head.Days[len(head.Days)-1][1]++
	}
	line, err := json.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("encode consumed run: %w", err)
	}
	run := make([]byte, 0, len(line)+1+len(entries)*EntrySize)
	run = append(append(run, line...), '\n')
	for i := range entries {
		run = entries[i].appendTo(run)
	}
	return run, nil
}

// DecodeRun reads what EncodeRun wrote and refuses anything else: another
// format or kind, a head in another form, wrong counts, entries out of order.
// The Run keeps b, which must not change afterwards.
func DecodeRun(b []byte) (*Run, error) {
	line, body, found := bytes.Cut(b, []byte{'\n'})
	if !found {
		return nil, fmt.Errorf("decode consumed run: no head line")
	}
	head, err := decodeRunHead(line)
	if err != nil {
		return nil, fmt.Errorf("decode consumed run: %w", err)
	}
	r := &Run{body: body}
	count := int64(0)
	for i, d := range head.Days {
		switch {
		case d[0] < math.MinInt32 || d[0] >= math.MaxInt32:
			return nil, fmt.Errorf("decode consumed run: day %d out of range", d[0])
		case i > 0 && d[0] <= head.Days[i-1][0]:
			return nil, fmt.Errorf("decode consumed run: day %d after day %d", d[0], head.Days[i-1][0])
		case d[1] <= 0 || d[1] > int64(len(body)/EntrySize)-count:
			return nil, fmt.Errorf("decode consumed run: day %d has an impossible count %d", d[0], d[1])
		}
		r.days, r.starts = append(r.days, int32(d[0])), append(r.starts, int(count))
		count += d[1]
	}
	if count == 0 || count != head.Count || int64(len(body)) != count*EntrySize {
		return nil, fmt.Errorf("decode consumed run: head says %d entries, its days %d, its body has %d bytes", head.Count, count, len(body))
	}
	return r, r.checkOrder()
}

func decodeRunHead(line []byte) (runHead, error) {
	var head runHead
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&head); err != nil {
		return head, fmt.Errorf("head: %w", err)
	}
	if head.Format != runFormat || head.Kind != runKind {
		return head, fmt.Errorf("format %d kind %q: this version reads format %d kind %q", head.Format, head.Kind, runFormat, runKind)
	}
	again, err := json.Marshal(head)
	if err != nil {
		return head, fmt.Errorf("head: %w", err)
	}
	if !bytes.Equal(again, line) {
		return head, fmt.Errorf("head %q is not in canonical form", line)
	}
	return head, nil
}

func (r *Run) checkOrder() error {
	for d, start := range r.starts {
		end := r.Len()
		if d+1 < len(r.starts) {
			end = r.starts[d+1]
		}
		for i := start + 1; i < end; i++ {
			if bytes.Compare(r.rawKey(i-1), r.rawKey(i)) >= 0 {
				return fmt.Errorf("decode consumed run: entry %d is out of order", i)
			}
		}
	}
	return nil
}

// Len is the number of entries.
func (r *Run) Len() int { return len(r.body) / EntrySize }

// FromDay is the first day of its entries.
func (r *Run) FromDay() int32 { return r.days[0] }

// ToDay is the first day after its entries.
func (r *Run) ToDay() int32 { return r.days[len(r.days)-1] + 1 }

// At returns entry i, in order.
func (r *Run) At(i int) Entry {
	d, found := slices.BinarySearch(r.starts, i)
	if !found {
		d--
	}
	return entryAt(r.days[d], r.body[i*EntrySize:])
}

func (r *Run) rawKey(i int) []byte { return r.body[i*EntrySize : i*EntrySize+16] }

// EncodeRecent sorts the entries and returns the form of FilesProgress.Recent;
// nil for none. It refuses more than RecentLimit bytes and a key that occurs
// twice.
func EncodeRecent(entries []Entry) ([]byte, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	if len(entries)*RecentSize > RecentLimit {
		return nil, fmt.Errorf("encode recent objects: %d entries are over the limit of %d bytes", len(entries), RecentLimit)
	}
	b := make([]byte, 0, len(entries)*RecentSize)
	seen := make(map[source.Hash]bool, len(entries))
	for _, e := range slices.SortedFunc(slices.Values(entries), compareEntries) {
		if seen[e.Key] {
			return nil, fmt.Errorf("encode recent objects: key %s twice", e.Key)
		}
		seen[e.Key] = true
		b = binary.BigEndian.AppendUint32(b, uint32(e.Day))
		b = e.appendTo(b)
	}
	return b, nil
}

// DecodeRecent reads what EncodeRecent wrote and refuses anything else.
func DecodeRecent(b []byte) ([]Entry, error) {
	if len(b)%RecentSize != 0 || len(b) > RecentLimit {
		return nil, fmt.Errorf("decode recent objects: %w: %d bytes: want a multiple of %d up to %d", ErrDamaged, len(b), RecentSize, RecentLimit)
	}
	entries := make([]Entry, 0, len(b)/RecentSize)
	seen := make(map[source.Hash]bool, len(b)/RecentSize)
	for ; len(b) > 0; b = b[RecentSize:] {
		e := entryAt(int32(binary.BigEndian.Uint32(b)), b[4:])
		if n := len(entries); n > 0 && compareEntries(entries[n-1], e) >= 0 {
			return nil, fmt.Errorf("decode recent objects: %w: record %d is out of order", ErrDamaged, n)
		}
		if e.Day == math.MaxInt32 || seen[e.Key] {
			return nil, fmt.Errorf("decode recent objects: %w: record %d: key twice or day out of range", ErrDamaged, len(entries))
		}
		seen[e.Key] = true
		entries = append(entries, e)
	}
	return entries, nil
}
