package faultstore

import (
	"fmt"
	"strings"

	"batcher/object"
)

// Op is the kind of a call.
type Op string

// The calls of object.Store and object.Uploader that reach a store. A listing
// is one call; an upload is one when it begins and one when it is completed.
const (
	Any      Op = ""
	Get      Op = "Get"
	Put      Op = "Put"
	List     Op = "List"
	Delete   Op = "Delete"
	Upload   Op = "Upload"
	Complete Op = "Complete"
)

// Fault is what happens to a call.
type Fault uint8

const (
	// Unavailable fails with ErrUnknown, and nothing happened (503).
	Unavailable Fault = iota + 1
	// Conflict fails with ErrConflict, and nothing happened (409).
	Conflict
	// Deny fails with ErrDenied, and nothing happened (403).
	Deny
	// LoseAnswer lets it happen, and fails with ErrUnknown.
	LoseAnswer
	// CrashBefore ends the process before the call: it and all later calls fail
	// with ErrCrashed, and nothing happened.
	CrashBefore
	// CrashAfter ends the process between the call and its answer.
	CrashAfter
	// LandLate fails with ErrUnknown at once; the call happens when the test
	// calls Release. On a Get or List it is Unavailable.
	LandLate
	// Hold keeps the caller waiting until the test calls Release, or until its
	// context ends; then the call happens, or not.
	Hold
	// Tear ends the body of a Get with ErrUnknown after half of it. On another
	// call it is Unavailable.
	Tear
)

var faultNames = map[Fault]string{
	Unavailable: "Unavailable", Conflict: "Conflict", Deny: "Deny", LoseAnswer: "LoseAnswer",
	CrashBefore: "CrashBefore", CrashAfter: "CrashAfter", LandLate: "LandLate", Hold: "Hold", Tear: "Tear",
}

// String returns the name of the constant.
func (f Fault) String() string {
	if name, ok := faultNames[f]; ok {
		return name
	}
	return fmt.Sprintf("Fault(%d)", uint8(f))
}

// Rule says which calls a fault befalls: those of kind Op whose key (or listed
// prefix) begins with Prefix are counted from 1, and it strikes Times of them
// from number Call on.
type Rule struct {
	Op     Op     // Any matches all
	Prefix string // "" matches all
	Call   int    // number of the first call it strikes; 0 means 1
	Times  int    // how many calls it strikes; 0 means 1, negative all that follow
	Fault  Fault
}

// matches says whether the rule counts a call.
func (r Rule) matches(op Op, key string) bool {
	return (r.Op == Any || r.Op == op) && strings.HasPrefix(key, r.Prefix)
}

// strikes says whether the rule strikes the nth call that it counts.
func (r Rule) strikes(n int) bool {
	first, times := max(r.Call, 1), r.Times
	if times == 0 {
		times = 1
	}
	return n >= first && (times < 0 || n < first+times)
}

// Script is a set of rules. Of several that strike one call the first wins.
type Script []Rule

// String prints the script as the Go literal that replays it.
func (s Script) String() string {
	var b strings.Builder
	b.WriteString("faultstore.Script{")
	for i, r := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("{")
		if r.Op != Any {
			fmt.Fprintf(&b, "Op: faultstore.%s, ", string(r.Op))
		}
		if r.Prefix != "" {
			fmt.Fprintf(&b, "Prefix: %q, ", r.Prefix)
		}
		if r.Call != 0 {
			fmt.Fprintf(&b, "Call: %d, ", r.Call)
		}
		if r.Times != 0 {
			fmt.Fprintf(&b, "Times: %d, ", r.Times)
		}
		fmt.Fprintf(&b, "Fault: faultstore.%s}", r.Fault)
	}
	b.WriteString("}")
	return b.String()
}

// answers maps the faults that only answer to the sentinel they answer with.
var answers = map[Fault]error{
	Unavailable: object.ErrUnknown, Conflict: object.ErrConflict, Deny: object.ErrDenied,
}
