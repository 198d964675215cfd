package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"batcher/audit"
	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
	"batcher/segment"
	"batcher/sim"
)

// layout gives the keys.
var layout = manifest.Layout{Pipeline: "events"}

// oracle proves the invariants in the states of an exploration. What follows
// from the bytes of a chain alone is proved once for each head: a head fixes all
// that is below it, because it carries the hash of its parent.
//
// In every content: I1, I2, I3, I4, I5, I7, I8, I9, I10, I11, I12, I16, I19, I20.
// With every write: I13, and that no key ever gets two contents. With every
// acknowledgement: I6. At rest: that every object is consumed exactly once, I14
// row by row (audit), I15 too, I18. I17 waits for the outbox.
type oracle struct {
	world   *world
	chains  map[*byte]*chain // by the bytes of the head
	sums    map[*byte]manifest.SHA256
	audited map[*byte]error
	spilled bool // a consumed set was seen that stands in a segment
}

func newOracle(w *world) *oracle {
	return &oracle{world: w, chains: map[*byte]*chain{}, sums: map[*byte]manifest.SHA256{}, audited: map[*byte]error{}}
}

// checks are the oracle as the explorer takes it.
func (o *oracle) checks() sim.Checks {
	return sim.Checks{Write: o.write, Content: o.content, Note: o.note, Rest: o.rest}
}

// chain is what a chain says up to its head.
type chain struct {
	before   *chain
	head     manifest.Snapshot
	err      error // the first invariant that is broken
	attempts map[manifest.Attempt]manifest.Seq
	batches  map[manifest.BatchID]bool // of the generation
	consumed map[string]int
	ever     map[string]bool          // consumed in any snapshot
	reads    int                      // objects that were consumed, again after a rewind too
	live     map[string]manifest.File // by key
	needed   map[string]manifest.File // live in any snapshot that is retained
	runs     map[segment.Ref]bool     // of any snapshot that is retained

	rewritten map[string]manifest.Seq // by table: the last rewrite
}

// walk reads the chain of a content.
func (o *oracle) walk(v sim.View) (*chain, error) {
	var at *chain
	for seq := manifest.Seq(0); ; seq++ {
		body := v.Body(layout.Manifest(seq))
		if body == nil {
			break
		}
		next := o.chains[&body[0]]
		if next == nil {
			next = extend(v, at, body)
			o.chains[&body[0]] = next
			o.spilled = o.spilled || next.err == nil && next.head.Manifest.Progress.Files.Segments.Count > 0
		}
		if next.err != nil {
			return next, next.err
		}
		if next.before != at {
			return next, fmt.Errorf("I2: manifest %d does not follow from the one before", seq)
		}
		at = next
	}
	return at, nil
}

// extend holds one more manifest to every rule.
func extend(v sim.View, before *chain, body []byte) *chain {
	c := &chain{before: before}
	m, err := manifest.DecodeManifest(body)
	if err == nil {
		err = newLog(v, 0).LoadLists(context.Background(), m)
	}
	switch {
	case err != nil:
		c.err = fmt.Errorf("I13: %w", err)
		return c
	case before == nil:
		c.head, c.err = manifest.Begin(m, manifest.Sum(body))
		c.attempts, c.batches = map[manifest.Attempt]manifest.Seq{}, map[manifest.BatchID]bool{}
		c.consumed, c.ever, c.live = map[string]int{}, map[string]bool{}, map[string]manifest.File{}
	default:
		c.head, c.err = before.head.Apply(m, manifest.Sum(body))
		c.attempts, c.batches, c.ever = maps.Clone(before.attempts), maps.Clone(before.batches), maps.Clone(before.ever)
		c.consumed, c.live, c.reads = maps.Clone(before.consumed), maps.Clone(before.live), before.reads
		c.rewritten = before.rewritten
	}
	if c.err == nil {
		c.err = c.add(m)
	}
	return c
}

// add proves what one manifest does. It asks nothing of Apply, so that it notices
// when Apply has become blind.
func (c *chain) add(m *manifest.Manifest) error {
	if seq, taken := c.attempts[m.Attempt]; taken {
		return fmt.Errorf("I7: attempt %s holds manifests %d and %d", m.Attempt, seq, m.Seq)
	}
	c.attempts[m.Attempt] = m.Seq
	if c.before != nil {
		h := c.before.head.Manifest
		switch {
		case m.Parent.SHA256 != c.before.head.SHA256:
			return fmt.Errorf("I2: manifest %d names another parent", m.Seq)
		case m.Base < h.GCFloor || m.Base > h.Seq:
			return fmt.Errorf("I8: base %d of manifest %d over floor %d", m.Base, m.Seq, h.GCFloor)
		case m.GCFloor < h.GCFloor || m.RetainFrom < h.RetainFrom:
			return fmt.Errorf("I9: floors fall at manifest %d", m.Seq)
		case m.Generation < h.Generation:
			return fmt.Errorf("I4: generation falls at manifest %d", m.Seq)
		case c.at(m.Base).head.Manifest.Generation != h.Generation:
			return fmt.Errorf("I4: manifest %d was begun on manifest %d, before a rewind", m.Seq, m.Base)
		}
	}
	if m.Kind == manifest.Rewind {
		c.batches, c.consumed = map[manifest.BatchID]bool{}, maps.Clone(c.at(*m.RewindTo).consumed)
	}
	if err := c.addBatch(m); err != nil {
		return err
	}
	if f := m.Progress.Files; f != nil && int(f.Count) != len(c.consumed) {
		return fmt.Errorf("I4: progress of manifest %d has %d objects, the ranges gave %d", m.Seq, f.Count, len(c.consumed))
	}
	return c.addFiles(m)
}

// at is the chain up to a manifest.
func (c *chain) at(seq manifest.Seq) *chain {
	for c.head.Manifest.Seq > seq {
		c = c.before
	}
	return c
}

func (c *chain) addBatch(m *manifest.Manifest) error {
	if m.Batch == nil {
		return nil
	}
	if c.batches[m.Batch.ID] && len(m.Batch.Ranges.Items) > 0 {
		return fmt.Errorf("I5: batch %s twice", m.Batch.ID)
	}
	c.batches[m.Batch.ID] = true
	for _, r := range m.Batch.Ranges.Items {
		c.ever[r.Key] = true
		c.reads++
		if c.consumed[r.Key]++; c.consumed[r.Key] > 1 {
			return fmt.Errorf("I4: object %s is consumed twice, at last by manifest %d", r.Key, m.Seq)
		}
	}
	return nil
}

// kind is the type of a column of the main table.
func (c *chain) kind(column schema.Column) schema.Kind {
	if f, err := c.head.Manifest.Tables["events"].Schema.Inline.At(column); err == nil {
		return f.Type.Kind
	}
	return schema.None
}

// addTypes proves that every live file has the types of its table: a rewrite leaves
// none behind, and none of an attempt from before comes after it.
func (c *chain) addTypes(m *manifest.Manifest, name string, t *manifest.Table) error {
	if m.Kind == manifest.Rewrite && t.LastSeq == m.Seq {
		c.rewritten = maps.Clone(c.rewritten)
		if c.rewritten == nil {
			c.rewritten = map[string]manifest.Seq{}
		}
		c.rewritten[name] = m.Seq
		for key := range c.live {
			if strings.HasPrefix(key, manifest.TableData(name)) && !strings.HasPrefix(key, fmt.Sprintf("%s%020d/%s/", manifest.TableData(name), int64(m.Base), m.Attempt)) {
				return fmt.Errorf("I20: rewrite %d leaves file %s live", m.Seq, key)
			}
		}
	} else if len(t.Add.Items) > 0 && m.Kind != manifest.Rewind && m.Base < c.rewritten[name] {
		return fmt.Errorf("I20: manifest %d of base %d adds files after rewrite %d", m.Seq, m.Base, c.rewritten[name])
	}
	return nil
}

// addFiles folds the files in and proves that the live lists are this fold.
func (c *chain) addFiles(m *manifest.Manifest) error {
	listed := 0
	for name, t := range m.Tables {
		for _, f := range t.Remove.Items {
			if _, lives := c.live[f.Key]; !lives {
				return fmt.Errorf("I11: file %s is removed by manifest %d and does not live", f.Key, m.Seq)
			}
			delete(c.live, f.Key)
		}
		for _, f := range t.Add.Items {
			if _, twice := c.live[f.Key]; twice {
				return fmt.Errorf("I11: file %s is made live twice, at last by manifest %d", f.Key, m.Seq)
			}
			if base, ok := manifest.BaseOf(strings.TrimPrefix(f.Key, manifest.TableData(name))); m.Kind != manifest.Rewind && (!ok || base != m.Base) {
				return fmt.Errorf("I8: file %s in manifest %d of base %d", f.Key, m.Seq, m.Base)
			}
			c.live[f.Key] = f
		}
		if err := c.addTypes(m, name, &t); err != nil {
			return err
		}
		for _, f := range t.Live.Recent {
			listed++
			if c.live[f.Key].SHA256 != f.SHA256 {
				return fmt.Errorf("I16: live list of manifest %d has %s, which no manifest added", m.Seq, f.Key)
			}
		}
	}
	if listed != len(c.live) {
		return fmt.Errorf("I16: live lists of manifest %d have %d files, the fold has %d", m.Seq, listed, len(c.live))
	}
	c.needed, c.runs = map[string]manifest.File{}, map[segment.Ref]bool{}
	for at := c; at != nil && at.head.Manifest.Seq >= m.RetainFrom; at = at.before {
		maps.Copy(c.needed, at.live)
		for _, ref := range at.head.Manifest.Refs() {
			c.runs[ref] = true
		}
	}
	return nil
}

func (o *oracle) sum(body []byte) manifest.SHA256 {
	s, ok := o.sums[&body[0]]
	if !ok {
		s = manifest.Sum(body)
		o.sums[&body[0]] = s
	}
	return s
}

// content proves what holds at every moment.
func (o *oracle) content(v sim.View) error {
	c, err := o.walk(v)
	if err != nil {
		return err
	}
	hint := v.Body(layout.Hint())
	if c == nil {
		if hint != nil {
			return errors.New("I12: a hint without a chain")
		}
		return nil
	}
	for seq := c.head.Manifest.Seq + 2; seq < c.head.Manifest.Seq+5; seq++ {
		if v.Body(layout.Manifest(seq)) != nil {
			return fmt.Errorf("I1: slot %d is taken and slot %d is not", seq, c.head.Manifest.Seq+1)
		}
	}
	for key, f := range c.needed {
		body := v.Body(key)
		switch {
		case body == nil:
			return fmt.Errorf("I10: %s is referenced and gone", key)
		case int64(len(body)) != f.Size || o.sum(body) != f.SHA256:
			return fmt.Errorf("I10: %s is not as referenced", key)
		}
	}
	for ref := range c.runs {
		if body := v.Body(ref.Key); ref.Offset+ref.Size > int64(len(body)) || ref.Check(body[ref.Offset:ref.Offset+ref.Size]) != nil {
			return fmt.Errorf("I10: %s is referenced and is not there as it should be", ref.Key)
		}
	}
	if hint == nil {
		return nil
	}
	h, err := manifest.DecodeHint(hint)
	if err != nil {
		return fmt.Errorf("I12: %w", err)
	}
	if slot := v.Body(layout.Manifest(h.Seq)); slot == nil || o.sum(slot) != h.SHA256 {
		return fmt.Errorf("I12: the hint names manifest %d, which is not so", h.Seq)
	}
	return nil
}

// write proves what no write may do.
func (o *oracle) write(key string, before, after []byte) error {
	once := strings.HasPrefix(key, layout.Manifests()) || key == layout.Format() || strings.HasPrefix(key, "_batcher/_tables/")
	switch {
	case key == layout.Hint() || before == nil:
		return nil
	case once:
		return fmt.Errorf("I13: %s was written once and is changed", key)
	case after != nil && !bytes.Equal(before, after):
		return fmt.Errorf("%s gets two contents", key)
	}
	return nil
}

// note proves what a process holds to be true.
func (o *oracle) note(v sim.View, process string, note any) error {
	c, err := o.walk(v)
	if err != nil {
		return err
	}
	switch n := note.(type) {
	case ack:
		if c == nil || c.attempts[n.attempt] != n.seq {
			return fmt.Errorf("I6: %s was promised slot %d for attempt %s, which is not there", process, n.seq, n.attempt)
		}
	case fenced:
		if c == nil || c.at(n.seq).head.Manifest.GCFloor != n.seq {
			return fmt.Errorf("%s was promised a fence at %d, which is not there", process, n.seq)
		}
	case widened:
		if kind := c.at(n.seq).kind("k"); kind != schema.JSON {
			return fmt.Errorf("%s was promised that the column is JSON at manifest %d, it is %s", process, n.seq, kind)
		}
	case ended:
		if err := o.end(v, c, n); err != nil {
			return fmt.Errorf("%s: %w", process, err)
		}
		if n.err != nil && process == "recover" {
			return fmt.Errorf("I18: a run without rivals and faults failed: %w", n.err)
		}
	}
	return nil
}

// end proves that a run ended as it says.
func (o *oracle) end(v sim.View, c *chain, n ended) error {
	if !harmless(n.err) {
		return fmt.Errorf("no fault explains the error: %w", n.err)
	}
	if n.err == nil {
		for _, key := range n.drains {
			if c == nil || !c.ever[key] {
				return fmt.Errorf("I6: success was reported and %s was never consumed", key)
			}
		}
		return nil
	}
	if errors.Is(n.err, object.ErrDenied) && !errors.Is(n.err, commit.ErrUnresolved) {
		return o.nothingOf(v, c, n)
	}
	return nil
}

// nothingOf proves that a run which says "not committed" left nothing that is or
// can become committed: its last attempt is not in the chain nor on its way.
func (o *oracle) nothingOf(v sim.View, c *chain, n ended) error {
	if len(n.drawn) == 0 {
		return nil
	}
	last := n.drawn[len(n.drawn)-1]
	if _, in := c.attempts[last]; in {
		return fmt.Errorf("said to be not committed, and it is: %w", n.err)
	}
	for key, body := range v.Delayed() {
		if strings.HasPrefix(key, layout.Manifests()) && v.Body(key) == nil && bytes.Contains(body, []byte(`"attempt":"`+last.String())) {
			return fmt.Errorf("said to be not committed, and it may still be: %w", n.err)
		}
	}
	return nil
}

// rest proves what holds when all is done.
func (o *oracle) rest(v sim.View) error {
	c, err := o.walk(v)
	if err != nil {
		return err
	}
	if c == nil {
		return errors.New("no chain")
	}
	for _, key := range o.world.keys {
		if c.consumed[key] != 1 {
			return fmt.Errorf("object %s is consumed %d times", key, c.consumed[key])
		}
	}
	if len(c.consumed) != len(o.world.keys) {
		return fmt.Errorf("%d objects consumed, %d are there", len(c.consumed), len(o.world.keys))
	}
	head := v.Body(layout.Manifest(c.head.Manifest.Seq))
	err, known := o.audited[&head[0]]
	if !known {
		err = o.audit(v, c.reads*recordsPerObject)
		o.audited[&head[0]] = err
	}
	return err
}

// audit reads every row back and holds it against the source. It proves the
// record of every batch, also of those that a rewind took back.
func (o *oracle) audit(v sim.View, records int) error {
	p := o.world.invoke(v, nil, invocation{})
	a := audit.Verifier{Log: p.Log, Store: v, Source: p.Source, Set: p.Set, Rules: p.Rules, Table: "events", Dead: "events_dead", Logger: quiet}
	rep, err := a.Verify(context.Background(), audit.Options{Checks: audit.CheckRows | audit.CheckHashes | audit.CheckSource})
	switch {
	case err != nil:
		return err
	case len(rep.Violations) > 0:
		x := rep.Violations[0]
		return fmt.Errorf("%s at manifest %d: %s", x.Invariant, x.Seq, x.Detail)
	case rep.Lost+rep.Doubled != 0 || rep.Source.Verified != int64(records):
		return fmt.Errorf("I14: %d lost, %d doubled, %d of %d records verified", rep.Lost, rep.Doubled, rep.Source.Verified, records)
	}
	return nil
}
