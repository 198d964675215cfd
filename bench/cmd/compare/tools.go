package main

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

// packages are the programs to compare with, in exact versions.
var packages = []string{"duckdb-cli==1.5.5", "polars==2.1.0", "deltalake==1.6.6"}

// tools are the programs on this machine.
type tools struct {
	batcher, duckdb, python string
}

// installTools puts the programs into the user's cache, once. It needs python3
// with venv.
func installTools(ctx context.Context) (*tools, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "batcher", "compare", strings.Join(packages, "+"))
	t := &tools{duckdb: filepath.Join(dir, "bin", "duckdb"), python: filepath.Join(dir, "bin", "python")}
	ready := filepath.Join(dir, "ready")
	if _, err := os.Stat(ready); err == nil {
		return t, nil
	}
	if _, err := output(exec.CommandContext(ctx, "python3", "-m", "venv", dir)); err != nil {
		return nil, err
	}
	args := append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, packages...)
	if _, err := output(exec.CommandContext(ctx, t.python, args...)); err != nil {
		return nil, err
	}
	return t, os.WriteFile(ready, nil, 0o644)
}

// build compiles batcher as it is released.
func build(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "batcher")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "batcher/cmd/batcher")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	_, err := output(cmd)
	return program, err
}

// output runs a program to its end and returns what it printed.
func output(cmd *exec.Cmd) ([]byte, error) {
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, errOut.Bytes())
	}
	return out.Bytes(), nil
}

// query runs SQL in an empty DuckDB and reads the rows of its last statement.
func (t *tools) query(ctx context.Context, sql string, rows any) error {
	out, err := output(exec.CommandContext(ctx, t.duckdb, "-json", "-init", os.DevNull, "-c", sql))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, rows); err != nil {
		return fmt.Errorf("duckdb answered %q: %w", out, err)
	}
	return nil
}
