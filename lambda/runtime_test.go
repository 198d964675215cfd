package lambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"batcher/lambda"
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

// reply is one POST of the function.
type reply struct {
	id     string // of the invocation
	verb   string // response or error
	header http.Header
	body   []byte
}

// invocation is one event that the runtime API hands out.
type invocation struct {
	event    string
	deadline time.Time
}

// runtimeAPI speaks Lambda's runtime API, version 2018-06-01, as its guide
// documents it (docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html). The
// invocations are handed out in order, as "id-1", "id-2", …; the next one only
// after the reply to the one before, as Lambda does.
type runtimeAPI struct {
	t       *testing.T
	pending chan invocation
	replies chan reply
	gone    chan struct{} // closed when nothing more is to be handed out

	mu     sync.Mutex
	handed int
	open   string // invocation without a reply
}

func newRuntimeAPI(t *testing.T, invocations ...invocation) (api *runtimeAPI, address string) {
	t.Helper()
	api = &runtimeAPI{
		t:       t,
		pending: make(chan invocation, len(invocations)),
		replies: make(chan reply, len(invocations)),
		gone:    make(chan struct{}),
	}
	for _, i := range invocations {
		api.pending <- i
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", api.next)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{verb}", api.reply)
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the function called %s %s, which the runtime API does not have", r.Method, r.URL)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(api.gone) })
	return api, strings.TrimPrefix(server.URL, "http://")
}

func (a *runtimeAPI) next(w http.ResponseWriter, r *http.Request) {
	select {
	case i := <-a.pending:
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.open != "" {
			a.t.Errorf("the function asked for more with %s unanswered", a.open)
		}
		a.handed++
		a.open = fmt.Sprintf("id-%d", a.handed)
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", a.open)
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(i.deadline.UnixMilli(), 10))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-central-1:000000000000:function:batcher")
		w.Header().Set("Content-Type", "application/json")
		if _, err := io.WriteString(w, i.event); err != nil {
			a.t.Errorf("send %s: %v", a.open, err)
		}
	case <-r.Context().Done():
	case <-a.gone:
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (a *runtimeAPI) reply(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		a.t.Errorf("read the reply: %v", err)
	}
	a.mu.Lock()
	if a.open != r.PathValue("id") {
		a.t.Errorf("reply to %s, open is %q", r.PathValue("id"), a.open)
	}
	a.open = ""
	a.mu.Unlock()
	a.replies <- reply{r.PathValue("id"), r.PathValue("verb"), r.Header, body}
	w.WriteHeader(http.StatusAccepted)
}

// await returns the next reply.
func (a *runtimeAPI) await() reply {
	a.t.Helper()
	select {
	case r := <-a.replies:
		return r
	case <-time.After(30 * time.Second):
		a.t.Fatal("no reply from the function")
		return reply{}
	}
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
	api, address := newRuntimeAPI(t,
		invocation{event, deadline},
		invocation{event, deadline.Add(time.Second)},
		invocation{"null", deadline},
		invocation{"", deadline.Add(time.Minute)},
	)
	f := startFunction(t, address,
		result{},
		result{Code: 75, Message: "put manifest 42: outcome unknown"},
		result{Code: 78, Message: "pipeline.yaml:3:1: unknown key \"tabel\""},
		result{},
	)

	expectReport(t, api.await(), answer{1, deadline.Add(-10 * time.Second).UnixMilli()})
	expectError(t, api.await(), "BatcherTemporary75", "put manifest 42: outcome unknown")
	expectError(t, api.await(), "BatcherConfig78", "pipeline.yaml:3:1: unknown key \"tabel\"")
	expectReport(t, api.await(), answer{4, deadline.Add(time.Minute - 10*time.Second).UnixMilli()})

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
	api, address := newRuntimeAPI(t, invocation{"{}", deadline}, invocation{"{}", deadline})
	f := startFunction(t, address, result{Panic: "index out of range"})
	expectError(t, api.await(), "BatcherBug1", "a bug in batcher: panic: index out of range")
	var exit *exec.ExitError
	if err := f.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the process ended with %v, want code 1", err)
	}
	if !strings.Contains(f.stderr.String(), "lambda_test.child") {
		t.Errorf("no stack in the log:\n%s", &f.stderr)
	}
	startFunction(t, address, result{})
	if r := api.await(); r.verb != "response" || r.id != "id-2" {
		t.Errorf("the new process replied %s to %s: %s", r.verb, r.id, r.body)
	}
}

func expectReport(t *testing.T, r reply, want answer) {
	t.Helper()
	var got answer
	if err := json.Unmarshal(r.body, &got); err != nil || r.verb != "response" || got.Run != want.Run {
		t.Fatalf("%s to %s: %s; want the report of run %d", r.verb, r.id, r.body, want.Run)
	}
	// The reserve is a share of what was left when the event arrived, which
	// binds only below the largest reserve: here the deadline is exact.
	if got.DeadlineMS != want.DeadlineMS {
		t.Errorf("%s: deadline %d, want %d", r.id, got.DeadlineMS, want.DeadlineMS)
	}
}

func expectError(t *testing.T, r reply, typ, message string) {
	t.Helper()
	var got struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	if err := json.Unmarshal(r.body, &got); err != nil || r.verb != "error" {
		t.Fatalf("%s to %s: %s; want an error", r.verb, r.id, r.body)
	}
	if got.Type != typ || got.Message != message {
		t.Errorf("%s: %s %q, want %s %q", r.id, got.Type, got.Message, typ, message)
	}
	if c := r.header.Get("Content-Type"); c != "application/json" {
		t.Errorf("%s: an error of content type %q", r.id, c)
	}
}
