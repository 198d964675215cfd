package pipeline_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"strings"
	"testing"

	"batcher/batch"
	"batcher/commit"
	"batcher/compact"
	"batcher/localdev"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/filestore"
	"batcher/object/memstore"
	"batcher/pipeline"
	"batcher/record"
	"batcher/source"
	"batcher/source/files"
)

// crashFaults are what befalls each single call of a run.
var crashFaults = []faultstore.Fault{
	faultstore.CrashBefore, faultstore.CrashAfter, faultstore.LoseAnswer, faultstore.LandLate,
	faultstore.Unavailable, faultstore.Deny, faultstore.Conflict, faultstore.Tear,
}

// outages are the faults that may last: from one call on they strike all.
var outages = []faultstore.Fault{faultstore.LoseAnswer, faultstore.LandLate, faultstore.Unavailable, faultstore.Deny, faultstore.Conflict}

// crashRecords is how many records the source of a crash world has.
const crashRecords = 3*4 + 3 + 13 + 1 + 5

// crashWorld is small and has everything: objects in one range and one in
// several, dead letters, an object that cannot be unpacked, and a column whose
// type widens after rows of it were written, so that a batch starts over.
func crashWorld(t *testing.T, store object.Store) *world {
	t.Helper()
	w := newWorld(t)
	w.store, w.budget.Ratio, w.budget.MinRecords = store, 1, 0
	w.limits = batch.Limits{Records: 6, Objects: 3}
	for i := range 3 {
		w.drop(fmt.Sprintf("a%d", i), lines(i*10, 4)+"{broken\n")
	}
	w.drop("b", lines(100, 13))
	w.drop("c.gz", packed(t, lines(200, 3))[:30])
	w.drop("d", `{"n":1,"wide":1}`+"\n"+`{"n":2,"wide":2}`+"\n"+`{"n":3,"wide":"text"}`+"\n"+`{"n":4,"more":{"x":1}}`+"\n"+`{"n":5,"more":{"y":[1]}}`+"\n")
	return w
}

// packed is text as gzip.
func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// acked is a receipt that a run was given.
type acked struct {
	seq     manifest.Seq
	attempt manifest.Attempt
}

// invokeCrash wires an invocation that writes many small files and notes every
// receipt.
func (w *world) invokeCrash(receipts *[]acked) *pipeline.Pipeline {
	p := w.invoke(source.Shard{})
	p.Record, p.FileBytes, p.File.RowGroupRows = record.Limits{PrimeBytes: 1, BlockRows: 1}, 600, 1
	p.Log.OnCommit(func(_ context.Context, r commit.Receipt, _ manifest.Snapshot) error {
		*receipts = append(*receipts, acked{r.Seq(), r.Attempt()})
		return nil
	})
	return p
}

// readFrom lets an invocation read the source through another store.
func (w *world) readFrom(p *pipeline.Pipeline, input object.Store) {
	w.t.Helper()
	src, err := files.New(input, files.Config{Location: "mem://in", OnChange: w.change})
	if err != nil {
		w.t.Fatal(err)
	}
	p.Input, p.Source, p.Set = input, src, src.NewSet(p.Log)
}

// crashCase is one fault at one place, and when writes that were held land.
type crashCase struct {
	rule    faultstore.Rule
	release releaseTime
	where   target
}

// releaseTime is when writes that were held land.
type releaseTime uint8

const (
	beforeRecovery releaseTime = iota
	afterCollection
)

// target is the store that a fault strikes.
type target uint8

const (
	pipelineStore target = iota
	sourceStore
)

func (c crashCase) String() string {
	when, whose := "before recovery", "pipeline"
	if c.release == afterCollection {
		when = "after gc"
	}
	if c.where == sourceStore {
		whose = "source"
	}
	return fmt.Sprintf("%v on the %s's store, released %s", faultstore.Script{c.rule}, whose, when)
}

func writes(op faultstore.Op) bool {
	return op == faultstore.Put || op == faultstore.Complete || op == faultstore.Delete
}

// casesAt are all that can befall call n, which is of kind op, alone.
func casesAt(n int, op faultstore.Op) []crashCase {
	var cases []crashCase
	for _, f := range crashFaults {
		if f == faultstore.LandLate && !writes(op) || f == faultstore.Tear && op != faultstore.Get {
			continue // the same as Unavailable
		}
		cases = append(cases, crashCase{rule: faultstore.Rule{Call: n, Fault: f}})
	}
	if writes(op) {
		cases = append(cases, crashCase{rule: faultstore.Rule{Call: n, Fault: faultstore.LandLate}, release: afterCollection})
	}
	return cases
}

// outagesAt are all that can befall call n, which is of kind op, and all that
// follow it. One that begins with a read is much like the one that begins with
// the next write.
func outagesAt(n int, op faultstore.Op) []crashCase {
	if !writes(op) {
		return nil
	}
	var cases []crashCase
	for _, f := range outages {
		cases = append(cases, crashCase{rule: faultstore.Rule{Call: n, Times: -1, Fault: f}})
	}
	return cases
}

// sourceCasesAt are all that can befall read n of the source.
func sourceCasesAt(n int, _ faultstore.Op) []crashCase {
	var cases []crashCase
	for _, f := range []faultstore.Fault{faultstore.CrashBefore, faultstore.Unavailable, faultstore.Deny, faultstore.Tear} {
		for _, times := range []int{1, -1} {
			cases = append(cases, crashCase{rule: faultstore.Rule{Call: n, Times: times, Fault: f}, where: sourceStore})
		}
	}
	return cases
}

// strike makes one run whose calls to one store are struck by the script.
func (w *world) strike(where target, script faultstore.Script, receipts *[]acked) (*faultstore.Store, error) {
	if where == sourceStore {
		faults := faultstore.New(w.input, script)
		p := w.invokeCrash(receipts)
		w.readFrom(p, faults)
		_, err := p.Run(w.t.Context(), pipeline.Options{})
		return faults, err
	}
	seen := *w
	faults := faultstore.New(w.store, script)
	seen.store = faults
	_, err := seen.invokeCrash(receipts).Run(w.t.Context(), pipeline.Options{})
	return faults, err
}

// try runs the world under the case, recovers and proves everything.
func (c crashCase) try(t *testing.T, w *world) {
	t.Helper()
	var receipts []acked
	faults, runErr := w.strike(c.where, faultstore.Script{c.rule}, &receipts)
	if c.release == beforeRecovery {
		faults.Release(context.Background())
	}
	w.recover(&receipts)
	if c.release == afterCollection {
		faults.Release(context.Background())
		w.recover(&receipts)
	}
	w.prove(receipts, crashRecords)
	if t.Failed() {
		t.Fatalf("%v; the run said: %v", c, runErr)
	}
}

// recover is what comes after an accident: a fresh run, another one that finds
// nothing to do, and a collection of all garbage.
func (w *world) recover(receipts *[]acked) {
	w.t.Helper()
	if _, err := w.invokeCrash(receipts).Run(w.t.Context(), pipeline.Options{}); err != nil {
		w.t.Errorf("fresh run: %v", err)
	}
	rep, err := w.invokeCrash(receipts).Run(w.t.Context(), pipeline.Options{})
	if err != nil || rep.Outcome != pipeline.Empty {
		w.t.Errorf("second fresh run: %s, %v", rep.Outcome, err)
	}
	for range 2 { // the first may leave what was begun on the newest manifest
		if _, err := w.collect(w.store); err != nil {
			w.t.Errorf("gc: %v", err)
		}
	}
}

// collect removes all garbage below the newest manifest.
func (w *world) collect(store object.Store) (compact.GCReport, error) {
	seen := *w
	seen.store = store
	p := seen.invoke(source.Shard{})
	gc := compact.GC{Log: p.Log, Store: store, Now: w.clock.Now, Logger: p.Logger}
	return gc.Run(w.t.Context(), compact.GCOptions{Mode: compact.Confirm, MaxShare: 1})
}

// prove holds the store against everything that was promised: no invariant is
// broken, every record is in once, what was acknowledged is in the chain, and
// what no manifest made live is not even there.
func (w *world) prove(receipts []acked, records int64) {
	w.t.Helper()
	log := w.invoke(source.Shard{}).Log
	head, err := log.Head(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	live := int64(0)
	for _, table := range head.Manifest.Tables {
		live += table.Live.Rows
	}
	// After a rewind verify sees the batches from before it, too.
	if v := w.verify(); live != records || v.Rows < records || v.Source.Verified != v.Rows || v.Lost+v.Doubled != 0 {
		w.t.Errorf("%d records, %d live rows, verify says %+v", records, live, v)
	}
	w.honest(receipts)
}

// honest proves that what was acknowledged is in the chain, and that what no
// manifest made live is not even there.
func (w *world) honest(receipts []acked) {
	w.t.Helper()
	log := w.invoke(source.Shard{}).Log
	for _, a := range receipts {
		s, err := log.Slot(w.t.Context(), a.seq)
		if err != nil || s.Manifest.Attempt != a.attempt {
			w.t.Errorf("manifest %d of attempt %s was acknowledged and is not in the chain: %v", a.seq, a.attempt, err)
		}
	}
	published := w.published(log)
	for key := range list(w.t, w.store) {
		if strings.Contains(key, "/data/") && !published[key] {
			w.t.Errorf("%s was never live and was not collected", key)
		}
	}
}

// published are the keys of all files that a manifest made live.
func (w *world) published(log *commit.Log) map[string]bool {
	w.t.Helper()
	head, err := log.Head(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	keys := map[string]bool{}
	for seq := manifest.Seq(0); seq <= head.Manifest.Seq; seq++ {
		s, err := log.Slot(w.t.Context(), seq)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, table := range s.Manifest.Tables {
			files, err := log.LoadFiles(w.t.Context(), table.Add)
			if err != nil {
				w.t.Fatal(err)
			}
			for i := range files {
				keys[files[i].Key] = true
			}
		}
	}
	return keys
}

// callsOf are the calls of a run that nothing befalls.
func callsOf(t *testing.T, where target) []faultstore.Call {
	t.Helper()
	var receipts []acked
	faults, err := crashWorld(t, memstore.New()).strike(where, nil, &receipts)
	if err != nil {
		t.Fatal(err)
	}
	return faults.Calls()
}

func TestEveryCallOfARunMayFailInEveryWay(t *testing.T) {
	points, calls := localdev.OneIn(7), callsOf(t, pipelineStore)
	for i, call := range calls {
		for _, c := range append(casesAt(i+1, call.Op), outagesAt(i+1, call.Op)...) {
			if points.Take() {
				c.try(t, crashWorld(t, memstore.New()))
			}
		}
	}
	if len(calls) < 50 {
		t.Errorf("a run of %d calls does not have everything in it", len(calls))
	}
	t.Logf("%d calls, %v crash points", len(calls), points)
	localdev.Figure("crash points of a run, in memory", fmt.Sprintf("%v (%d calls)", points, len(calls)))
}

func TestEveryReadOfTheSourceMayFailInEveryWay(t *testing.T) {
	points, calls := localdev.OneIn(7), callsOf(t, sourceStore)
	for i, call := range calls {
		for _, c := range sourceCasesAt(i+1, call.Op) {
			if points.Take() {
				c.try(t, crashWorld(t, memstore.New()))
			}
		}
	}
	t.Logf("%d calls, %v crash points", len(calls), points)
	localdev.Figure("crash points of reading the source", fmt.Sprintf("%v (%d calls)", points, len(calls)))
}

func TestEveryCallOfARunMayFailInADirectory(t *testing.T) {
	calls := callsOf(t, pipelineStore)
	points := &localdev.Sample{Every: 7} // a prime number comes by every call and by every fault
	if !localdev.Proving() {
		points.Every = 37
	}
	for i, call := range calls {
		for _, c := range append(casesAt(i+1, call.Op), outagesAt(i+1, call.Op)...) {
			if !points.Take() {
				continue
			}
			store, err := filestore.New(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			c.try(t, crashWorld(t, store))
		}
	}
	t.Logf("%d calls, %v crash points", len(calls), points)
	localdev.Figure("crash points of a run, in a directory", fmt.Sprintf("%v (%d calls)", points, len(calls)))
}
