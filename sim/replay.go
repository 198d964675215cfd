package sim

import (
	"fmt"
	"slices"
)

// Replay walks one schedule instead of all, with the same checks after each
// step, and lets the recovering process run where it ends unless the schedule
// says how. It returns what each step asked for.
func (e *Explorer) Replay(way Schedule) ([]string, error) {
	defer e.plant()()
	e.Faults, e.MaxStates = len(way), len(way)+1
	if err := e.begin(); err != nil {
		return nil, err
	}
	at := int32(0)
	for i, step := range way {
		if step.Process == e.Recover.Name {
			break // every way of the recovery is walked from each state
		}
		process := slices.IndexFunc(e.Processes, func(p Process) bool { return p.Name == step.Process })
		if process < 0 {
			return e.calls(way[:i]), fmt.Errorf("step %d: no process %q", i, step.Process)
		}
		s := e.list[at]
		if waits := slices.Contains(senders(e.pool.delayed.values[s.delayed]), process); step.Fault == Lands && !waits || step.Fault != Lands && e.node(&s, process).ended {
			return e.calls(way[:i]), fmt.Errorf("step %d: %s cannot do %s", i, step.Process, step.Fault)
		}
		if err := e.move(at, process, step.Fault); err != nil {
			return e.calls(way[:i]), err
		}
		at = int32(len(e.list) - 1)
	}
	return e.calls(way), nil
}

// calls tells what each step of a way asked for.
func (e *Explorer) calls(way Schedule) []string {
	var told []string
	s := e.list[0]
	at := int32(0)
	for _, step := range way {
		process := slices.IndexFunc(e.Processes, func(p Process) bool { return p.Name == step.Process })
		line := fmt.Sprintf("%-8s %-10s ", step.Process, step.Fault)
		switch {
		case process < 0:
			n := e.trees[len(e.Processes)].nodes[at]
			if n.ended { // it was disturbed, and runs again
				n = e.trees[len(e.Processes)].nodes[0]
			}
			_, a := e.pool.take(e.pool.contents.values[s.content], n.call)
			line += e.pool.text(n.call)
			if next := n.next[a]; next != nil {
				at = next.id
			}
			after, _ := e.pool.take(e.pool.contents.values[s.content], n.call)
			s.content, _ = e.pool.content(after)
		case step.Fault == Lands:
			d := e.pool.delayed.values[s.delayed]
			line += e.pool.text(d[slices.IndexFunc(d, func(d delayed) bool { return d.process == process })].call)
			_ = e.quietly(&s, process, step.Fault)
		default:
			line += e.pool.text(e.node(&s, process).call)
			_ = e.quietly(&s, process, step.Fault)
		}
		told = append(told, line)
	}
	return told
}

// quietly makes a step without checks. The last step of a failure may be one
// that a check refuses: then it changes nothing that is told.
func (e *Explorer) quietly(s *state, process int, f Fault) error {
	checks := e.Checks
	e.Checks = Checks{}
	_, err := e.step(s, process, f)
	e.Checks = checks
	return err
}
