package main

import (
	"context"
	"fmt"

	"batcher/column"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
)

// head is the verb head: the first rows of a table, as JSON lines.
func head(ctx context.Context, c *call, o headOptions) error {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return err
	}
	s, err := r.chain(ctx)
	if err != nil {
		return err
	}
	_, t, err := r.table(s, o.Table)
	if err != nil {
		return err
	}
	want, err := r.log.LoadSchema(ctx, t.Schema)
	if err != nil {
		return err
	}
	live, err := r.log.LoadLive(ctx, t.Live)
	if err != nil {
		return err
	}
	left := o.Rows
	for i := 0; i < len(live) && left > 0; i++ {
		if left, err = r.printRows(ctx, c, live[i], want, left); err != nil {
			return fmt.Errorf("%s: %w", r.uri(live[i].Key), err)
		}
	}
	return nil
}

// printRows prints up to n rows of a file and returns how many are left.
func (r *rooms) printRows(ctx context.Context, c *call, f manifest.File, want *schema.Schema, n int) (int, error) {
	file, err := datafile.Open(object.NewReaderAt(ctx, r.store, f.Key), f.Size)
	if err != nil {
		return n, err
	}
	var line []byte
	for b, err := range file.Blocks(want) {
		if err != nil {
			return n, err
		}
		rows := column.NewCursor(b)
		for n > 0 && rows.Next() {
			line = append(rows.AppendJSON(line[:0]), '\n')
			if err := printTo(c.Stdout, string(line)); err != nil {
				return n, err
			}
			n--
		}
		if n == 0 {
			break
		}
	}
	return n, nil
}
