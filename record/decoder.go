package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"batcher/column"
	"batcher/schema"
	"batcher/source"
)

// Decoder is one try to decode one batch: Decode for each object in order, then
// Flush. It is not safe for concurrent use. After an error it is
// spent, but for a BrokenError before which no record of the object was taken.
type Decoder struct {
	opt     Options
	limits  Limits
	rules   schema.Rules
	in      container
	cut     cutter
	id      []byte // name of the source at hand, with room for an offset
	phase   phase
	primed  prime
	learner learner
	scanner scanner
	current *schema.Schema // what the columns follow
	builder builder
	columns []*column.Filler
	rows    int   // rows of the block at hand
	size    int   // decoded bytes in it
	batch   int64 // decoded bytes of the batch so far
	goal    int64 // learning: where to stop
	notes   notes

	source, offset, rescued *column.Filler // reserved columns
}

// phase is what happens to the next record.
type phase uint8

const (
	priming  phase = iota // it waits until the types are known
	emitting              // it becomes a row
	learning              // this try is void: only its types count
)

// record is one record as it was cut.
type record struct {
	source []byte
	pos    int64
	raw    []byte
	length int64 // true length
	utf8   bool  // raw is valid UTF-8
}

// NewDecoder returns a decoder for one try of one batch.
func NewDecoder(opt Options) *Decoder {
	d := &Decoder{opt: opt, limits: opt.Limits.withDefaults(), rules: opt.Rules.WithDefaults()}
	d.rules.MaxColumns = d.limits.MaxColumns
	d.in.limits = d.limits
	d.scanner.maxDepth = d.limits.MaxDepth
	d.learner = learner{scanner: &d.scanner, rules: d.rules}
	d.builder = builder{table: opt.Table, rules: d.rules, fillers: map[int32]*column.Filler{}}
	d.current = opt.Table
	d.learner.root.Settle(opt.Table)
	if opt.Learned != nil {
		d.learner.root.Settle(opt.Learned)
		d.current = opt.Learned
	}
	return d
}

// Schema returns the published schema and what was learned, with ids. Before
// the first block it tells nothing new; after Flush it is the schema of the
// batch; after ErrRestart it is what the next try must know.
func (d *Decoder) Schema() *schema.Schema { return d.current.Clone() }

// Decode reads one object, whose stored bytes from the first on are r, from
// o.From to its end or limit. Records may reach Block and Dead during a later
// Decode or Flush. It fails with a BrokenError, with ErrRestart, with what r,
// Block or Dead failed with, or with stop's error.
func (d *Decoder) Decode(stop Stopper, o Object, r io.Reader) (Result, error) {
	if err := d.in.open(stop, r); err != nil {
		return Result{}, err
	}
	d.cut.reset(&d.in, d.limits.MaxRecordBytes)
	reason, err := d.cut.head()
	if err == nil && reason != "" {
		err = d.in.broken(reason, nil)
	}
	if err != nil {
		return Result{}, err
	}
	reached, err := d.cut.seek(int64(o.From))
	if err != nil {
		return Result{}, err
	}
	if !reached {
		return Result{}, fmt.Errorf("%w: it ends at %d, wanted %d", ErrShort, d.cut.pos, o.From)
	}
	return d.object(o)
}

// object reads the records of the object that is open.
func (d *Decoder) object(o Object) (Result, error) {
	t := tally{max: o, to: int64(o.From)}
	d.id = append(make([]byte, 0, len(o.Source)+8), o.Source...)
	for !t.full() {
		r, err := d.cut.next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = d.run(&t, r)
		}
		if err != nil {
			return Result{}, t.taken(err)
		}
	}
	res, err := d.finish(o, &t)
	return res, t.taken(err)
}

// finish reads what must be read behind the last record.
func (d *Decoder) finish(o Object, t *tally) (Result, error) {
	res := Result{Records: t.records, IDSum: t.sum, Container: d.in.kind}
	if t.left == 0 {
		more, err := d.cut.more()
		if err != nil {
			return Result{}, err
		}
		if res.Last = !more; res.Last {
			t.to = max(t.to, d.cut.pos)
		}
	}
	if o.From == 0 && d.in.kind != containerPlain {
		if err := d.in.verify(d.cut.buf); err != nil {
			return Result{}, err
		}
	}
	res.To = source.Position(t.to)
	res.Bytes = t.to - int64(o.From)
	if res.Last {
		res.Content = d.in.content()
	}
	return res, nil
}

// tally counts what was consumed of one object.
type tally struct {
	max     Object
	to      int64 // position behind the last line consumed
	left    int   // bytes of the run behind it
	records int64
	sum     source.Hash
}

// taken notes in a BrokenError how many records were taken before it.
func (t *tally) taken(err error) error {
	var broken *BrokenError
	if errors.As(err, &broken) {
		broken.Taken = t.records
	}
	return err
}

func (t *tally) full() bool {
	return (t.max.MaxBytes > 0 && t.to-int64(t.max.From) >= t.max.MaxBytes) ||
		(t.max.MaxRecords > 0 && t.records >= t.max.MaxRecords)
}

// run cuts a run into records and takes them.
func (d *Decoder) run(t *tally, r run) error {
	if r.length > 0 {
		return d.take(t, record{d.id, r.pos, r.data, r.length, true}, r.next)
	}
	valid := utf8.Valid(r.data)
	for data := r.data; len(data) > 0; {
		line, next := data, len(data)
		if nl := bytes.IndexByte(data, '\n'); nl >= 0 {
			line, next = data[:nl], nl+1
		}
		pos := r.next - int64(len(data))
		data = data[next:]
		t.left = len(data)
		if space(line, 0) == len(line) {
			t.to = pos + int64(next)
		} else {
			rec := record{d.id, pos, line, int64(len(line)), valid || utf8.Valid(line)}
			if err := d.take(t, rec, pos+int64(next)); err != nil {
				return err
			}
		}
		if t.full() {
			return nil
		}
	}
	return nil
}

// take counts a record and passes it to the phase.
func (d *Decoder) take(t *tally, rec record, next int64) error {
	t.records++
	t.sum = t.sum.Add(idHash(d.id, rec.pos))
	d.batch += next - t.to
	t.to = next
	if rec.length > int64(d.limits.MaxRecordBytes) {
		rec.raw = rec.raw[:min(len(rec.raw), KeptBytes)]
	}
	switch d.phase {
	case priming:
		d.primed.add(rec)
		if len(d.primed.data) >= d.limits.PrimeBytes || len(d.primed.records) >= maxPrimed {
			return d.start()
		}
		return nil
	case emitting:
		return d.emit(rec)
	}
	return d.learn(rec)
}

// start decides the types from the records that waited, and emits these.
func (d *Decoder) start() error {
	for i := range d.primed.records {
		if rec := d.primed.record(i); d.fine(rec) {
			d.learner.observe(rec.raw, early)
		}
	}
	next, added := schema.Evolve(d.opt.Table, &d.learner.root, d.rules)
	d.current = next
	d.notes.added(added)
	d.learner.root.Settle(next)
	d.rebuild()
	if d.source == nil || d.offset == nil || d.rescued == nil {
		return errors.New("the table's schema lacks the reserved columns")
	}
	d.phase = emitting
	for i := 0; i < len(d.primed.records) && d.phase == emitting; i++ {
		if err := d.emit(d.primed.record(i)); err != nil {
			return err
		}
	}
	d.primed = prime{}
	return nil
}

// fine says whether the record can be parsed at all.
func (d *Decoder) fine(rec record) bool {
	return rec.length <= int64(d.limits.MaxRecordBytes) && rec.utf8 && d.scanner.valid(rec.raw)
}

// rebuild makes tree and columns for the current schema.
func (d *Decoder) rebuild() {
	d.scanner.root, d.columns = d.builder.build(d.current, &d.learner.root)
	d.source = d.builder.fillers[schema.SourceID]
	d.offset = d.builder.fillers[schema.OffsetID]
	d.rescued = d.builder.fillers[schema.RescuedID]
}

// emit makes a row or a dead letter of the record, unless it surprises.
func (d *Decoder) emit(rec record) error {
	if rec.length > int64(d.limits.MaxRecordBytes) {
		return d.dead(rec, fault{code: tooLong})
	}
	if !rec.utf8 {
		return d.dead(rec, fault{code: invalidUTF8, at: invalidAt(rec.raw)})
	}
	d.scanner.row = d.rows
	if d.scanner.scan(rec.raw) {
		return d.row(rec)
	}
	d.drop()
	if d.scanner.fault.code == surprise {
		return d.surprised(rec)
	}
	return d.dead(rec, d.scanner.fault)
}

// drop takes back what the row at hand appended.
func (d *Decoder) drop() {
	for _, c := range d.columns {
		c.Drop(d.rows)
	}
}

// surprised takes a record for which the schema has no place. A new column is
// added at once; where a type would have to widen this try ends, but first goes
// on learning until it has seen twice as much, so that tries are few.
func (d *Decoder) surprised(rec record) error {
	if !d.scanner.valid(rec.raw) {
		return d.dead(rec, d.scanner.fault)
	}
	d.learner.observe(rec.raw, late)
	next, _ := schema.Evolve(d.opt.Table, &d.learner.root, d.rules)
	if schema.Widened(d.current, next) {
		d.phase, d.goal = learning, 2*d.batch
		return nil
	}
	next, added := schema.Evolve(d.current, &d.learner.root, d.rules)
	d.current = next
	d.notes.added(added)
	d.rebuild()
	d.scanner.final = true
	ok := d.scanner.scan(rec.raw)
	d.scanner.final = false
	if ok {
		return d.row(rec)
	}
	d.drop()
	return d.dead(rec, d.scanner.fault)
}

// learn only looks at the record's types.
func (d *Decoder) learn(rec record) error {
	if d.fine(rec) {
		d.learner.observe(rec.raw, late)
	}
	if d.batch >= d.goal {
		return d.restart()
	}
	return nil
}

func (d *Decoder) restart() error {
	d.current, _ = schema.Evolve(d.opt.Table, &d.learner.root, d.rules)
	return ErrRestart
}

// row completes the row that was scanned.
func (d *Decoder) row(rec record) error {
	s := &d.scanner
	d.source.Bytes(d.rows, 0, rec.source)
	d.offset.Int64(d.rows, 0, rec.pos)
	if len(s.rescued) > 0 {
		d.rescued.Bytes(d.rows, 0, s.rescued)
		d.notes.misfits(s.misfits, rec)
	}
	d.rows++
	d.notes.rows++
	d.size += len(rec.raw) + 1
	if d.size >= d.limits.BlockBytes || d.rows >= d.limits.BlockRows || d.rows*len(d.columns) >= d.limits.BlockBytes {
		return d.emitBlock()
	}
	return nil
}

// emitBlock passes on the rows at hand.
func (d *Decoder) emitBlock() error {
	if d.rows == 0 {
		return nil
	}
	b := column.Block{Schema: d.current, Rows: d.rows, Columns: make([]*column.Vector, len(d.columns))}
	for i, c := range d.columns {
		c.Pad(d.rows)
		b.Columns[i] = &c.Vector
	}
	if d.opt.Block != nil {
		if err := d.opt.Block(&b); err != nil {
			return fmt.Errorf("take block: %w", err)
		}
	}
	for _, c := range d.columns {
		c.Reset()
	}
	d.rows, d.size = 0, 0
	return nil
}

// dead passes on a record that cannot become a row.
func (d *Decoder) dead(rec record, f fault) error {
	msg := f.describe(rec.raw).message()
	if f.code == tooLong {
		msg = fmt.Sprintf("%d bytes, more than the %d allowed", rec.length, d.limits.MaxRecordBytes)
	}
	d.notes.dead++
	if d.opt.Dead == nil {
		return nil
	}
	err := d.opt.Dead(DeadLetter{
		Source: string(rec.source), Offset: rec.pos, Raw: rec.raw[:min(len(rec.raw), KeptBytes)], Length: rec.length,
		Stage: stages[f.code], Code: words[f.code], Message: msg,
	})
	if err != nil {
		return fmt.Errorf("take dead letter: %w", err)
	}
	return nil
}

// Flush emits what is buffered, after the last object. It fails as Decode does.
func (d *Decoder) Flush() error {
	if d.phase == priming {
		if err := d.start(); err != nil {
			return err
		}
	}
	if d.phase == learning {
		return d.restart()
	}
	return d.emitBlock()
}
