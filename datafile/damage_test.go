package datafile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"batcher/datafile"
	"batcher/schema"
)

// readAll reads a file that may be damaged, under the schema it claims.
func readAll(file []byte, want *schema.Schema) (lines []string, err error) {
	r, err := datafile.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	if want == nil {
		want = r.Schema()
	}
	for b, err := range r.Blocks(want) {
		if err != nil {
			return nil, err
		}
		lines = append(lines, texts(b)...)
		if len(lines) > 1<<16 {
			return lines, nil // a damaged file may claim many rows of nulls
		}
	}
	return lines, nil
}

// damageable are small files of each codec.
func damageable(t testing.TB) [][]byte {
	var out [][]byte
	for _, c := range []datafile.Compression{datafile.Zstd, datafile.Snappy, datafile.Uncompressed} {
		file, _ := write(t, datafile.Options{Compression: c, RowGroupRows: 3}, shred(every(), everyRow()))
		out = append(out, file)
	}
	return out
}

func TestTruncatedFilesAreErrors(t *testing.T) {
	for _, file := range damageable(t) {
		for n := range file {
			if _, err := readAll(file[:n], every()); !errors.Is(err, datafile.ErrDamaged) {
				t.Fatalf("%d of %d bytes: %v", n, len(file), err)
			}
		}
	}
}

// TestAFileShorterThanItsManifestSaysIsDamaged asks for more bytes than are there.
func TestAFileShorterThanItsManifestSaysIsDamaged(t *testing.T) {
	for _, file := range damageable(t) {
		if _, err := datafile.Open(bytes.NewReader(file), int64(len(file))+1); !errors.Is(err, datafile.ErrDamaged) {
			t.Errorf("got %v", err)
		}
	}
}

// brokenLine fails every read as a store does whose connection ended.
type brokenLine struct{ err error }

func (b brokenLine) ReadAt([]byte, int64) (int, error) { return 0, b.err }

func TestABrokenConnectionIsNoDamage(t *testing.T) {
	lost := errors.New("outcome unknown")
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
		_, err := datafile.Open(brokenLine{fmt.Errorf("get: %w: %w", lost, end)}, 1<<20)
		if !errors.Is(err, lost) || errors.Is(err, datafile.ErrDamaged) {
			t.Errorf("%v: got %v", end, err)
		}
	}
}

// TestFlippedBitsNeverChangeWhatIsRead flips a bit of every third byte, in
// each codec others: what comes is an error or the same rows, and no panic.
func TestFlippedBitsNeverChangeWhatIsRead(t *testing.T) {
	silent, total := 0, 0
	for codec, file := range damageable(t) {
		want, err := readAll(file, every())
		if err != nil {
			t.Fatal(err)
		}
		for i := codec; i < len(file); i += 3 {
			damaged := slices.Clone(file)
			damaged[i] ^= 1 << (i % 8)
			got, err := readAll(damaged, every())
			if total++; err == nil && !slices.Equal(got, want) {
				silent++
			}
		}
	}
	if silent > 0 {
		t.Errorf("%d of %d flips change what is read without an error", silent, total)
	}
}

// unreliable fails every read.
type unreliable struct{}

func (u unreliable) ReadAt(p []byte, off int64) (int, error) { return 0, io.ErrClosedPipe }

func TestReadErrorsAreNotDamage(t *testing.T) {
	_, err := datafile.Open(unreliable{}, 1000)
	if !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, datafile.ErrDamaged) {
		t.Errorf("open answers %v", err)
	}
}

// counting counts the reads.
type counting struct {
	*bytes.Reader
	reads int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.reads++
	return c.Reader.ReadAt(p, off)
}

func TestSmallFilesTakeOneRead(t *testing.T) {
	for _, c := range []struct{ rows, most int }{{100, 1}, {120_000, 60}} {
		file, _ := write(t, datafile.Options{}, eventRows(c.rows, min(c.rows, 2_500))...)
		in := &counting{Reader: bytes.NewReader(file)}
		r, err := datafile.Open(in, int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for b, err := range r.Blocks(events()) {
			if err != nil {
				t.Fatal(err)
			}
			rows += b.Rows
		}
		if rows != c.rows || in.reads > c.most {
			t.Errorf("%d rows of %d in %d reads of a file of %d bytes", rows, c.rows, in.reads, len(file))
		}
		t.Logf("%d bytes in %d reads", len(file), in.reads)
	}
}

func FuzzRead(f *testing.F) {
	for _, file := range damageable(f) {
		f.Add(file)
	}
	small, _ := write(f, datafile.Options{Compression: datafile.Uncompressed}, numbered(table(field(17, "a", schema.Int64)), 0, 3))
	f.Add(small)
	f.Fuzz(func(t *testing.T, file []byte) {
		lines, err := readAll(file, nil)
		if err != nil {
			return
		}
		again, err := readAll(file, nil)
		if err != nil || !slices.Equal(lines, again) {
			t.Errorf("the second reading differs: %v", err)
		}
	})
}
