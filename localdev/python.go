package localdev

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// Python is an interpreter that has packages in exact versions. Any number of
// scripts may run at the same time.
type Python struct{ path string }

// OpenPython returns an interpreter with packages, each "name==version". The first
// call on a machine installs them from the package index into a folder of the cache
// that is named after the first; it needs python3 with venv.
func OpenPython(ctx context.Context, packages ...string) (*Python, error) {
	path, err := installPython(ctx, packages)
	if err != nil {
		return nil, fmt.Errorf("install %s: %w", packages[0], err)
	}
	return &Python{path}, nil
}

// Ask runs a script that finds question as JSON on its standard input, and reads into
// answer what it prints, as JSON, with numbers as json.Number. The script may call
// plain(value), which turns what engines return into what JSON carries without loss;
// see DuckDB.Query. The variables, "NAME=value" each, are set besides those of this
// process, whose time zone is UTC for the script.
func (p *Python) Ask(ctx context.Context, script string, variables []string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, p.path, "-c", plainScript+script)
	cmd.Env = append(append(os.Environ(), "TZ=UTC", "PYTHONUTF8=1"), variables...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(body), &out, &errOut
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run the script: %w\n%s", err, tail(errOut.Bytes()))
	}
	decoder := json.NewDecoder(&out)
	decoder.UseNumber()
	if err := decoder.Decode(answer); err != nil {
		return fmt.Errorf("read the script's answer: %w\n%s", err, tail(errOut.Bytes()))
	}
	return nil
}

// tail is the end of what a program said: engines say much.
func tail(text []byte) []byte { return text[max(0, len(text)-8<<10):] }
