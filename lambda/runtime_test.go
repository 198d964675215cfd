package lambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"batcher/lambda"
	"batcher/localdev"
)

// childVariable turns the test's binary into a Lambda function: it holds the
// scripted results of its runs, in order, as JSON.
const childVariable = "BATCHER_TEST_LAMBDA_RUNS"

// result is what one run of the child does.
type result struct {
	Code    int
	Message string
	Panic   string
}

// answer is the report of the child's runs.
type answer struct {
	Run        int   // counted from 1 in this process
	DeadlineMS int64 // as the runner saw it, Unix time
}

func TestMain(m *testing.M) {
	if script, ok := os.LookupEnv(childVariable); ok {
		lambda.Start(child(script))
	}
	os.Exit(m.Run())
}

// child returns the runner of the function that the test's binary plays.
func child(script string) lambda.Runner {
	var results []result
	if err := json.Unmarshal([]byte(script), &results); err != nil {
		panic(err)
	}
	runs := 0
	return func(_ context.Context, deadline time.Time) (json.RawMessage, int, error) {
		r := results[runs]
		runs++
		if r.Panic != "" {
			panic(r.Panic)
		}
		report, err := json.Marshal(answer{runs, deadline.UnixMilli()})
		if err != nil {
			panic(err)
		}
		if r.Code != 0 {
			return append(report, '\n'), r.Code, errors.New(r.Message) // as the command line prints it
		}
		return report, 0, nil
	}
}

// newRuntimeAPI hands out invocations for as long as the test runs.
func newRuntimeAPI(t *testing.T, invocations ...localdev.Invocation) *localdev.RuntimeAPI {
	t.Helper()
	api := localdev.StartRuntimeAPI(t.Errorf, invocations...)
	t.Cleanup(api.Close)
	return api
}

// await returns the next reply.
func await(t *testing.T, api *localdev.RuntimeAPI) localdev.Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := api.Await(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// function is the process of the Lambda function.
type function struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

func startFunction(t *testing.T, address string, results ...result) *function {
	t.Helper()
	script, err := json.Marshal(results)
	if err != nil {
		t.Fatal(err)
	}
	f := &function{cmd: exec.Command(os.Args[0])}
	f.cmd.Env = append(os.Environ(), "AWS_LAMBDA_RUNTIME_API="+address, childVariable+"="+string(script))
	f.cmd.Stdout, f.cmd.Stderr = &f.stdout, &f.stderr
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.kill)
	return f
}

// kill ends the process, as Lambda does with an idle one, and waits for it; its
// output is complete then.
func (f *function) kill() {
	_ = f.cmd.Process.Kill()
	_ = f.cmd.Wait()
}

// TestP39_InvocationsInARowOnOneProcess plays an invocation, its re-delivery and
// failures in between against one process, over the real protocol.
func TestP39_InvocationsInARowOnOneProcess(t *testing.T) {
	deadline := time.Now().Add(15 * time.Minute).Truncate(time.Millisecond)
	event := `{"Records":[{"eventSource":"aws:s3","s3":{"object":{"key":"in/a.json"}}}]}`
	api := newRuntimeAPI(t,
		localdev.Invocation{Event: event, Deadline: deadline},
		localdev.Invocation{Event: event, Deadline: deadline.Add(time.Second)},
		localdev.Invocation{Event: "null", Deadline: deadline},
		localdev.Invocation{Event: "", Deadline: deadline.Add(time.Minute)},
	)
	f := startFunction(t, api.Address,
		result{},
		result{Code: 75, Message: "put manifest 42: outcome unknown"},
		result{Code: 78, Message: "pipeline.yaml:3:1: unknown key \"tabel\""},
		result{},
	)

	expectReport(t, await(t, api), answer{1, deadline.Add(-10 * time.Second).UnixMilli()})
	expectError(t, await(t, api), "BatcherTemporary75", "put manifest 42: outcome unknown")
	expectError(t, await(t, api), "BatcherConfig78", "pipeline.yaml:3:1: unknown key \"tabel\"")
	expectReport(t, await(t, api), answer{4, deadline.Add(time.Minute - 10*time.Second).UnixMilli()})

	f.kill()
	failed := fmt.Sprintf("{\"Run\":2,\"DeadlineMS\":%d}\n{\"Run\":3,\"DeadlineMS\":%d}\n",
		deadline.Add(-9*time.Second).UnixMilli(), deadline.Add(-10*time.Second).UnixMilli())
	if f.stdout.String() != failed {
		t.Errorf("stdout %q, want the reports of the failed runs %q", &f.stdout, failed)
	}
}

// TestAPanicEndsTheProcess checks that the panic is reported first, with its
// stack in the log, and that a new process takes the next invocation.
func TestAPanicEndsTheProcess(t *testing.T) {
	deadline := time.Now().Add(time.Hour)
	api := newRuntimeAPI(t, localdev.Invocation{Event: "{}", Deadline: deadline}, localdev.Invocation{Event: "{}", Deadline: deadline})
	f := startFunction(t, api.Address, result{Panic: "index out of range"})
	expectError(t, await(t, api), "BatcherBug1", "a bug in batcher: panic: index out of range")
	var exit *exec.ExitError
	if err := f.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the process ended with %v, want code 1", err)
	}
	if !strings.Contains(f.stderr.String(), "lambda_test.child") {
		t.Errorf("no stack in the log:\n%s", &f.stderr)
	}
	startFunction(t, api.Address, result{})
	if r := await(t, api); r.Verb != "response" || r.ID != "id-2" {
		t.Errorf("the new process replied %s to %s: %s", r.Verb, r.ID, r.Body)
	}
}

func expectReport(t *testing.T, r localdev.Reply, want answer) {
	t.Helper()
	var got answer
	if err := json.Unmarshal(r.Body, &got); err != nil || r.Verb != "response" || got.Run != want.Run {
		t.Fatalf("%s to %s: %s; want the report of run %d", r.Verb, r.ID, r.Body, want.Run)
	}
	// The reserve is a share of what was left when the event arrived, which
	// binds only below the largest reserve: here the deadline is exact.
	if got.DeadlineMS != want.DeadlineMS {
		t.Errorf("%s: deadline %d, want %d", r.ID, got.DeadlineMS, want.DeadlineMS)
	}
}

func expectError(t *testing.T, r localdev.Reply, typ, message string) {
	t.Helper()
	var got struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	if err := json.Unmarshal(r.Body, &got); err != nil || r.Verb != "error" {
		t.Fatalf("%s to %s: %s; want an error", r.Verb, r.ID, r.Body)
	}
	if got.Type != typ || got.Message != message {
		t.Errorf("%s: %s %q, want %s %q", r.ID, got.Type, got.Message, typ, message)
	}
	if c := r.Header.Get("Content-Type"); c != "application/json" {
		t.Errorf("%s: an error of content type %q", r.ID, c)
	}
}
