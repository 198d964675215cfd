// Package output writes the rows of one table in one attempt into data files,
// each streamed to the store under a key that belongs to this attempt alone.
//
// Duty: cut rows into files of a size, upload them while they are encoded, and say
// what the store acknowledged.
//
// Invariants: a file is named as done only after the store has acknowledged it
// whole; a number is never used twice, so no key ever gets two contents; Drop is
// the only thing that deletes.
//
// It never commits anything and never reads a file back.
package output

import (
	"context"
	"fmt"

	"batcher/column"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
)

// Options say where files go and how they look.
type Options struct {
	Store   object.Store
	Table   string
	Base    manifest.Seq
	Attempt manifest.Attempt
	File    datafile.Options
	Bytes   int64 // a file is closed when it has so many bytes
	Next    *int  // number of the attempt's next file in this table; counted up, never used twice
}

// Files are the data files of one table in one attempt, or in one try of it.
type Files struct {
	opts   Options
	key    string
	upload object.Upload
	writer *datafile.Writer
	schema *schema.Schema
	done   []manifest.File
}

// New begins with no file.
func New(o Options) *Files { return &Files{opts: o} }

// Done are the files that the store has acknowledged, in order, each with key,
// size, rows, hash, statistics and the hash of its schema.
func (f *Files) Done() []manifest.File { return f.done }

// Write appends a block, and closes the file when it is large enough.
func (f *Files) Write(ctx context.Context, b *column.Block) error {
	if f.writer == nil {
		if err := f.begin(ctx); err != nil {
			return err
		}
	}
	if err := f.writer.Write(b); err != nil {
		return fmt.Errorf("encode %s: %w", f.key, err)
	}
	f.schema = b.Schema
	if f.writer.Size() < f.opts.Bytes {
		return nil
	}
	return f.Close(ctx)
}

// begin opens the upload of the next file.
func (f *Files) begin(ctx context.Context) error {
	f.key = manifest.DataFile(f.opts.Table, f.opts.Base, f.opts.Attempt, *f.opts.Next)
	*f.opts.Next++
	up, err := object.NewUpload(ctx, f.opts.Store, f.key)
	if err != nil {
		return fmt.Errorf("begin %s: %w", f.key, err)
	}
	f.upload, f.writer = up, datafile.NewWriter(up, f.opts.File)
	return nil
}

// Close finishes the open file, if there is one; when it returns nil the store has
// acknowledged everything that was written. Write may follow.
func (f *Files) Close(ctx context.Context) error {
	if f.writer == nil {
		return nil
	}
	file, err := f.writer.Close()
	if err != nil {
		return fmt.Errorf("encode %s: %w", f.key, err)
	}
	info, err := f.upload.Complete(ctx)
	if err != nil {
		return fmt.Errorf("put %s: %w", f.key, err)
	}
	if info.Size != file.Size {
		return fmt.Errorf("put %s: the store holds %d bytes of %d: %w", f.key, info.Size, file.Size, object.ErrUnknown)
	}
	if file.Schema, err = manifest.SchemaHash(f.schema); err != nil {
		return err
	}
	file.Key = f.key
	f.done = append(f.done, file)
	f.writer, f.upload = nil, nil
	return nil
}

// Drop gives up everything that was written. It must be called only while no
// manifest can name the files: before they were proposed, or after a proof of
// loss. It is best effort; what stays is garbage below a later floor.
func (f *Files) Drop(ctx context.Context) {
	if f.upload != nil {
		_ = f.upload.Abort(ctx)
		f.writer, f.upload = nil, nil
	}
	for i := range f.done {
		_ = f.opts.Store.Delete(ctx, f.done[i].Key)
	}
	f.done = nil
}
