package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"batcher/localdev"
)

// Figures count what a run did and proved.
type Figures struct {
	Seed      uint64
	Processes int // runs of batcher that were started
	Kills     int // of them killed with SIGKILL
	Stops     int // of them stopped across a gc and continued
	Collects  int // runs of gc
	GCKills   int // of them killed
	GCStops   int // of them stopped and continued
	Repairs   int // runs of expire and fence
	Exits     map[int]int
	Deleted   int64 // objects that gc said it deleted

	Requests     int // that reached a proxy
	Faults       map[localdev.Action]int
	AnswersLost  int // requests that the store executed and whose client never knew
	Conflicts409 int
	Late         int // requests that landed after their client had given them up
	LateSlots    int // of them manifests that took their slot

	Batches  int64 // in the chain
	Objects  int64
	Records  int64 // that arrived
	Acks     int   // acknowledged batches, each found in the chain
	History  int   // operations on slots that were checked
	Verified int64 // records compared with the source
	Rows     int64 // that DuckDB counts
	IDs      int64 // distinct ones

	Torture, Proof time.Duration
}

// String is the figures in two lines.
func (f Figures) String() string {
	var faults []string
	for _, a := range slices.Sorted(maps.Keys(f.Faults)) {
		faults = append(faults, fmt.Sprintf("%s %d", a, f.Faults[a]))
	}
	var exits []string
	for _, code := range slices.Sorted(maps.Keys(f.Exits)) {
		exits = append(exits, fmt.Sprintf("%d: %d", code, f.Exits[code]))
	}
	return fmt.Sprintf("seed %d: %d processes (exit %s), %d killed, %d stopped across a gc; %d gc (%d killed, %d stopped, %d objects deleted), %d times expire or fence; "+
		"%d requests, faults: %s; %d answers lost, %d times 409, %d landed late (%d manifests took their slot that way); %s\n"+
		"proof: %d batches, %d objects, %d records: %d verified against the source, DuckDB %d rows and %d ids; %d acknowledged batches in the chain; %d operations on slots linearizable; %s",
		f.Seed, f.Processes, strings.Join(exits, ", "), f.Kills, f.Stops, f.Collects, f.GCKills, f.GCStops, f.Deleted, f.Repairs,
		f.Requests, strings.Join(faults, ", "), f.AnswersLost, f.Conflicts409, f.Late, f.LateSlots, f.Torture,
		f.Batches, f.Objects, f.Records, f.Verified, f.Rows, f.IDs, f.Acks, f.History, f.Proof)
}
