package pipeline

import (
	"context"
	"fmt"

	"batcher/column"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/output"
	"batcher/record"
	"batcher/schema"
	"batcher/segment"
	"batcher/source"
)

// replace writes anew, without the rows that the batch's objects had before, every
// live file that holds such rows: good ones and dead letters, under whatever name
// their content was consumed. These files are part of what the batch has read:
// commit takes them away only while all of them are live. A rival that brings rows
// of such an object into another file takes one of them away, or consumes the
// object itself; so no row is left behind.
func (t *try) replace(ctx context.Context) error {
	p := t.prepared
	b := &p.sealed.Batch
	replaced := make([]manifest.Replaced, len(b.Ranges.Items))
	taken := map[string]*manifest.Replaced{}
	for i := range b.Ranges.Items {
		replaced[i].Key = b.Ranges.Items[i].Key
		taken[replaced[i].Key] = &replaced[i]
	}
	letters, err := t.Log.LoadSchema(ctx, t.head.Manifest.Tables[t.Dead].Schema)
	if err != nil {
		return err
	}
	p.away = map[string][]string{}
	for _, c := range []clearing{
		{t, t.Table, p.sealed.Schema, p.main, taken},
		{t, t.Dead, letters, p.dead, taken},
	} {
		if p.away[c.table], err = c.files(ctx); err != nil {
			return fmt.Errorf("take rows out of table %s: %w", c.table, err)
		}
	}
	for i := range replaced {
		b.Rows.Replaced += replaced[i].Rows
	}
	b.Replaced = segment.Of(replaced)
	return nil
}

// clearing takes the rows of some objects out of one table.
type clearing struct {
	*try
	table  string
	schema *schema.Schema                // under which the rows that stay are written
	out    *output.Files                 // where to
	taken  map[string]*manifest.Replaced // what was taken out so far, by key; it has the keys of all objects
}

// files goes through the live files of the table and returns the keys of those
// that are replaced by what was written to out.
func (c clearing) files(ctx context.Context) ([]string, error) {
	live, err := c.Log.LoadLive(ctx, c.head.Manifest.Tables[c.table].Live)
	if err != nil {
		return nil, err
	}
	var away []string
	for i := range live {
		if !c.mayHold(&live[i]) {
			continue
		}
		held, err := c.file(ctx, &live[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", live[i].Key, err)
		}
		if held > 0 {
			away = append(away, live[i].Key)
		}
	}
	return away, c.out.Close(ctx)
}

// mayHold says whether a file has to be looked at.
func (c clearing) mayHold(f *manifest.File) bool {
	for key := range c.taken {
		if datafile.MayHold(f, key, source.LastName(key)) {
			return true
		}
	}
	return false
}

// file writes the rows of a file anew that are not to be taken out, if any are,
// and returns how many those are. Which they are it finds out by the ids alone.
func (c clearing) file(ctx context.Context, f *manifest.File) (held int64, err error) {
	r, err := datafile.Open(object.NewReaderAt(ctx, c.Store, f.Key), f.Size)
	if err != nil {
		return 0, err
	}
	of := keys{}
	for row, err := range r.Records() {
		if err != nil {
			return 0, err
		}
		if r := c.taken[of.key(row.Source)]; r != nil {
			r.Rows++
			r.IDSum = r.IDSum.Add(record.IDHash(of.name, row.Offset))
			held++
		}
	}
	if held == 0 || held == r.Rows() {
		return held, nil
	}
	stays := datafile.Filter(func(name []byte, _ int64) bool {
		_, goes := c.taken[of.key(name)]
		return !goes
	})
	read, written, err := r.Rewrite(c.schema, stays, func(b *column.Block) error { return c.out.Write(ctx, b) })
	if err == nil && read-written != held {
		err = fmt.Errorf("%w: %d rows, %d of them to be taken out, became %d", datafile.ErrDamaged, read, held, written)
	}
	return held, err
}

// keys turns names into keys and remembers the last one: rows of an object mostly
// stand together.
type keys struct{ name, last string }

func (k *keys) key(name []byte) string {
	if k.name != string(name) {
		k.name = string(name)
		k.last = source.KeyOf(k.name)
	}
	return k.last
}
