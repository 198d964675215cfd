// Package batch gathers the records of one batch: it feeds objects to the
// decoder in order, up to the limits, sends rows and bad records each to their
// table, and seals what was read.
//
// Duty: decide where a batch ends, keep the counts of it, and fix its ranges at
// the seal.
//
// Invariants: after Seal nothing can be added; records read = written + dead;
// an object's range ends at its end, or the object alone is larger than a batch
// and may be cut.
//
// It never sees a Snapshot, a store or a clock, and never decides what is
// committed: schema and positions are passed in.
package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"batcher/column"
	"batcher/manifest"
	"batcher/record"
	"batcher/schema"
	"batcher/source"
)

// Limits bound a batch. Zero means no bound.
type Limits struct {
	Bytes   int64 // decoded bytes
	Records int64
	Objects int64
}

// Budget is how many bad records a batch may have.
type Budget struct {
	Ratio      float64 // dead / read
	MinRecords int64   // below so many records read the ratio does not apply
	first      bool
}

// First is the budget of the first batch that a pipeline reads: where most records are
// bad the pipeline file says something else than the source is, unless it says that so
// many may be.
func First(later Budget) *Budget { return &Budget{Ratio: max(0.5, later.Ratio), first: true} }

// BudgetError says that a batch has more bad records than its budget allows.
type BudgetError struct {
	Dead, Read int64
	First      bool                // it is the first batch of its pipeline
	Code       string              // of most bad records
	Offenders  []record.DeadLetter // the first ones
}

// Error gives the figures and the first offender.
func (e *BudgetError) Error() string {
	first := ""
	if len(e.Offenders) > 0 {
		o := e.Offenders[0]
		first = fmt.Sprintf("; first: %s at byte %d: %s", o.Source, o.Offset, o.Message)
	}
	if e.First {
		return fmt.Sprintf("%d of %d records of the first batch are bad, most of them %s: nothing was committed%s", e.Dead, e.Read, e.Code, first)
	}
	return fmt.Sprintf("%d of %d records are bad, more than dead_letters.fail_above allows: batch not committed%s", e.Dead, e.Read, first)
}

// maxOffenders is how many bad records a report shows.
const maxOffenders = 10

// Object is one object to read, or the rest of one.
type Object struct {
	Info  source.Range    // whose it is, under what name, and where it begins
	To    source.Position // read no further than this record boundary; 0 means to the end
	Late  Lateness
	Whole bool // it is never cut, however large
}

// Lateness says whether an object came after the lookback had passed it.
type Lateness uint8

// The two kinds of object.
const (
	InTime Lateness = iota
	Late
)

// Options set a Gather up.
type Options struct {
	Schema  *schema.Schema // published schema of the main table
	Learned *schema.Schema // what an earlier try of this batch learned, or nil
	Rules   schema.Rules
	Record  record.Limits
	Limits  Limits
	Format  record.Format
	Ahead   func(io.Reader) io.ReadCloser // as record.Options.Ahead; may be nil
	Main    Sink                          // rows of the main table
	Dead    Sink                          // rows of the dead-letter table
}

// Sink takes blocks as record.Options.Block does.
type Sink = func(*column.Block) (*column.Block, error)

// Gather is one try of one batch.
type Gather struct {
	opts      Options
	decoder   *record.Decoder
	dead      *Letters
	ranges    []source.Range
	read      int64
	deadCount int64
	late      int64
	bytes     int64
	packed    int64 // stored bytes of the compressed objects so far
	unpacked  int64 // their decoded bytes
	offenders []record.DeadLetter
	codes     map[string]int64 // of bad records
}

// New begins a batch.
func New(o Options) *Gather {
	g := &Gather{opts: o, dead: NewLetters(o.Dead), codes: map[string]int64{}}
	g.decoder = record.NewDecoder(record.Options{
		Table: o.Schema, Learned: o.Learned, Rules: o.Rules, Limits: o.Record, Format: o.Format,
		Ahead: o.Ahead, Block: o.Main, Dead: g.bury,
	})
	return g
}

// Full says whether the batch should end before an object. The decoded size of a
// compressed one is not known before it is read, so it is taken from the ratio
// of those read so far; which object is compressed is guessed from its name.
// Neither guess has to be right: it only decides where a batch ends.
func (g *Gather) Full(key string, storedBytes int64) bool {
	l := g.opts.Limits
	if len(g.ranges) == 0 {
		return false
	}
	guess := storedBytes
	if g.packed > 0 && record.Packed(key) {
		guess = int64(float64(storedBytes) * float64(g.unpacked) / float64(g.packed))
	}
	return l.Objects > 0 && int64(len(g.ranges)) >= l.Objects ||
		l.Records > 0 && g.read >= l.Records ||
		l.Bytes > 0 && g.bytes+guess > l.Bytes
}

// Empty says whether nothing was read yet.
func (g *Gather) Empty() bool { return len(g.ranges) == 0 }

// Cut says whether the last object was cut because it alone is larger than a
// batch: then the batch is full.
func (g *Gather) Cut() bool { return len(g.ranges) > 0 && !g.ranges[len(g.ranges)-1].Last }

// Counts tells how much was read so far.
func (g *Gather) Counts() (objects, records, bytes int64) {
	return int64(len(g.ranges)), g.read, g.bytes
}

// Schema is the schema of the main table with the columns learned so far.
func (g *Gather) Schema() *schema.Schema { return g.decoder.Schema() }

// Read consumes an object from its position to its end, or to the limits if it
// alone is larger than a batch. The errors of record.Decoder.Decode pass through.
func (g *Gather) Read(ctx context.Context, o Object, r io.Reader) error {
	in := record.Object{Source: o.Info.Source(), From: o.Info.From, To: o.To}
	if o.Info.From > 0 {
		in.Header = o.Info.Headed()
		if n := len(g.ranges); n > 0 && g.ranges[n-1].Key == o.Info.Key { // its range before
			in.Header = g.ranges[n-1].Header
		}
	}
	if !o.Whole {
		in.MaxBytes, in.MaxRecords = g.opts.Limits.Bytes, g.opts.Limits.Records
	}
	res, err := g.decoder.Decode(ctx, in, r)
	if err != nil {
		return err
	}
	span := o.Info
	span.To, span.Last, span.Records, span.IDSum, span.Content, span.Header = res.To, res.Last, res.Records, res.IDSum, res.Content, res.Header
	g.add(span, o.Late)
	g.read += res.Records
	g.bytes += res.Bytes
	if span.Last && o.Info.From == 0 && res.Container != "plain" {
		g.packed += span.Size
		g.unpacked += res.Bytes
	}
	return nil
}

// Quarantine consumes an object whose container cannot be read: none of its
// records, and one dead letter that says why.
func (g *Gather) Quarantine(o Object, broken *record.BrokenError) error {
	span := o.Info
	span.To, span.Last, span.Records, span.Broken = span.From, true, 1, broken.Reason
	span.IDSum = record.IDHash(span.Source(), int64(span.From))
	g.add(span, o.Late)
	g.read++
	code := "broken"
	switch {
	case broken.Unread:
		code = "unreadable"
	case broken.TooLarge:
		code = "too_large"
	}
	return g.bury(record.DeadLetter{
		Source: span.Source(), Offset: int64(span.From), Length: span.Size,
		Stage: "container", Code: code, Message: broken.Error(),
	})
}

func (g *Gather) add(span source.Range, late Lateness) {
	g.ranges = append(g.ranges, span)
	if late == Late {
		g.late++
	}
}

// bury sends a bad record to the dead-letter table.
func (g *Gather) bury(d record.DeadLetter) error {
	g.deadCount++
	g.codes[d.Code]++
	if len(g.offenders) < maxOffenders {
		kept := d
		kept.Raw = append([]byte(nil), d.Raw[:min(len(d.Raw), 256)]...)
		g.offenders = append(g.offenders, kept)
	}
	return g.dead.Add(d)
}

// mostly is the code of most bad records, of several the first by name.
func (g *Gather) mostly() string {
	most := ""
	for _, code := range slices.Sorted(maps.Keys(g.codes)) {
		if most == "" || g.codes[code] > g.codes[most] {
			most = code
		}
	}
	return most
}

// Sealed is a batch whose ranges are fixed.
type Sealed struct {
	Batch     manifest.Batch // without its id, which needs the chain
	Schema    *schema.Schema // main table, with the columns that the batch adds
	Notes     record.Notes
	Offenders []record.DeadLetter
	Cut       bool // the last object was cut: its rest belongs to the next batch
}

// ErrSealed says that a batch was sealed before.
var ErrSealed = errors.New("batch is sealed")

// Seal emits what is buffered, holds the counts against the budget, and fixes
// the ranges. A nil budget accepts any number of bad records.
func (g *Gather) Seal(budget *Budget) (Sealed, error) {
	if g.decoder == nil {
		return Sealed{}, ErrSealed
	}
	if err := g.decoder.Flush(); err != nil {
		return Sealed{}, err
	}
	if err := g.dead.Flush(); err != nil {
		return Sealed{}, err
	}
	if budget != nil && g.read >= budget.MinRecords && float64(g.deadCount) > budget.Ratio*float64(g.read) {
		return Sealed{}, &BudgetError{Dead: g.deadCount, Read: g.read, First: budget.first, Code: g.mostly(), Offenders: g.offenders}
	}
	s := Sealed{Schema: g.decoder.Schema(), Notes: g.decoder.Notes(), Offenders: g.offenders, Cut: g.Cut()}
	s.Batch.Ranges.Items = g.ranges
	s.Batch.Ranges.Count = int64(len(g.ranges))
	s.Batch.Objects = int64(len(g.ranges))
	s.Batch.Late = g.late
	s.Batch.Bytes = g.bytes
	s.Batch.Rows = manifest.RowCounts{Read: g.read, Written: g.read - g.deadCount, Dead: g.deadCount}
	g.decoder = nil
	return s, nil
}
