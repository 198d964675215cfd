// Package output writes the rows of one table in one attempt into data files,
// each streamed to the store under a key that belongs to this attempt alone.
//
// Duty: split rows by partition, cut them into files of a size, upload these while
// they are encoded, and say what the store acknowledged.
//
// Invariants: a file is named as done only after the store has acknowledged it
// whole; its rows belong to one partition; a number is never used twice, so no key
// ever gets two contents; Drop is the only thing that deletes.
//
// It never commits anything and never reads a file back.
package output

import (
	"context"
	"fmt"
	"slices"

	"batcher/column"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
)

// Options say where files go and how they look.
type Options struct {
	Store       object.Store
	Table       string
	Base        manifest.Seq
	Attempt     manifest.Attempt
	File        datafile.Options
	Bytes       int64    // a file is closed when it has so many bytes
	PartitionBy []string // columns of type string, date, int32 or int64 whose values split the table; none: it is not split
	Next        *int     // number of the attempt's next file in this table; counted up, never used twice
}

// Files are the data files of one table in one attempt, or in one try of it.
type Files struct {
	opts  Options
	whole *file       // the open file of a table that is not split
	parts *partitions // of one that is
	open  []*file
	done  []manifest.File
}

// file is one that is being written.
type file struct {
	key    string
	upload object.Upload
	writer *datafile.Writer
	schema *schema.Schema
	part   map[string]string
}

// New begins with no file.
func New(o Options) *Files {
	f := &Files{opts: o}
	if len(o.PartitionBy) > 0 {
		f.parts = newPartitions(f, o.PartitionBy)
	}
	return f
}

// Done are the files that the store has acknowledged, in order, each with key,
// size, rows, hash, statistics, partition and the hash of its schema.
func (f *Files) Done() []manifest.File { return f.done }

// Write appends a block, and closes the file when it is large enough. It keeps
// none of the block's memory.
func (f *Files) Write(ctx context.Context, b *column.Block) error {
	if f.parts != nil {
		return f.parts.write(ctx, b)
	}
	if err := f.ready(ctx); err != nil {
		return err
	}
	if err := f.whole.write(b); err != nil {
		return err
	}
	return f.cut(ctx)
}

// Copy appends all rows of a file as datafile.Writer.Copy does, and closes the file
// that is written when it is large enough. Options.File must say that it Copies r
// under s, and the table must not be split.
func (f *Files) Copy(ctx context.Context, r *datafile.Reader, s *schema.Schema) error {
	if f.parts != nil {
		return fmt.Errorf("copy a file into table %s, which is split", f.opts.Table)
	}
	if err := f.ready(ctx); err != nil {
		return err
	}
	if err := f.whole.writer.Copy(r, s); err != nil {
		return fmt.Errorf("write %s: %w", f.whole.key, err)
	}
	f.whole.schema = s
	return f.cut(ctx)
}

// ready opens the file of a table that is not split.
func (f *Files) ready(ctx context.Context) (err error) {
	if f.whole == nil {
		f.whole, err = f.begin(ctx, f.opts.File)
	}
	return err
}

// cut closes the file when it is large enough.
func (f *Files) cut(ctx context.Context) error {
	if f.whole.writer.Size() < f.opts.Bytes {
		return nil
	}
	return f.Close(ctx)
}

// Close finishes every open file; when it returns nil the store has acknowledged
// everything that was written. Write may follow.
func (f *Files) Close(ctx context.Context) error {
	if f.parts != nil {
		return f.parts.finish(ctx)
	}
	if f.whole == nil {
		return nil
	}
	whole := f.whole
	f.whole = nil
	return f.finish(ctx, whole)
}

// begin opens the upload of the next file.
func (f *Files) begin(ctx context.Context, opts datafile.Options) (*file, error) {
	next := &file{key: manifest.DataFile(f.opts.Table, f.opts.Base, f.opts.Attempt, *f.opts.Next)}
	*f.opts.Next++
	var err error
	if next.upload, err = object.NewUpload(ctx, f.opts.Store, next.key); err != nil {
		return nil, fmt.Errorf("begin %s: %w", next.key, err)
	}
	next.writer = datafile.NewWriter(next.upload, opts)
	f.open = append(f.open, next)
	return next, nil
}

// write appends a block to the file.
func (o *file) write(b *column.Block) error {
	if err := o.writer.Write(b); err != nil {
		return fmt.Errorf("encode %s: %w", o.key, err)
	}
	o.schema = b.Schema
	return nil
}

// finish ends a file, and adds it to those that are done when the store has
// acknowledged it.
func (f *Files) finish(ctx context.Context, o *file) error {
	done, err := o.writer.Close()
	if err != nil {
		return fmt.Errorf("encode %s: %w", o.key, err)
	}
	info, err := o.upload.Complete(ctx)
	if err != nil {
		return fmt.Errorf("put %s: %w", o.key, err)
	}
	if info.Size != done.Size {
		return fmt.Errorf("put %s: the store holds %d bytes of %d: %w", o.key, info.Size, done.Size, object.ErrUnknown)
	}
	if done.Schema, err = manifest.SchemaHash(o.schema); err != nil {
		return err
	}
	done.Key, done.Part = o.key, o.part
	f.done = append(f.done, done)
	f.open = slices.DeleteFunc(f.open, func(x *file) bool { return x == o })
	return nil
}

// Drop gives up everything that was written. It must be called only while no
// manifest can name the files: before they were proposed, or after a proof of
// loss. It is best effort; what stays is garbage below a later floor.
func (f *Files) Drop(ctx context.Context) {
	for _, o := range f.open {
		_ = o.upload.Abort(ctx)
	}
	for i := range f.done {
		_ = f.opts.Store.Delete(ctx, f.done[i].Key)
	}
	f.open, f.done, f.whole = nil, nil, nil
	if f.parts != nil {
		f.parts = newPartitions(f, f.opts.PartitionBy)
	}
}
