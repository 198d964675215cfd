package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"batcher/source"
)

// String returns 32 hex digits.
func (a Attempt) String() string { return hex.EncodeToString(a[:]) }

// MarshalText returns 32 hex digits.
func (a Attempt) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText takes 32 hex digits.
func (a *Attempt) UnmarshalText(b []byte) error { return unhex("attempt", a[:], b) }

// String returns 32 hex digits.
func (b BatchID) String() string { return hex.EncodeToString(b[:]) }

// MarshalText returns 32 hex digits.
func (b BatchID) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText takes 32 hex digits.
func (b *BatchID) UnmarshalText(t []byte) error { return unhex("batch id", b[:], t) }

func unhex(what string, dst, text []byte) error {
	if len(text) != 2*len(dst) {
		return fmt.Errorf("%s %q: want %d hex digits", what, text, 2*len(dst))
	}
	if _, err := hex.Decode(dst, text); err != nil {
		return fmt.Errorf("%s %q: %w", what, text, err)
	}
	return nil
}

// NewBatchID returns the name of a batch: the first 16 bytes of SHA-256 over
// the pipeline id, the generation and the ranges actually read, in their order.
// It depends on nothing else, so a retry that reads the same ranges gets the
// same id. Of a range that follows other content of its key that content and the
// modification time count too: a content that comes back has another id.
func NewBatchID(pipeline string, g Generation, ranges []source.Range) BatchID {
	h := sha256.New()
	var n [8]byte
	text := func(s string) {
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	number := func(v int64) {
		binary.BigEndian.PutUint64(n[:], uint64(v))
		h.Write(n[:])
	}
	text(pipeline)
	number(int64(g))
	for i := range ranges {
		text(ranges[i].Key)
		text(ranges[i].ETag)
		number(ranges[i].Size)
		number(int64(ranges[i].From))
		number(int64(ranges[i].To))
		if was := ranges[i].Was; !was.IsZero() {
			text(was.String())
			number(ranges[i].Modified.Unix())
			number(int64(ranges[i].Modified.Nanosecond()))
		}
	}
	return BatchID(h.Sum(nil)[:16])
}

// Layout gives the keys of one pipeline below the store's root. No key it
// makes is a "/"-prefix of another, and no user text stands in one but for the
// names of pipelines and tables, which are checked by package config; ValidTable checks
// those of tables again.
type Layout struct {
	Pipeline string // name, not id
}

var validTable = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,127}$`)

// ValidTable says whether s may name a table. Pipeline files are held to the same
// rule before they get here.
func ValidTable(s string) bool { return validTable.MatchString(s) }

// Root is the folder that holds everything of the pipeline but its tables.
func (l Layout) Root() string { return "_batcher/" + l.Pipeline + "/" }

// Format is the key of the object that gives the pipeline its id.
func (l Layout) Format() string { return l.Root() + "format.json" }

// Hint is the key of the advisory hint to the head.
func (l Layout) Hint() string { return l.Root() + "head.json" }

// Manifests is the folder of the chain.
func (l Layout) Manifests() string { return l.Root() + "manifests/" }

// Manifest is the key of slot seq.
func (l Layout) Manifest(seq Seq) string {
	return fmt.Sprintf("%s%020d.json", l.Manifests(), int64(seq))
}

// States is the folder of all state objects.
func (l Layout) States() string { return l.Root() + "state/" }

// State is the key of the n-th state object of an attempt.
func (l Layout) State(base Seq, a Attempt, n int) string {
	return fmt.Sprintf("%s%s/%06d.seg", l.States(), own(base, a), n)
}

// TableData is the folder of all data files of a table.
func TableData(table string) string { return table + "/data/" }

// DataFile is the key of the n-th data file of an attempt in a table.
func DataFile(table string, base Seq, a Attempt, n int) string {
	return fmt.Sprintf("%s%s/%06d.parquet", TableData(table), own(base, a), n)
}

// Claim is the key of the object that says which pipeline owns a table.
func Claim(table string) string { return "_batcher/_tables/" + table + ".json" }

func own(base Seq, a Attempt) string { return fmt.Sprintf("%020d/%s", int64(base), a) }

// BaseOf returns the base in a key made by State or DataFile, relative to the
// folder that States or TableData gives, and whether it has that form.
func BaseOf(rest string) (Seq, bool) {
	first, _, ok := strings.Cut(rest, "/")
	if !ok || len(first) != 20 {
		return 0, false
	}
	var base int64
	for _, c := range []byte(first) {
		if c < '0' || c > '9' {
			return 0, false
		}
		base = base*10 + int64(c-'0')
	}
	return Seq(base), base >= 0
}
