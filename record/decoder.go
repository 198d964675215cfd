package record

import (
	"errors"
	"fmt"
	"slices"

	"batcher/column"
	"batcher/schema"
)

// Decoder is one try to decode one batch: Decode for each object in order, then
// Flush. It is not safe for concurrent use. After an error it is
// spent, except after a BrokenError before which no record of the object was taken.
type Decoder struct {
	opt      Options
	limits   Limits
	rules    schema.Rules
	in       container
	text     window // its buffer goes from object to object
	rec      record // the record at hand
	received []byte // how it was received, if it was repaired
	invalid  int    // bytes of the record at hand that only columns of bytes take
	id       []byte // name of the source at hand, with room for an offset
	phase    phase
	primed   prime
	learner  learner
	scanner  scanner
	known    known          // columns of the table and those that are declared
	current  *schema.Schema // what the columns follow
	builder  builder
	columns  []*column.Filler
	spare    *column.Block // a block whose memory may be used again
	rows     int           // rows of the block at hand
	size     int           // decoded bytes in it
	batch    int64         // decoded bytes of the batch so far
	goal     int64         // learning: where to stop
	notes    notes

	source, offset, rescued *column.Filler // reserved columns
	keyed                   keyed          // columns from the keys of objects
}

// phase is what happens to the next record.
type phase uint8

const (
	priming  phase = iota // it waits until the types are known
	emitting              // it becomes a row
	learning              // this try is void: only its types count
)

// NewDecoder returns a decoder for one try of one batch.
func NewDecoder(opt Options) *Decoder {
	d := &Decoder{opt: opt, limits: opt.Limits.withDefaults(), rules: opt.Rules.Under(opt.Table)}
	d.rules.MaxColumns = d.limits.MaxColumns
	d.in.limits = d.limits
	d.scanner.maxDepth = d.limits.MaxDepth
	d.scanner.contract, d.scanner.frozen = d.rules.Contract, d.rules.Frozen()
	d.learner = learner{scanner: &d.scanner, rules: d.rules}
	d.builder = builder{table: opt.Table, rules: d.rules, fillers: map[int32]*column.Filler{}}
	d.current, d.known = opt.Table, knownOf(opt.Table, d.rules.Pins)
	d.learner.root.Settle(opt.Table)
	d.learner.root.SettlePins(d.rules.Pinned())
	if opt.Learned != nil {
		d.learner.root.SettleLearned(opt.Learned)
		d.current = opt.Learned
	}
	return d
}

// Schema returns the published schema and what was learned, with ids. Before
// the first block it tells nothing new; after Flush it is the schema of the
// batch; after ErrRestart it is what the next try must know.
func (d *Decoder) Schema() *schema.Schema { return d.current.Clone() }

// start decides the types from the records that waited, and emits these.
func (d *Decoder) start() error {
	for i := range d.primed.records {
		d.observe(d.primed.record(i), early)
	}
	next, added := schema.Evolve(d.opt.Table, &d.learner.root, d.rules)
	d.current = next
	d.notes.added(added)
	d.learner.root.SettleLearned(next)
	d.rebuild()
	if d.source == nil || d.offset == nil || d.rescued == nil {
		return errors.New("the table's schema lacks the reserved columns")
	}
	if err := d.rules.CheckDerived(d.current); err != nil {
		return err
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

// observe learns the types of a record, as it is to be read. A record that is no
// row teaches nothing.
func (d *Decoder) observe(rec *record, w when) {
	if rec.bad != fine {
		return
	}
	if rec = d.readable(rec); rec != nil && rec.by.valid(rec) && rec.by.teaches(rec, w) {
		rec.by.observe(rec, w)
	}
}

// rebuild makes tree and columns for the current schema.
func (d *Decoder) rebuild() {
	d.builder.meet()
	d.scanner.root, d.columns = d.builder.build(d.current, &d.learner.root)
	d.source = d.builder.fillers[schema.SourceID]
	d.offset = d.builder.fillers[schema.OffsetID]
	d.rescued = d.builder.fillers[schema.RescuedID]
	d.scanner.choices = d.builder.choose()
	if d.rules.Key != nil {
		d.keyed.follow(&d.builder, d.current)
	}
}

// emit makes a row or a dead letter of the record, unless it surprises.
func (d *Decoder) emit(rec *record) error {
	if rec.bad != fine {
		return d.dead(rec, fault{code: rec.bad})
	}
	if !rec.valid {
		return d.repair(rec)
	}
	return d.scan(rec)
}

// scan makes a row of a record, or a dead letter.
func (d *Decoder) scan(rec *record) error {
	d.scanner.row, d.scanner.invalid, d.scanner.serial = d.rows, d.invalid, d.notes.rows+d.notes.dead
	ok := rec.by.scan(rec)
	if !ok && d.scanner.fault.code == collision {
		d.drop()
		ok = d.carefully(rec)
	}
	if ok {
		if d.scanner.invalid == 0 {
			return d.row(rec)
		}
		d.scanner.fault = fault{code: invalidUTF8, at: invalidAt(rec.raw)}
	}
	d.drop()
	if d.scanner.fault.code == surprise {
		return d.surprised(rec)
	}
	return d.dead(rec, d.scanner.fault)
}

// carefully scans a record whose keys may differ in case alone.
func (d *Decoder) carefully(rec *record) bool {
	d.scanner.careful, d.scanner.invalid = true, d.invalid
	ok := rec.by.scan(rec)
	d.scanner.careful = false
	return ok
}

// drop takes back what the row at hand appended.
func (d *Decoder) drop() {
	for _, c := range d.columns {
		c.Drop(d.rows)
	}
	for _, c := range d.builder.fed {
		c.Drop(d.rows)
	}
}

// surprised takes a record for which the schema has no place. A new column is
// added at once; where a type would have to widen this try ends, but first goes
// on learning until it has seen twice as much, so that tries are few.
func (d *Decoder) surprised(rec *record) error {
	if !rec.by.valid(rec) {
		return d.dead(rec, d.scanner.fault)
	}
	if !rec.by.teaches(rec, late) {
		return d.finally(rec)
	}
	rec.by.observe(rec, late)
	next, _ := schema.Evolve(d.opt.Table, &d.learner.root, d.rules)
	if schema.Widened(d.current, next) {
		d.phase, d.goal = learning, 2*d.batch
		return nil
	}
	next, added := schema.Evolve(d.current, &d.learner.root, d.rules)
	if slices.ContainsFunc(added, func(a schema.Added) bool { return a.Split }) {
		d.phase, d.goal = learning, 2*d.batch
		return nil
	}
	d.current = next
	d.learner.root.Rank(next)
	d.notes.added(added)
	d.rebuild()
	return d.finally(rec)
}

// finally makes a row or a dead letter of a record under the schema as it is:
// what has no place there is rescued.
func (d *Decoder) finally(rec *record) error {
	d.scanner.final = true
	ok := d.carefully(rec)
	d.scanner.final = false
	if ok && d.scanner.invalid == 0 {
		return d.row(rec)
	}
	if ok {
		d.scanner.fault = fault{code: invalidUTF8, at: invalidAt(rec.raw)}
	}
	d.drop()
	return d.dead(rec, d.scanner.fault)
}

// learn only looks at the record's types.
func (d *Decoder) learn(rec *record) error {
	d.observe(rec, late)
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
func (d *Decoder) row(rec *record) error {
	s := &d.scanner
	if len(s.widened)+len(s.uses) > 0 {
		s.taught()
	}
	d.source.Bytes(d.rows, 0, rec.source)
	d.offset.Int64(d.rows, 0, rec.pos)
	if d.rules.Key != nil {
		if err := d.keyed.row(d.rows, rec.source, d.rules); err != nil {
			return err
		}
	}
	if len(s.rescued) > 0 {
		d.rescued.Bytes(d.rows, 0, s.rescued)
	}
	if len(s.misfits) > 0 {
		d.notes.misfits(s, rec)
	}
	if len(rec.raw) >= largeRecord {
		d.notes.large(rec)
	}
	d.rows++
	d.notes.rows++
	d.size += len(rec.raw) + 1
	if d.size >= d.limits.BlockBytes || d.rows >= d.limits.BlockRows || d.rows*len(d.columns) >= d.limits.BlockBytes {
		return d.emitBlock()
	}
	return nil
}

// emitBlock passes on the rows at hand, and goes on in the memory of a block that
// comes back.
func (d *Decoder) emitBlock() error {
	if d.rows == 0 {
		return nil
	}
	d.joinPlaces()
	b := &column.Block{Schema: d.current, Rows: d.rows, Columns: make([]*column.Vector, len(d.columns))}
	for i, c := range d.columns {
		c.Pad(d.rows)
		var used *column.Vector
		if d.spare != nil && i < len(d.spare.Columns) {
			used = d.spare.Columns[i]
		}
		b.Columns[i] = c.Swap(used)
	}
	column.Derive(b, d.rules.Derived)
	d.rows, d.size, d.spare = 0, 0, b
	if d.opt.Block == nil {
		return nil
	}
	var err error
	if d.spare, err = d.opt.Block(b); err != nil {
		return fmt.Errorf("take block: %w", err)
	}
	return nil
}

// dead passes on a record that cannot become a row.
func (d *Decoder) dead(rec *record, f fault) error {
	if err := d.broke(rec, f); err != nil {
		return err
	}
	d.notes.dead++
	if f.code == tooLong {
		d.notes.large(rec)
	}
	if d.opt.Dead == nil {
		return nil
	}
	msg := f.describe(rec.raw).message()
	if f.code == tooLong {
		msg = fmt.Sprintf("more than the %d bytes that source.files.limits.record_bytes allows", d.limits.MaxRecordBytes)
		if rec.length > int64(d.limits.MaxRecordBytes) { // as JSON it may be shorter
			msg = fmt.Sprintf("%d bytes, more than the %d that source.files.limits.record_bytes allows", rec.length, d.limits.MaxRecordBytes)
		}
	}
	raw, length := d.received, rec.length
	if raw == nil {
		raw, length = rec.by.show(rec)
	}
	err := d.opt.Dead(DeadLetter{
		Source: string(rec.source), Offset: rec.pos, Raw: raw[:min(len(raw), KeptBytes)], Length: length,
		Stage: said[f.code].stage, Code: said[f.code].code, Message: msg,
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
	if err := d.checkNaive(); err != nil {
		return err
	}
	return d.emitBlock()
}
