package output

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"batcher/column"
	"batcher/datafile"
	"batcher/schema"
)

// Bounds of a partitioned table. Rows of a partition wait in memory until they are
// many or the table is closed, so that a partition with few rows gets one file,
// at the end, and one with many gets a file that stays open.
const (
	maxOpen       = 32       // files open at the same time
	waitingBytes  = 32 << 20 // of rows that wait, all partitions together
	heldBytes     = 96 << 20 // of encoded rows in open files, all together
	uploadBytes   = 32 << 20 // of these, what an upload keeps at most
	openPageBytes = 1 << 20  // of open pages, in each open file
	groupBytes    = 4 << 20  // of a row group, in each open file
	maxPartitions = 10_000   // with rows in one attempt
	maxKeyBytes   = 4 << 10  // of values that are remembered; others are looked at again
	vectorBytes   = 256      // what an empty column takes
)

// PartitionsError says that the columns that should split a table cannot: one is not
// there or of another type, or a batch has rows of more partitions than a table may
// get at once.
type PartitionsError struct{ Table, Reason string }

// Error gives table and reason.
func (e *PartitionsError) Error() string {
	return fmt.Sprintf("table %s cannot be split: %s", e.Table, e.Reason)
}

// partitions splits the rows of a table by the values of some columns.
//
// Which rows wait and which file is open depends on nothing but the blocks, so that
// the same blocks give the same files. A batch with no more than maxOpen partitions
// gets one file for each, but for those that reach the size of a file. With more of
// them, files are closed to make room: then a partition has at most as many files
// more as waitingBytes/2 goes into what it has of the batch, and one.
type partitions struct {
	files   *Files
	columns []string
	byKey   map[string]*partition // by the bytes of values
	byOrder map[string]*partition
	all     []*partition // in the order in which they came
	open    []*partition // with an open file
	encode  *datafile.Encoders
	waiting int   // bytes of rows that wait
	clock   int64 // counts what is written, to know what was not for long
}

// partition is the rows of one combination of values.
type partition struct {
	values map[string]string // of the columns, but for those that are null
	order  string            // values, for sorting
	rows   column.Block      // waiting
	size   int               // what they take
	open   *file
	used   int64
}

func newPartitions(f *Files, columns []string) *partitions {
	return &partitions{files: f, columns: columns, byKey: map[string]*partition{}, byOrder: map[string]*partition{}}
}

// write takes the rows of a block.
func (p *partitions) write(ctx context.Context, b *column.Block) error {
	if err := column.Check(b); err != nil {
		return fmt.Errorf("split block: %w", err)
	}
	of, err := p.assign(b)
	if err != nil {
		return err
	}
	order, runs := sorted(of)
	if len(runs) > 1 {
		b = column.Gather(b, order)
	}
	rows := column.NewRows(b)
	for _, run := range runs {
		if err := p.take(ctx, run.of, rows.Take(run.rows)); err != nil {
			return err
		}
	}
	return p.relieve(ctx)
}

// assign finds the partition of each row.
func (p *partitions) assign(b *column.Block) ([]*partition, error) {
	vectors := make([]*column.Vector, len(p.columns))
	for i, name := range p.columns {
		v := b.Column(name)
		if v == nil {
			return nil, p.refuse("it has no column %s", name)
		}
		if !slices.Contains(splitting, v.Kind) {
			return nil, p.refuse("column %s is %s", name, v.Kind)
		}
		vectors[i] = v
	}
	keys := column.NewKeys(vectors)
	of := make([]*partition, b.Rows)
	for row := range of {
		key := keys.Next()
		at := p.byKey[string(key)]
		if at == nil {
			if at = p.add(keys.Split(key), vectors); at == nil {
				return nil, p.refuse("more than %d partitions by %s in one batch", maxPartitions, strings.Join(p.columns, ", "))
			}
			if len(key) <= maxKeyBytes {
				p.byKey[string(key)] = at
			}
		}
		of[row] = at
	}
	return of, nil
}

func (p *partitions) refuse(format string, args ...any) error {
	return &PartitionsError{p.files.opts.Table, fmt.Sprintf(format, args...)}
}

// splitting are the kinds of column whose values name partitions.
var splitting = []schema.Kind{schema.String, schema.Date, schema.Int32, schema.Int64}

// add begins a partition, or joins one that other values name too: a string that
// is too long to name one counts as null.
func (p *partitions) add(values [][]byte, vectors []*column.Vector) *partition {
	next := &partition{values: map[string]string{}}
	for i, v := range values {
		text, ok := column.PartitionText(vectors[i].Kind, v)
		if !ok {
			next.order += "\x00"
			continue
		}
		next.values[p.columns[i]] = text
		next.order += "\x01" + text + "\x00"
	}
	if known := p.byOrder[next.order]; known != nil {
		return known
	}
	if len(p.all) == maxPartitions {
		return nil
	}
	p.byOrder[next.order] = next
	p.all = append(p.all, next)
	return next
}

// run is rows of one partition, one behind another.
type run struct {
	of   *partition
	rows int
}

// sorted returns the rows by partition, those of one in their order, and the
// partitions in the order of their first rows.
func sorted(of []*partition) ([]int32, []run) {
	var runs []run
	at := map[*partition]int{}
	for _, p := range of {
		i, known := at[p]
		if !known {
			i = len(runs)
			at[p] = i
			runs = append(runs, run{of: p})
		}
		runs[i].rows++
	}
	if len(runs) < 2 {
		return nil, runs
	}
	next := make([]int, len(runs))
	for i := 1; i < len(runs); i++ {
		next[i] = next[i-1] + runs[i-1].rows
	}
	order := make([]int32, len(of))
	for row, p := range of {
		i := at[p]
		order[next[i]] = int32(row)
		next[i]++
	}
	return order, runs
}

// take writes rows to the partition's open file, or lets them wait.
func (p *partitions) take(ctx context.Context, to *partition, rows *column.Block) error {
	if to.open != nil {
		return p.put(ctx, to, rows)
	}
	column.Append(&to.rows, rows)
	was := to.size
	to.size = column.Bytes(&to.rows) + vectorBytes*len(to.rows.Columns)
	p.waiting += to.size - was
	return nil
}

// put writes rows to the partition's file, which is closed when it is large
// enough.
func (p *partitions) put(ctx context.Context, to *partition, rows *column.Block) error {
	p.clock++
	to.used = p.clock
	if to.open == nil {
		if err := p.begin(ctx, to); err != nil {
			return err
		}
	}
	if err := to.open.write(rows); err != nil {
		return err
	}
	if to.open.writer.Size() < p.files.opts.Bytes {
		return nil
	}
	return p.close(ctx, to)
}

// begin opens a file for the partition. All files share their encoders: one is
// written to at a time.
func (p *partitions) begin(ctx context.Context, of *partition) error {
	opts := p.files.opts.File
	if p.encode == nil {
		var err error
		if p.encode, err = datafile.NewEncoders(opts.Compression); err != nil {
			return err
		}
	}
	opts.Encoders, opts.OpenBytes = p.encode, openPageBytes
	if opts.RowGroupBytes == 0 || opts.RowGroupBytes > groupBytes {
		opts.RowGroupBytes = groupBytes
	}
	open, err := p.files.begin(ctx, opts)
	if err != nil {
		return err
	}
	open.part, of.open = of.values, open
	p.open = append(p.open, of)
	return nil
}

// close finishes the partition's open file.
func (p *partitions) close(ctx context.Context, of *partition) error {
	open := of.open
	of.open = nil
	p.open = slices.DeleteFunc(p.open, func(x *partition) bool { return x == of })
	return p.files.finish(ctx, open)
}

// relieve writes rows that wait while there are too many, those of the largest
// partition first, and closes files while they hold too much.
func (p *partitions) relieve(ctx context.Context) error {
	if p.waiting > waitingBytes {
		for p.waiting > waitingBytes/2 {
			if err := p.drain(ctx, slices.MaxFunc(p.all, func(a, b *partition) int { return a.size - b.size })); err != nil {
				return err
			}
		}
	}
	for p.held() > heldBytes {
		largest := slices.MaxFunc(p.open, func(a, b *partition) int { return cmp.Compare(a.open.writer.Size(), b.open.writer.Size()) })
		if err := p.close(ctx, largest); err != nil {
			return err
		}
	}
	return nil
}

// held is how many bytes the open files may have in memory.
func (p *partitions) held() (size int64) {
	for _, at := range p.open {
		size += min(at.open.writer.Size(), uploadBytes)
	}
	return size
}

// drain writes the rows of a partition that wait. If it needs a file and there are
// too many, the one that was not written to for longest makes room.
func (p *partitions) drain(ctx context.Context, of *partition) error {
	if of.open == nil && len(p.open) >= maxOpen {
		idle := slices.MinFunc(p.open, func(a, b *partition) int { return cmp.Compare(a.used, b.used) })
		if err := p.close(ctx, idle); err != nil {
			return err
		}
	}
	rows := of.rows
	p.waiting -= of.size
	of.rows, of.size = column.Block{}, 0
	return p.put(ctx, of, &rows)
}

// finish writes everything that waits and closes every file, partition by
// partition in the order of their values.
func (p *partitions) finish(ctx context.Context) error {
	for _, at := range slices.SortedFunc(slices.Values(p.all), func(a, b *partition) int { return cmp.Compare(a.order, b.order) }) {
		if at.rows.Rows > 0 {
			if err := p.drain(ctx, at); err != nil {
				return err
			}
		}
		if at.open != nil {
			if err := p.close(ctx, at); err != nil {
				return err
			}
		}
	}
	return nil
}
