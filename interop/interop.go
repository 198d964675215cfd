// Package interop has other engines read what batcher published, and compares what they
// find with what was put in.
//
// Duty: make tables with the program, in a folder or on a MinIO, in a story that has
// every type, an evolved schema, a widened column, merged files, partitions, a
// projection that stopped half way; hand them to engines in exact versions; compare
// every row, old versions, and what filters find.
//
// Invariants: the truth is what this package wrote into the source, never what another
// reader says; a row is compared value by value, by type; a difference that is known of
// an engine is named, applied to the truth, and told as such; what cannot be read is a
// failure, not an empty answer.
//
// It never changes a table by other means than the program, but for _last_checkpoint
// of copies, and never looks into the files itself.
package interop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"batcher/localdev"
)

// Place is where tables lie: a folder, or a bucket of a server.
type Place struct {
	Name   string           // as the matrix calls it
	Root   string           // "/folder" or "s3://bucket/prefix"
	Server *localdev.Server // nil: a folder
}

// get reads a file below the root.
func (p Place) get(ctx context.Context, key string) ([]byte, error) {
	if p.Server == nil {
		return os.ReadFile(filepath.Join(p.Root, key))
	}
	bucket, key := p.object(key)
	return p.Server.Get(ctx, bucket, key)
}

// put writes a file below the root.
func (p Place) put(ctx context.Context, key string, body []byte) error {
	if p.Server == nil {
		path := filepath.Join(p.Root, key)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, body, 0o644)
	}
	bucket, key := p.object(key)
	return p.Server.Put(ctx, bucket, key, body)
}

// object is what a file below the root is on the server.
func (p Place) object(key string) (bucket, path string) {
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(p.Root, "s3://"), "/")
	return bucket, prefix + "/" + key
}

// Outcome is what one reader made of one case.
type Outcome struct {
	Reader  string
	Version string // as the reader says
	Place   string
	Case    string
	Rows    int    // that were compared
	Filters int    // whose rows were compared
	Known   string // how it differs as it is known to; "": not at all
	Problem string // how it differs besides; "": not at all
}

// Read asks a reader about all cases at a place. An error means that the reader could
// not be installed or started.
func Read(ctx context.Context, r Reader, place Place, cases []Case) ([]Outcome, error) {
	python, tools, err := r.install(ctx)
	if err != nil {
		return nil, err
	}
	var a answers
	if err := python.Ask(ctx, commonScript+r.script, nil, r.questions(place, cases, tools), &a); err != nil {
		return nil, fmt.Errorf("%s at %s: %w", r.Name, place.Name, err)
	}
	if len(a.Tables) != len(cases) {
		return nil, fmt.Errorf("%s at %s: %d answers to %d questions", r.Name, place.Name, len(a.Tables), len(cases))
	}
	out := make([]Outcome, len(cases))
	for i, c := range cases {
		out[i] = c.judge(r, a.Tables[i])
		out[i].Version, out[i].Place = a.Version, place.Name
	}
	return out, nil
}
