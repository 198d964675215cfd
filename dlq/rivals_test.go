package dlq_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"batcher/batch"
	"batcher/commit"
	"batcher/compact"
	"batcher/dlq"
	"batcher/localdev"
	"batcher/manifest"
	"batcher/object"
	"batcher/pipeline"
	"batcher/record"
	"batcher/schema"
	"batcher/source"
	"batcher/source/files"
)

// interrupted lets a rival act before its nth call, unless a manifest was sent before:
// what comes later comes after the commit.
type interrupted struct {
	object.Store
	left  int
	rival func()
}

func (s *interrupted) tick() {
	if s.left--; s.left == 0 {
		s.rival()
	}
}

// Put implements object.Store.
func (s *interrupted) Put(ctx context.Context, key string, body []byte, c object.Condition) (object.Info, error) {
	s.tick()
	if strings.Contains(key, "/manifests/") {
		s.left = -1
	}
	return s.Store.Put(ctx, key, body, c)
}

// Get implements object.Store.
func (s *interrupted) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	s.tick()
	return s.Store.Get(ctx, key, o)
}

// action is something that is done to a world, and what it does to the ledger, given
// the letters that were there before; the value says which stand for a whole object.
type action struct {
	name string
	do   func() error
	then func(there map[dlq.ID]bool)
}

// rivalry does things at random to a world and to a ledger, one beside another.
type rivalry struct {
	*world
	plain   object.Store
	r       *rand.Rand
	ledger  *ledger
	objects map[string]content
	past    map[manifest.Seq]*ledger
	n       int
	history []string
}

func newRivalry(t *testing.T, seed uint64) *rivalry {
	y := &rivalry{world: newWorld(t), r: rand.New(rand.NewPCG(seed, 9)), objects: map[string]content{}, ledger: newLedger(), past: map[manifest.Seq]*ledger{}}
	y.plain = y.store
	y.random.r = rand.New(rand.NewPCG(seed, 3))
	if y.onChange = files.SkipChanged; seed%3 > 0 {
		y.config.Split = "p"
	}
	y.put("first.ndjson", content{"{\"v\":1,\"p\":\"x\"}\n", false})
	y.run()
	y.ledger.run(y.objects, y.onChange)
	return y
}

// content draws some records, of which some are bad.
func (y *rivalry) content() content {
	var b strings.Builder
	for i := range 1 + y.r.IntN(5) {
		if y.r.IntN(3) == 0 {
			fmt.Fprintf(&b, "{%d\n", i)
			continue
		}
		p := []string{"", `,"p":"x"`, `,"p":"y"`, `,"p":"x y/=é"`, `,"p":""`, `,"p":null`}[y.r.IntN(6)]
		fmt.Fprintf(&b, `{"v":%d%s}`+"\n", y.r.IntN(100), p)
	}
	return content{b.String(), y.r.IntN(4) == 0}
}

// put uploads a content; only a packed one can be broken.
func (y *rivalry) put(key string, c content) {
	text := c.lines
	if strings.HasSuffix(key, ".gz") {
		if text = packed(c.lines); c.broken {
			text = text[:len(text)-1-y.r.IntN(10)]
		}
	} else {
		c.broken = false
	}
	y.clock.now = y.clock.now.Add(2 * time.Second)
	y.drop(key, text)
	y.objects[key] = c
}

// upload brings new objects or changes old ones.
func (y *rivalry) upload() {
	if y.r.IntN(2) == 0 {
		for range 1 + y.r.IntN(3) {
			y.n++
			y.put(fmt.Sprintf("d%d/o%03d.ndjson%s", y.r.IntN(3), y.n, []string{"", "", ".gz"}[y.r.IntN(3)]), y.content())
		}
	}
	if y.r.IntN(2) == 0 {
		keys := slices.Sorted(maps.Keys(y.objects))
		for range 1 + y.r.IntN(2) {
			y.put(keys[y.r.IntN(len(keys))], y.content())
		}
	}
}

// letters are those that are there, whoever is acting.
func (y *rivalry) letters() map[dlq.ID]bool {
	out := map[dlq.ID]bool{}
	w := *y.world
	w.store = y.plain
	err := w.queue().Letters(y.t.Context(), dlq.Filter{}, func(l *record.DeadLetter) error {
		id := dlq.ID{Source: l.Source, Offset: l.Offset}
		if _, twice := out[id]; twice {
			y.t.Errorf("letter %v is there twice", id)
		}
		out[id] = l.Stage == "container"
		return nil
	})
	if err != nil {
		y.t.Fatal(err)
	}
	return out
}

// some draws a few of the letters.
func (y *rivalry) some() []dlq.ID {
	all := slices.SortedFunc(maps.Keys(y.letters()), func(a, b dlq.ID) int { return strings.Compare(a.String(), b.String()) })
	y.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), 1+y.r.IntN(5))]
}

func nothing(map[dlq.ID]bool) {}

// draw makes one of the actions by its name.
func (y *rivalry) draw(name string) action {
	switch name {
	case "run":
		return action{name, func() error {
			p := y.pipeline()
			p.Limits = batch.Limits{Objects: 3}
			_, err := p.Run(y.t.Context(), pipeline.Options{})
			return err
		}, func(map[dlq.ID]bool) { y.ledger.run(y.objects, y.onChange) }}
	case "mend":
		return y.mend()
	case "discard":
		ids := y.some()
		return action{name, func() error {
			if len(ids) == 0 {
				return nil
			}
			_, err := y.queue().Discard(y.t.Context(), dlq.Filter{IDs: ids}, dlq.Confirm)
			return err
		}, func(there map[dlq.ID]bool) { y.ledger.discard(ids, there) }}
	case "retry":
		return action{name, func() error {
			_, err := y.queue().Retry(y.t.Context(), dlq.Filter{})
			return err
		}, func(map[dlq.ID]bool) { y.ledger.retry(y.objects) }}
	case "merge":
		return action{name, y.merge, nothing}
	case "widen":
		return action{name, y.widen, nothing}
	case "verify":
		return action{name, func() error { y.verify(); return nil }, nothing}
	case "gc":
		return action{name, y.gc, nothing}
	case "fence":
		return action{name, func() error { return errors.Join(y.fence(), y.gc()) }, nothing}
	}
	return action{name, y.sweep, nothing}
}

// mend replays letters as other records.
func (y *rivalry) mend() action {
	var lines []string
	values := map[dlq.ID]int{}
	for _, id := range y.some() {
		values[id] = y.r.IntN(100)
		lines = append(lines, fmt.Sprintf(`{"_source":%q,"_offset":%d,"record":{"v":%d,"p":"z"}}`, id.Source, id.Offset, values[id]))
	}
	return action{"mend", func() error {
		edits, err := dlq.ReadEdits(strings.NewReader(strings.Join(lines, "\n")))
		if err == nil {
			_, err = y.queue().Replay(y.t.Context(), dlq.ReplayOptions{Edits: edits, Mode: dlq.Confirm})
		}
		return err
	}, func(there map[dlq.ID]bool) { y.ledger.mend(values, there) }}
}

func (y *rivalry) merge() error {
	m := &compact.Merge{Log: y.log(), Store: y.store, Random: y.random, Now: y.clock.Now, Logger: slog.New(slog.DiscardHandler), Ahead: 1,
		Rules: compact.Rules{FanIn: 2, Classes: compact.AllSizes}}
	head, err := m.Log.Head(y.t.Context())
	for _, table := range []string{"events", "events_dead"} {
		if err == nil {
			head, _, err = m.Run(y.t.Context(), head, table, compact.Until{})
		}
	}
	return err
}

func (y *rivalry) widen() error {
	to, err := schema.ParseType([]string{"float64", "string"}[y.r.IntN(2)])
	if err != nil {
		return err
	}
	w := &compact.Widen{Log: y.log(), Store: y.store, Random: y.random, Logger: slog.New(slog.DiscardHandler), FileBytes: 128 << 20}
	if _, err = w.Run(y.t.Context(), "events", "v", to); errors.Is(err, schema.ErrNotWider) {
		return nil
	}
	return err
}

func (y *rivalry) repair() *compact.Repair {
	return &compact.Repair{Log: y.log(), Now: y.clock.Now, Logger: slog.New(slog.DiscardHandler)}
}

func (y *rivalry) fence() error {
	y.clock.now = y.clock.now.Add(time.Second)
	_, err := y.repair().Fence(y.t.Context())
	return err
}

func (y *rivalry) collect(keep time.Duration) error {
	gc := compact.GC{Log: y.log(), Store: y.store, Now: y.clock.Now, Logger: slog.New(slog.DiscardHandler)}
	_, err := gc.Run(y.t.Context(), compact.GCOptions{Mode: compact.Confirm, Keep: keep, MaxShare: 1})
	return err
}

func (y *rivalry) expire(keep time.Duration) error {
	_, err := y.repair().Expire(y.t.Context(), keep)
	return err
}

// gc collects what is older than a time, and now and then lets snapshots expire.
func (y *rivalry) gc() error {
	keep := time.Duration(y.r.IntN(10_000)) * time.Millisecond
	err := y.collect(keep)
	if err == nil && y.r.IntN(2) == 0 {
		err = errors.Join(y.expire(keep), y.collect(keep))
	}
	return err
}

// sweep leaves nothing on the store but what the newest snapshot needs.
func (y *rivalry) sweep() error {
	return errors.Join(y.merge(), y.fence(), y.expire(0), y.collect(0))
}

// rewind goes back to a manifest that a step ended with.
func (y *rivalry) rewind() {
	seqs := slices.Sorted(maps.Keys(y.past))
	if len(seqs) < 2 {
		return
	}
	to := seqs[y.r.IntN(len(seqs)-1)]
	_, err := y.repair().Rewind(y.t.Context(), to)
	if errors.Is(err, commit.ErrExpired) {
		return
	}
	if err != nil {
		y.t.Error(err)
	}
	y.ledger = y.past[to].clone()
}

var (
	actions = []string{"run", "run", "mend", "discard", "retry", "merge", "widen", "verify"}
	rivals  = append([]string{"gc", "sweep", "sweep", "sweep", "fence"}, actions...)
)

// step does something, and something else beside it.
func (y *rivalry) step() string {
	if y.r.IntN(3) == 0 {
		y.onChange = []files.OnChange{files.SkipChanged, files.AppendChanged, files.ReplaceChanged}[y.r.IntN(3)]
	}
	if y.r.IntN(6) == 0 {
		y.config.Hash = fmt.Sprint("c", y.r.IntN(2))
	}
	y.upload()
	switch y.r.IntN(12) {
	case 0:
		y.rewind()
		return "rewind"
	case 1:
		if err := y.gc(); err != nil {
			y.t.Error(err)
		}
		return "gc"
	}
	a := y.draw(actions[y.r.IntN(len(actions))])
	there := y.letters()
	what := fmt.Sprint(a.name, " ", y.onChange, " ", y.config.Hash)
	if y.r.IntN(2) == 0 {
		what += y.beside(a, &there)
	} else if err := a.do(); err != nil {
		y.t.Errorf("%s: %v", what, err)
	}
	a.then(there)
	return what
}

// beside does something while a rival acts at one moment of it. It may find itself
// superseded then, and is done again.
func (y *rivalry) beside(a action, there *map[dlq.ID]bool) (what string) {
	rival := y.draw(rivals[y.r.IntN(len(rivals))])
	hook := &interrupted{Store: y.plain, left: 1 + y.r.IntN(1+y.r.IntN(60))}
	hook.rival = func() {
		y.store = y.plain
		before := y.letters()
		if err := rival.do(); err != nil {
			y.t.Errorf("rival %s: %v", rival.name, err)
		}
		rival.then(before)
		what += " <- " + rival.name
		*there = y.letters()
		y.store = hook
	}
	y.store = hook
	err := a.do()
	y.store = y.plain
	if err == nil {
		return what
	}
	var superseded *commit.SupersededError
	if what += fmt.Sprintf(" !! %v", err); !errors.As(err, &superseded) {
		y.t.Error(what)
	}
	if err := a.do(); err != nil {
		y.t.Errorf("%s: again: %v", what, err)
	}
	return what
}

// check holds the world against the ledger.
func (y *rivalry) check() {
	y.t.Helper()
	got := newLedger()
	var row struct {
		dlq.ID
		V json.RawMessage `json:"v"`
	}
	for _, line := range y.rows("events") {
		row.V = nil
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			y.t.Fatal(line, err)
		}
		v, err := strconv.ParseFloat(strings.Trim(string(row.V), `"`), 64)
		if err != nil {
			y.t.Errorf("%s: %v", line, err)
		}
		at := spot{source.KeyOf(row.Source), row.Offset}
		got.rows[at] = append(got.rows[at], v)
	}
	for id := range y.letters() {
		got.letters[spot{source.KeyOf(id.Source), id.Offset}]++
	}
	got, want := got.sorted(), y.ledger.clone().sorted()
	if fmt.Sprint(got.rows) != fmt.Sprint(want.rows) || fmt.Sprint(got.letters) != fmt.Sprint(want.letters) {
		y.t.Errorf("rows    %v\nwant    %v\nletters %v\nwant    %v", got.rows, want.rows, got.letters, want.letters)
	}
	y.verify()
}

// TestAnythingBesideAnythingKeepsEveryRecordOnce lets runs, changes of letters, merges,
// widenings, sweeps and verify act beside each other, in worlds whose source changes
// under every policy; after each step the tables are what a model says, and verify
// finds nothing. BATCHER_SEED repeats a world and goes on from there.
func TestAnythingBesideAnythingKeepsEveryRecordOnce(t *testing.T) {
	const steps = 20
	least, limit := uint64(3), time.Duration(0)
	switch {
	case os.Getenv("BATCHER_NIGHTLY") != "":
		limit = time.Hour
	case localdev.Proving():
		least = 20
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("BATCHER_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("BATCHER_SEED=%d", seed)
	worlds := uint64(0)
	var y *rivalry
	defer func() {
		if t.Failed() {
			t.Logf("BATCHER_SEED=%d: %s", seed+worlds, strings.Join(y.history, "; "))
		}
	}()
	for begun := time.Now(); worlds < least || time.Since(begun) < limit; worlds++ {
		y = newRivalry(t, seed+worlds)
		for range steps {
			y.history = append(y.history, fmt.Sprintf("after %d %s", y.head(), y.step()))
			y.check()
			if t.Failed() {
				return
			}
			y.past[y.head()] = y.ledger.clone()
		}
	}
	localdev.Figure("changes beside changes", fmt.Sprintf("%d steps in %d worlds", worlds*steps, worlds))
}
