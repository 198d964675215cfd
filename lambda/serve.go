package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	vendor "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
)

// runtimeAPI is the variable by which Lambda tells a process where to ask for
// invocations.
const runtimeAPI = "AWS_LAMBDA_RUNTIME_API"

// serve asks the runtime API for one invocation after the other. Reports of
// failed runs go to stdout, where the log keeps what the answer has no room for;
// stacks of panics go to stderr.
func serve(run Runner, stdout, stderr io.Writer) {
	vendor.Start(&function{Handler(run), stdout, stderr})
}

// function is a Handler in the vendor's form. Being a vendor.Handler, it is
// given the event as it is: the vendor's reflecting handlers would refuse an
// event that is not JSON.
type function struct {
	handle func(context.Context, json.RawMessage) (json.RawMessage, error)
	stdout io.Writer
	stderr io.Writer
}

// Invoke handles one invocation.
func (f *function) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	report, err := f.handle(ctx, event)
	if err == nil {
		return report, nil
	}
	var failed *Error
	if !errors.As(err, &failed) {
		return nil, err
	}
	if report := bytes.TrimSpace(failed.Report); len(report) > 0 {
		_, _ = fmt.Fprintf(f.stdout, "%s\n", report) // a log that is gone changes no answer
	}
	stack := stackOf(failed)
	if stack != nil {
		_, _ = fmt.Fprintf(f.stderr, "%s\n", stack)
	}
	// The process goes on after a failure, but not after a panic: whatever that
	// left half done in memory is not for the next invocation.
	return nil, messages.InvokeResponse_Error{
		Message:    failed.Error(),
		Type:       failed.Type(),
		ShouldExit: stack != nil,
	}
}
