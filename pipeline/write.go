package pipeline

import (
	"context"
	"fmt"

	"batcher/column"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
)

// output writes the rows of one table in one try of a batch into files under the
// attempt's keys, each streamed to the store.
type output struct {
	ctx     context.Context
	store   object.Store
	opts    datafile.Options
	limit   int64
	table   string
	base    manifest.Seq
	attempt manifest.Attempt
	next    *int // number of the attempt's next file in this table; never used twice

	key    string
	upload object.Upload
	writer *datafile.Writer
	schema *schema.Schema
	done   []manifest.File
}

// write appends a block, and closes the file when it is large enough.
func (o *output) write(b *column.Block) error {
	if o.writer == nil {
		if err := o.begin(); err != nil {
			return err
		}
	}
	if err := o.writer.Write(b); err != nil {
		return fmt.Errorf("encode %s: %w", o.key, err)
	}
	o.schema = b.Schema
	if o.writer.Size() < o.limit {
		return nil
	}
	return o.close()
}

// begin opens the upload of the next file.
func (o *output) begin() error {
	o.key = manifest.DataFile(o.table, o.base, o.attempt, *o.next)
	*o.next++
	up, err := object.NewUpload(o.ctx, o.store, o.key)
	if err != nil {
		return fmt.Errorf("begin %s: %w", o.key, err)
	}
	o.upload, o.writer = up, datafile.NewWriter(up, o.opts)
	return nil
}

// close finishes the open file; when it returns nil the store has acknowledged it.
func (o *output) close() error {
	if o.writer == nil {
		return nil
	}
	file, err := o.writer.Close()
	if err != nil {
		return fmt.Errorf("encode %s: %w", o.key, err)
	}
	info, err := o.upload.Complete(o.ctx)
	if err != nil {
		return fmt.Errorf("put %s: %w", o.key, err)
	}
	if info.Size != file.Size {
		return fmt.Errorf("put %s: the store holds %d bytes of %d: %w", o.key, info.Size, file.Size, object.ErrUnknown)
	}
	if file.Schema, err = manifest.SchemaHash(o.schema); err != nil {
		return err
	}
	file.Key = o.key
	o.done = append(o.done, file)
	o.writer, o.upload = nil, nil
	return nil
}

// drop gives up everything that this try wrote. It must be called only while no
// manifest can name the files: before they were proposed, or after a proof of
// loss. It is best effort; what stays is garbage below a later floor.
func (o *output) drop(ctx context.Context) {
	if o.upload != nil {
		_ = o.upload.Abort(ctx)
		o.writer, o.upload = nil, nil
	}
	for i := range o.done {
		_ = o.store.Delete(ctx, o.done[i].Key)
	}
	o.done = nil
}
