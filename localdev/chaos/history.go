package chaos

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"batcher/localdev"
)

// history is what was asked of manifests' slots and what the store answered, at
// the store: the answer is known even where the client never got it, and the
// times are the tightest that can be had.
type history struct {
	mu         sync.Mutex
	operations []porcupine.Operation
}

// slotAsked is one request for a slot.
type slotAsked struct {
	slot string
	put  bool              // if absent
	sum  [sha256.Size]byte // of what is put
}

// slotAnswered is the store's answer: 0 is none.
type slotAnswered struct {
	status int
	sum    [sha256.Size]byte // of what a GET brought
}

// watch notes an exchange if it is about a slot.
func (h *history) watch(x localdev.Exchange) {
	slot := slotOf(x.Request.URL.Path)
	if slot == "" || x.Request.Method != http.MethodPut && x.Request.Method != http.MethodGet {
		return
	}
	h.add(slotAsked{slot, x.Request.Method == http.MethodPut, sha256.Sum256(x.Body)},
		slotAnswered{x.Status, sha256.Sum256(x.Answer)}, x.Sent, x.Answered)
}

// add notes an operation. One without an answer may still take effect at any time.
func (h *history) add(asked slotAsked, answered slotAnswered, from, to time.Time) {
	o := porcupine.Operation{Input: asked, Output: answered, Call: from.UnixNano(), Return: to.UnixNano()}
	if uncertain(answered.status) {
		o.Return = math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, o)
}

// uncertain says that a status does not tell what the store did.
func uncertain(status int) bool { return status == 0 || status >= http.StatusInternalServerError }

// writeOnce is a slot: nothing, and from its first successful PUT on these bytes.
var writeOnce = porcupine.NondeterministicModel{
	Partition: bySlot,
	Init:      func() []any { return []any{empty} },
	Step: func(state, input, output any) []any {
		return step(state.([sha256.Size]byte), input.(slotAsked), output.(slotAnswered))
	},
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%+v → %d", input, output.(slotAnswered).status)
	},
}

// empty is the state of a slot that nothing was put to; no bytes have this hash.
var empty [sha256.Size]byte

// step returns the states that a slot may be in after an operation; none, if the
// answer was impossible.
func step(state [sha256.Size]byte, asked slotAsked, answered slotAnswered) []any {
	same, taken := []any{state}, state != empty
	switch {
	case uncertain(answered.status) && asked.put && !taken:
		return []any{state, asked.sum}
	case uncertain(answered.status):
		return same
	case asked.put && answered.status == http.StatusOK && !taken:
		return []any{asked.sum}
	case asked.put && answered.status == http.StatusPreconditionFailed && taken:
		return same
	case asked.put && answered.status == http.StatusConflict:
		return same
	case !asked.put && answered.status == http.StatusNotFound && !taken:
		return same
	case !asked.put && answered.status == http.StatusOK && bytes.Equal(state[:], answered.sum[:]):
		return same
	}
	return nil
}

// bySlot splits a history into those of the slots, which are independent.
func bySlot(all []porcupine.Operation) [][]porcupine.Operation {
	at := map[string]int{}
	var parts [][]porcupine.Operation
	for _, o := range all {
		slot := o.Input.(slotAsked).slot
		i, known := at[slot]
		if !known {
			i = len(parts)
			at[slot], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], o)
	}
	return parts
}

// historyLimit bounds the search for an order.
const historyLimit = time.Minute

// ErrNotLinearizable says that no order of the operations explains the answers.
var ErrNotLinearizable = errors.New("the slots did not behave as write-once registers")

// check holds the history against the model.
func (h *history) check(ctx context.Context) (operations int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	model := writeOnce.ToModel()
	switch result := porcupine.CheckOperationsTimeout(model, h.operations, historyLimit); result {
	case porcupine.Ok:
		return len(h.operations), nil
	case porcupine.Illegal:
		return len(h.operations), fmt.Errorf("%w: %s", ErrNotLinearizable, h.culprits(model))
	default:
		return len(h.operations), fmt.Errorf("the history of %d operations could not be judged in %s", len(h.operations), historyLimit)
	}
}

// culprits names the slots without an order.
func (h *history) culprits(model porcupine.Model) string {
	text := ""
	for _, part := range bySlot(h.operations) {
		if porcupine.CheckOperationsTimeout(model, part, historyLimit) == porcupine.Ok {
			continue
		}
		text += part[0].Input.(slotAsked).slot + ":" + describe(part)
	}
	return text
}

// of tells what happened to the slot whose path ends so.
func (h *history) of(suffix string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var part []porcupine.Operation
	for _, o := range h.operations {
		if strings.HasSuffix(o.Input.(slotAsked).slot, suffix) {
			part = append(part, o)
		}
	}
	return describe(part)
}

// describe is a history in the order of the calls, in microseconds since the first.
func describe(part []porcupine.Operation) string {
	slices.SortFunc(part, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	text := ""
	for _, o := range part {
		asked, answered := o.Input.(slotAsked), o.Output.(slotAnswered)
		verb, sum := "GET", answered.sum
		if asked.put {
			verb, sum = "PUT", asked.sum
		}
		text += fmt.Sprintf(" [%d…%d %s %x %d]", (o.Call-part[0].Call)/1000, (o.Return-part[0].Call)/1000, verb, sum[:4], answered.status)
	}
	return text
}
