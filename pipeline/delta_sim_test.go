package pipeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"batcher/commit"
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
		_, err := p.Publish(ctx, head)
		var conflict *delta.ConflictError
		if errors.As(err, &conflict) || errors.Is(err, commit.ErrDamaged) {
			w.errorf("publish after manifest %d: %v", head.Manifest.Seq, err)
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
	if _, err := p.Publish(context.Background(), head); err != nil {
		w.errorf("publish what is left: %v", err)
	}
	held := w.store.Objects()
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
