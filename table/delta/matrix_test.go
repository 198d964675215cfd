package delta_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"batcher/localdev"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
)

// matrix is a history in which every invocation that keeps tables is broken at each of
// its calls in turn, while bystanders read.
type matrix struct {
	*lake
	bytes                                         *memstore.Store
	reader                                        *bystander
	seed                                          maphash.Seed
	input                                         map[string]map[string]map[string]float64 // rows of an object of the source, by table
	readers                                       []visit
	known                                         map[*byte]*link // after the manifest with these bytes
	calls, breaks, states, versions, rows, waited int
}

// tables are the rows of each table, as bystanders know them.
type tables map[string]map[string]float64

// visit is a reader who opened a version and takes his time.
type visit struct {
	at time.Time
	*opened
}

func newMatrix(t *testing.T) *matrix {
	l := newLake(t, nil)
	m := &matrix{lake: l, reader: newBystander(), seed: maphash.MakeSeed(), input: map[string]map[string]map[string]float64{}, known: map[*byte]*link{}}
	m.bytes = memstore.New(memstore.WithClock(l.clock.Now))
	l.store = m.bytes
	return m
}

// feed has a run take an object, which is not published.
func (m *matrix) feed(lines ...string) {
	m.t.Helper()
	key := fmt.Sprintf("o%d", len(m.input))
	var body bytes.Buffer
	rows := map[string]map[string]float64{"events": {}, "events_dead": {}}
	for _, line := range lines {
		var record struct{ N float64 }
		table := "events"
		if json.Unmarshal([]byte(line), &record) != nil {
			table = "events_dead"
		}
		rows[table][fmt.Sprintf("%s:%d", key, body.Len())] = record.N
		fmt.Fprintln(&body, line)
	}
	m.input[key] = rows
	m.run(key, body.String())
}

// link is what is read of a manifest.
type link struct {
	Kind       string
	CreatedAt  time.Time `json:"created_at"`
	RetainFrom int       `json:"retain_from"`
	RewindTo   *int      `json:"rewind_to"`
	Batch      *struct{ Ranges []struct{ Key string } }
	Tables     map[string]struct {
		Version int
		LastSeq int `json:"last_seq"`
	}
	after tables
}

// chain reads all manifests, and says what stands in the tables after each: what the
// source has, and never what the files have.
func (m *matrix) chain(held map[string][]byte) ([]*link, error) {
	var links []*link
	for {
		body := held[fmt.Sprintf("_batcher/events/manifests/%020d.json", len(links))]
		if body == nil {
			return links, nil
		}
		l, ok := m.known[&body[0]]
		if !ok {
			l = &link{}
			if err := json.Unmarshal(body, l); err != nil {
				return nil, err
			}
			if err := m.apply(l, links); err != nil {
				return nil, fmt.Errorf("manifest %d: %w", len(links), err)
			}
			m.known[&body[0]] = l
		}
		links = append(links, l)
	}
}

// apply says what stands in the tables after a manifest.
func (m *matrix) apply(l *link, before []*link) error {
	switch l.Kind {
	case "genesis":
		l.after = tables{"events": {}, "events_dead": {}}
	case "rewind":
		l.after = before[*l.RewindTo].after
	case "compact", "rewrite", "floor", "expire":
		l.after = before[len(before)-1].after
	case "data":
		l.after = tables{}
		for table, rows := range before[len(before)-1].after {
			l.after[table] = maps.Clone(rows)
			for _, r := range l.Batch.Ranges {
				maps.Copy(l.after[table], m.input[r.Key][table])
			}
		}
	default:
		return fmt.Errorf("its kind %s is no part of the history", l.Kind)
	}
	return nil
}

// look has bystanders read every version that they may still open, and those who opened
// one before go on with it. It returns all who read now.
func (m *matrix) look(store *memstore.Store, readers []visit) ([]visit, error) {
	held, now := store.Objects(), m.clock.now
	for _, r := range readers {
		if !now.Before(r.at.Add(readersKeep)) {
			continue
		}
		m.waited++
		for key, body := range r.needs {
			if !bytes.Equal(held[key], body) {
				return nil, fmt.Errorf("who opened version %d of %s %s ago misses %s", r.version, r.table, now.Sub(r.at), key)
			}
		}
	}
	links, err := m.chain(held)
	if err != nil {
		return nil, err
	}
	readers = slices.Clip(readers)
	for table := range links[0].after {
		if len(listLog(held, table).commits) == 0 {
			continue // nothing is published yet
		}
		last, err := m.reader.last(held, table)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(readers, func(r visit) bool { return r.table == table && r.version > last.version }); i >= 0 {
			return nil, fmt.Errorf("%s was at version %d and is at %d", table, readers[i].version, last.version)
		}
		if err := m.open(held, links, last); err != nil {
			return nil, err
		}
		readers = append(readers, visit{now, last})
	}
	return readers, nil
}

// open opens each version of a table, from the last one back to the first that is
// retained and that was shown within the 30 days for which logs are kept, and holds it
// against the manifest that made it.
func (m *matrix) open(held map[string][]byte, links []*link, last *opened) error {
	from, superseded := max(0, links[links[len(links)-1].RetainFrom].Tables[last.table].Version), m.clock.now
	found := false
	for seq, l := range slices.Backward(links) {
		t := l.Tables[last.table]
		if t.LastSeq != seq || t.Version > last.version {
			continue
		}
		if t.Version < from || m.clock.now.Sub(superseded) >= 30*day {
			break
		}
		o := last
		if t.Version < last.version {
			var err error
			if o, err = m.reader.open(held, last.table, t.Version); err != nil {
				return err
			}
		}
		if !maps.Equal(o.rows, l.after[last.table]) {
			return fmt.Errorf("version %d of %s has the rows %v, after manifest %d there are %v", t.Version, last.table, o.rows, seq, l.after[last.table])
		}
		m.versions, m.rows, superseded, found = m.versions+1, m.rows+len(o.rows), l.CreatedAt, true
	}
	if !found {
		return fmt.Errorf("no manifest made version %d of %s", last.version, last.table)
	}
	return nil
}

// try breaks a verb at each of its calls, in each way, and then does it for good. What is
// done again after a break is the same, but for what is not to be done twice.
func (m *matrix) try(name string, do, again verb) {
	m.t.Helper()
	now, drawn := m.clock.now, m.random.n
	var err error
	if m.readers, err = m.look(m.bytes, m.readers); err != nil {
		m.t.Fatalf("before %s: %v", name, err)
	}
	counted := faultstore.New(m.bytes.Clone(), nil)
	if err := do(m.lake, counted); err != nil {
		m.t.Fatalf("%s: %v", name, err)
	}
	seen := map[uint64]bool{}
	for i, call := range counted.Calls() {
		if strings.Contains(call.Key, "events_batches") || i%everyCall() > 0 {
			continue // for the table of batches see TestCrashAnywhere and TestBatches_BeginLate
		}
		for _, w := range ways(call.Op) {
			m.clock.now, m.random.n = now, drawn
			c := m.bytes.Clone()
			struck := faultstore.New(c, w.script(i+1))
			_ = do(m.lake, struck) // whatever it says
			if err := m.recover(c, struck, again, w, seen); err != nil {
				m.t.Fatalf("%s, %s: call %d of %d, %s %s: %v", name, w.name, i+1, len(counted.Calls()), call.Op, call.Key, err)
			}
			m.breaks++
		}
		m.calls++
	}
	m.clock.now = now
	if err := do(m.lake, m.bytes); err != nil {
		m.t.Fatalf("%s: %v", name, err)
	}
}

// recover looks at what a broken invocation has left, and at what later ones make of it.
// What a try has left before, at the break or when all was done again, is not gone
// through twice.
func (m *matrix) recover(c *memstore.Store, struck *faultstore.Store, again verb, w way, seen map[uint64]bool) error {
	readers, known := m.readers, false
	once := func() {
		print := m.fingerprint(c)
		known = !w.late && seen[print]
		seen[print] = true
	}
	for _, s := range []struct {
		name string
		do   func() error
	}{
		{"at the break", func() error { once(); return nil }},
		{"published", func() error { return publishVerb(m.lake, c) }},
		{"done again", func() error { return again(m.lake, c) }},
		{"late writes landed", func() error {
			once()
			if w.after {
				return nil
			}
			return m.release(struck)
		}},
		{"collected", func() error { m.clock.add(readersKeep - day); return gcVerb(m.lake, c) }},
		{"expired", func() error { return expireVerb(m.lake, c) }},
		{"collected again", func() error { return gcVerb(m.lake, c) }},
		{"late writes landed at last", func() error { return m.release(struck) }},
	} {
		err := s.do()
		if known {
			return nil
		}
		if err == nil {
			readers, err = m.look(c, readers)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	m.states++
	return nil
}

// release lets late writes land, which may meet what is there already, or an upload that
// its sender has given up.
func (m *matrix) release(struck *faultstore.Store) error {
	for _, err := range struck.Release(m.t.Context()) {
		if err != nil && !errors.Is(err, object.ErrExists) && !errors.Is(err, object.ErrUnsupported) {
			return err
		}
	}
	return nil
}

// fingerprint is the same for stores that hold the same.
func (m *matrix) fingerprint(s *memstore.Store) uint64 {
	var sum uint64
	for key, body := range s.Objects() {
		var h maphash.Hash
		h.SetSeed(m.seed)
		h.WriteString(key)
		h.WriteByte(0)
		h.Write(body)
		sum += h.Sum64()
	}
	return sum
}

// TestNoReaderEverMissesOrDoublesARow plays months of a pipeline: new columns, dead
// letters, merges, a widening, rewinds over both, snapshots that expire, garbage and old
// logs that are collected. Every invocation that keeps tables is broken at each of its
// calls. At that moment, and after later invocations have gone on, every version that is
// retained shows each row of its manifest once, and who opened a version still reads it.
func TestNoReaderEverMissesOrDoublesARow(t *testing.T) {
	m := newMatrix(t)
	var plain, wide manifest.Seq
	n := 0
	feed := func(times int, lines ...string) {
		for range times {
			m.feed(append([]string{fmt.Sprintf(`{"n":%d}`, n), fmt.Sprintf(`{"n":%d,"s":"x"}`, n+1)}, lines...)...)
			n += 2
			m.clock.add(day)
		}
	}
	feed(4)
	m.try("publish the first versions", publishVerb, publishVerb)
	feed(2, `{"n":-1,"more":true}`, "broken")
	m.try("publish a new column and dead letters", publishVerb, publishVerb)
	plain = m.head().Manifest.Seq
	m.try("merge", mergeVerb, mergeVerb)
	feed(1)
	m.try("widen", widenVerb, widenVerb)
	feed(1, "broken")
	m.try("publish", publishVerb, publishVerb)
	wide = m.head().Manifest.Seq
	m.clock.add(day)
	m.try("rewind over a widening and a merge", rewindVerb(&plain), publishVerb)
	m.try("merge what was restored", mergeVerb, mergeVerb)
	feed(1)
	m.try("publish a checkpoint", publishVerb, publishVerb)
	m.try("rewind to a widened table", rewindVerb(&wide), publishVerb)
	m.clock.add(3 * day)
	m.try("expire", expireVerb, expireVerb)
	m.try("collect", gcVerb, gcVerb)
	feed(3, "broken")
	m.try("merge again", mergeVerb, mergeVerb)
	m.clock.add(9 * day)
	m.try("expire what was merged", expireVerb, expireVerb)
	m.try("collect what was merged", gcVerb, gcVerb)

	feed(1)
	if err := mergeWith(m.log(m.store), m.lake, m.store); err != nil { // and killed before it published
		t.Fatal(err)
	}
	m.clock.add(12 * day)
	m.try("expire right after a late publication", expireVerb, expireVerb)
	m.try("collect right after a late publication", gcVerb, gcVerb)

	feed(5)
	m.try("publish the next checkpoint", publishVerb, publishVerb)
	m.clock.add(31 * day)
	feed(1)
	m.try("expire all before a month", expireVerb, expireVerb)
	m.try("collect with old logs", gcVerb, gcVerb)
	localdev.Figure("calls of publish, compact, widen, rewind, expire and gc that were broken, and breaks", []int{m.calls, m.breaks})
	localdev.Figure("different contents after those breaks that were examined to their end", m.states)
	localdev.Figure("versions that bystanders read around those breaks, and their rows", []int{m.versions, m.rows})
	localdev.Figure("readings around those breaks that began on an older version", m.waited)
	t.Logf("%d calls, %d breaks, %d contents, %d versions read with %d rows, %d readings of older versions",
		m.calls, m.breaks, m.states, m.versions, m.rows, m.waited)
}
