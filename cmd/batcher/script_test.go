package main

import (
	"errors"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(stopping{m}, map[string]func(){"batcher": main})
}

// TestScripts plays the transcripts under testdata/script. They have one command
// of their own: "exit CODE COMMAND…" demands an exit code.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: exit CODE COMMAND [arguments]")
				}
				demandExit(ts, args[0], args[1:])
			},
		},
	})
}

// demandExit runs a command, which is to end with the exit code.
func demandExit(ts *testscript.TestScript, code string, command []string) {
	want, err := strconv.Atoi(code)
	ts.Check(err)
	got := 0
	if err := ts.Exec(command[0], command[1:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
