package sim

import "fmt"

// recover lets the recovering process run alone from a state, all others being
// dead, while delayed writes land at any moment. When one landed since it began,
// it runs again after its end: rest is the end of an undisturbed run. What depends
// on the content alone is done once for each.
func (e *Explorer) recover(id int32) error {
	s := e.list[id]
	return e.rescue(id, nil, rescue{s.content, s.delayed, e.trees[len(e.Processes)].root().id, false})
}

// rescue walks the states of a recovery, depth first: they have few branches.
func (e *Explorer) rescue(id int32, way Schedule, r rescue) error {
	if e.rescued[r] {
		return nil
	}
	e.rescued[r] = true
	last := len(e.Processes)
	n := e.trees[last].nodes[r.at]
	if err := e.told(id, way, r, n); err != nil {
		return err
	}
	onWay := senders(e.pool.delayed.values[r.delayed])
	if n.ended && r.late {
		return e.rescue(id, way, rescue{r.content, r.delayed, e.trees[last].nodes[0].id, false})
	}
	if n.ended && len(onWay) == 0 && e.Checks.Rest != nil {
		if err := e.Checks.Rest(e.view(r.content, r.delayed)); err != nil {
			return e.failure(id, way, fmt.Errorf("at rest: %w", err))
		}
	}
	if !n.ended {
		if err := e.rescueStep(id, way, r, last, OK); err != nil {
			return err
		}
	}
	for _, p := range onWay {
		if err := e.rescueStep(id, way, r, p, Lands); err != nil {
			return err
		}
	}
	return nil
}

// told checks what the recovering process told.
func (e *Explorer) told(id int32, way Schedule, r rescue, n *node) error {
	if e.Checks.Note == nil {
		return nil
	}
	for _, note := range n.notes {
		if err := e.Checks.Note(e.view(r.content, r.delayed), e.Recover.Name, note); err != nil {
			return e.failure(id, way, err)
		}
	}
	return nil
}

// rescueStep makes one step of a recovery.
func (e *Explorer) rescueStep(id int32, way Schedule, r rescue, process int, f Fault) error {
	name := e.Recover.Name
	if f == Lands {
		name = e.Processes[process].Name
	}
	way = append(way[:len(way):len(way)], Step{name, f})
	s := state{content: r.content, delayed: r.delayed}
	next := r
	var q call
	if f == Lands {
		q = e.land(&s, process)
	} else {
		q = e.trees[process].nodes[r.at].call
	}
	fresh, a, err := e.take(&s, q)
	if err != nil {
		return e.failure(id, way, err)
	}
	next.content, next.delayed = s.content, s.delayed
	if fresh && e.Checks.Content != nil {
		if err := e.Checks.Content(e.view(next.content, next.delayed)); err != nil {
			return e.failure(id, way, err)
		}
	}
	next.late = r.late || f == Lands
	if f == OK {
		n, err := e.trees[process].follow(e.trees[process].nodes[r.at], a)
		if err != nil {
			return e.failure(id, way, err)
		}
		next.at = n.id
	}
	return e.rescue(id, way, next)
}
