package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"batcher/column"
	"batcher/manifest"
	"batcher/record"
	"batcher/schema"
	"batcher/source"
)

// comparison holds a range against the rows that are live of it.
type comparison struct {
	*awaited         // of manifest 0: found by its name, see byName
	unsure   bool    // what would be other rows need not be wrong
	lettered bool    // letters of it may have been replayed, edited, or discarded since
	set      int     // of columns that are compared
	want     records // what the source gives; letters that were met are struck out
	good     tally   // live rows, without letters that became rows
	bad      tally   // live letters, where none can have become a row
	wrong    bool    // a letter that is there twice or has other bytes
	seen     *seen   // to tell positions
	err      error   // why the source gives nothing
}

// row takes a live row of the main table.
func (c *comparison) row(offset int64, id, content source.Hash) {
	switch _, letter := c.want.letters[offset]; {
	case c.seen != nil:
		c.seen.row(offset, content)
	case letter:
		delete(c.want.letters, offset) // replayed, edited or not
	default:
		c.good.add(id, content)
	}
}

// letter takes a live dead letter.
func (c *comparison) letter(offset int64, id, content source.Hash) {
	switch was, there := c.want.letters[offset]; {
	case c.seen != nil:
		c.seen.letter(offset, content)
	case !c.lettered:
		c.bad.add(id, content)
	case there && was == content:
		delete(c.want.letters, offset)
	default:
		c.wrong = true
	}
}

// holds says whether the live rows are the source's. Letters that are nowhere may
// have been discarded; their number is counted elsewhere.
func (c *comparison) holds() bool {
	return c.err == nil && !c.wrong && c.good == c.want.good && (c.lettered || c.bad == c.want.bad)
}

// place says which records of its object these are.
func (c *comparison) place() string {
	if c.seq == 0 {
		return ""
	}
	return fmt.Sprintf(" [%d, %d), which manifest %d consumed", c.From, c.To, c.seq)
}

// liveTable is a table at the head.
type liveTable struct {
	name   string
	schema *schema.Schema
	files  []manifest.File
}

// maxLetters bounds the dead letters that are kept at a time to be told from rows.
const maxLetters = 1 << 20

// atSource holds the rows of the head against the source, range by range, where the
// files in which they were committed are needed no more. However they came into the
// files that are live, they have to be what the source gives.
func (w *walk) atSource(ctx context.Context) error {
	st := w.stand()
	if len(st.ranges)+len(st.unlisted) == 0 {
		return nil
	}
	main, ok, err := w.liveTable(ctx, w.Table)
	if err != nil || !ok {
		return err
	}
	dead, ok, err := w.liveTable(ctx, w.Dead)
	if err != nil || !ok {
		return err
	}
	if err := w.byName(ctx, &st, main, dead); err != nil {
		return err
	}
	slices.SortFunc(st.ranges, func(a, b *comparison) int {
		return cmp.Or(strings.Compare(a.Source(), b.Source()), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	missing := int64(0)
	for all := st.ranges; len(all) > 0; {
		w.step("range", int64(len(st.ranges)-len(all)), int64(len(st.ranges)))
		g := &gathering{walk: w, main: main, dead: dead}
		n, err := g.expect(ctx, all)
		if err != nil {
			return err
		}
		if err := g.gather(ctx, all[:n]); err != nil {
			return err
		}
		for _, c := range all[:n] {
			if c.holds() {
				missing += int64(len(c.want.letters))
			}
		}
		if err := g.judge(ctx, all[:n]); err != nil {
			return err
		}
		all = slices.Delete(all, 0, n) // what was compared is let go of
	}
	if missing > st.discarded {
		w.report.Source.Mismatch += missing - st.discarded
		w.violation("I14", w.head.Manifest.Seq, "%d dead letters of the source are nowhere, and %d were discarded", missing, st.discarded)
	}
	return nil
}

// liveTable reads what a table is at the head; false if it cannot be told, which is
// reported where lists are proved.
func (w *walk) liveTable(ctx context.Context, name string) (liveTable, bool, error) {
	seq, t := w.head.Manifest.Seq, w.head.Manifest.Tables[name]
	s, err := w.Log.LoadSchema(ctx, t.Schema)
	if err != nil {
		return liveTable{}, false, w.damage(err, "I10", seq)
	}
	live, err := w.Log.LoadLive(ctx, t.Live)
	if err != nil {
		return liveTable{}, false, w.damage(err, "I10", seq)
	}
	return liveTable{name, s, live}, true, nil
}

// gathering reads live rows of some ranges.
type gathering struct {
	*walk
	main, dead liveTable
	sets       [][]int32 // columns of the main table that are not compared, by comparison.set
	byName     map[string][]*comparison
	names      []string // in order
}

// expect reads ranges of the source until enough letters have to be kept, and returns
// how many it has read.
func (g *gathering) expect(ctx context.Context, all []*comparison) (n int, err error) {
	letters := 0
	for n < len(all) && letters < maxLetters {
		c := all[n]
		n++
		table := c.table
		if table == nil {
			table = g.main.schema
		}
		c.want = records{drop: retyped(table, g.main.schema)}
		if c.lettered {
			c.want.letters = map[int64]source.Hash{}
		}
		if c.err = g.reread(ctx, c.Range, table, &c.want); unproved(c.err) {
			return n, c.err
		}
		switch {
		case c.err != nil:
			c.want.letters = nil
		case c.seq == 0:
			c.Records = c.want.good.rows + c.want.bad.rows
		}
		c.set = g.setOf(c.want.drop)
		letters += len(c.want.letters)
	}
	return n, nil
}

// setOf returns the index of a set of columns.
func (g *gathering) setOf(drop []int32) int {
	i := slices.IndexFunc(g.sets, func(set []int32) bool { return slices.Equal(set, drop) })
	if i < 0 {
		i = len(g.sets)
		g.sets = append(g.sets, drop)
	}
	return i
}

// retyped returns the fields at the top of a schema that are not what they were,
// because a rewrite changed their types, and with them _rescued, from which values may
// have come back.
func retyped(was, is *schema.Schema) (drop []int32) {
	for _, f := range was.Fields {
		i := slices.IndexFunc(is.Fields, func(o schema.Field) bool { return o.ID == f.ID })
		if i < 0 || schema.CheckGrowth(&schema.Schema{Fields: []schema.Field{f}, LastID: was.LastID},
			&schema.Schema{Fields: is.Fields[i : i+1], LastID: is.LastID}) != nil {
			drop = append(drop, f.ID)
		}
	}
	if drop != nil && !slices.Contains(drop, schema.RescuedID) {
		drop = append(drop, schema.RescuedID)
	}
	return drop
}

// gather passes the live rows of ranges to their comparisons. Files that have no row
// of their objects by what is said of them are not read.
func (g *gathering) gather(ctx context.Context, of []*comparison) error {
	g.byName, g.names = map[string][]*comparison{}, nil
	for _, c := range of {
		if c.err != nil {
			continue
		}
		name := c.Source()
		if g.byName[name] == nil {
			g.names = append(g.names, name)
		}
		g.byName[name] = append(g.byName[name], c)
	}
	seq := g.head.Manifest.Seq
	for _, t := range []struct {
		liveTable
		take func(*column.Block) error
	}{{g.main, g.rows}, {g.dead, g.letters}} {
		for i := range t.files {
			if !g.mayHold(&t.files[i]) {
				continue
			}
			if err := g.scan(ctx, seq, t.files[i:i+1], t.schema, t.take); err != nil {
				return err
			}
			g.whole[t.files[i].Key] = true
		}
	}
	return nil
}

// mayHold says whether a file may have rows of the objects, by the statistics of its
// _source, which are proved wherever rows are read. A minimum may be cut, a maximum
// not given.
func (g *gathering) mayHold(f *manifest.File) bool {
	if len(g.names) == 0 {
		return false
	}
	for i := range f.Columns {
		s := &f.Columns[i]
		if s.ID != schema.SourceID {
			continue
		}
		var least, greatest string
		if json.Unmarshal(s.Min, &least) != nil {
			return true
		}
		first := sort.SearchStrings(g.names, least)
		if first == len(g.names) {
			return false
		}
		return json.Unmarshal(s.Max, &greatest) != nil || g.names[first] <= greatest
	}
	return true
}

// find returns the comparison that a record belongs to; nil if it is none of these.
func (g *gathering) find(name string, offset int64) *comparison {
	of := g.byName[name]
	i := sort.Search(len(of), func(i int) bool { return int64(of[i].From) > offset }) - 1
	if i < 0 || !spanOf(&of[i].Range).has(offset) {
		return nil
	}
	return of[i]
}

// rows takes a block of the main table.
func (g *gathering) rows(b *column.Block) error {
	cursors := make([]*column.Cursor, len(g.sets))
	for i, drop := range g.sets {
		cursors[i] = column.NewCursor(leave(b, drop))
	}
	return recordIDs(b, func(name string, offset int64) {
		for _, c := range cursors {
			c.Next()
		}
		if c := g.find(name, offset); c != nil {
			c.row(offset, record.IDHash(name, offset), source.Hash(cursors[c.set].Hash()))
		}
	})
}

// letters takes a block of the dead-letter table.
func (g *gathering) letters(b *column.Block) error {
	cursor := column.NewCursor(leave(b, allBut(b.Schema, deadColumns)))
	return recordIDs(b, func(name string, offset int64) {
		cursor.Next()
		if c := g.find(name, offset); c != nil {
			c.letter(offset, record.IDHash(name, offset), source.Hash(cursor.Hash()))
		}
	})
}

// leave returns a block without some fields at its top.
func leave(b *column.Block, drop []int32) *column.Block {
	if len(drop) == 0 {
		return b
	}
	out := &column.Block{Schema: &schema.Schema{LastID: b.Schema.LastID}, Rows: b.Rows}
	at := 0
	for _, f := range b.Schema.Fields {
		width := f.Type.Width()
		if !slices.Contains(drop, f.ID) {
			out.Schema.Fields = append(out.Schema.Fields, f)
			out.Columns = append(out.Columns, b.Columns[at:at+width]...)
		}
		at += width
	}
	return out
}

// allBut are the fields at the top of a schema that are not among some.
func allBut(s *schema.Schema, some []int32) (ids []int32) {
	for _, f := range s.Fields {
		if !slices.Contains(some, f.ID) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// judge counts what was compared, and names what differs.
func (g *gathering) judge(ctx context.Context, all []*comparison) error {
	var differ []*comparison
	for _, c := range all {
		if !c.holds() && !gone(c.err) && !c.unsure && c.seq != 0 {
			others, err := g.othersBytes(ctx, c.Range)
			if err != nil {
				return err
			}
			c.unsure = c.unsure || others
		}
		switch {
		case c.holds():
			g.compared(c.Key, SourceReport{Verified: c.Records})
		case gone(c.err) || c.unsure || c.seq == 0 && c.Records == 0:
			g.compared(c.Key, SourceReport{Unverifiable: c.Records})
		case g.Config != "" && g.Config != c.config:
			g.compared(c.Key, SourceReport{Unverifiable: c.Records, Reconfigured: c.Records})
		case c.err != nil:
			g.report.Source.Mismatch += c.Records
			g.violation("I14", c.seq, "object %q cannot be decoded as it was: %v", c.Key, c.err)
		default:
			g.report.Source.Mismatch += c.Records
			differ = append(differ, c)
		}
	}
	if err := g.locate(ctx, differ); err != nil {
		return err
	}
	for _, c := range differ {
		where := ""
		if c.seen != nil {
			where = c.seen.String()
		}
		g.violation("I14", g.head.Manifest.Seq, "object %q: live rows differ from the source's records%s%s", c.Source(), c.place(), where)
	}
	return nil
}
