package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Tell makes the tables at a place with the program, and says what stands in them.
func Tell(ctx context.Context, program, dir string, place Place) ([]Case, error) {
	var all []Case
	for _, story := range []func(context.Context, string, string, Place) ([]Case, error){life, eras, split, halted, hinted} {
		cases, err := story(ctx, program, dir, place)
		if err != nil {
			return nil, fmt.Errorf("tables at %s: %w", place.Name, err)
		}
		all = append(all, cases...)
	}
	return all, nil
}

// teller gathers the cases of one pipeline.
type teller struct {
	*pipeline
	rows    []Row // of the main table, now
	dead    []Row // dead letters
	columns []Column
	cases   []Case
	err     error
}

// feed has a run take lines, unless an earlier step failed.
func (t *teller) feed(name string, lines []any) {
	if t.err != nil {
		return
	}
	var rows []Row
	rows, t.err = t.run(name, lines)
	for _, row := range rows {
		if _, dead := row["code"]; dead {
			t.dead = append(t.dead, row)
		} else {
			t.rows = append(t.rows, row)
		}
	}
}

// amend gives the last row other values.
func (t *teller) amend(values Row) {
	if t.err == nil {
		row := maps.Clone(t.rows[len(t.rows)-1])
		maps.Copy(row, values)
		t.rows = append(slices.Clone(t.rows[:len(t.rows)-1]), row)
	}
}

// call has the program do something, unless an earlier step failed.
func (t *teller) call(args ...string) {
	if t.err == nil {
		t.err = t.do(nil, args...)
	}
}

// tell makes a case of the main table as it is now.
func (t *teller) tell(name string, filters ...Filter) {
	if t.err != nil {
		return
	}
	var at moment
	if at, t.err = t.now(); t.err != nil {
		return
	}
	c := Case{Name: name, Table: t.table("events"), Version: &at.version, Columns: t.columns, Key: "n", Rows: slices.Clone(t.rows), Filters: filters}
	c.Files, t.err = t.files("events", "--at", strconv.FormatInt(at.seq, 10))
	t.cases = append(t.cases, c)
}

// last makes the case of the main table that is told next one that is read without
// saying a version.
func (t *teller) last(name string, filters ...Filter) {
	if t.tell(name, filters...); t.err == nil {
		t.cases[len(t.cases)-1].Version = nil
	}
}

// life is the story of a table that all happens to.
func life(ctx context.Context, program, dir string, place Place) ([]Case, error) {
	p, err := newPipeline(ctx, program, dir, place, "life", settings(pins))
	if err != nil {
		return nil, err
	}
	object, evolvedObject := column("o", "struct<x:int64,p:struct<y:string>>"), column("o", "struct<x:int64,p:struct<y:string>,z:bool>")
	t := &teller{pipeline: p, columns: columns(pins, object)}
	t.feed("a.ndjson", append(ordinary(1, 60), broken()...))
	t.tell("every type")
	t.columns = columns(pins, evolvedObject, column("extra", "string"))
	t.feed("b.ndjson", evolved(100, 20))
	t.tell("new columns")
	t.feed("c.ndjson", extreme())
	t.amend(Row{"w": nil, "_rescued": `{"w":3000000000}`})
	t.tell("nulls, zeros, ends", filters()...)
	t.call("compact", "--all")
	t.tell("merged", filters()...)
	t.call("schema", "widen", "w", "int64", "--confirm")
	wide := slices.Clone(pins)
	wide[len(wide)-1] = [2]string{"w", "int64"}
	t.columns = columns(wide, evolvedObject, column("extra", "string"))
	t.err = errors.Join(t.err, p.configure(settings(wide)))
	t.amend(Row{"w": json.Number("3000000000"), "_rescued": nil})
	t.tell("widened")
	before, err := t.now()
	if err != nil {
		return nil, errors.Join(t.err, err)
	}
	kept := slices.Clone(t.rows)
	t.feed("d.ndjson", ordinary(200, 10))
	t.tell("one more run")
	t.call("rewind", strconv.FormatInt(before.seq, 10), "--confirm")
	again := t.rows
	t.rows = kept
	t.tell("rewound")
	t.rows = again
	t.feed("e.ndjson", ordinary(230, 1))
	for i := range 6 { // the checkpoint at version 10, and versions behind it
		t.feed(fmt.Sprintf("f%d.ndjson", i), ordinary(240+i, 1))
	}
	t.last("last, behind a checkpoint", filters()...)
	t.tellDead()
	return t.cases, t.err
}

// tellDead makes a case of the dead letters. What the program says of them in words is
// left out.
func (t *teller) tellDead() {
	if t.err != nil {
		return
	}
	c := Case{Name: "dead letters", Table: t.table("events_dead"), Partial: true, Key: "_offset", Rows: t.dead, Columns: []Column{
		column("_source", "string"), column("_offset", "int64"), column("raw", "bytes"), column("raw_length", "int64"), column("code", "string")}}
	c.Files, t.err = t.files("events_dead")
	t.cases = append(t.cases, c)
}

// eras is a table with dates and instants that not every engine has.
func eras(ctx context.Context, program, dir string, place Place) ([]Case, error) {
	pins := [][2]string{{"n", "int64"}, {"day", "date"}, {"at", "timestamp"}}
	p, err := newPipeline(ctx, program, dir, place, "eras", settings(pins))
	if err != nil {
		return nil, err
	}
	t := &teller{pipeline: p, columns: columns(pins)}
	t.feed("a.ndjson", ancient())
	t.last("years 1 to 9999", Filter{"day", "=", "date", "0001-01-01"}, Filter{"day", ">", "date", "9999-12-30"}, Filter{"at", "<", "timestamp", "1582-10-15T00:00:01Z"})
	return t.cases, t.err
}

// split is a table with partitions, of which the empty string is one, and nulls.
func split(ctx context.Context, program, dir string, place Place) ([]Case, error) {
	pins := [][2]string{{"n", "int64"}, {"kind", "string"}, {"size", "int32"}, {"at", "timestamp"}}
	p, err := newPipeline(ctx, program, dir, place, "split", "partition_by: [{column: kind}, {column: size}, {day: at}]\n"+settings(pins))
	if err != nil {
		return nil, err
	}
	t := &teller{pipeline: p, columns: columns(pins, column("at_day", "date"))}
	kinds := []any{"a", "a b/é%=c", "", nil, `\N`}
	var lines []any
	for i := range 40 {
		day := fmt.Sprintf("2026-01-%02d", i%3+1)
		lines = append(lines, Row{"n": num(i), "kind": kinds[i%len(kinds)], "size": num(i % 2), "at": day + "T12:00:00Z", "_day": day})
	}
	t.feed("a.ndjson", lines)
	t.feed("b.ndjson", []any{Row{"n": num(90), "kind": "a", "size": num(-1), "at": "1969-12-31T23:59:59Z", "_day": "1969-12-31"}, Row{"n": num(91)}})
	for _, row := range t.rows {
		row["at_day"] = row["_day"]
	}
	t.last("partitions", Filter{"kind", "=", "string", "a b/é%=c"}, Filter{"kind", "null", "string", ""}, Filter{"kind", "=", "string", `\N`},
		Filter{"size", "<", "int32", "0"}, Filter{"size", "=", "int32", "1"}, Filter{"at_day", "=", "date", "2026-01-02"},
		Filter{"at_day", "<", "date", "2026-01-01"}, Filter{"at", "<", "timestamp", "1970-01-01T00:00:00Z"}, Filter{"n", ">=", "int64", "39"})
	for i := range t.cases {
		t.cases[i].Partitions = []string{"kind"}
	}
	return t.cases, t.err
}

// halted is a table whose last manifest was committed and not projected, as after a
// crash between the two: data files of it lie there, and readers of Delta see none.
func halted(ctx context.Context, program, dir string, place Place) ([]Case, error) {
	pins := [][2]string{{"n", "int64"}, {"s", "string"}}
	p, err := newPipeline(ctx, program, dir, place, "halted", settings(pins))
	if err != nil {
		return nil, err
	}
	t := &teller{pipeline: p, columns: columns(pins)}
	t.feed("a.ndjson", []any{Row{"n": num(1), "s": "seen"}, Row{"n": num(2), "s": ""}})
	t.last("projection behind the chain", Filter{"s", "=", "string", ""})
	if t.err == nil {
		_, t.err = t.run("b.ndjson", []any{Row{"n": num(3), "s": "not seen"}}, "--set", "publish=[]")
	}
	return t.cases, t.err
}
