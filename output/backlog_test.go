package output_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"

	"batcher/column"
	"batcher/datafile"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/output"
	"batcher/schema"
)

// numbers is a table of one column.
var numbers = &schema.Schema{LastID: 17, Fields: []schema.Field{{ID: 17, Name: "n", Type: schema.Type{Kind: schema.Int64}}}}

// block holds the numbers from first on.
func block(first, count int) *column.Block {
	v := &column.Vector{Kind: schema.Int64, MaxDef: 1}
	for i := range count {
		v.Def = append(v.Def, 1)
		v.Plain = binary.LittleEndian.AppendUint64(v.Plain, uint64(first+i))
		v.Values++
	}
	return &column.Block{Schema: numbers, Columns: []*column.Vector{v}, Rows: count}
}

// begin opens two tables of one attempt in a store. Their files hold at least
// one block.
func begin(store object.Store) [2]*output.Files {
	var both [2]*output.Files
	for i := range both {
		both[i] = output.New(output.Options{Store: store, Table: fmt.Sprintf("t%d", i), Next: new(int), Bytes: 1, File: datafile.Options{RowGroupRows: 10, Compression: datafile.Uncompressed}})
	}
	return both
}

// write writes a hundred blocks in turn to both tables, directly or through a
// backlog, up to the first error.
func write(ctx context.Context, both [2]*output.Files, add func(f *output.Files, b *column.Block) error) error {
	for i := range 100 {
		if err := add(both[i%3/2], block(10*i, 10)); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
	}
	return nil
}

// TestABacklogMakesTheSameCallsInTheSameOrder compares calls, files and keys
// with those of blocks that are written one after the other.
func TestABacklogMakesTheSameCallsInTheSameOrder(t *testing.T) {
	direct, behind := faultstore.New(memstore.New(), nil), faultstore.New(memstore.New(), nil)
	want := begin(direct)
	if err := write(t.Context(), want, func(f *output.Files, b *column.Block) error { return f.Write(t.Context(), b) }); err != nil {
		t.Fatal(err)
	}
	got := begin(behind)
	b := output.NewBacklog()
	defer b.Stop()
	given := map[*column.Block]*output.Files{}
	returned := 0
	err := write(t.Context(), got, func(f *output.Files, x *column.Block) error {
		given[x] = f
		back, err := b.Write(t.Context(), f, x)
		if back != nil {
			returned++
			if given[back] != f {
				t.Error("a block of another table came back")
			}
			delete(given, back)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Settle(); err != nil {
		t.Fatal(err)
	}
	if returned == 0 {
		t.Error("no block came back")
	}
	for i := range want {
		if !reflect.DeepEqual(want[i].Done(), got[i].Done()) || len(got[i].Done()) == 0 {
			t.Errorf("table %d has the files\n%v\nwant\n%v", i, got[i].Done(), want[i].Done())
		}
	}
	if !reflect.DeepEqual(direct.Calls(), behind.Calls()) {
		t.Errorf("calls\n%v\nwant\n%v", behind.Calls(), direct.Calls())
	}
}

// TestABacklogTellsAnErrorAtAFixedPoint fails one of the store's calls: the try
// learns of it at the same block every time, nothing is written any more, and
// nothing runs on.
func TestABacklogTellsAnErrorAtAFixedPoint(t *testing.T) {
	for _, failing := range []int{1, 20, 66} { // of 67 uploads to the first table
		var seen []string
		for range 10 {
			synctest.Test(t, func(t *testing.T) {
				store := faultstore.New(memstore.New(), faultstore.Script{{Op: faultstore.Complete, Prefix: "t0", Call: failing, Fault: faultstore.Deny}})
				both := begin(store)
				b := output.NewBacklog()
				err := write(t.Context(), both, func(f *output.Files, x *column.Block) error {
					_, err := b.Write(t.Context(), f, x)
					return err
				})
				if err == nil {
					err = b.Settle()
				}
				b.Stop()
				if !errors.Is(err, object.ErrDenied) {
					t.Fatalf("error %v", err)
				}
				if n := len(both[0].Done()); n != failing-1 {
					t.Errorf("%d files are done, want %d", n, failing-1)
				}
				seen = append(seen, err.Error())
			})
		}
		for _, text := range seen {
			if text != seen[0] {
				t.Errorf("told once as %q and once as %q", seen[0], text)
			}
		}
	}
}

// TestABacklogHoldsFewLargeBlocks writes blocks of which two are all that may
// wait: one comes back with each that is written then.
func TestABacklogHoldsFewLargeBlocks(t *testing.T) {
	files := output.New(output.Options{Store: memstore.New(), Table: "t", Next: new(int), Bytes: 1 << 30})
	b := output.NewBacklog()
	defer b.Stop()
	const rows = 900 << 10 // of 9 bytes each
	for i := range 5 {
		back, err := b.Write(t.Context(), files, block(i*rows, rows))
		if err != nil {
			t.Fatal(err)
		}
		if came := back != nil; came != (i > 1) {
			t.Errorf("block %d: one came back: %v", i, came)
		}
	}
	if err := b.Settle(); err != nil {
		t.Fatal(err)
	}
}
