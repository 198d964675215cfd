package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"batcher/localdev"
)

// TestP39_TheBinaryIsALambdaFunction drives the real program over Lambda's runtime
// API: one process takes several invocations, whatever their events are.
func TestP39_TheBinaryIsALambdaFunction(t *testing.T) {
	w := newWorld(t, nil, localFile)
	want := w.seedLocal("", 2, 50)
	end := time.Now().Add(15 * time.Minute)
	api := localdev.StartRuntimeAPI(t.Errorf,
		localdev.Invocation{Event: `{"Records":[]}`, Deadline: end},
		localdev.Invocation{Event: "again", Deadline: end},
		localdev.Invocation{Event: "{}", Deadline: time.Now().Add(-time.Second)},
		localdev.Invocation{Event: "{}", Deadline: end},
	)
	defer api.Close()
	stop := w.function(api.Address, "BATCHER_CONFIG=pipeline.yaml")

	var first, second, last report
	expectReport(t, api, &first)
	if first.Outcome != outcomeCommitted || first.Rows.Written != want {
		t.Errorf("first run: %+v", first)
	}
	expectReport(t, api, &second)
	if second.Outcome != outcomeEmpty || second.Progress.Objects != 2 {
		t.Errorf("second run: %+v", second)
	}
	expectFailure(t, api, "BatcherTemporary75", "no time is left for a run; nothing was done")
	expectReport(t, api, &last)
	if last.Outcome != outcomeEmpty {
		t.Errorf("run after a failed one: %+v", last)
	}
	if log := stop(); !strings.Contains(log, `"outcome":"failed"`) {
		t.Errorf("the report of the failed run is not in the log:\n%s", log)
	}
	w.proves(want)
}

func TestLambdaFailuresHaveTypes(t *testing.T) {
	for name, c := range map[string]struct{ env, typ, message string }{
		"no pipeline file named": {"BATCHER_CONFIG=", "BatcherConfig78", "BATCHER_CONFIG is not set"},
		"no source":              {"BATCHER_CONFIG=pipeline.yaml", "BatcherUnavailable69", "object not found"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, localFile)
			api := localdev.StartRuntimeAPI(t.Errorf, localdev.Invocation{Event: "{}", Deadline: time.Now().Add(time.Minute)})
			defer api.Close()
			w.function(api.Address, c.env)
			expectFailure(t, api, c.typ, c.message)
		})
	}
}

func TestLambdaRunnerLetsPanicsThrough(t *testing.T) {
	thrown := func() (v any) {
		defer func() { v = recover() }()
		proc := process{Stdout: io.Discard, Stderr: io.Discard, Environ: []string{"BATCHER_CONFIG=p.yaml"}}
		run := lambdaRunner(proc, verbs{Run: func(context.Context, *call, runOptions) (report, error) { panic("ouch") }})
		_, _, _ = run(t.Context(), time.Time{})
		return nil
	}()
	if thrown != "ouch" {
		t.Errorf("thrown: %v", thrown)
	}
}

// function starts the program as a Lambda function. stop ends it, as Lambda does
// with an idle one, and returns what it printed.
func (w *world) function(address string, env ...string) (stop func() string) {
	w.t.Helper()
	var out bytes.Buffer
	cmd := w.command()
	cmd.Env = append(append(cmd.Env, "AWS_LAMBDA_RUNTIME_API="+address), env...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	stop = func() string {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return out.String()
	}
	w.t.Cleanup(func() { stop() })
	return stop
}

// awaitReply decodes the next reply of a function, which is to be a response or
// an error, as verb says.
func awaitReply(t *testing.T, api *localdev.RuntimeAPI, verb string, into any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := api.Await(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verb != verb {
		t.Fatalf("%s to %s, want %s: %s", r.Verb, r.ID, verb, r.Body)
	}
	if err := json.Unmarshal(r.Body, into); err != nil {
		t.Fatalf("%s to %s: %v: %s", r.Verb, r.ID, err, r.Body)
	}
}

func expectReport(t *testing.T, api *localdev.RuntimeAPI, into *report) {
	t.Helper()
	awaitReply(t, api, "response", into)
}

func expectFailure(t *testing.T, api *localdev.RuntimeAPI, typ, message string) {
	t.Helper()
	var got struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	awaitReply(t, api, "error", &got)
	if got.Type != typ || !strings.Contains(got.Message, message) {
		t.Errorf("%s %q, want %s %q", got.Type, got.Message, typ, message)
	}
}
