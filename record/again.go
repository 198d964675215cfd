package record

import (
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"batcher/source"
)

// Layout says how the records of an object are laid out, as far as one of them
// can be read without the others.
type Layout struct {
	kind    Kind
	dialect Dialect
	keys    [][]byte
	above   int      // CSV: lines above the table that were found out, or sep=
	by      parser   // made for the decoder of
	of      *Decoder // that used the layout last
}

// JSONLayout is the layout of records that are JSON objects.
func JSONLayout() *Layout { return &Layout{kind: NDJSON} }

// LinesLayout is the layout of lines of text.
func LinesLayout() *Layout { return &Layout{kind: Lines} }

// Dialect is how rows of CSV are written, with what was found out, and how many lines
// above the table were found out to be no rows.
func (l *Layout) Dialect() (d Dialect, above int) { return l.dialect, l.above }

// Kind is the format of the records.
func (l *Layout) Kind() Kind { return l.kind }

// ErrNoText says that records of a format are no text: one by itself cannot be
// read.
var ErrNoText = errors.New("records of this format are no text")

// Layout looks at the head of an object whose stored bytes are r. It fails as
// Decode does.
func (d *Decoder) Layout(stop Stopper, o Object, r io.Reader) (*Layout, error) {
	if err := d.in.open(stop, source.KeyOf(o.Source), r); err != nil {
		return nil, err
	}
	in, err := d.openObject(o)
	if err != nil {
		return nil, err
	}
	if z, ok := in.(*zerosReader); ok {
		in = z.reader
	}
	switch in := in.(type) {
	case *csvReader:
		return &Layout{kind: CSV, dialect: in.by.dialect, keys: slices.Clone(in.by.keys), above: in.above}, nil
	case *lineReader:
		if _, text := in.by.(lineParser); text {
			return LinesLayout(), nil
		}
		return JSONLayout(), nil
	case *documentReader:
		return JSONLayout(), nil
	}
	return nil, ErrNoText
}

// Again takes one record by itself: its text, which is kept nowhere, its source
// and its position there. What becomes of it is as if Decode had cut it out of its
// object. It fails as Decode does.
func (d *Decoder) Again(l *Layout, name string, pos int64, text []byte) error {
	if l.of != d {
		l.by, l.of = d.parserOf(l), d
	}
	d.id = append(make([]byte, 0, len(name)+8), name...)
	rec := record{pos: pos, next: pos, raw: text, length: int64(len(text)), valid: utf8.Valid(text), by: l.by}
	return d.take(&tally{}, &rec)
}

// parserOf returns what understands records of a layout.
func (d *Decoder) parserOf(l *Layout) parser {
	switch l.kind {
	case CSV:
		return &csvParser{scanner: &d.scanner, learner: &d.learner, dialect: l.dialect, keys: l.keys, kin: kinOf(l.keys)}
	case Lines:
		return lineParser{&d.scanner, &d.learner}
	}
	return jsonParser{&d.scanner, &d.learner}
}

// ByName is the kind of an object as far as its name tells it alone: Auto where its
// content does.
func (f Format) ByName(name string) Kind {
	if f.Kind != Auto && f.Kind != "" {
		return f.Kind
	}
	switch extension(name) {
	case ".csv", ".tsv", ".tab", ".psv":
		return CSV
	case ".ndjson", ".jsonl", ".json", ".geojson":
		return NDJSON
	case ".parquet":
		return Parquet
	case ".avro":
		return Avro
	}
	return Auto
}

// Head is the kind of an object whose stored bytes are r and the beginning of
// its text, in UTF-8, up to 64 KiB; of a container with types of its own there is
// none. It is valid until the decoder reads again. It fails as Decode does.
func (d *Decoder) Head(stop Stopper, o Object, r io.Reader) (Kind, []byte, error) {
	if err := d.in.open(stop, source.KeyOf(o.Source), r); err != nil {
		return "", nil, err
	}
	w := &d.text
	w.reset(&d.in)
	if err := w.fill(); err != nil {
		return "", nil, err
	}
	name := source.KeyOf(o.Source)
	if kind := d.opt.Format.of(name, w.rest()); kind == Parquet || kind == Avro {
		return kind, nil, nil
	}
	if err := d.convert(d.opt.Format.Encoding); err != nil {
		return "", nil, err
	}
	head := w.rest()[:min(len(w.rest()), headBytes)]
	return d.opt.Format.of(name, head), head, nil
}
