package dlq_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"batcher/dlq"
	"batcher/source"
	"batcher/source/files"
)

// spot is where a record stands: in an object, whatever content of it, at an offset.
type spot struct {
	key string
	at  int64
}

// content is what an object holds: lines, of which some are bad records, or a broken
// container.
type content struct {
	lines  string
	broken bool
}

// ledger is what a store has to show for what was done to it. It knows nothing of
// manifests, files and batches.
type ledger struct {
	rows        map[spot][]float64 // values; several where contents of a key were appended
	letters     map[spot]int
	quarantined map[string]bool // keys whose letter a retry would take for an object
	consumed    map[string]content
}

func newLedger() *ledger {
	return &ledger{map[spot][]float64{}, map[spot]int{}, map[string]bool{}, map[string]content{}}
}

func (l *ledger) clone() *ledger {
	rows := map[spot][]float64{}
	for at, values := range l.rows {
		rows[at] = slices.Clone(values)
	}
	return &ledger{rows, maps.Clone(l.letters), maps.Clone(l.quarantined), maps.Clone(l.consumed)}
}

// sorted brings the values of every spot in order.
func (l *ledger) sorted() *ledger {
	for _, values := range l.rows {
		slices.Sort(values)
	}
	return l
}

// take adds the records of a content.
func (l *ledger) take(key string, c content) {
	l.consumed[key] = c
	if c.broken {
		l.letters[spot{key, 0}]++
		return
	}
	at := int64(0)
	for line := range strings.Lines(c.lines) {
		v := 0
		if n, _ := fmt.Sscanf(line, `{"v":%d`, &v); n == 1 {
			l.rows[spot{key, at}] = append(l.rows[spot{key, at}], float64(v))
		} else {
			l.letters[spot{key, at}]++
		}
		at += int64(len(line))
	}
}

// run consumes what is there.
func (l *ledger) run(objects map[string]content, policy files.OnChange) {
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		c := objects[key]
		was, seen := l.consumed[key]
		switch {
		case seen && (was == c || policy == files.SkipChanged):
			continue
		case seen && policy == files.AppendChanged:
			delete(l.quarantined, key)
			l.take(key, c)
			continue
		case seen: // it is replaced
			maps.DeleteFunc(l.rows, func(at spot, _ []float64) bool { return at.key == key })
			maps.DeleteFunc(l.letters, func(at spot, _ int) bool { return at.key == key })
			delete(l.quarantined, key)
		}
		l.take(key, c)
		if c.broken {
			l.quarantined[key] = true
		}
	}
}

// drop takes a letter away.
func (l *ledger) drop(at spot) {
	if l.letters[at]--; l.letters[at] <= 0 {
		delete(l.letters, at)
	}
}

// mend makes rows of letters that are there and stand for records.
func (l *ledger) mend(values map[dlq.ID]int, there map[dlq.ID]bool) {
	for id, v := range values {
		if quarantine, ok := there[id]; ok && !quarantine {
			at := spot{source.KeyOf(id.Source), id.Offset}
			l.drop(at)
			l.rows[at] = append(l.rows[at], float64(v))
		}
	}
}

// discard gives up letters that are there.
func (l *ledger) discard(ids []dlq.ID, there map[dlq.ID]bool) {
	for _, id := range ids {
		if quarantine, ok := there[id]; ok {
			l.drop(spot{source.KeyOf(id.Source), id.Offset})
			if quarantine && !source.Marked(id.Source) {
				delete(l.quarantined, id.Source)
			}
		}
	}
}

// retry reads objects again whose container was broken.
func (l *ledger) retry(objects map[string]content) {
	for _, key := range slices.Sorted(maps.Keys(l.quarantined)) {
		if c := objects[key]; !c.broken {
			l.drop(spot{key, 0})
			delete(l.quarantined, key)
			l.take(key, c)
		}
	}
}
