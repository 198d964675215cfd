package sim

import (
	"fmt"

	"batcher/object"
)

// op is a method of the store.
type op uint8

const (
	opGet op = iota
	opPut
	opList
	opDelete
)

var opNames = [...]string{"get", "put", "list", "delete"}

// call is one request of a process. Equal calls ask for the same.
type call struct {
	op    op
	key   int32 // or prefix
	body  int32 // of a Put
	cond  object.Condition
	depth object.Depth
	opts  object.GetOptions
}

// verdict is the kind of an answer.
type verdict uint8

const (
	done verdict = iota
	notFound
	exists
	conflict
	unknown
	denied
)

// sentinels are the errors of the verdicts.
var sentinels = [...]error{nil, object.ErrNotFound, object.ErrExists, object.ErrConflict, object.ErrUnknown, object.ErrDenied}

// answer is what a process is told. Equal answers tell the same.
type answer struct {
	verdict verdict
	value   int32 // number of the body or the listing that was read
}

// delayed is a write that is still on its way.
type delayed struct {
	process int
	call    call
}

// text tells a call for people.
func (p *pool) text(c call) string {
	s := opNames[c.op] + " " + p.keys.values[c.key]
	if c.op == opPut && c.cond == object.IfAbsent {
		s += " if absent"
	}
	return s
}

// take makes a call on a content.
func (p *pool) take(c content, q call) (content, answer) {
	stands := c.body(q.key)
	switch q.op {
	case opGet:
		if stands == absent {
			return c, answer{verdict: notFound}
		}
		return c, answer{value: stands}
	case opList:
		found := p.list(c, p.keys.values[q.key], q.depth)
		form := ""
		for _, info := range found {
			form += fmt.Sprintf("%s\x00%s\x00%d\n", info.Key, info.ETag, info.Size)
		}
		id, _ := p.listings.number(form, found)
		return c, answer{value: id}
	case opPut:
		if q.cond == object.IfAbsent && stands != absent {
			return c, answer{verdict: exists}
		}
		return c.with(q.key, q.body), answer{}
	default:
		if stands == absent {
			return c, answer{}
		}
		return c.with(q.key, absent), answer{}
	}
}

// faultsOf are what can go wrong with a call.
func (q call) faultsOf() []Fault {
	switch q.op {
	case opPut:
		return []Fault{AnswerLost, NotApplied, Conflict, Denied, Delayed}
	case opDelete:
		return []Fault{AnswerLost, NotApplied, Delayed}
	default:
		return []Fault{NotApplied}
	}
}
