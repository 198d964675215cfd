package pipeline_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"batcher/commit"
	"batcher/manifest"
	"batcher/source"
	"batcher/source/files"
)

// The account is a second opinion: it knows neither the decoder nor the reader
// nor the auditor of batcher. It takes from the chain which version of which
// object was consumed how far, decodes that with the standard library, and
// holds it against what parquet-go reads from the live files.

// consumption is how far the chain has consumed one content of an object.
type consumption struct {
	etag string
	size int64
	next source.Position
	done bool
	gap  bool // the rest was given up
}

// progress is what the chain has consumed: contents by the names of their records,
// and the entry of each key.
type progress struct {
	names   map[string]consumption
	entries map[string]source.Hash // identity that was consumed last
}

func (p progress) clone() progress { return progress{maps.Clone(p.names), maps.Clone(p.entries)} }

// ids are the positions of an object's records: of rows and of dead letters.
type ids struct{ rows, dead []int64 }

// account proves that every record of every consumed version is in its table
// once and nothing else is, that every object was consumed, and that every
// receipt is honoured.
func (w *simWorld) account() {
	log := w.log(w.store)
	chain := w.chain(log)
	state := w.consumed(chain)
	for key, tag := range w.source.left() {
		entry, ok := state.entries[key]
		if !ok {
			w.errorf("%s is in the source and was never consumed to its end: %+v", key, state.names[key])
		}
		if now := identity(key, tag, len(w.source.bodies[key][tag])); entry != now && w.onChange != files.SkipChanged {
			w.errorf("%s has changed to %s and that was never consumed", key, tag)
		}
	}
	visible := w.visible(log, chain[len(chain)-1])
	for _, name := range slices.Sorted(maps.Keys(state.names)) {
		w.compare(name, state.names[name], visible[name])
		delete(visible, name)
	}
	for key := range visible {
		w.errorf("rows of %s, which no batch consumed or one replaced", key)
	}
	w.told(chain)
	if w.published {
		w.readAsDelta(chain)
	}
	for _, a := range w.receipts {
		if int(a.seq) >= len(chain) || chain[a.seq].Attempt != a.attempt {
			w.errorf("manifest %d of attempt %s was acknowledged and is not in the chain", a.seq, a.attempt)
		}
	}
}

// told proves that whoever committed a batch knows it, or knows that it does not
// know: an error that says neither means that nothing was committed.
func (w *simWorld) told(chain []*manifest.Manifest) {
	known := map[manifest.Attempt]bool{}
	for _, a := range w.receipts {
		known[a.attempt] = true
	}
	for _, m := range chain {
		if m.Batch != nil && !known[m.Attempt] && !w.unsure[m.Attempt] {
			w.errorf("manifest %d of attempt %s was committed, and its run said that it was not", m.Seq, m.Attempt)
		}
	}
}

// chain reads all manifests.
func (w *simWorld) chain(log *commit.Log) []*manifest.Manifest {
	head, err := log.Head(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	var chain []*manifest.Manifest
	for seq := manifest.Seq(0); seq <= head.Manifest.Seq; seq++ {
		s, err := log.Slot(context.Background(), seq)
		if err != nil {
			w.t.Fatal(err)
		}
		if b := s.Manifest.Batch; b != nil && !b.Ranges.Loaded() {
			w.t.Fatalf("the ranges of manifest %d are too many for a simulated world", seq)
		}
		chain = append(chain, s.Manifest)
	}
	return chain
}

// consumed follows the chain. A rewind brings back what was before.
func (w *simWorld) consumed(chain []*manifest.Manifest) progress {
	after := []progress{}
	now := progress{map[string]consumption{}, map[string]source.Hash{}}
	for _, m := range chain {
		now = now.clone()
		if m.RewindTo != nil {
			now = after[*m.RewindTo].clone()
		}
		for _, g := range m.Gaps {
			w.gaveUp(now, m.Seq, g.Key)
		}
		if m.Batch != nil {
			w.read(now, m)
		}
		after = append(after, now)
	}
	return now
}

// gaveUp follows a gap: the one content of a key that is not consumed to its end.
func (w *simWorld) gaveUp(now progress, seq manifest.Seq, key string) {
	for name, c := range now.names {
		if source.KeyOf(name) == key && !c.done {
			c.done, c.gap = true, true
			now.names[name], now.entries[key] = c, identity(key, c.etag, int(c.size))
			return
		}
	}
	w.errorf("manifest %d gives up %s, which is consumed", seq, key)
}

// read follows a batch.
func (w *simWorld) read(now progress, m *manifest.Manifest) {
	for _, r := range m.Batch.Ranges.Items {
		if now.entries[r.Key] != r.Was {
			w.errorf("manifest %d consumes %s after %s, and %s was consumed last", m.Seq, r.Key, r.Was, now.entries[r.Key])
		}
		if m.Kind == manifest.Replace {
			w.stats.replaced++
			maps.DeleteFunc(now.names, func(name string, _ consumption) bool { return source.KeyOf(name) == r.Key })
		} else if !r.Was.IsZero() {
			w.stats.appended++
		}
		c := now.names[r.Source()]
		if c.done || r.From != c.next || c.next > 0 && c.etag != r.ETag {
			w.errorf("manifest %d consumes %s from %d, which stands at %+v", m.Seq, r.Source(), r.From, c)
		}
		now.names[r.Source()] = consumption{etag: r.ETag, size: r.Size, next: r.To, done: r.Last}
		if r.Last {
			now.entries[r.Key] = identity(r.Key, r.ETag, int(r.Size))
		}
	}
	for _, t := range m.Batch.Touched.Items {
		if now.entries[t.Key] != t.Was {
			w.errorf("manifest %d touches %s after %s, and %s was consumed last", m.Seq, t.Key, t.Was, now.entries[t.Key])
		}
		now.entries[t.Key] = identity(t.Key, t.ETag, int(t.Size))
	}
}

// identity is what docs/FORMAT.md says it is.
func identity(key, etag string, size int) source.Hash {
	sum := sha256.Sum256(fmt.Appendf(nil, "mem://in\x00%s\x00%s\x00%d", key, etag, size))
	return source.Hash(sum[:16])
}

// visible reads the record ids of all live files, by object.
func (w *simWorld) visible(log *commit.Log, head *manifest.Manifest) map[string]ids {
	out := map[string]ids{}
	for name, table := range head.Tables {
		files, err := log.LoadLive(context.Background(), table.Live)
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range files {
			body := w.store.Objects()[files[i].Key]
			for _, id := range recordIDs(w.t, body) {
				seen := out[id.key]
				if name == "events" {
					seen.rows = append(seen.rows, id.offset)
				} else {
					seen.dead = append(seen.dead, id.offset)
				}
				out[id.key] = seen
			}
		}
	}
	return out
}

// compare holds what is visible of an object against what stands in it.
func (w *simWorld) compare(key string, c consumption, got ids) {
	body, ok := w.source.bodies[source.KeyOf(key)][c.etag]
	if !ok {
		w.errorf("%s was consumed with ETag %s, which it never had", key, c.etag)
		return
	}
	want := decode(body)
	if !c.done {
		w.errorf("%s was left at %d", key, c.next)
	}
	if c.gap {
		want.rows, want.dead = below(want.rows, c.next), below(want.dead, c.next)
	}
	w.stats.records += len(got.rows) + len(got.dead)
	slices.Sort(got.rows)
	slices.Sort(got.dead)
	if !slices.Equal(got.rows, want.rows) || !slices.Equal(got.dead, want.dead) {
		w.errorf("%s (%+v): rows at %v and dead letters at %v, want %v and %v", key, c, got.rows, got.dead, want.rows, want.dead)
	}
}

func below(positions []int64, limit source.Position) []int64 {
	var out []int64
	for _, p := range positions {
		if p < int64(limit) {
			out = append(out, p)
		}
	}
	return out
}

// decode finds the records of an object with the standard library.
func decode(body string) ids {
	text := body
	if strings.HasPrefix(body, "\x1f\x8b") {
		z, err := gzip.NewReader(strings.NewReader(body))
		if err != nil {
			return ids{dead: []int64{0}}
		}
		plain, err := io.ReadAll(z)
		if err != nil {
			return ids{dead: []int64{0}}
		}
		text = string(plain)
	}
	var out ids
	at := 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		start := at
		at += len(line)
		if start == 0 {
			start = len(line) - len(strings.TrimPrefix(line, "\ufeff"))
			line = line[start:]
		}
		if strings.Trim(line, " \t\r\n") == "" {
			continue
		}
		var record map[string]any
		if utf8.ValidString(line) && json.Unmarshal([]byte(line), &record) == nil {
			out.rows = append(out.rows, int64(start))
		} else {
			out.dead = append(out.dead, int64(start))
		}
	}
	return out
}

// recordID is the id of one row.
type recordID struct {
	key    string
	offset int64
}

// recordIDs reads the first two columns of a file with parquet-go.
func recordIDs(t *testing.T, file []byte) []recordID {
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var out []recordID
	for _, g := range f.RowGroups() {
		keys, offsets := columnValues(t, g, 0), columnValues(t, g, 1)
		for i := range keys {
			out = append(out, recordID{keys[i].String(), offsets[i].Int64()})
		}
	}
	return out
}

func columnValues(t *testing.T, g parquet.RowGroup, column int) []parquet.Value {
	pages := g.ColumnChunks()[column].Pages()
	defer pages.Close()
	var out []parquet.Value
	for {
		p, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		values := make([]parquet.Value, p.NumValues())
		if n, err := p.Values().ReadValues(values); n != len(values) {
			t.Fatalf("%d of %d values: %v", n, len(values), err)
		}
		for _, v := range values {
			out = append(out, v.Clone())
		}
		parquet.Release(p)
	}
}

// writtenOnce proves that no key but the hint ever had two contents, and that
// no manifest was ever deleted.
func (w *simWorld) writtenOnce() {
	layout := manifest.Layout{Pipeline: "events"}
	for _, key := range w.store.Keys() {
		if key == layout.Hint() || strings.HasSuffix(key, "/_last_checkpoint") {
			continue
		}
		var first []byte
		for i, body := range w.store.History(key) {
			switch {
			case body == nil && !strings.Contains(key, "/data/") && !strings.Contains(key, "/state/"):
				w.errorf("%s was deleted", key)
			case i == 0:
				first = body
			case body != nil && !bytes.Equal(body, first):
				w.errorf("%s had two contents", key)
			}
		}
	}
}
