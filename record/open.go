package record

import (
	"bytes"
	"fmt"
	"io"

	"batcher/source"
)

// How containers with types of their own begin.
var (
	parquetMagic   = []byte("PAR1")
	encryptedMagic = []byte("PARE") // Parquet as well
	avroMagic      = []byte("Obj\x01")
)

// openObject finds out how an object is laid out and returns what cuts it. The
// container is open.
func (d *Decoder) openObject(o Object) (reader, error) {
	w := &d.text
	w.reset(&d.in)
	if err := w.fill(); err != nil {
		return nil, err
	}
	name := source.KeyOf(o.Source)
	kind := d.opt.Format.of(name, w.rest())
	if kind == Parquet || kind == Avro {
		return d.openTyped(o, kind)
	}
	declared := d.opt.Format.Encoding
	if own := d.opt.Format.CSV.Encoding; kind == CSV && own != "" {
		declared = own
	}
	if err := d.convert(declared); err != nil {
		return nil, err
	}
	zeros, err := d.zeros()
	if err != nil {
		return nil, err
	}
	head := w.rest()[:min(len(w.rest()), headBytes)]
	if bytes.IndexByte(head, 0) >= 0 {
		return nil, d.in.broken("binary data, not text"+binaryKind(head), nil)
	}
	in, err := d.openText(o, head)
	if r, ok := in.(*csvReader); ok && err == nil && o.From == 0 {
		d.guessed(r, o.Source)
	}
	if err == nil && zeros != nil {
		in = &zerosReader{reader: in, zeros: zeros}
	}
	return in, err
}

// guessed notes what was found out of an object that loses a row if it is wrong.
func (d *Decoder) guessed(r *csvReader, source string) {
	g, declared := &d.notes.guesses, d.opt.Format.CSV
	if declared.Header == "" && len(declared.Columns) == 0 && r.dialect.Header == Numbered && len(r.by.keys) > 0 {
		g.headless.add(source)
	}
	if r.dialect.Header == Named && !d.notes.header(r.by.keys) && r.doubt && (d.notes.headers > 1 || len(d.known.names) > 0) {
		g.strange.add(source)
	}
	if r.above > 0 {
		g.above.add(source)
	}
	if more, err := r.more(); r.dialect.Header == Named && len(r.by.keys) > 0 && err == nil && !more {
		g.alone.add(source)
	}
}

// openText returns what cuts text, whose beginning is in memory.
func (d *Decoder) openText(o Object, head []byte) (reader, error) {
	w, name := &d.text, source.KeyOf(o.Source)
	switch kind := d.opt.Format.of(name, head); kind {
	case CSV:
		r := &csvReader{window: w, dialect: d.opt.Format.CSV.withDefaults(), max: d.limits.MaxRecordBytes, earlier: Header(o.Header),
			by: &csvParser{scanner: &d.scanner, learner: &d.learner, known: d.known}}
		return r, r.open(name)
	case JSON:
		return &documentReader{window: w, by: jsonParser{&d.scanner, &d.learner}, max: d.limits.MaxRecordBytes, unnest: d.opt.Format.Unnest}, nil
	case Lines:
		return &lineReader{window: w, by: lineParser{&d.scanner, &d.learner}, max: d.limits.MaxRecordBytes}, nil
	case NDJSON:
		w.newline = endOfLine(head, NoQuote)
		return &lineReader{window: w, by: jsonParser{&d.scanner, &d.learner}, max: d.limits.MaxRecordBytes}, nil
	default:
		return nil, fmt.Errorf("unknown format %q", kind)
	}
}

// convert steps over a byte order mark, which goes before what is declared, and
// puts a converter in front of text that is not UTF-8.
func (d *Decoder) convert(declared string) error {
	w := &d.text
	e, mark, reason := markOf(w.rest())
	if reason != "" {
		return d.in.broken(reason, nil)
	}
	if mark == 0 {
		var err error
		if e, err = encodingOf(declared); err != nil {
			return err
		}
	}
	w.start, w.pos = w.start+mark, int64(mark)
	if e == nil {
		return nil
	}
	raw := bytes.Clone(w.rest())
	c := &converter{encoding: *e, r: io.MultiReader(bytes.NewReader(raw), &d.in)}
	w.reset(c)
	w.width, w.pos = e.size, int64(mark)
	return w.fill()
}
