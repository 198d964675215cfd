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
	var seen sample
	if o.Path != "" {
		if seen, err = look(ctx, at); err != nil {
			return fmt.Errorf("look at %s: %w", path, err)
		}
	}
	text := firstFile(c.Config, path, seen)
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
	return printTo(c.Stdout, fmt.Sprintf("wrote %s: %d objects seen, %d records of %d objects looked at, %d columns\nnext: batcher plan -c %s; batcher run -c %s\n",
		c.Config, seen.listed, seen.records, seen.looked, len(seen.columns), c.Config, c.Config))
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
	for _, a := range s.added {
		if a.Renamed {
			fmt.Fprintf(&b, "# conflict: key %s becomes column %s\n", oneLine(a.Key), a.Path)
		}
	}
	if s.dead > 0 {
		fmt.Fprintf(&b, "# conflict: %d bad records, the first: %s\n", s.dead, oneLine(s.firstBad))
	}
	for _, text := range s.broken {
		fmt.Fprintf(&b, "# conflict: %s\n", oneLine(text))
	}
	return b.String()
}

// oneLine keeps text of the input inside of a comment.
func oneLine(s string) string {
	q := fmt.Sprintf("%q", s)
	return q[1 : len(q)-1]
}

// quoted is a YAML scalar that is always the text.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
