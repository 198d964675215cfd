package pipeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"batcher/column"
	"batcher/commit"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/table/delta"
)

// publishes has the tables of a world published after each commit of a process.
func (w *simWorld) publishes(log *commit.Log, store object.Store) *commit.Log {
	if !w.published {
		return log
	}
	p := delta.New(delta.Options{Log: log, Store: store, Clock: w.clock, Logger: w.logger()})
	log.OnCommit(func(ctx context.Context, _ commit.Receipt, head manifest.Snapshot) error {
		w.stats.publications++
		states, err := p.Publish(ctx, head)
		var conflict *delta.ConflictError
		for _, s := range states {
			if errors.As(s.Err, &conflict) || errors.Is(s.Err, commit.ErrDamaged) {
				w.errorf("publish after manifest %d: %v", head.Manifest.Seq, s.Err)
			}
		}
		return err
	})
	return log
}

// readAsDelta reads the Delta log of each table as a reader does that knows nothing of
// batcher, and holds each version against the live files of the manifest that it names.
func (w *simWorld) readAsDelta(chain []*manifest.Manifest) {
	log := w.log(w.store)
	head, err := log.Head(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	p := delta.New(delta.Options{Log: log, Store: w.store, Clock: w.clock, Logger: w.logger()})
	states, err := p.Publish(context.Background(), head)
	if err != nil {
		w.errorf("publish what is left: %v", err)
	}
	if batches := states[len(states)-1]; batches.Err != nil || batches.Lag() > 0 {
		w.errorf("the table of batches: %+v", batches)
	}
	held := w.store.Objects()
	w.readBatches(chain, held, states[len(states)-1].Table)
	for name, table := range head.Manifest.Tables {
		live := map[string]int64{}
		for v := range table.Version + 1 {
			seq, err := replay(live, held[fmt.Sprintf("%s/_delta_log/%020d.json", name, v)])
			if err != nil {
				w.errorf("version %d of %s: %v", v, name, err)
				return
			}
			w.stats.versions++
			if want := w.liveFiles(log, name, chain[seq]); chain[seq].Tables[name].Version != v || want != nil && !maps.Equal(live, want) {
				w.errorf("version %d of %s shows %v, manifest %d of version %d has %v", v, name, live, seq, chain[seq].Tables[name].Version, want)
				return
			}
		}
		if extra := held[fmt.Sprintf("%s/_delta_log/%020d.json", name, table.Version+1)]; extra != nil {
			w.errorf("%s has a version %d that no manifest made", name, table.Version+1)
		}
		for file := range live {
			if held[name+"/"+file] == nil {
				w.errorf("the last version of %s shows %s, which is gone", name, file)
			}
		}
	}
}

// replay applies one commit of a Delta log to the files that are live, path → rows, and
// returns the manifest that it says it was made from.
func replay(live map[string]int64, commit []byte) (seq int64, err error) {
	if commit == nil {
		return 0, errors.New("is not there")
	}
	seq = -1
	for line := range bytes.Lines(commit) {
		var action struct {
			Add *struct {
				Path  string
				Stats string
			}
			Remove *struct{ Path string }
			Txn    *struct{ Version int64 }
		}
		if err := json.Unmarshal(line, &action); err != nil {
			return 0, err
		}
		switch {
		case action.Txn != nil:
			seq = action.Txn.Version
		case action.Remove != nil:
			if _, ok := live[action.Remove.Path]; !ok {
				return 0, fmt.Errorf("takes %s away, which it does not have", action.Remove.Path)
			}
			delete(live, action.Remove.Path)
		case action.Add != nil:
			var stats struct{ NumRecords int64 }
			if err := json.Unmarshal([]byte(action.Add.Stats), &stats); err != nil {
				return 0, err
			}
			if _, ok := live[action.Add.Path]; ok {
				return 0, fmt.Errorf("adds %s twice", action.Add.Path)
			}
			live[action.Add.Path] = stats.NumRecords
		}
	}
	if seq < 0 {
		return 0, errors.New("does not say which manifest made it")
	}
	return seq, nil
}

// liveFiles are those of a table after a manifest, by their paths in the table; nil if
// that is no longer kept and gc has taken the list away.
func (w *simWorld) liveFiles(log *commit.Log, table string, m *manifest.Manifest) map[string]int64 {
	out := map[string]int64{}
	files, err := log.LoadLive(context.Background(), m.Tables[table].Live)
	var gone *commit.MissingError
	if errors.As(err, &gone) && m.Seq < w.retained() {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range files {
		out[strings.TrimPrefix(files[i].Key, table+"/")] = files[i].Rows
	}
	return out
}

// retained is the first snapshot that is kept whole.
func (w *simWorld) retained() manifest.Seq {
	head, err := w.log(w.store).Head(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return head.Manifest.RetainFrom
}

// readBatches reads the table of batches as a reader does, at its last version, and
// counts what it says of each manifest that it has.
func (w *simWorld) readBatches(chain []*manifest.Manifest, held map[string][]byte, table string) {
	version := func(v int) []byte { return held[fmt.Sprintf("%s/_delta_log/%020d.json", table, v)] }
	first := slices.IndexFunc(chain, func(m *manifest.Manifest) bool { return version(int(m.Seq)) != nil })
	live := map[string]int64{}
	for v := first; v >= 0 && v < len(chain); v++ {
		if seq, err := replay(live, version(v)); err != nil || seq != int64(v) {
			w.errorf("version %d of %s is of manifest %d: %v", v, table, seq, err)
			return
		}
		w.stats.versions++
	}
	if first < 0 || version(len(chain)) != nil {
		w.errorf("%s begins with version %d, and ends not with %d", table, first, len(chain)-1)
		return
	}
	got := map[string]int64{}
	for path, rows := range live {
		if n := w.countFacts(got, held[table+"/"+path]); n != rows {
			w.errorf("%s of %s has %d rows, the log says %d", path, table, n, rows)
		}
	}
	want := map[string]int64{}
	for _, m := range chain[first:] {
		add := func(fact string, n int64) {
			if n > 0 {
				want[fmt.Sprintf("%d %s", m.Seq, fact)] += n
			}
		}
		add("batch", 1)
		add("gap", int64(len(m.Gaps)))
		if b := m.Batch; b != nil {
			add("consumed", b.Ranges.Count)
			add("touched", b.Touched.Count)
			add("replaced", b.Replaced.Count)
		}
		for _, t := range m.Tables {
			add("added", t.Add.Count)
			add("removed", t.Remove.Count)
		}
	}
	if !maps.Equal(got, want) {
		w.errorf("%s says %v, the manifests %v", table, got, want)
	}
}

// countFacts adds up the rows of a file by manifest and fact, and returns how many it
// has.
func (w *simWorld) countFacts(counts map[string]int64, body []byte) (rows int64) {
	f, err := datafile.Open(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		w.errorf("a file of the table of batches: %v", err)
		return -1
	}
	for b, err := range f.Blocks(delta.BatchesSchema()) {
		if err != nil {
			w.errorf("a file of the table of batches: %v", err)
			return rows
		}
		for c := column.NewCursor(b); c.Next(); rows++ {
			var row struct {
				Seq  int64
				Fact string
			}
			if err := json.Unmarshal(c.AppendJSON(nil), &row); err != nil {
				w.t.Fatal(err)
			}
			counts[fmt.Sprintf("%d %s", row.Seq, row.Fact)]++
		}
	}
	return rows
}
