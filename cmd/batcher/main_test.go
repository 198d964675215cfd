package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"batcher/commit"
	"batcher/config"
	"batcher/dlq"
	"batcher/manifest"
	"batcher/object"
	"batcher/source"
)

// played is what one run of the program left behind.
type played struct {
	code           int
	stdout, stderr string
}

// play runs the program in this process.
func play(v verbs, args ...string) played {
	return playWith(process{}, v, args...)
}

func playWith(proc process, v verbs, args ...string) played {
	var stdout, stderr bytes.Buffer
	if proc.Limit == nil {
		proc.Limit = func(limits) {}
	}
	proc.Stdin, proc.Stdout, proc.Stderr = strings.NewReader(""), &stdout, &stderr
	code := run(append([]string{"batcher"}, args...), proc, v)
	return played{code, stdout.String(), stderr.String()}
}

// TestOptions gives command lines and what the verbs get of them.
func TestOptions(t *testing.T) {
	var got any
	v := verbs{
		Init:    func(_ context.Context, _ *call, o initOptions) error { got = o; return nil },
		Plan:    func(_ context.Context, _ *call, o planOptions) error { got = o; return nil },
		Run:     func(_ context.Context, _ *call, o runOptions) (report, error) { got = o; return report{}, nil },
		Status:  func(_ context.Context, _ *call, o statusOptions) error { got = o; return nil },
		History: func(_ context.Context, _ *call, o historyOptions) error { got = o; return nil },
		Show:    func(_ context.Context, _ *call, o showOptions) error { got = o; return nil },
		Files:   func(_ context.Context, _ *call, o filesOptions) error { got = o; return nil },
		Head:    func(_ context.Context, _ *call, o headOptions) error { got = o; return nil },
		DDL:     func(_ context.Context, _ *call, o ddlOptions) error { got = o; return nil },
		Verify:  func(_ context.Context, _ *call, o verifyOptions) error { got = o; return nil },
		Doctor:  func(_ context.Context, _ *call, o doctorOptions) error { got = o; return nil },
		DLQ:     func(_ context.Context, _ *call, o dlqOptions) error { got = o; return nil },
		GC:      func(_ context.Context, _ *call, o gcOptions) error { got = o; return nil },
	}
	seven, quarter := manifest.Seq(7), 15*time.Minute
	full := planOptions{MaxBatches: 3, Deadline: 14 * time.Minute, Shard: source.Shard{Index: 1, Count: 4}, OnGap: gapSkip}
	for line, want := range map[string]any{
		"init":      initOptions{},
		"init ./in": initOptions{Path: "./in"},
		"plan":      planOptions{OnGap: gapFail},
		"run":       runOptions{planOptions: planOptions{OnGap: gapFail}},
		"run --max-batches 3 --deadline 14m --shard 1/4 --on-gap skip --accept-bad --fail-on-empty": runOptions{full, true, true, 0},
		"run --dry-run --max-batches=3 --deadline=14m --shard=1/4 --on-gap=skip":                    full,
		"plan --range -":                   planOptions{Range: "-", OnGap: gapFail},
		"run --range r.json":               runOptions{planOptions: planOptions{Range: "r.json", OnGap: gapFail}},
		"status":                           statusOptions{},
		"status --max-lag 15m":             statusOptions{MaxLag: &quarter},
		"history":                          historyOptions{Limit: 20},
		"history -n 0":                     historyOptions{},
		"show 7":                           showOptions{Seq: 7},
		"show head --raw":                  showOptions{Seq: -1, Raw: true},
		"show -2":                          showOptions{Seq: -2},
		"files":                            filesOptions{},
		"files --table events_dead --at 7": filesOptions{Table: "events_dead", At: &seven},
		"head":                             headOptions{Rows: 10},
		"head -n 3 --table x":              headOptions{Table: "x", Rows: 3},
		"ddl duckdb":                       ddlOptions{Engine: "duckdb"},
		"ddl duckdb --no-extension --at 7 --latest-by id": ddlOptions{Engine: "duckdb", NoExtension: true, At: &seven, LatestBy: "id"},
		"verify":                           verifyOptions{},
		"verify --source --deep --since 7": verifyOptions{Source: true, Deep: true, Since: 7},
		"doctor":                           doctorOptions{},
		"dlq list --code syntax --limit 3": dlqOptions{Action: "list", Filter: dlq.Filter{Codes: []string{"syntax"}, Limit: 3}},
		"dlq show":                         dlqOptions{Action: "show", Filter: dlq.Filter{Limit: shownLetters}},
		"dlq show a:b:7 --id c:1":          dlqOptions{Action: "show", Filter: dlq.Filter{IDs: []dlq.ID{{Source: "c", Offset: 1}, {Source: "a:b", Offset: 7}}}},
		"dlq export --stage schema":        dlqOptions{Action: "export", Filter: dlq.Filter{Stages: []string{"schema"}}},
		"dlq replay - --dry-run":           dlqOptions{Action: "replay", File: "-", DryRun: true},
		"--object d/ dlq replay":           dlqOptions{Action: "replay", Filter: dlq.Filter{Sources: []string{"d/"}}},
		"dlq retry":                        dlqOptions{Action: "retry"},
		"dlq discard a:0 --confirm":        dlqOptions{Action: "discard", Filter: dlq.Filter{IDs: []dlq.ID{{Source: "a"}}}, Confirm: true},
		"dlq discard --all":                dlqOptions{Action: "discard"},
		"gc":                               gcOptions{Keep: gcKeep},
		"gc --confirm":                     gcOptions{Confirm: true, Keep: gcKeep},
	} {
		got = nil
		p := play(v, strings.Fields(line)...)
		if p.code != 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: exit %d, got %+v, want %+v\n%s", line, p.code, got, want, p.stderr)
		}
	}
	for _, line := range []string{
		"run --shard 4/4", "run --shard 0/0", "run --shard -1/4", "run --shard 1", "run --shard 1/", "run --shard /4", "run --shard a/b", "run --shard 1/4/2", "run --shard +1/4", "run --shard=", "run --shard 1/99999999",
		"run --max-batches 0", "run --max-batches -1", "run --deadline 0s", "run --deadline -5m", "run --deadline 14", "run --on-gap ask", "run --range=", "run --range x --shard 0/2", "run x",
		"status --max-lag -1m", "history -n -1", "show 1.5", "show hed", "show +1", "show -0", "files --at x", "head -n 0", "verify --since=", "gc now", "init a b", "plan --accept-bad",
		"dlq", "dlq lst", "dlq list x:1", "dlq show x", "dlq replay a b", "dlq replay a --code x", "dlq discard", "dlq discard --all --code x", "dlq retry --code x",
		"dlq show --limit 0", "dlq discard --code x --limit 3 --confirm", "dlq replay --confirm", "dlq discard --all --dry-run", "dlq retry --all",
	} {
		got = nil
		if p := play(v, strings.Fields(line)...); p.code != exitUsage || got != nil || !strings.HasPrefix(p.stderr, "batcher: ") || p.stdout != "" {
			t.Errorf("%s: exit %d, called with %v, %q %q", line, p.code, got, p.stdout, p.stderr)
		}
	}
}

func TestGlobalsReachTheVerb(t *testing.T) {
	var got globals
	v := verbs{Doctor: func(_ context.Context, c *call, _ doctorOptions) error { got = c.globals; return nil }}
	var limited limits
	p := playWith(process{Limit: func(l limits) { limited = l }}, v, "-c", "x.yaml", "doctor", "-o", "json", "--log-format", "json", "--log-level", "warn", "-v", "--color", "never", "--memory", "64MiB", "--threads", "3", "--set", "a=b,c", "--set", "d=[e]")
	want := globals{Config: "x.yaml", Output: outputJSON, Log: logOptions{"json", 4}, Color: "never", Memory: 64 << 20, Threads: 3, Set: []string{"a=b,c", "d=[e]"}}
	if p.code != 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("exit %d %s\ngot  %+v\nwant %+v", p.code, p.stderr, got, want)
	}
	if limited != (limits{threads: 3, memory: 64 << 20}) {
		t.Errorf("the process is limited to %+v", limited)
	}
}

func TestLimitsHoldForTheProcess(t *testing.T) {
	threads, memory := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(threads)
		debug.SetMemoryLimit(memory)
	})
	limits{}.apply()
	if runtime.GOMAXPROCS(0) != threads || debug.SetMemoryLimit(-1) != memory {
		t.Error("no limits changed something")
	}
	limits{threads: threads + 1, memory: 1 << 30}.apply()
	if runtime.GOMAXPROCS(0) != threads+1 || debug.SetMemoryLimit(-1) != 1<<30 {
		t.Errorf("%d threads, %d bytes", runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1))
	}
}

// TestFlagNamesHaveOneArity holds what splitVerb relies on: whether a flag takes
// a value does not depend on the verb.
func TestFlagNamesHaveOneArity(t *testing.T) {
	app := newShell(process{Stdout: io.Discard, Stderr: io.Discard}, verbs{}).app
	every := everyFlag(app)
	for _, verb := range append([]*cli.Command{{Name: "all", Flags: app.Flags}}, app.Commands...) {
		for name, a := range arities(verb.Flags) {
			if every[name] != a {
				t.Errorf("%s --%s takes a value: %v, elsewhere %v", verb.Name, name, a, every[name])
			}
		}
	}
	if len(every) < 25 {
		t.Errorf("only %d flags found", len(every))
	}
}

// TestExitCodes gives errors of the rooms and the codes they end in.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{object.ErrDenied, 77},
		{object.ErrUnsupported, 69},
		{object.ErrUnknown, 75},
		{object.ErrConflict, 75},
		{commit.ErrDamaged, 70},
		{commit.ErrForeign, 78},
		{commit.ErrUnresolved, 75},
		{config.Errors{{File: "p.yaml", Line: 1, Col: 2, Msg: "x"}}, 78},
		{&exitError{Code: exitBadRecords, Err: errors.New("x")}, 65},
		{errors.New("of nobody"), 1},
		{fmt.Errorf("%w, and %w", object.ErrDenied, commit.ErrDamaged), 70},
		{context.Canceled, 1},
	} {
		for _, wrapped := range []error{c.err, fmt.Errorf("put manifest 42: %w", c.err)} {
			if c.err == nil {
				wrapped = nil
			}
			v := verbs{Doctor: func(context.Context, *call, doctorOptions) error { return wrapped }}
			p := play(v, "doctor")
			if p.code != c.code || c.err != nil && !strings.HasPrefix(p.stderr, "batcher: "+strings.SplitN(wrapped.Error(), "\n", 2)[0]) {
				t.Errorf("%v: exit %d, want %d: %s", wrapped, p.code, c.code, p.stderr)
			}
		}
	}
}

func TestPanicIsABugWithExit1(t *testing.T) {
	v := verbs{Doctor: func(context.Context, *call, doctorOptions) error { panic("ouch") }}
	p := play(v, "doctor")
	if p.code != 1 || !strings.Contains(p.stderr, "batcher: a bug in batcher: panic: ouch\nhint: please report it") || !strings.Contains(p.stderr, "main_test.go") {
		t.Errorf("exit %d: %s", p.code, p.stderr)
	}
}

// TestRunPrintsExactlyOneLineOfJSON runs to every kind of end.
func TestRunPrintsExactlyOneLineOfJSON(t *testing.T) {
	seq := int64(7)
	done := report{Outcome: outcomeCommitted, Batches: 1, Seq: &seq, BatchID: "b", Attempt: "a", Rows: reportRows{Read: 3, Written: 2, Dead: 1}, DurationMS: 12}
	for name, c := range map[string]struct {
		run     func() (report, error)
		args    []string
		code    int
		outcome string
		message string
	}{
		"committed":     {func() (report, error) { return done, nil }, nil, 0, "committed", ""},
		"empty":         {func() (report, error) { return report{Outcome: outcomeEmpty}, nil }, nil, 0, "empty", ""},
		"fail on empty": {func() (report, error) { return report{Outcome: outcomeEmpty}, nil }, []string{"--fail-on-empty"}, 3, "empty", "nothing to do"},
		"failed":        {func() (report, error) { return report{}, fmt.Errorf("list: %w", object.ErrDenied) }, nil, 77, "failed", "list: access denied"},
		"failed later":  {func() (report, error) { return done, fmt.Errorf("list: %w", object.ErrDenied) }, nil, 77, "committed", "list: access denied"},
		"unknown":       {func() (report, error) { return report{}, commit.ErrUnresolved }, nil, 75, "unknown", "commit outcome unknown"},
		"fenced":        {func() (report, error) { return report{}, &exitError{Code: exitSuperseded, Err: errors.New("fenced")} }, nil, 71, "fenced", "fenced"},
		"config":        {func() (report, error) { return report{}, config.Errors{{File: "p", Msg: "a"}, {File: "p", Msg: "b"}} }, nil, 78, "failed", "p: a\np: b"},
		"panic":         {func() (report, error) { panic("ouch") }, nil, 1, "failed", "a bug in batcher: panic: ouch"},
	} {
		t.Run(name, func(t *testing.T) {
			v := verbs{Run: func(context.Context, *call, runOptions) (report, error) { return c.run() }}
			p := play(v, append([]string{"run", "-o", "json"}, c.args...)...)
			if strings.Count(p.stdout, "\n") != 1 || !strings.HasSuffix(p.stdout, "\n") {
				t.Fatalf("not one line: %q", p.stdout)
			}
			var got report
			dec := json.NewDecoder(strings.NewReader(p.stdout))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&got); err != nil {
				t.Fatal(err)
			}
			message := ""
			if got.Error != nil {
				message = got.Error.Message
				if got.Error.Code != c.code {
					t.Errorf("error code %d, exit code %d", got.Error.Code, c.code)
				}
			}
			if p.code != c.code || got.Outcome != c.outcome || message != c.message {
				t.Errorf("exit %d outcome %s message %q, want %d %s %q", p.code, got.Outcome, message, c.code, c.outcome, c.message)
			}
		})
	}
}

// TestReportFieldOrder holds the line that scripts read.
func TestReportFieldOrder(t *testing.T) {
	seq := int64(7)
	got, err := report{Outcome: outcomeCommitted, Batches: 1, Seq: &seq, BatchID: "…", Attempt: "…"}.line()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"outcome":"committed","batches":1,"seq":7,"batch_id":"…","attempt":"…",` +
		`"rows":{"read":0,"written":0,"late":0,"dead":0,"duplicate":0,"replaced":0},"bytes":{"read":0,"written":0},` +
		`"objects":{"read":0,"late":0,"changed":0,"ignored":0,"quarantined":0,"young":0,"appended":0,"replaced":0,"unreadable":0},"requests":{"get":0,"put":0,"list":0,"delete":0,"head":0},` +
		`"progress":{"objects":0},"lag":{"objects":0,"bytes":0,"seconds":0},"files":[],"conflicts":[],"duration_ms":0,"error":null,"merged":{"files":0,"into":0},"unreadable":[],"added":[],"warnings":[],"unmatched":[],"left_out":[]}` + "\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReportForPeople(t *testing.T) {
	seq := int64(7)
	v := verbs{Run: func(context.Context, *call, runOptions) (report, error) {
		return report{Outcome: outcomeCommitted, Batches: 2, Seq: &seq, Rows: reportRows{Read: 10, Written: 9, Dead: 1}, Objects: reportObjects{Read: 4, Changed: 6, Appended: 2, Replaced: 3},
			Conflicts: []reportConflict{{"events", "price", 3, "pin it", false}, {"events", "", 2, "", true}}, Lag: reportLag{Objects: 5, Bytes: 99}, DurationMS: 1250}, nil
	}}
	want := "committed manifest 7: 2 batches, 4 objects, 10 records → 9 rows, 1 dead letter in 1.25s\n" +
		"  2 objects changed since consumed, appended\n  3 objects changed since consumed, replaced\n"
	troubles := "  1 object changed since consumed, left alone\n" +
		"  events.price: 3 values did not fit, kept in _rescued (pin it)\n  events: 2 values did not fit, stored nowhere\n"
	if p := play(v, "run", "-q"); p.stdout != strings.SplitAfter(want, "\n")[0]+troubles || p.stderr != "" {
		t.Errorf("got %q %q", p.stdout, p.stderr)
	}
	want += troubles + "  left to read: 5 objects, 99 B\n"
	if p := play(v, "run"); p.stdout != want || p.stderr != "" {
		t.Errorf("got %q %q", p.stdout, p.stderr)
	}
}

// TestSignals interrupts a verb that waits for its context.
func TestSignals(t *testing.T) {
	for _, c := range []struct {
		signal os.Signal
		code   int
	}{{os.Interrupt, 130}, {syscall.SIGTERM, 143}} {
		signals := make(chan os.Signal, 2)
		wait := func(ctx context.Context) error {
			signals <- c.signal
			<-ctx.Done()
			return fmt.Errorf("list: %w", errors.Join(object.ErrUnknown, ctx.Err()))
		}
		v := verbs{
			Doctor: func(ctx context.Context, _ *call, _ doctorOptions) error { return wait(ctx) },
			Run:    func(ctx context.Context, _ *call, _ runOptions) (report, error) { return report{}, wait(ctx) },
		}
		if p := playWith(process{Signals: signals}, v, "doctor"); p.code != c.code || !strings.HasPrefix(p.stderr, "batcher: interrupted (") {
			t.Errorf("%v: exit %d: %s", c.signal, p.code, p.stderr)
		}
		p := playWith(process{Signals: signals}, v, "run", "-o", "json")
		if p.code != c.code || !strings.Contains(p.stdout, fmt.Sprintf(`"error":{"code":%d,`, c.code)) {
			t.Errorf("%v: exit %d: %s", c.signal, p.code, p.stdout)
		}
	}
}

func TestSignals_FailureOrSuccessInSpiteOfOneStands(t *testing.T) {
	for want, failure := range map[int]error{0: nil, 70: commit.ErrDamaged} {
		signals := make(chan os.Signal, 2)
		v := verbs{Doctor: func(ctx context.Context, _ *call, _ doctorOptions) error {
			signals <- os.Interrupt
			<-ctx.Done()
			return failure
		}}
		if p := playWith(process{Signals: signals}, v, "doctor"); p.code != want {
			t.Errorf("exit %d, want %d: %s", p.code, want, p.stderr)
		}
	}
}

func TestSignals_TheSecondKills(t *testing.T) {
	signals, killed := make(chan os.Signal, 2), make(chan int, 1)
	v := verbs{Doctor: func(context.Context, *call, doctorOptions) error {
		signals <- os.Interrupt
		signals <- syscall.SIGTERM
		if code := <-killed; code != 143 {
			t.Errorf("killed with %d", code)
		}
		return nil
	}}
	playWith(process{Signals: signals, Kill: func(code int) { killed <- code }}, v, "doctor")
}

func TestPipelineFileOnS3(t *testing.T) {
	const text = "pipeline: events\nstore: s3://bucket/lake\nsource: {files: {path: s3://bucket/in}}\n"
	var reached *config.Pipeline
	v := verbs{
		ReadFile: func(_ context.Context, address string) ([]byte, error) {
			if address != "s3://bucket/p.yaml" {
				return nil, fmt.Errorf("get %s: %w", address, object.ErrDenied)
			}
			return []byte(text), nil
		},
		Reach: func(_ context.Context, p *config.Pipeline) error { reached = p; return nil },
	}
	if p := play(v, "validate", "-c", "s3://bucket/p.yaml"); p.code != 0 || reached == nil || reached.Store.Bucket != "bucket" {
		t.Errorf("exit %d: %s", p.code, p.stderr)
	}
	if p := play(v, "validate", "-c", "s3://other/p.yaml"); p.code != 77 {
		t.Errorf("exit %d: %s", p.code, p.stderr)
	}
	v.Reach = func(context.Context, *config.Pipeline) error {
		return fmt.Errorf("no bucket: %w", object.ErrUnsupported)
	}
	if p := play(v, "validate", "-c", "s3://bucket/p.yaml"); p.code != 69 || p.stdout != "" {
		t.Errorf("exit %d: %s", p.code, p.stderr)
	}
}

func TestPipelineFileOverItsSizeIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(path, bytes.Repeat([]byte("#\n"), config.MaxBytes), 0o644); err != nil {
		t.Fatal(err)
	}
	if p := play(verbs{}, "validate", "--offline", "-c", path); p.code != 78 || !strings.Contains(p.stderr, "that is no pipeline file") {
		t.Errorf("exit %d: %s", p.code, p.stderr)
	}
}
