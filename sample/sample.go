// Package sample looks at the beginnings of objects spread over an input and says
// what a pipeline file should declare of them.
//
// Duty: pick objects, read them as a run under the same settings would, show
// what comes out, and propose settings where a person knows more than the bytes
// say: an envelope, the zone of times, how dates and numbers are written, the
// encoding, columns from folders named like partitions.
//
// Invariants: what it shows is what a run would commit of the same bytes; a
// proposal is sure only where nothing in the sample speaks against it.
//
// It never writes, and reads a bounded part of the input.
package sample

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"batcher/column"
	"batcher/object"
	"batcher/record"
	"batcher/schema"
	"batcher/segment"
	"batcher/source/files"
)

// How much of the input is looked at.
const (
	sampleObjects = 16
	sampleBytes   = 1 << 20 // decoded bytes of each
	shownRows     = 3
	lookedRows    = 2000 // whose values are looked at
)

// Options say how a run would read the input.
type Options struct {
	Format record.Format
	Rules  schema.Rules
	Limits record.Limits
}

// Setting is a proposal for the pipeline file.
type Setting struct {
	Key   string `json:"key"`   // path in the pipeline file: source.files.unnest
	Value string `json:"value"` // as YAML
	Sure  bool   `json:"sure"`  // nothing in the sample speaks against it
	Why   string `json:"why"`   // what was seen
}

// Sample is what was seen of the input.
type Sample struct {
	Objects  int64          // below the path
	Bytes    int64          // of these, as stored
	Looked   int            // objects whose beginnings were read
	Records  int64          // of these, good and bad
	Dead     int64          // of these, bad
	Columns  []schema.Field // that a first run would publish
	Rows     []string       // the first ones, as JSON of the user's columns
	Settings []Setting      // by key
	Warnings []string       // what of the input does not come through whole

	picked []files.Object
	texts  map[string]*texts // by column
	broken []string
	bad    record.DeadLetter // the first one
	codes  map[string]int64  // dead letters by code
	added  []schema.Added
	lists  *record.Envelope

	dialects  []found // of CSV, by object
	otherwise bool    // an object is no envelope, or another one
}

// Look reads the sample. The types of a first batch come from more than the
// sample, so that a run may widen one.
func Look(ctx context.Context, src *files.Source, opt Options) (*Sample, error) {
	plan, err := src.Plan(ctx, nil, src.NewSet(noLoader{}), time.Now())
	if err != nil {
		return nil, err
	}
	s := &Sample{Objects: plan.Lag.Objects, Bytes: plan.Lag.Bytes, picked: spread(plan.Objects)}
	if err := s.heads(ctx, src, opt); err != nil {
		return nil, err
	}
	var learned *schema.Schema
	for range sampleObjects * 8 {
		again, err := s.decode(ctx, src, opt, learned)
		if err == nil {
			s.propose(opt)
			return s, nil
		}
		if !errors.Is(err, record.ErrRestart) {
			return nil, err
		}
		learned = again
	}
	return nil, errors.New("the types of the sample do not settle")
}

// spread picks objects evenly over the plan.
func spread(all []files.Object) []files.Object {
	if len(all) <= sampleObjects {
		return all
	}
	out := make([]files.Object, sampleObjects)
	for i := range out {
		out[i] = all[i*(len(all)-1)/(sampleObjects-1)]
	}
	return out
}

// heads looks at the beginning of each picked object for what holds for it as a
// whole.
func (s *Sample) heads(ctx context.Context, src *files.Source, opt Options) error {
	d := record.NewDecoder(record.Options{Table: schema.New(), Format: opt.Format, Limits: opt.Limits})
	for _, o := range s.picked {
		body, err := src.Open(ctx, o)
		if files.OutOfSight(err) {
			continue
		}
		if err != nil {
			return err
		}
		kind, head, err := d.Head(ctx, record.Object{Source: o.Key}, body)
		body.Close()
		var broken *record.BrokenError
		switch {
		case errors.As(err, &broken): // decode says so
		case err != nil:
			return err
		case kind == record.JSON || kind == record.NDJSON:
			s.envelope(head)
		case kind == record.CSV:
			if err := s.dialect(ctx, d, src, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// decode reads the picked objects, and returns what it learned also when it has
// to start over.
func (s *Sample) decode(ctx context.Context, src *files.Source, opt Options, learned *schema.Schema) (*schema.Schema, error) {
	*s = Sample{Objects: s.Objects, Bytes: s.Bytes, picked: s.picked, lists: s.lists, dialects: s.dialects, otherwise: s.otherwise, texts: map[string]*texts{}, codes: map[string]int64{}}
	d := record.NewDecoder(record.Options{
		Table: schema.New(), Learned: learned, Rules: opt.Rules, Format: opt.Format, Limits: opt.Limits,
		Block: func(b *column.Block) (*column.Block, error) { return b, s.block(b) },
		Dead: func(l record.DeadLetter) error {
			if s.Dead++; s.Dead == 1 {
				s.bad = l
			}
			s.codes[l.Code]++
			return nil
		},
	})
	for _, o := range s.picked {
		if err := s.object(ctx, d, src, o, opt.Rules); err != nil {
			return d.Schema(), err
		}
	}
	if err := d.Flush(); err != nil {
		return d.Schema(), err
	}
	found := d.Schema()
	for _, f := range found.Fields {
		if f.ID > schema.LastReserved {
			s.Columns = append(s.Columns, f)
		}
	}
	s.added = d.Notes().Added
	return found, nil
}

// object reads the beginning of an object, and looks for an envelope in it.
func (s *Sample) object(ctx context.Context, d *record.Decoder, src *files.Source, o files.Object, rules schema.Rules) error {
	if err := record.CheckKey(rules, o.Key); err != nil {
		s.broken = append(s.broken, err.Error())
		return nil
	}
	body, err := src.Open(ctx, o)
	if files.OutOfSight(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer body.Close()
	res, err := d.Decode(ctx, record.Object{Source: o.Key, MaxBytes: sampleBytes}, body)
	var broken *record.BrokenError
	if errors.As(err, &broken) {
		s.broken = append(s.broken, o.Key+": "+broken.Error())
		return nil
	}
	s.Looked++
	s.Records += res.Records
	return err
}

// block keeps the first rows, and looks at the texts of more.
func (s *Sample) block(b *column.Block) error {
	user := &column.Block{Schema: &schema.Schema{}, Rows: b.Rows}
	leaf := 0
	for _, f := range b.Schema.Fields {
		n := len((&schema.Schema{Fields: []schema.Field{f}}).Leaves())
		if f.ID > schema.LastReserved || f.ID == schema.RescuedID {
			user.Schema.Fields = append(user.Schema.Fields, f)
			user.Columns = append(user.Columns, b.Columns[leaf:leaf+n]...)
		}
		leaf += n
	}
	cursor := column.NewCursor(user)
	for rows := 0; rows < lookedRows && cursor.Next(); rows++ {
		line := cursor.AppendJSON(nil)
		if len(s.Rows) < shownRows {
			s.Rows = append(s.Rows, strings.Replace(string(line), `"_rescued":null,`, "", 1))
		}
		if err := s.see(line); err != nil {
			return fmt.Errorf("look at a row: %w", err)
		}
	}
	return nil
}

// noLoader is for a set that has nothing to load.
type noLoader struct{}

func (noLoader) Load(context.Context, segment.Ref) ([]byte, error) {
	return nil, object.ErrNotFound
}
