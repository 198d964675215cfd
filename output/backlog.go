package output

import (
	"context"

	"batcher/column"
)

// backlogBlocks is how many blocks may wait to be encoded while the next one is
// filled: as much as is decoded while all columns of a row group are compressed.
// No limit on memory changes it, for the bytes of files must not depend on one.
const backlogBlocks = 10

// backlogBytes is how much the blocks that wait may hold together. Only blocks of
// records that are themselves longer than a block comes to more before they are as
// many as may wait.
const backlogBytes = 16 << 20

// Backlog writes the blocks of one try behind the back of who makes them, so that
// records are decoded while earlier ones are encoded and uploaded.
//
// One goroutine works it off in order: the calls to the store are the same, in
// the same order, as if nothing ran side by side. Whatever is added is worked
// off, and its error is told at a point that depends only on what was added: what
// a try does stays a function of what it reads and of what the store answers.
//
// It is for one goroutine. Between Write and Settle nobody else may touch the
// Files.
type Backlog struct {
	todo chan entry // never full
	done chan entry // never full
	open int        // entries that were added and not collected
	size int        // bytes of their blocks
}

// entry is a block on its way into Files and back.
type entry struct {
	ctx   context.Context
	files *Files
	block *column.Block
	size  int   // bytes of the block
	err   error // of this entry or of an earlier one
}

// NewBacklog starts an empty backlog, which must be stopped.
func NewBacklog() *Backlog {
	b := &Backlog{todo: make(chan entry, backlogBlocks+1), done: make(chan entry, backlogBlocks+1)}
	go b.work()
	return b
}

// work writes until the backlog is stopped. After an error it only gives blocks
// back.
func (b *Backlog) work() {
	defer close(b.done)
	var failed error
	for e := range b.todo {
		if failed == nil {
			failed = e.files.Write(e.ctx, e.block)
		}
		e.err = failed
		b.done <- e
	}
}

// Write takes over a block for f. It gives back an earlier block of f, whose
// memory may be used again, or nil. The error may be that of a block before.
func (b *Backlog) Write(ctx context.Context, f *Files, block *column.Block) (*column.Block, error) {
	size := column.Bytes(block)
	b.todo <- entry{ctx: ctx, files: f, block: block, size: size}
	b.open++
	b.size += size
	var back *column.Block
	for b.open > backlogBlocks || b.size > backlogBytes && b.open > 1 {
		e := b.collect()
		if e.err != nil {
			return nil, e.err
		}
		if e.files == f {
			back = e.block
		}
	}
	return back, nil
}

// collect waits for the oldest entry.
func (b *Backlog) collect() entry {
	e := <-b.done
	b.open--
	b.size -= e.size
	return e
}

// Settle waits until everything is written, and returns the first error.
func (b *Backlog) Settle() error {
	for b.open > 0 {
		if e := b.collect(); e.err != nil {
			return e.err
		}
	}
	return nil
}

// Stop works off what is left, whose errors nobody asks for any more, and ends
// the goroutine.
func (b *Backlog) Stop() {
	close(b.todo)
	for range b.done {
	}
}
