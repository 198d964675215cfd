package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build builds the program into a folder and returns its path. It has to be called
// from below the module.
func Build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "batcher")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "batcher/cmd/batcher").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build batcher: %w\n%s", err, out)
	}
	return path, nil
}

// pipeline is one pipeline of the story, worked on by the program alone.
type pipeline struct {
	ctx     context.Context
	program string
	dir     string // of the pipeline file and the source
	store   string
	env     []string
}

// newPipeline makes a pipeline without records; see configure.
func newPipeline(ctx context.Context, program, dir string, place Place, name, settings string) (*pipeline, error) {
	p := &pipeline{ctx: ctx, program: program, dir: filepath.Join(dir, name), store: place.Root + "/" + name}
	if place.Server != nil {
		p.env = place.Server.Env()
	}
	if err := os.MkdirAll(filepath.Join(p.dir, "in"), 0o755); err != nil {
		return nil, err
	}
	return p, p.configure(settings)
}

// configure writes the pipeline file. settings are its keys besides those that all of
// this package have.
func (p *pipeline) configure(settings string) error {
	file := fmt.Sprintf("pipeline: %s\nstore: %s\nsource: {files: {path: ./in, format: ndjson, settle: 0s}}\ntable: events\ncompact: {after_run: 0}\npublish: [delta]\n%s",
		filepath.Base(p.dir), p.store, settings)
	return os.WriteFile(filepath.Join(p.dir, "pipeline.yaml"), []byte(file), 0o644)
}

// do runs the program, and reads what it prints into out unless that is nil.
func (p *pipeline) do(out any, args ...string) error {
	cmd := exec.CommandContext(p.ctx, p.program, append(args, "--quiet", "--output", "json")...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), p.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("batcher %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(stdout.Bytes(), out)
}

// run puts an object into the source and drains that: see put.
func (p *pipeline) run(name string, lines []any, args ...string) ([]Row, error) {
	rows, err := p.put(name, lines)
	if err != nil {
		return nil, err
	}
	return rows, p.do(nil, append([]string{"run"}, args...)...)
}

// put writes an object into the source. Lines are rows, or text that is no record,
// which becomes dead letters. It returns the rows with their ids.
func (p *pipeline) put(name string, lines []any) ([]Row, error) {
	var body bytes.Buffer
	var rows []Row
	for _, line := range lines {
		id := Row{"_source": name, "_offset": num(body.Len())}
		switch line := line.(type) {
		case string:
			id["raw"], id["raw_length"], id["code"] = line, num(len(line)), "syntax"
			body.WriteString(line)
		case Row:
			for key, v := range line {
				id[key] = v
			}
			encoder := json.NewEncoder(&body)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(source(line)); err != nil {
				return nil, err
			}
			body.Truncate(body.Len() - 1)
		}
		body.WriteByte('\n')
		rows = append(rows, id)
	}
	return rows, os.WriteFile(filepath.Join(p.dir, "in", name), body.Bytes(), 0o644)
}

// source is a row as it stands in the source: what begins with _ does not.
func source(row Row) Row {
	out := Row{}
	for key, v := range row {
		if !strings.HasPrefix(key, "_") {
			out[key] = v
		}
	}
	return out
}

// moment is where the chain and a table stand.
type moment struct {
	seq     int64
	version int64
}

// now says where the chain and the main table stand.
func (p *pipeline) now() (moment, error) {
	var head []struct{ Seq int64 }
	if err := p.do(&head, "history"); err != nil {
		return moment{}, err
	}
	var state struct {
		Tables []struct {
			Table     string
			Published int64
		}
	}
	err := p.do(&state, "publish")
	for _, t := range state.Tables {
		if t.Table == "events" {
			return moment{head[0].Seq, t.Published}, err
		}
	}
	return moment{}, fmt.Errorf("no state of events: %w", err)
}

// files are those of the main table at a moment.
func (p *pipeline) files(table string, args ...string) ([]string, error) {
	cmd := exec.CommandContext(p.ctx, p.program, append([]string{"files", "--quiet", "--table", table}, args...)...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), p.env...)
	out, err := cmd.Output()
	return strings.Fields(string(out)), err
}

// table is where a table lies.
func (p *pipeline) table(name string) string { return p.store + "/" + name }
