package localdev

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// duckdbPackages are what the reader is made of, in exact versions. DuckDB
// needs pytz to hand out timestamps with a time zone.
var duckdbPackages = []string{"duckdb==1.5.5", "pytz==2025.2"}

//go:embed plain.py
var plainScript string

//go:embed query.py
var queryScript string

// DuckDB is an independent reader of what batcher wrote. It has no state, so
// that any number of queries may run at the same time.
type DuckDB struct {
	python     string
	extensions []string // that LOAD finds; queryScript says how
}

// OpenDuckDB returns the reader. The first call on a machine installs it from
// the package index into the cache folder; it needs python3 with venv.
func OpenDuckDB(ctx context.Context) (*DuckDB, error) {
	python, err := installPython(ctx, duckdbPackages)
	if err != nil {
		return nil, fmt.Errorf("install duckdb: %w", err)
	}
	return &DuckDB{python: python}, nil
}

// lakePackages are DuckDB with what it needs for Delta tables in buckets.
var lakePackages = append([]string{"duckdb-extension-aws==1.5.5", "duckdb-extension-httpfs==1.5.5", "duckdb-extension-delta==1.5.5"}, duckdbPackages...)

// OpenDuckDBLake is OpenDuckDB with the extensions aws, httpfs and delta, so that
// INSTALL and LOAD of them need no network.
func OpenDuckDBLake(ctx context.Context) (*DuckDB, error) {
	python, err := installPython(ctx, lakePackages)
	if err != nil {
		return nil, fmt.Errorf("install duckdb with extensions: %w", err)
	}
	return &DuckDB{python: python, extensions: []string{"aws", "httpfs", "delta"}}, nil
}

// installPython returns a Python that has the packages, in a folder of the cache
// that is named after the first of them.
func installPython(ctx context.Context, packages []string) (string, error) {
	dir, err := toolFolder(strings.NewReplacer("==", "-", "[", "-", "]", "").Replace(packages[0]))
	if err != nil {
		return "", err
	}
	python := filepath.Join(dir, "bin", "python")
	ready := filepath.Join(dir, "ready")
	return python, once(ready, func() error {
		if err := run(ctx, "python3", "-m", "venv", dir); err != nil {
			return err
		}
		args := append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, packages...)
		if err := run(ctx, python, args...); err != nil {
			return err
		}
		return os.WriteFile(ready, nil, 0o644)
	})
}

// run runs a program and shows its output if it fails.
func run(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// Query runs SQL in an empty database and returns the rows of the last
// statement. Files are read from local paths: SELECT … FROM 'dir/*.parquet'.
//
// Numbers are json.Number, so that no integer passes through a float; decimals,
// dates, times (in UTC, RFC 3339) and UUIDs are strings, blobs are hexadecimal
// strings, NaN and infinities are strings; lists and structs nest; NULL is nil.
func (d *DuckDB) Query(ctx context.Context, sql string) ([]map[string]any, error) {
	return d.QueryWith(ctx, nil, sql)
}

// QueryWith is Query with variables, "NAME=value" each, beside those of this process.
func (d *DuckDB) QueryWith(ctx context.Context, variables []string, sql string) ([]map[string]any, error) {
	cmd := exec.CommandContext(ctx, d.python, append([]string{"-c", plainScript + queryScript}, d.extensions...)...)
	cmd.Env = append(os.Environ(), variables...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(sql), &out, &errOut
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("duckdb: %w\n%s", err, errOut.Bytes())
	}
	var rows []map[string]any
	decoder := json.NewDecoder(&out)
	decoder.UseNumber()
	if err := decoder.Decode(&rows); err != nil {
		return nil, fmt.Errorf("duckdb: read the answer: %w", err)
	}
	return rows, nil
}
