package dlq_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"batcher/compact"
	"batcher/dlq"
	"batcher/manifest"
	"batcher/source/files"
)

// model is what a world has to show: the value of each row, and each letter.
type model struct {
	rows    map[string]int
	letters map[string]bool
}

func (m model) clone() model { return model{maps.Clone(m.rows), maps.Clone(m.letters)} }

// player does things at random to a world and to its model.
type player struct {
	*world
	r       *rand.Rand
	model   model
	objects map[string]string // to be consumed
	broken  map[string]string // quarantined, with what they are repaired to
	past    map[manifest.Seq]player
	n       int
}

// write makes an object of some records, of which some are bad.
func (p *player) write() (name, body string) {
	p.n++
	var b strings.Builder
	for i := range 1 + p.r.IntN(6) {
		if p.r.IntN(3) == 0 {
			fmt.Fprintf(&b, "{%d\n", i)
		} else {
			fmt.Fprintf(&b, `{"v":%d}`+"\n", p.r.IntN(100))
		}
	}
	return fmt.Sprintf("d%d/o%03d.ndjson", p.r.IntN(3), p.n), b.String()
}

// consumed brings the records of an object into the model.
func (m *model) consumed(name, body string) {
	at := 0
	for line := range strings.Lines(body) {
		key, v := fmt.Sprintf("%s:%d", name, at), 0
		if n, _ := fmt.Sscanf(line, `{"v":%d}`, &v); n == 1 {
			m.rows[key] = v
		} else {
			m.letters[key] = true
		}
		at += len(line)
	}
}

// arrive drops some objects, some of them broken, and lets a run consume them.
func (p *player) arrive() {
	for range 1 + p.r.IntN(3) {
		name, body := p.write()
		if p.r.IntN(4) == 0 {
			whole := packed(body)
			p.drop(name+".gz", whole[:len(whole)-1-p.r.IntN(10)])
			p.broken[name+".gz"] = body
			p.model.letters[name+".gz:0"] = true
			continue
		}
		p.drop(name, body)
		p.model.consumed(name, body)
	}
	p.run()
}

// some picks letters, and now and then a row.
func (p *player) some(m map[string]bool) []string {
	keys := slices.Sorted(maps.Keys(m))
	for _, key := range slices.Sorted(maps.Keys(p.model.rows)) {
		if p.r.IntN(20) == 0 {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	p.r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys[:1+p.r.IntN(min(len(keys), 5))]
}

// mend replays letters, some of them with text that is bad again.
func (p *player) mend() {
	var lines []string
	after := p.model.clone()
	for _, key := range p.some(p.model.letters) {
		id, err := dlq.ParseID(key)
		if err != nil {
			p.t.Fatal(err)
		}
		v, text := p.r.IntN(100), ""
		switch p.r.IntN(4) {
		case 0:
			text = `,"raw":"[]"`
		case 1:
		case 2:
			text = fmt.Sprintf(`,"raw":"{\"v\":%d}"`, v)
		default:
			text = fmt.Sprintf(`,"record":{"v":%d,"extra%d":true}`, v, p.r.IntN(4))
		}
		lines = append(lines, fmt.Sprintf(`{"_source":%q,"_offset":%d%s}`, id.Source, id.Offset, text))
		if _, quarantined := p.broken[id.Source]; p.model.letters[key] && !quarantined && strings.Contains(text, "v") {
			delete(after.letters, key)
			after.rows[key] = v
		}
	}
	p.besides(func() { p.replay(lines...) })
	p.model = after
}

// besides does something while, now and then, a run or another change commits.
func (p *player) besides(change func()) {
	if p.r.IntN(3) > 0 {
		change()
		return
	}
	name, body := p.write()
	other, plain := *p.world, p.store
	p.store = &hooked{plain, func() {
		other.drop(name, body)
		other.run()
	}}
	change()
	if h := p.store.(*hooked); h.before == nil {
		p.objects[name] = body
	}
	p.store = plain
}

// settle takes what runs consumed beside changes into the model.
func (p *player) settle() {
	for name, body := range p.objects {
		p.model.consumed(name, body)
	}
	clear(p.objects)
}

// give discards letters.
func (p *player) give() {
	f := dlq.Filter{}
	for _, key := range p.some(p.model.letters) {
		id, err := dlq.ParseID(key)
		if err != nil {
			p.t.Fatal(err)
		}
		f.IDs = append(f.IDs, id)
	}
	if len(f.IDs) == 0 {
		return
	}
	p.besides(func() { p.discard(f, dlq.Confirm) })
	for _, id := range f.IDs {
		delete(p.model.letters, id.String())
		delete(p.broken, id.Source)
	}
}

// repair uploads some broken objects again and retries all.
func (p *player) repair() {
	for _, name := range slices.Sorted(maps.Keys(p.broken)) {
		if p.r.IntN(2) == 0 {
			continue
		}
		p.clock.now = p.clock.now.Add(time.Second)
		p.drop(name, packed(p.broken[name]))
		delete(p.model.letters, name+":0")
		p.model.consumed(name, p.broken[name])
		delete(p.broken, name)
	}
	p.besides(func() { p.retry(dlq.Filter{}) })
}

// check holds the world against the model.
func (p *player) check(seed uint64, step int, what string) {
	p.t.Helper()
	p.settle()
	rows, letters := map[string]int{}, map[string]bool{}
	var seen struct {
		dlq.ID
		V int `json:"v"`
	}
	for _, line := range p.rows("events") {
		if err := json.Unmarshal([]byte(line), &seen); err != nil {
			p.t.Fatal(line, err)
		}
		rows[seen.String()] = seen.V
	}
	for _, line := range p.letters() {
		if err := json.Unmarshal([]byte(line), &seen); err != nil {
			p.t.Fatal(line, err)
		}
		letters[seen.String()] = true
	}
	if fmt.Sprint(rows) != fmt.Sprint(p.model.rows) || fmt.Sprint(letters) != fmt.Sprint(p.model.letters) {
		p.t.Errorf("rows    %v\nwant    %v\nletters %v\nwant    %v", rows, p.model.rows, letters, p.model.letters)
	}
	p.verify()
	if p.t.Failed() {
		p.t.Fatalf("seed %d, step %d: %s", seed, step, what)
	}
}

// rewind goes back to some manifest, in the model too. What was uploaded since is
// there still, and is consumed again.
func (p *player) rewind() {
	seqs := slices.Sorted(maps.Keys(p.past))
	if len(seqs) < 2 {
		return
	}
	to := seqs[p.r.IntN(len(seqs)-1)]
	r := compact.Repair{Log: p.log(), Now: p.clock.Now, Logger: slog.New(slog.DiscardHandler)}
	if _, err := r.Rewind(p.t.Context(), to); err != nil {
		p.t.Fatal(err)
	}
	then := p.past[to]
	p.model = then.model.clone()
	// The source goes back with it: that is simplest to follow.
	p.input = then.input.Clone()
	p.broken = maps.Clone(then.broken)
}

// TestAnyChangesInAnyOrderKeepEveryRecordOnce does everything that may be done to
// dead letters, beside runs and rewinds, at random.
func TestAnyChangesInAnyOrderKeepEveryRecordOnce(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("BATCHER_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("BATCHER_SEED=%d", seed)
	for round := range uint64(6) {
		p := &player{world: newWorld(t), r: rand.New(rand.NewPCG(seed, round)), objects: map[string]string{}, broken: map[string]string{},
			model: model{map[string]int{}, map[string]bool{}}, past: map[manifest.Seq]player{}}
		p.onChange = files.SkipChanged
		p.arrive()
		for step := range 25 {
			what := []string{"arrive", "mend", "mend", "give", "repair", "rewind"}[p.r.IntN(6)]
			map[string]func(){"arrive": p.arrive, "mend": p.mend, "give": p.give, "repair": p.repair, "rewind": p.rewind}[what]()
			p.check(seed, step, what)
			p.past[p.head()] = player{world: p.again(), model: p.model.clone(), broken: maps.Clone(p.broken)}
		}
	}
}
