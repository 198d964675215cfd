package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxBytes is the largest pipeline file that Parse takes.
const MaxBytes = 1 << 20

// Options is what Parse needs besides the file.
type Options struct {
	// Set holds key.path=value, as given by --set, in order; the last one wins.
	Set []string
	// Environ holds NAME=value, as os.Environ returns it. It answers {env: NAME}
	// and overrides keys by names like BATCHER_STORE, BATCHER_BATCH__MAX_BYTES
	// and BATCHER_SOURCE__FILES__PATH: BATCHER_, then the key path in capitals
	// with two underscores between its parts. An empty value counts as not set.
	Environ []string
	// Dir is what relative paths are relative to. Default: the directory of the
	// pipeline file; a file on S3 has none and may hold no relative path.
	Dir string
	// ReadFile answers {file: path}. Default: os.ReadFile.
	ReadFile func(path string) ([]byte, error)
	// RealDir follows the symbolic links of an absolute path. Default: those of
	// the local file system.
	RealDir func(dir string) string
	// Warn is told of BATCHER_ variables that name no key. Default: nobody.
	Warn func(message string)
}

// Parse reads a pipeline file. name is its path or s3:// address and stands in
// every error. An error is of type Errors and holds everything that is wrong.
func Parse(name string, data []byte, opts Options) (*Pipeline, error) {
	opts, err := opts.withDefaults(name)
	if err != nil {
		return nil, Errors{{File: name, Msg: err.Error()}}
	}
	d := &decoder{
		file:   name,
		opts:   opts,
		origin: map[*yaml.Node]string{},
		bad:    map[*yaml.Node]bool{},
		where:  map[string]*yaml.Node{},
	}
	root, parseErr := document(name, data)
	if parseErr != nil {
		return nil, Errors{parseErr}.within(data)
	}
	d.inspect(root, "")
	d.overlay(root)
	p := defaults()
	d.where[""] = root
	d.decode(root, reflect.ValueOf(&p).Elem(), "", "")
	d.complete(&p)
	if len(d.errs) > 0 {
		return nil, d.errs.within(data).sorted()
	}
	return &p, nil
}

func (o Options) withDefaults(name string) (Options, error) {
	if o.ReadFile == nil {
		o.ReadFile = os.ReadFile
	}
	if o.RealDir == nil {
		o.RealDir = realDir
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Dir == "" && !strings.HasPrefix(name, "s3://") {
		dir, err := filepath.Abs(filepath.Dir(name))
		if err != nil {
			return o, fmt.Errorf("find the directory of the pipeline file: %w", err)
		}
		o.Dir = dir
	}
	return o, nil
}

// getenv returns the value of an environment variable and whether it is set.
func (o Options) getenv(name string) (string, bool) {
	for i := len(o.Environ) - 1; i >= 0; i-- {
		if n, value, ok := strings.Cut(o.Environ[i], "="); ok && n == name {
			return value, value != ""
		}
	}
	return "", false
}

// document returns the root mapping of the only document in data.
func document(name string, data []byte) (*yaml.Node, *Error) {
	if len(data) > MaxBytes {
		return nil, &Error{File: name, Msg: fmt.Sprintf("is over %d bytes; that is no pipeline file", MaxBytes)}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, &Error{File: name, Msg: "is empty", Hint: "batcher init writes a first one"}
	} else if err != nil {
		return nil, syntaxError(name, data, err)
	}
	if err := dec.Decode(&second); err == nil {
		return nil, &Error{File: name, Line: second.Line, Col: second.Column, Msg: "a second YAML document begins here; a pipeline file holds one"}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(name, data, err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		found := &doc
		if len(doc.Content) == 1 {
			found = doc.Content[0]
		}
		return nil, &Error{File: name, Line: max(1, found.Line), Col: max(1, found.Column), Msg: "wants keys and values, found " + describe(found)}
	}
	return doc.Content[0], nil
}

// yamlPosition takes apart the text of the YAML library's syntax errors, which
// have no structured form in its version 3. Lines count from 1 in errors of its
// scanner and from 0 in those of its parser, which yamlParser knows.
var (
	yamlPosition = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?(.*)$`)
	yamlParser   = regexp.MustCompile(`^did not find expected (<|node content|'-'|key|',')|^found (undefined tag|duplicate|incompatible)`)
)

func syntaxError(name string, data []byte, err error) *Error {
	if line, col := tabIndent(data); line > 0 {
		return &Error{File: name, Line: line, Col: col, Msg: "a tab in the indentation", Hint: "YAML indents with spaces only"}
	}
	e := &Error{File: name, Msg: "is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := yamlPosition.FindStringSubmatch(err.Error()); m != nil {
		e.Msg = "is not YAML: " + m[2]
		e.Line, _ = strconv.Atoi(m[1])
		if e.Line > 0 && yamlParser.MatchString(m[2]) {
			e.Line++
		}
		if e.Line > 0 {
			e.Col = 1
		}
	}
	return e
}

// tabIndent returns line and column of the first tab in an indentation, or 0.
func tabIndent(data []byte) (line, col int) {
	for text := range bytes.SplitSeq(data, []byte("\n")) {
		line++
		indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
		if at := bytes.IndexByte(indent, '\t'); at >= 0 && len(bytes.TrimSpace(text)) > 0 {
			return line, at + 1
		}
	}
	return 0, 0
}
