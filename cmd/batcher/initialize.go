package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"batcher/column"
	"batcher/config"
	"batcher/object"
	"batcher/record"
	"batcher/schema"
	"batcher/segment"
	"batcher/source/files"
)

// How much of the input init looks at.
const (
	sampleObjects = 16
	sampleBytes   = 1 << 20 // decoded bytes of each
)

// initialize is the verb init: it writes a first pipeline file, with what a
// sample spread over the input looks like as comments.
func initialize(ctx context.Context, c *call, o initOptions) error {
	if strings.HasPrefix(c.Config, "s3://") {
		return usageError("", "init writes a local file, not %s", c.Config)
	}
	path := o.Path
	if path == "" {
		path = "./in"
	}
	at, err := config.ParseLocation(path)
	if err != nil {
		return usageError("", "init %q: %w", path, err)
	}
	var taken sample
	if o.Path != "" {
		if taken, err = look(ctx, at); err != nil {
			return fmt.Errorf("look at %s: %w", path, err)
		}
	}
	text := firstFile(c.Config, path, taken)
	if _, err := config.Parse(c.Config, []byte(text), config.Options{Environ: c.Environ}); err != nil {
		return err
	}
	f, err := os.OpenFile(c.Config, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return usageError("-c names another file", "%s exists", c.Config)
	}
	if err != nil {
		return &exitError{Code: exitConfig, Err: err}
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return &exitError{Code: exitTemporary, Err: err}
	}
	if err := f.Close(); err != nil {
		return &exitError{Code: exitTemporary, Err: err}
	}
	return initialized{c.Config, taken.report(o)}.print(c)
}

// initialized is what init prints.
type initialized struct {
	File string `json:"file"`
	Seen *seen  `json:"seen"` // null where init was given no input to look at
}

// seen is what init saw of the input.
type seen struct {
	Objects   int64          `json:"objects"` // below the path
	Bytes     int64          `json:"bytes"`   // of these, as stored
	Looked    int            `json:"looked"`  // objects whose beginnings were read
	Records   int64          `json:"records"`
	Columns   []schemaColumn `json:"columns"`
	Conflicts []string       `json:"conflicts"`
	width     int            // columns at the top
}

func (s *sample) report(o initOptions) *seen {
	if o.Path == "" {
		return nil
	}
	columns := columnsOf(s.columns, "")
	for i := range columns {
		columns[i].ID = 0 // given when they are published
	}
	return &seen{int64(s.listed), s.bytes, s.looked, s.records, listed(columns), listed(s.conflicts()), len(s.columns)}
}

func (i initialized) print(c *call) error {
	if c.Output == outputJSON {
		return printJSON(c, i)
	}
	text := "nothing was looked at: batcher init PATH does"
	if s := i.Seen; s != nil {
		text = fmt.Sprintf("%d objects seen, %d records of %d objects looked at, %d columns", s.Objects, s.Records, s.Looked, s.width)
	}
	return printTo(c.Stdout, fmt.Sprintf("wrote %[1]s: %[2]s\nnext: batcher plan -c %[1]s; batcher run -c %[1]s\n", i.File, text))
}

// sample is what init saw of the input.
type sample struct {
	listed, looked int
	bytes          int64
	records, dead  int64
	columns        []schema.Field
	added          []schema.Added
	broken         []string
	firstBad       string
}

// look reads the beginnings of objects spread over the input.
func look(ctx context.Context, at config.Location) (sample, error) {
	var s sample
	store, err := openStore(ctx, at, config.S3{})
	if err != nil {
		return s, err
	}
	src, err := files.New(store, files.Config{Location: at.String()})
	if err != nil {
		return s, err
	}
	plan, err := src.Plan(ctx, nil, src.NewSet(noLoader{}), time.Now())
	if err != nil {
		return s, err
	}
	s.listed, s.bytes = int(plan.Lag.Objects), plan.Lag.Bytes
	picked := spread(plan.Objects)
	var learned *schema.Schema
	for range sampleObjects * 8 {
		again, err := s.decode(ctx, src, picked, learned)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, record.ErrRestart) {
			return s, err
		}
		learned = again
	}
	return s, errors.New("the types of the sample do not settle")
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

// decode infers a schema from the picked objects, and returns what it learned
// also when it has to start over.
func (s *sample) decode(ctx context.Context, src *files.Source, picked []files.Object, learned *schema.Schema) (*schema.Schema, error) {
	s.looked, s.records, s.dead, s.broken, s.firstBad = 0, 0, 0, nil, ""
	d := record.NewDecoder(record.Options{
		Table: schema.New(), Learned: learned,
		Block: func(b *column.Block) (*column.Block, error) { return b, nil },
		Dead: func(l record.DeadLetter) error {
			if s.dead++; s.firstBad == "" {
				s.firstBad = fmt.Sprintf("%s at byte %d: %s", l.Source, l.Offset, l.Message)
			}
			return nil
		},
	})
	for _, o := range picked {
		if err := s.object(ctx, d, src, o); err != nil {
			return d.Schema(), err
		}
	}
	if err := d.Flush(); err != nil {
		return d.Schema(), err
	}
	found := d.Schema()
	for _, f := range found.Fields {
		if f.ID > schema.LastReserved {
			s.columns = append(s.columns, f)
		}
	}
	s.added = d.Notes().Added
	return found, nil
}

func (s *sample) object(ctx context.Context, d *record.Decoder, src *files.Source, o files.Object) error {
	body, err := src.Open(ctx, o)
	if errors.Is(err, files.ErrStale) {
		return nil
	}
	if err != nil {
		return err
	}
	defer body.Close()
	res, err := d.Decode(ctx, record.Object{Source: o.Key, MaxBytes: sampleBytes}, io.Reader(body))
	var broken *record.BrokenError
	if errors.As(err, &broken) {
		s.broken = append(s.broken, o.Key+": "+broken.Error())
		return nil
	}
	s.looked++
	s.records += res.Records
	return err
}

// noLoader is for a set that has nothing to load.
type noLoader struct{}

func (noLoader) Load(context.Context, segment.Ref) ([]byte, error) {
	return nil, object.ErrNotFound
}

// firstFile is the text of a first pipeline file.
func firstFile(name, path string, s sample) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# A batcher pipeline. docs/pipeline.yaml has every key with its default.\n")
	fmt.Fprintf(&b, "# Try: batcher validate -c %[1]s; batcher plan -c %[1]s; batcher run -c %[1]s\n\n", filepath.Base(name))
	b.WriteString("pipeline: events                 # identity inside the store; a store holds many pipelines\n")
	b.WriteString("store: ./lake                    # a directory, or s3://bucket/prefix\n")
	fmt.Fprintf(&b, "source:\n  files:\n    path: %s\n", quoted(path))
	b.WriteString("    # include: [\"**\"]            # globs below path\n")
	b.WriteString("    # settle: 5s                 # files younger than this wait (directories only)\n")
	b.WriteString("table: events                    # the main output\n")
	b.WriteString("dead_letters: {table: events_dead, fail_above: {ratio: 0.1, min_records: 1000}}\n")
	if s.listed == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "\n# Seen: %d objects, %d bytes. Looked at %d records in the beginnings of %d objects:\n", s.listed, s.bytes, s.records, s.looked)
	for _, f := range s.columns {
		fmt.Fprintf(&b, "#   %-24s %s\n", f.Name, oneLine(f.Type.String()))
	}
	for _, text := range s.conflicts() {
		fmt.Fprintf(&b, "# conflict: %s\n", oneLine(text))
	}
	return b.String()
}

// conflicts tells what of the input does not fit.
func (s *sample) conflicts() (out []string) {
	for _, a := range s.added {
		if a.Renamed {
			out = append(out, fmt.Sprintf("key %s becomes column %s", a.Key, a.Path))
		}
	}
	if s.dead > 0 {
		out = append(out, fmt.Sprintf("%d bad records, the first: %s", s.dead, s.firstBad))
	}
	return append(out, s.broken...)
}

// oneLine keeps text of the input inside of a comment.
func oneLine(s string) string {
	q := fmt.Sprintf("%q", s)
	return q[1 : len(q)-1]
}

// quoted is a YAML scalar that is always the text.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
