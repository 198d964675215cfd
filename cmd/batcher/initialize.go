package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"batcher/config"
	"batcher/sample"
	"batcher/source/files"
)

// initialize is the verb init: it writes a first pipeline file with what a sample
// spread over the input shows.
func initialize(ctx context.Context, c *call, o initOptions) error {
	if strings.HasPrefix(c.Config, "s3://") {
		return usageError("", "init writes a local file, not %s", c.Config)
	}
	file := firstFile{name: c.Config, path: o.Path, pipeline: o.Name, store: o.Store}
	if o.Path == "" {
		file.path = "./in"
	}
	if _, err := config.ParseLocation(file.path); err != nil {
		return usageError("", "init %q: %w", file.path, err)
	}
	if o.Format != "" {
		file.give("source.files.format", o.Format)
	}
	for _, set := range c.Set {
		key, value, _ := strings.Cut(set, "=")
		file.give(strings.TrimSpace(key), value)
	}
	var seen *sample.Sample
	if o.Path != "" {
		var err error
		if seen, err = file.look(ctx, c); err != nil {
			return fmt.Errorf("look at %s: %w", file.path, err)
		}
	}
	if _, err := file.parse(c); err != nil {
		return err
	}
	if err := writeNew(c.Config, file.text(seen)); err != nil {
		return err
	}
	return initialized{c.Config, reportOf(seen, file.settings)}.print(c)
}

// writeNew writes a file that must not exist.
func writeNew(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return usageError("-c names another file", "%s exists", name)
	}
	if err != nil {
		return &exitError{Code: exitConfig, Err: err}
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return &exitError{Code: exitTemporary, Err: err}
	}
	return nil
}

// firstFile is a first pipeline file.
type firstFile struct {
	name, path, pipeline, store string
	settings                    []setting
}

// setting is one that the file says: as given on the command line, or proposed.
type setting struct {
	sample.Setting
	given bool
}

// give adds a setting of the command line, which no proposal changes.
func (f *firstFile) give(key, value string) {
	switch key {
	case "pipeline":
		f.pipeline = value
	case "store":
		f.store = value
	case "source.files.path":
	default:
		f.settings = append(f.settings, setting{sample.Setting{Key: key, Value: value, Sure: true, Why: "as given"}, true})
	}
}

// rounds bounds how often the sample is looked at: what an envelope holds shows
// only once it is unpacked.
const rounds = 3

// look reads the sample, and again under the settings that it shows.
func (f *firstFile) look(ctx context.Context, c *call) (*sample.Sample, error) {
	for round := 1; ; round++ {
		cfg, err := f.parse(c)
		if err != nil {
			return nil, err
		}
		in := cfg.Source.Files
		store, err := openStore(ctx, in.Path, in.S3)
		if err != nil {
			return nil, err
		}
		src, err := files.New(store, files.Config{Location: in.Path.String(), Include: texts(in.Include), Exclude: texts(in.Exclude)})
		if err != nil {
			return nil, err
		}
		seen, err := sample.Look(ctx, src, sample.Options{Format: formatOf(cfg), Rules: rulesOf(cfg), Limits: limitsOf(cfg)})
		if err != nil || !f.take(seen.Settings) || round == rounds {
			return seen, err
		}
	}
}

// take adds proposals, and says whether one changes how the input is read.
func (f *firstFile) take(proposed []sample.Setting) (changed bool) {
	for _, p := range proposed {
		known := slices.ContainsFunc(f.settings, func(s setting) bool {
			return s.Key == p.Key && (s.Value == p.Value || !strings.HasSuffix(p.Key, "[]"))
		})
		if !known {
			f.settings = append(f.settings, setting{Setting: p})
			changed = changed || p.Sure
		}
	}
	return changed
}

func (f *firstFile) parse(c *call) (*config.Pipeline, error) {
	return config.Parse(f.name, []byte(f.text(nil)), config.Options{Environ: c.Environ, Set: c.Set})
}

// text is the file. Columns and conflicts of the sample are comments in it.
func (f *firstFile) text(s *sample.Sample) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# A batcher pipeline. docs/pipeline.yaml has every key with its default.\n")
	fmt.Fprintf(&b, "# Try: batcher validate -c %[1]s; batcher plan -c %[1]s; batcher run -c %[1]s\n\n", filepath.Base(f.name))
	root := &yamlMap{}
	root.put("pipeline", orDefault(f.pipeline, "events"), "identity inside the store; a store holds many pipelines", true)
	root.put("store", quoted(orDefault(f.store, "./lake")), "a directory, or s3://bucket/prefix", true)
	root.put("source.files.path", quoted(f.path), "", true)
	for _, s := range f.settings {
		root.put(s.Key, s.Value, s.Why, s.Sure)
	}
	root.print(&b, "")
	if s == nil || s.Objects == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "\n# Seen: %s, %s. Looked at %s in the beginnings of %s:\n", many(s.Objects, "object"), sized(s.Bytes), many(s.Records, "record"), many(int64(s.Looked), "object"))
	for _, f := range s.Columns {
		fmt.Fprintf(&b, "#   %-24s %s\n", oneLine(f.Name), oneLine(f.Type.String()))
	}
	for _, text := range s.Warnings {
		fmt.Fprintf(&b, "# conflict: %s\n", oneLine(text))
	}
	return b.String()
}

func orDefault(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// yamlMap is a mapping in the order in which its keys came.
type yamlMap struct {
	keys []string
	at   map[string]*yamlEntry
}

type yamlEntry struct {
	value, why string
	sure       bool
	below      *yamlMap
	items      []yamlEntry // of a list
}

// put sets the value at a path of keys; of one that ends in [] it is an item.
func (m *yamlMap) put(path, value, why string, sure bool) {
	key, rest, deeper := strings.Cut(path, ".")
	list := strings.HasSuffix(key, "[]")
	key = strings.TrimSuffix(key, "[]")
	if m.at == nil {
		m.at = map[string]*yamlEntry{}
	}
	e := m.at[key]
	if e == nil {
		e = &yamlEntry{}
		m.keys, m.at[key] = append(m.keys, key), e
	}
	switch {
	case deeper:
		if e.below == nil {
			e.below = &yamlMap{}
		}
		e.below.put(rest, value, why, sure)
	case list:
		e.items = append(e.items, yamlEntry{value: value, why: why, sure: sure})
	default:
		e.value, e.why, e.sure = value, why, sure
	}
}

// sure says whether an entry says anything but comments.
func (e *yamlEntry) says() bool {
	switch {
	case e.below != nil:
		return slices.ContainsFunc(e.below.keys, func(k string) bool { return e.below.at[k].says() })
	case e.items != nil:
		return slices.ContainsFunc(e.items, func(i yamlEntry) bool { return i.sure })
	}
	return e.sure
}

// print writes the mapping; what is not sure is a comment.
func (m *yamlMap) print(b *strings.Builder, indent string) {
	for _, key := range m.keys {
		e := m.at[key]
		mark := ""
		if !e.says() {
			mark = "# "
		}
		switch {
		case e.below != nil:
			fmt.Fprintf(b, "%s%s%s:\n", indent, mark, key)
			e.below.print(b, indent+"  ")
		case e.items != nil:
			fmt.Fprintf(b, "%s%s%s:\n", indent, mark, key)
			for _, item := range e.items {
				item.line(b, indent+"  ", "- ")
			}
		default:
			e.line(b, indent, key+": ")
		}
	}
}

func (e *yamlEntry) line(b *strings.Builder, indent, label string) {
	text := indent
	if !e.sure {
		text += "# "
	}
	text += label + e.value
	if e.why != "" {
		text = fmt.Sprintf("%-34s # %s", text, oneLine(e.why))
	}
	b.WriteString(text + "\n")
}

// oneLine keeps text of the input inside of a comment.
func oneLine(s string) string {
	q := fmt.Sprintf("%q", s)
	return q[1 : len(q)-1]
}

// quoted is a YAML scalar that is always the text.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// initialized is what init prints.
type initialized struct {
	File string `json:"file"`
	Seen *seen  `json:"seen"` // null where init was given no input to look at
}

// seen is what init saw of the input.
type seen struct {
	Objects   int64            `json:"objects"` // below the path
	Bytes     int64            `json:"bytes"`   // of these, as stored
	Looked    int              `json:"looked"`  // objects whose beginnings were read
	Records   int64            `json:"records"`
	Columns   []schemaColumn   `json:"columns"`
	Rows      []string         `json:"rows"`     // the first ones, each as JSON
	Settings  []sample.Setting `json:"settings"` // those that are not sure are comments in the file
	Conflicts []string         `json:"conflicts"`
	width     int              // columns at the top
}

func reportOf(s *sample.Sample, settings []setting) *seen {
	if s == nil {
		return nil
	}
	columns := columnsOf(s.Columns, "")
	for i := range columns {
		columns[i].ID = 0 // given when they are published
	}
	out := &seen{Objects: s.Objects, Bytes: s.Bytes, Looked: s.Looked, Records: s.Records, Columns: listed(columns),
		Rows: listed(s.Rows), Settings: []sample.Setting{}, Conflicts: listed(s.Warnings), width: len(s.Columns)}
	for _, set := range settings {
		if !set.given {
			out.Settings = append(out.Settings, set.Setting)
		}
	}
	return out
}

func (i initialized) print(c *call) error {
	if c.Output == outputJSON {
		return printJSON(c, i)
	}
	text := "nothing was looked at: batcher init PATH does"
	if s := i.Seen; s != nil {
		text = fmt.Sprintf("%s seen, %s of %s looked at, %s", many(s.Objects, "object"), many(s.Records, "record"), many(int64(s.Looked), "object"), many(int64(s.width), "column"))
	}
	text = fmt.Sprintf("wrote %s: %s\n", i.File, text)
	if i.Seen != nil {
		text += i.Seen.text(i.File)
	}
	return printTo(c.Stdout, text+fmt.Sprintf("next: batcher plan -c %[1]s; batcher run -c %[1]s\n", i.File))
}

// text is what a person wants to know of a sample before the first run.
func (s *seen) text(file string) string {
	var b strings.Builder
	if s.width > 0 {
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "\nCOLUMN\tTYPE")
		for _, column := range s.Columns {
			if !strings.ContainsAny(column.Column, ".[") {
				fmt.Fprintf(w, "%s\t%s\n", column.Column, column.Type)
			}
		}
		_ = w.Flush() // into memory
		b.WriteString("\nthe first rows:\n")
		for _, row := range s.Rows {
			b.WriteString("  " + row + "\n")
		}
		b.WriteString("\n")
	}
	for _, set := range s.Settings {
		how := "set"
		if !set.Sure {
			how = "please check, it is a comment in " + file
		}
		fmt.Fprintf(&b, "%s: %s (%s): %s\n", strings.TrimSuffix(set.Key, "[]"), set.Value, how, set.Why)
	}
	for _, text := range s.Conflicts {
		fmt.Fprintf(&b, "warning: %s\n", text)
	}
	return b.String()
}
