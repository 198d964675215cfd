package sim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"batcher/object"
)

// MaxProcesses is how many processes one exploration can have.
const MaxProcesses = 6

// ErrBounds says that an exploration has more states than it was allowed.
var ErrBounds = errors.New("more states than allowed")

// Conduct is how a store keeps what package object demands.
type Conduct uint8

// The conducts.
const (
	KeepsConditions   Conduct = iota
	IgnoresConditions         // IfAbsent is taken for Always, and nobody is told
)

// Checks refuse what must not be. Each may be nil.
type Checks struct {
	// Write is called with each write that takes effect: the body before (nil:
	// nothing stood there) and after it (nil: deleted).
	Write func(key string, before, after []byte) error
	// Content is called once with each content of the store that can be reached.
	Content func(View) error
	// Note is called with what a process told, in each state in which it tells it.
	Note func(v View, process string, note any) error
	// Rest is called where the recovering process has ended and no write is on its
	// way, once for each content and end.
	Rest func(View) error
}

// Explorer walks all states. Set it up, call Run once.
type Explorer struct {
	Start     map[string][]byte // content at the start
	Processes []Process
	Recover   Process // runs alone in every reachable content, every process being dead
	Faults    int     // faults of one schedule at most
	MaxStates int     // bound on the states
	Checks    Checks
	Enter     func(*Client) // called each time before a process goes on; may be nil
	Store     Conduct       // of the store; the zero value keeps its promises

	pool    pool
	trees   []*tree // of Processes, then of Recover
	states  map[state]int32
	list    []state
	came    []arrival
	ways    []float64
	queue   [3][]int32 // states to expand: of this rank, the next, and the one after
	rescued map[rescue]bool
	result  Result
}

// Result counts what was explored.
type Result struct {
	States     int     // distinct states
	Steps      int     // moves between them
	Schedules  float64 // schedules from the start to a state where nothing can move
	Contents   int     // distinct contents of the store, recoveries included
	Recoveries int     // distinct states of recoveries
	Runs       int     // times that real code was started
}

// state is all that decides what can happen next.
type state struct {
	content int32
	delayed int32
	faults  int8
	at      [MaxProcesses]int32 // node of each process
}

// arrival is the first way by which a state was reached.
type arrival struct {
	from    int32
	process int8
	fault   Fault
}

// rescue is a state of a recovery.
type rescue struct {
	content, delayed, at int32
	late                 bool // a delayed write landed since the process began
}

// Run walks all states, shortest schedules first, so that a FailureError has a
// short one. Any other error means that nothing was proved.
//
// The rank of a state is twice the calls answered, less the writes on their way:
// a function of the state alone. Every move raises it, so that all ways to a state
// are known when its turn comes, and can be counted.
func (e *Explorer) Run() (Result, error) {
	if len(e.Processes) > MaxProcesses {
		return Result{}, fmt.Errorf("%d processes, more than %d", len(e.Processes), MaxProcesses)
	}
	defer e.plant()()
	err := e.begin()
	for err == nil && len(e.queue[0])+len(e.queue[1])+len(e.queue[2]) > 0 {
		for i := 0; err == nil && i < len(e.queue[0]); i++ {
			err = e.expand(e.queue[0][i])
		}
		e.queue = [3][]int32{e.queue[1], e.queue[2], e.queue[0][:0]}
	}
	e.result.States, e.result.Contents, e.result.Recoveries = len(e.list), len(e.pool.contents.values), len(e.rescued)
	for _, t := range e.trees {
		e.result.Runs += t.runs
	}
	return e.result, err
}

// plant begins the trees, and returns what ends their coroutines.
func (e *Explorer) plant() (uproot func()) {
	e.states, e.rescued = map[state]int32{}, map[rescue]bool{}
	for _, p := range append(slices.Clone(e.Processes), e.Recover) {
		e.trees = append(e.trees, newTree(p, &e.pool, e.Enter))
	}
	return func() {
		for _, t := range e.trees {
			t.close()
		}
	}
}

// begin visits the first state.
func (e *Explorer) begin() error {
	var c content
	for key, body := range e.Start {
		c = c.with(e.pool.key(key), e.pool.body(body))
	}
	s := state{faults: int8(e.Faults)}
	var fresh bool
	s.content, fresh = e.pool.content(c)
	s.delayed, _ = e.pool.delayed.number("", nil)
	for _, t := range e.trees {
		t.root()
	}
	e.visit(s, arrival{from: -1}, 1)
	e.queue[0] = []int32{0}
	if fresh && e.Checks.Content != nil {
		if err := e.Checks.Content(e.view(s.content, s.delayed)); err != nil {
			return e.failure(0, nil, err)
		}
	}
	for i := range e.Processes {
		if err := e.heard(0, i); err != nil {
			return err
		}
	}
	return e.recover(0)
}

// visit numbers a state and says whether it is new.
func (e *Explorer) visit(s state, by arrival, ways float64) (int32, bool) {
	id, known := e.states[s]
	if known {
		e.ways[id] += ways
		return id, false
	}
	id = int32(len(e.list))
	e.states[s] = id
	e.list, e.came, e.ways = append(e.list, s), append(e.came, by), append(e.ways, ways)
	return id, true
}

func (e *Explorer) node(s *state, process int) *node { return e.trees[process].nodes[s.at[process]] }

func (e *Explorer) view(content, delayed int32) View {
	return View{&e.pool, e.pool.contents.values[content], e.pool.delayed.values[delayed]}
}

// expand makes every move of a state.
func (e *Explorer) expand(id int32) error {
	s := e.list[id]
	moved := false
	for i := range e.Processes {
		if e.node(&s, i).ended {
			continue
		}
		moved = true
		if err := e.move(id, i, OK); err != nil {
			return err
		}
		if s.faults == 0 {
			continue
		}
		for _, f := range e.node(&s, i).call.faultsOf() {
			if err := e.move(id, i, f); err != nil {
				return err
			}
		}
	}
	for _, i := range senders(e.pool.delayed.values[s.delayed]) {
		moved = true
		if err := e.move(id, i, Lands); err != nil {
			return err
		}
	}
	if !moved {
		e.result.Schedules += e.ways[id]
	}
	return nil
}

// senders are the processes that have writes on their way.
func senders(d []delayed) []int {
	var all []int
	for _, w := range d {
		if !slices.Contains(all, w.process) {
			all = append(all, w.process)
		}
	}
	return all
}

// move makes one move and checks where it leads.
func (e *Explorer) move(id int32, process int, f Fault) error {
	e.result.Steps++
	next := e.list[id]
	fresh, err := e.step(&next, process, f)
	if err != nil {
		return e.failure(id, Schedule{{e.Processes[process].Name, f}}, err)
	}
	to, isNew := e.visit(next, arrival{id, int8(process), f}, e.ways[id])
	if !isNew {
		return nil
	}
	rank := 2
	if f == Delayed || f == Lands {
		rank = 1
	}
	e.queue[rank] = append(e.queue[rank], to)
	if len(e.list) > e.MaxStates {
		return fmt.Errorf("%d: %w", len(e.list), ErrBounds)
	}
	if fresh && e.Checks.Content != nil {
		if err := e.Checks.Content(e.view(next.content, next.delayed)); err != nil {
			return e.failure(to, nil, err)
		}
	}
	if f != Lands {
		if err := e.heard(to, process); err != nil {
			return err
		}
	}
	return e.recover(to)
}

// step changes s by one move. It says whether the content was never seen.
func (e *Explorer) step(s *state, process int, f Fault) (bool, error) {
	if f != OK && f != Lands {
		s.faults--
	}
	var q call
	if f == Lands {
		q = e.land(s, process)
	} else {
		q = e.node(s, process).call
	}
	fresh := false
	a := answer{verdict: unknown}
	switch f {
	case Conflict:
		a.verdict = conflict
	case Denied:
		a.verdict = denied
	case Delayed:
		e.delay(s, process, q)
	case OK, AnswerLost, Lands:
		var told answer
		var err error
		if fresh, told, err = e.take(s, q); err != nil {
			return false, err
		}
		if f == OK {
			a = told
		}
	}
	if f == Lands {
		return fresh, nil
	}
	next, err := e.trees[process].follow(e.node(s, process), a)
	if err != nil {
		return false, err
	}
	s.at[process] = next.id
	return fresh, nil
}

// take makes a call on the content of s.
func (e *Explorer) take(s *state, q call) (bool, answer, error) {
	before := e.pool.contents.values[s.content]
	if e.Store == IgnoresConditions {
		q.cond = object.Always
	}
	after, a := e.pool.take(before, q)
	if q.op == opGet || q.op == opList || a.verdict != done {
		return false, a, nil
	}
	if e.Checks.Write != nil {
		if err := e.Checks.Write(e.pool.keys.values[q.key], e.bytes(before.body(q.key)), e.bytes(after.body(q.key))); err != nil {
			return false, a, err
		}
	}
	var fresh bool
	s.content, fresh = e.pool.content(after)
	return fresh, a, nil
}

func (e *Explorer) bytes(body int32) []byte {
	if body == absent {
		return nil
	}
	return e.pool.bodies.values[body]
}

// delay sets a write on its way.
func (e *Explorer) delay(s *state, process int, q call) {
	e.setDelayed(s, append(slices.Clone(e.pool.delayed.values[s.delayed]), delayed{process, q}))
}

// land takes the oldest write of a process off its way.
func (e *Explorer) land(s *state, process int) call {
	all := slices.Clone(e.pool.delayed.values[s.delayed])
	i := slices.IndexFunc(all, func(d delayed) bool { return d.process == process })
	q := all[i].call
	e.setDelayed(s, slices.Delete(all, i, i+1))
	return q
}

func (e *Explorer) setDelayed(s *state, all []delayed) {
	slices.SortStableFunc(all, func(a, b delayed) int { return a.process - b.process })
	var form []byte
	for _, d := range all {
		form = append(form, byte(d.process), byte(d.call.op), byte(d.call.cond))
		form = binary.NativeEndian.AppendUint32(form, uint32(d.call.key))
		form = binary.NativeEndian.AppendUint32(form, uint32(d.call.body))
	}
	s.delayed, _ = e.pool.delayed.number(string(form), all)
}

// heard checks what a process told on its way into a state.
func (e *Explorer) heard(id int32, process int) error {
	if e.Checks.Note == nil {
		return nil
	}
	s := e.list[id]
	for _, note := range e.node(&s, process).notes {
		if err := e.Checks.Note(e.view(s.content, s.delayed), e.Processes[process].Name, note); err != nil {
			return e.failure(id, nil, err)
		}
	}
	return nil
}

// failure is the way to a state and beyond, with the cause.
func (e *Explorer) failure(id int32, beyond Schedule, cause error) error {
	var way Schedule
	for at := id; e.came[at].from >= 0; at = e.came[at].from {
		way = append(way, Step{e.Processes[e.came[at].process].Name, e.came[at].fault})
	}
	slices.Reverse(way)
	way = append(way, beyond...)
	f := &FailureError{Schedule: way, Cause: cause}
	f.Calls = e.calls(way)
	return f
}
