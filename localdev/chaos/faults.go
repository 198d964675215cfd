package chaos

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"

	"batcher/localdev"
)

// odds are in thousandths, by action; what is left is Pass.
type odds map[localdev.Action]int

// What befalls requests. A manifest's PUT, the one request that decides
// anything, is disturbed every third time.
var (
	slotOdds = odds{
		localdev.LoseAndLandLate: 70, localdev.DropAnswer: 70, localdev.Duplicate: 50, localdev.FailAfter: 50,
		localdev.ConflictBefore: 40, localdev.DropRequest: 30, localdev.UnavailableBefore: 20, localdev.DelayAnswer: 30,
	}
	putOdds = odds{
		localdev.LoseAndLandLate: 15, localdev.DropAnswer: 15, localdev.Duplicate: 15, localdev.FailAfter: 10,
		localdev.ConflictBefore: 5, localdev.DropRequest: 10, localdev.UnavailableBefore: 10, localdev.DelayAnswer: 10,
	}
	deleteOdds = odds{
		localdev.LoseAndLandLate: 40, localdev.DropAnswer: 20, localdev.Duplicate: 40, localdev.FailAfter: 20, localdev.UnavailableBefore: 10,
	}
	readOdds = odds{
		localdev.TearBody: 8, localdev.DropRequest: 5, localdev.UnavailableBefore: 5, localdev.FailAfter: 5, localdev.DelayAnswer: 5, localdev.Duplicate: 5,
	}
)

// faults draws what befalls each request, and counts.
type faults struct {
	mu        sync.Mutex
	rnd       *rand.Rand
	on        bool
	done      map[localdev.Action]int
	requests  int
	lost      int
	late      int
	lateSlots int
	conflicts int // 409s of the store itself
}

// newFaults draws nothing before the first manifest, and never anything for the
// probes with which a first run admits a store, because they are right to refuse
// one that looks like this.
func newFaults(rnd *rand.Rand) *faults {
	return &faults{rnd: rnd, done: map[localdev.Action]int{}}
}

// quiet ends the disturbances.
func (f *faults) quiet() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on = false
}

// draw is what befalls a request.
func (f *faults) draw(req *http.Request) localdev.Action {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	if !f.on || strings.Contains(req.URL.Path, "/_batcher/_probe/") {
		return localdev.Pass
	}
	table := readOdds
	switch {
	case req.Method == http.MethodPut && slotOf(req.URL.Path) != "":
		table = slotOdds
	case req.Method == http.MethodPut:
		table = putOdds
	case req.Method == http.MethodDelete:
		table = deleteOdds
	}
	dice := f.rnd.IntN(1000)
	for a := localdev.Pass; a <= localdev.LoseAndLandLate; a++ {
		if dice -= table[a]; dice < 0 {
			return f.noted(a)
		}
	}
	return localdev.Pass
}

// noted counts an action that was chosen.
func (f *faults) noted(a localdev.Action) localdev.Action {
	if a != localdev.Pass {
		f.done[a]++
	}
	return a
}

// note counts a request whose action was chosen elsewhere.
func (f *faults) note(a localdev.Action) localdev.Action {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	return f.noted(a)
}

// watch learns from what was forwarded. The first manifest ends the quiet.
func (f *faults) watch(x localdev.Exchange) {
	f.mu.Lock()
	defer f.mu.Unlock()
	slot, stored := slotOf(x.Request.URL.Path), x.Request.Method == http.MethodPut && x.Status == http.StatusOK
	if strings.HasSuffix(slot, genesis) && stored {
		f.on = true
	}
	if x.Status == http.StatusConflict {
		f.conflicts++
	}
	switch x.Action {
	case localdev.DropAnswer, localdev.FailAfter:
		f.lost++
	case localdev.LoseAndLandLate:
		f.lost++
		f.late++
		if slot != "" && stored {
			f.lateSlots++
		}
	}
}

// count adds what was done to the figures.
func (f *faults) count(figures *Figures) {
	f.mu.Lock()
	defer f.mu.Unlock()
	figures.Requests, figures.Faults = f.requests, f.done
	figures.AnswersLost, figures.Late, figures.LateSlots = f.lost, f.late, f.lateSlots
	figures.Conflicts409 = f.done[localdev.ConflictBefore] + f.conflicts
}

// genesis is the name of the first manifest.
const genesis = "/00000000000000000000.json"

// slotOf returns the path if it is a manifest's, else "".
func slotOf(path string) string {
	if strings.Contains(path, "/_batcher/chaos/manifests/") {
		return path
	}
	return ""
}
