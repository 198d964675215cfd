package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"batcher/lambda"
)

func TestHandlerAnswersWithTheReport(t *testing.T) {
	handle := lambda.Handler(func(context.Context, time.Time) (json.RawMessage, int, error) {
		return json.RawMessage(`{"outcome":"committed"}`), 0, nil
	})
	report, err := handle(t.Context(), nil)
	if err != nil || string(report) != `{"outcome":"committed"}` {
		t.Fatalf("got %s, %v", report, err)
	}
}

func TestAnyEventIsAWakeUp(t *testing.T) {
	for name, c := range map[string]struct {
		event string
		typ   string // "" for a run
	}{
		"none":         {"", ""},
		"null":         {"null", ""},
		"schedule":     {`{"source":"aws.events","detail":{}}`, ""},
		"object":       {`{"Records":[{"s3":{"object":{"key":"a"}}}]}`, ""},
		"not json":     {"\xff{", ""},
		"at the limit": {strings.Repeat(" ", lambda.EventLimitBytes), ""},
		"over it":      {strings.Repeat(" ", lambda.EventLimitBytes+1), "BatcherUsage64"},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			_, err := lambda.Handler(func(context.Context, time.Time) (json.RawMessage, int, error) {
				runs++
				return nil, 0, nil
			})(t.Context(), json.RawMessage(c.event))
			if c.typ == "" && (err != nil || runs != 1) {
				t.Fatalf("%d runs, %v; want one run", runs, err)
			}
			if c.typ != "" && (typeOf(t, err) != c.typ || runs != 0) {
				t.Fatalf("%d runs, %v; want none and %s", runs, err, c.typ)
			}
		})
	}
}

func TestEveryFailureHasItsType(t *testing.T) {
	cause := errors.New("put manifest 42: outcome unknown")
	for _, c := range []struct {
		code    int
		err     error
		typ     string
		message string
	}{
		{1, cause, "BatcherBug1", cause.Error()},
		{3, cause, "BatcherEmpty3", cause.Error()},
		{4, cause, "BatcherLag4", cause.Error()},
		{64, cause, "BatcherUsage64", cause.Error()},
		{65, cause, "BatcherBadRecords65", cause.Error()},
		{66, cause, "BatcherGap66", cause.Error()},
		{69, cause, "BatcherUnavailable69", cause.Error()},
		{70, cause, "BatcherDamaged70", cause.Error()},
		{71, cause, "BatcherSuperseded71", cause.Error()},
		{75, cause, "BatcherTemporary75", cause.Error()},
		{77, cause, "BatcherDenied77", cause.Error()},
		{78, cause, "BatcherConfig78", cause.Error()},
		{130, cause, "BatcherInterrupted130", cause.Error()},
		{143, cause, "BatcherInterrupted143", cause.Error()},
		{99, cause, "BatcherExit99", cause.Error()},
		{0, cause, "BatcherBug1", cause.Error()},
		{75, nil, "BatcherTemporary75", "the run ended with exit code 75"},
	} {
		t.Run(c.typ, func(t *testing.T) {
			report, err := lambda.Handler(func(context.Context, time.Time) (json.RawMessage, int, error) {
				return json.RawMessage(`{"outcome":"failed"}`), c.code, c.err
			})(t.Context(), nil)
			if report != nil {
				t.Errorf("a failure answered with the report %s", report)
			}
			if got := typeOf(t, err); got != c.typ {
				t.Errorf("type %s, want %s", got, c.typ)
			}
			if err.Error() != c.message {
				t.Errorf("message %q, want %q", err, c.message)
			}
			if c.err != nil && !errors.Is(err, c.err) {
				t.Error("the cause is lost")
			}
			var failed *lambda.Error
			if errors.As(err, &failed); string(failed.Report) != `{"outcome":"failed"}` {
				t.Errorf("report %s is lost", failed.Report)
			}
		})
	}
}

func TestAPanicIsABug(t *testing.T) {
	_, err := lambda.Handler(func(context.Context, time.Time) (json.RawMessage, int, error) {
		panic("index out of range")
	})(t.Context(), nil)
	if got := typeOf(t, err); got != "BatcherBug1" {
		t.Errorf("type %s", got)
	}
	if !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("message %q does not say what was thrown", err)
	}
}

func TestDeadlines(t *testing.T) {
	for _, c := range []struct {
		given, run, interrupted time.Duration
	}{
		{3 * time.Second, 2700 * time.Millisecond, 2850 * time.Millisecond},
		{time.Minute, 54 * time.Second, 57 * time.Second},
		{15 * time.Minute, 15*time.Minute - 10*time.Second, 15*time.Minute - 5*time.Second},
	} {
		t.Run(c.given.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := context.WithDeadline(t.Context(), start.Add(c.given))
				defer cancel()
				_, err := lambda.Handler(func(ctx context.Context, deadline time.Time) (json.RawMessage, int, error) {
					if got := deadline.Sub(start); got != c.run {
						t.Errorf("deadline after %s, want %s", got, c.run)
					}
					<-ctx.Done()
					return nil, 75, ctx.Err()
				})(ctx, nil)
				if got := time.Since(start); got != c.interrupted {
					t.Errorf("interrupted after %s, want %s", got, c.interrupted)
				}
				if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
					t.Errorf("got %v with the invocation at %v; want an answer before Lambda's deadline", err, ctx.Err())
				}
			})
		})
	}
	t.Run("none", func(t *testing.T) {
		_, err := lambda.Handler(func(ctx context.Context, deadline time.Time) (json.RawMessage, int, error) {
			if _, has := ctx.Deadline(); has || !deadline.IsZero() {
				t.Errorf("made up the deadline %s", deadline)
			}
			return nil, 0, nil
		})(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestInRuntime(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    bool
	}{
		{nil, false},
		{[]string{"AWS_LAMBDA_RUNTIME_API="}, false},
		{[]string{"NOT_AWS_LAMBDA_RUNTIME_API=127.0.0.1:9001"}, false},
		{[]string{"HOME=/", "AWS_LAMBDA_RUNTIME_API=127.0.0.1:9001"}, true},
	} {
		if got := lambda.InRuntime(c.environ); got != c.want {
			t.Errorf("InRuntime(%q) = %t", c.environ, got)
		}
	}
}

// typeOf returns the errorType of a failed invocation.
func typeOf(t *testing.T, err error) string {
	t.Helper()
	var failed *lambda.Error
	if !errors.As(err, &failed) {
		t.Fatalf("got %v, want a *lambda.Error", err)
	}
	return failed.Type()
}
