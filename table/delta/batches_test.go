package delta_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"batcher/compact"
	"batcher/localdev"
	"batcher/manifest"
	"batcher/object/memstore"
	"batcher/table/delta"
)

const batchesTable = "events_batches"

// within keeps the keys below some folders.
func within(objects map[string]string, folders ...string) map[string]string {
	out := maps.Clone(objects)
	maps.DeleteFunc(out, func(key, _ string) bool {
		return !slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(key, f) })
	})
	return out
}

// batchesState is how the table of batches stands.
func batchesState(t testing.TB, states []delta.State) delta.State {
	t.Helper()
	s := states[len(states)-1]
	if s.Table != batchesTable || !s.Derived {
		t.Fatalf("the last of %d states is that of %s", len(states), s.Table)
	}
	return s
}

// publishBatches publishes until the table of batches is up to the head.
func (l *lake) publishBatches() delta.State {
	l.t.Helper()
	p := l.projector(l.store)
	for {
		states, _ := p.Publish(l.t.Context(), l.head())
		s := batchesState(l.t, states)
		if s.Err != nil {
			l.t.Fatal(s.Err)
		}
		if s.Lag() == 0 {
			return s
		}
	}
}

// repairs append manifests that read no source.
func (l *lake) repairs() *compact.Repair {
	return &compact.Repair{Log: l.log(l.store), Now: l.clock.Now, Logger: quiet}
}

// facts are the rows that the manifests from one on call for, each as one line of
// text, without what is the same in all rows of a manifest. It is worked out from the
// manifests alone.
func (l *lake) facts(from manifest.Seq) []string {
	l.t.Helper()
	var out []string
	log := l.log(l.store)
	for seq := from; seq <= l.head().Manifest.Seq; seq++ {
		s, err := log.Slot(l.t.Context(), seq)
		if err == nil {
			err = log.LoadLists(l.t.Context(), s.Manifest)
		}
		if err != nil {
			l.t.Fatal(err)
		}
		out = append(out, factsOf(s.Manifest)...)
	}
	slices.Sort(out)
	return out
}

func factsOf(m *manifest.Manifest) []string {
	var out []string
	fact := func(fact, table, path, source string, start, end, rows, size int64) {
		num := func(n int64) string {
			if n < 0 {
				return "-"
			}
			return fmt.Sprint(n)
		}
		out = append(out, fmt.Sprintf("%d %s %s %s|%s|%s|%s %s %s %s", m.Seq, m.Kind, fact, table, path, source, num(start), num(end), num(rows), num(size)))
	}
	rows, size, table := int64(-1), int64(-1), ""
	if b := m.Batch; b != nil {
		rows, size = b.Rows.Written, b.Bytes
		for _, r := range b.Ranges.Items {
			fact("consumed", "", r.Key, r.Source(), int64(r.From), int64(r.To), r.Records, r.Size)
		}
		for _, t := range b.Touched.Items {
			fact("touched", "", t.Key, "", -1, -1, -1, t.Size)
		}
		for _, r := range b.Replaced.Items {
			fact("replaced", "", r.Key, "", -1, -1, r.Rows, -1)
		}
	}
	for _, g := range m.Gaps {
		fact("gap", "", g.Key, "", g.From, -1, -1, -1)
	}
	if m.Letters != nil {
		rows = m.Letters.Replayed
	}
	if m.Republish != nil {
		table = m.Republish.Table
	}
	fact("batch", table, "", "", -1, -1, rows, size)
	for name, t := range m.Tables {
		for _, f := range t.Add.Items {
			fact("added", name, f.Key, "", -1, -1, f.Rows, f.Size)
		}
		for _, f := range t.Remove.Items {
			fact("removed", name, f.Key, "", -1, -1, f.Rows, f.Size)
		}
	}
	return out
}

// lineSQL gives rows in the form of facts.
const lineSQL = `CAST(seq AS VARCHAR) || ' ' || kind || ' ' || fact || ' ' || coalesce(table_name, '') || '|' || coalesce(path, '') || '|' || coalesce(source, '') || '|' ||
	coalesce(CAST(range_start AS VARCHAR), '-') || ' ' || coalesce(CAST(range_end AS VARCHAR), '-') || ' ' ||
	coalesce(CAST(row_count AS VARCHAR), '-') || ' ' || coalesce(CAST(size_bytes AS VARCHAR), '-') AS line`

// readFacts has both readers read the table of batches, and wants exactly the facts of
// the manifests from one on.
func (l *lake) readFacts(from manifest.Seq) {
	l.t.Helper()
	t := l.t.(*testing.T)
	var want []map[string]any
	for _, line := range l.facts(from) {
		want = append(want, map[string]any{"line": line})
	}
	folder := filepath.Join(dump(t, l.store.(*memstore.Store)), batchesTable)
	both(t, folder, nil, [][]map[string]any{want, {{"n": json.Number(fmt.Sprint(l.head().Manifest.Seq - from + 1))}}},
		"SELECT * FROM (SELECT "+lineSQL+" FROM t) AS lines ORDER BY line", "SELECT count(*) AS n FROM t WHERE fact = 'batch'")
}

// beginsAt wants the log of the table of batches to begin with a manifest, and both
// readers to read it.
func (l *lake) beginsAt(first manifest.Seq) {
	l.t.Helper()
	store := l.store.(*memstore.Store)
	key := func(v manifest.Seq) string { return fmt.Sprintf("%s/_delta_log/%020d.json", batchesTable, int64(v)) }
	if store.Objects()[key(first)] == nil || first > 0 && store.Objects()[key(first-1)] != nil {
		l.t.Errorf("the log does not begin with version %d: %v", first, slices.Sorted(maps.Keys(within(deltaLog(store), batchesTable))))
		return
	}
	l.readFacts(first)
}

// chain appends manifests until there is one with a number: mostly fences, now and then
// something else.
func (l *lake) chain(random *rand.Rand, to manifest.Seq) {
	l.t.Helper()
	for l.head().Manifest.Seq < to {
		n := int(l.random.n)
		switch k := random.IntN(40); {
		case k < 3:
			l.run(record(n))
		case k == 3:
			l.run(fmt.Sprintf("broken%d", n), "{\"n\":1}\nbroken\n")
		case k == 4 && l.head().Manifest.Tables["events"].Live.Files > 4:
			l.merge()
		case k == 5 && l.head().Manifest.Seq > 5:
			head := l.head().Manifest
			l.rewind(max(head.RetainFrom, head.Seq-manifest.Seq(1+random.IntN(5))))
		default:
			if _, err := l.repairs().Fence(l.t.Context()); err != nil {
				l.t.Fatal(err)
			}
		}
	}
}

// TestBatches_AreWhatManifestsSay plays random chains and reads the table back after
// folds of ten, a hundred and a thousand files.
func TestBatches_AreWhatManifestsSay(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	l := newLake(t, memstore.New())
	l.run("a", `{"n":1}`+"\n")
	for _, c := range []struct {
		head manifest.Seq
		live int // files of the table
	}{{3, 4}, {9, 10}, {10, 2}, {19, 11}, {20, 3}, {99, 19}, {100, 2}, {101, 3}, {234, 10}, {999, 28}, {1000, 2}, {1012, 5}} {
		if c.head > 200 && !localdev.Proving() {
			break
		}
		l.chain(random, c.head)
		l.publishBatches()
		if got := len(replayed(t, l.store.(*memstore.Store), batchesTable)); got != c.live && c.head == l.head().Manifest.Seq {
			t.Errorf("%d files at version %d, want %d", got, c.head, c.live)
		}
		if c.head > 900 || c.head < 30 {
			l.readFacts(0)
		}
	}
	localdev.Figure("manifests of a random chain whose table of batches says what they say", l.head().Manifest.Seq+1)
}
