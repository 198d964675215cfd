package lambda

import (
	"encoding/json"
	"errors"
	"fmt"
)

// The exit codes that this package itself gives.
const (
	codeBug   = 1
	codeUsage = 64
)

// kinds are the words for the exit codes in the type of an error. They are a
// contract: retry rules and alarms name them.
var kinds = map[int]string{
	codeBug:   "Bug",
	3:         "Empty",
	4:         "Lag",
	codeUsage: "Usage",
	65:        "BadRecords",
	66:        "Gap",
	69:        "Unavailable",
	70:        "Damaged",
	71:        "Superseded",
	75:        "Temporary",
	77:        "Denied",
	78:        "Config",
	130:       "Interrupted",
	143:       "Interrupted",
}

// Error is a run that failed.
type Error struct {
	// Code is the exit code that the command line would have ended with.
	Code int
	// Report is the run's JSON report; nil if it got none.
	Report json.RawMessage
	// Err says what happened.
	Err error
}

// Error is the text of Err, as the command line would print it.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Type is the errorType in Lambda's answer: "Batcher", the kind of failure and
// the exit code, e.g. BatcherTemporary75. A code that the documentation does not
// list is BatcherExit and the code. Those worth a retry are BatcherTemporary75,
// BatcherSuperseded71 and BatcherInterrupted…; all are safe to retry.
func (e *Error) Type() string {
	kind, ok := kinds[e.Code]
	if !ok {
		kind = "Exit"
	}
	return fmt.Sprintf("Batcher%s%d", kind, e.Code)
}

// failure makes the Error of a run that ended with code and err, of which at
// least one says that it failed. Each has a say: an error never passes for a
// success because its code is missing, nor a code because its error is.
func failure(report json.RawMessage, code int, err error) *Error {
	if code == 0 {
		code = codeBug
	}
	if err == nil {
		err = fmt.Errorf("the run ended with exit code %d", code)
	}
	return &Error{Code: code, Report: report, Err: err}
}

// panicError is a panic that protect caught.
type panicError struct {
	value any
	stack []byte
}

// Error says what was thrown.
func (p *panicError) Error() string { return fmt.Sprintf("a bug in batcher: panic: %v", p.value) }

// stackOf returns the stack of the panic behind err, or nil if there is none.
func stackOf(err error) []byte {
	var p *panicError
	if errors.As(err, &p) {
		return p.stack
	}
	return nil
}
