package localdev

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
)

// deltaPackages are two independent readers of Delta tables in exact versions:
// DuckDB with its extension, which ships with delta-kernel-rs inside, and delta-rs.
var deltaPackages = append([]string{"deltalake==1.6.6", "duckdb-extension-delta==1.5.5"}, duckdbPackages...)

//go:embed delta.py
var deltaScript string

// DeltaReaders read Delta tables from local folders. They have no state.
type DeltaReaders struct {
	python string
}

// OpenDeltaReaders returns the readers, and installs them as OpenDuckDB does.
func OpenDeltaReaders(ctx context.Context) (*DeltaReaders, error) {
	python, err := installPython(ctx, deltaPackages)
	if err != nil {
		return nil, fmt.Errorf("install readers of Delta tables: %w", err)
	}
	return &DeltaReaders{python: python}, nil
}

// DeltaQuery is one question about one Delta table, for both readers in turn.
type DeltaQuery struct {
	Table   string   `json:"table"`   // folder
	Version *int64   `json:"version"` // nil: the last
	SQL     []string `json:"sql"`     // each selects from t; none: only the table itself is looked at
}

// DeltaAnswer is what one reader finds.
type DeltaAnswer struct {
	Version    int64              // of delta-rs; -1 of DuckDB, which does not tell
	Partitions []string           // partition columns, of delta-rs
	Rows       [][]map[string]any // of each statement, values as DuckDB.Query gives them
	Deleted    []string           // files that a vacuum deleted
}

// DuckDB asks DuckDB's delta_scan.
func (d *DeltaReaders) DuckDB(ctx context.Context, q DeltaQuery) (DeltaAnswer, error) {
	return d.ask(ctx, "duckdb", q)
}

// DeltaRS asks delta-rs.
func (d *DeltaReaders) DeltaRS(ctx context.Context, q DeltaQuery) (DeltaAnswer, error) {
	return d.ask(ctx, "delta-rs", q)
}

// Disturb has delta-rs make three commits, as a stranger may: it merges files, deletes
// the rows that match a predicate, and appends two rows again. It returns the version
// of the last one.
func (d *DeltaReaders) Disturb(ctx context.Context, folder, predicate string) (int64, error) {
	a, err := d.ask(ctx, "write", DeltaQuery{Table: folder, SQL: []string{predicate}})
	return a.Version, err
}

// Vacuum has delta-rs delete what it takes for garbage of a table, and returns the paths
// of that. The arguments are those of its DeltaTable.vacuum, as a JSON object.
func (d *DeltaReaders) Vacuum(ctx context.Context, folder, arguments string) ([]string, error) {
	a, err := d.ask(ctx, "vacuum", DeltaQuery{Table: folder, SQL: []string{arguments}})
	return a.Deleted, err
}

func (d *DeltaReaders) ask(ctx context.Context, reader string, q DeltaQuery) (DeltaAnswer, error) {
	question, err := json.Marshal(q)
	if err != nil {
		return DeltaAnswer{}, err
	}
	cmd := exec.CommandContext(ctx, d.python, "-c", plainScript+deltaScript, reader)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(question), &out, &errOut
	if err := cmd.Run(); err != nil {
		return DeltaAnswer{}, fmt.Errorf("%s: %w\n%s", reader, err, errOut.Bytes())
	}
	var a DeltaAnswer
	decoder := json.NewDecoder(&out)
	decoder.UseNumber()
	if err := decoder.Decode(&a); err != nil {
		return DeltaAnswer{}, fmt.Errorf("%s: read the answer: %w", reader, err)
	}
	return a, nil
}
