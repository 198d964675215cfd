package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"batcher/localdev"
	"batcher/object"
)

// wideningWorld is a world whose columns hold whole numbers, and halves that wait in
// _rescued until the columns are widened.
type wideningWorld struct {
	*world
	in      object.Store
	columns []string
	objects int
	rows    int64
	twice   int64 // twice the sum of one column
	halves  int64 // values of one column that do not fit a whole number
}

// put adds an object. Every column of a record has the same value.
func (w *wideningWorld) put(records int, half func(i int) bool) {
	w.t.Helper()
	var b bytes.Buffer
	for i := range records {
		value := fmt.Sprint(i)
		w.twice += int64(2 * i)
		if half(i) {
			value += ".5"
			w.twice++
			w.halves++
		}
		for j, c := range w.columns {
			fmt.Fprintf(&b, "%s\"%s\":%s", []string{",", "{"}[max(0, 1-j)], c, value)
		}
		b.WriteString("}\n")
	}
	if _, err := w.in.Put(w.t.Context(), fmt.Sprintf("o%03d.ndjson", w.objects), b.Bytes(), object.Always); err != nil {
		w.t.Fatal(err)
	}
	w.objects++
	w.rows += int64(records)
}

// appends is a run that may lose to a widening.
func (w *wideningWorld) appends() {
	w.t.Helper()
	if r := w.run("run", "-q"); r.code != exitOK && r.code != exitTemporary && r.code != exitSuperseded {
		w.t.Errorf("run: exit %d: %s", r.code, r.stderr)
	}
}

// TestKilledWideningsOnMinIOBringEveryValueBack lets processes widen columns of one
// table side by side, each killed at a random moment as long as there are kills left,
// while runs go on to consume, and to merge files.
func TestKilledWideningsOnMinIOBringEveryValueBack(t *testing.T) {
	if testing.Short() {
		localdev.Skip(t, "the kill test on MinIO is skipped by -short")
	}
	const records, kills = 200, 30
	s := minio(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	place := fmt.Sprintf("widened-%d", seed)
	w := &wideningWorld{in: bucket(t, s, "input", place), columns: []string{"a", "b", "c", "d", "e", "f"},
		world: newWorld(t, s.Env(), fmt.Sprintf(`
pipeline: widened
store: s3://lake/%[1]s
source: {files: {path: s3://input/%[1]s}}
batch: {max_objects: 2}
`, place))}
	w.put(records, func(int) bool { return false })
	w.must(&report{}, "run") // publishes whole numbers
	every := func(i int) bool { return i%10 == 3 }
	for range 20 {
		w.put(records, every)
	}
	w.must(&report{}, "run")

	var killed, returned atomic.Int64
	killed.Store(-kills)
	var wg sync.WaitGroup
	for process := range 2 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(process)))
			for _, i := range rnd.Perm(len(w.columns)) {
				n, err := w.widenUntilDone(rnd, w.columns[i], &killed)
				if err != nil {
					t.Error(err)
				}
				returned.Add(n)
			}
		})
	}
	for range 10 {
		w.put(records, every)
		w.appends()
	}
	wg.Wait()
	w.put(records, every)
	w.must(&report{}, "run")

	proof := w.proves(w.rows)
	if killed.Load()+kills < 4 || returned.Load() == 0 {
		t.Errorf("only %d processes were killed, %d values put back before all was done: the test shows nothing", killed.Load()+kills, returned.Load())
	}
	w.holds(s)
	figure := fmt.Sprintf("%d columns by 2 processes, %d killed, beside runs and merges; verify --source --deep: %d rows verified, %d lost, %d doubled; DuckDB: %d rows, %d halves in each column, 0 rescued",
		len(w.columns), killed.Load()+kills, proof.Source.Verified, proof.Lost, proof.Doubled, w.rows, w.halves)
	t.Log(figure)
	localdev.Figure("kill -9 of widenings on MinIO", figure)
}

// holds asks DuckDB whether every column has every value.
func (w *wideningWorld) holds(s *localdev.Server) {
	w.t.Helper()
	duck, err := localdev.OpenDuckDB(w.t.Context())
	if err != nil {
		w.t.Fatalf("this test needs DuckDB: %v", err)
	}
	from := fmt.Sprintf("read_parquet([%s], union_by_name = true)", strings.Join(w.download(s, "lake"), ","))
	for _, c := range w.columns {
		got, err := duck.Query(w.t.Context(), fmt.Sprintf(
			`SELECT count(%[1]s) AS n, CAST(sum(2 * %[1]s) AS BIGINT) AS twice, count(*) FILTER (%[1]s != floor(%[1]s)) AS halves, count(_rescued) AS rescued,
				count(DISTINCT (_source, _offset)) AS ids, typeof(any_value(%[1]s)) AS type FROM %[2]s`, c, from))
		if err != nil {
			w.t.Fatal(err)
		}
		for name, want := range map[string]int64{"n": w.rows, "twice": w.twice, "halves": w.halves, "rescued": 0, "ids": w.rows} {
			if n := number(w.t, got[0][name]); n != want {
				w.t.Errorf("column %s: %s is %d, want %d", c, name, n, want)
			}
		}
		if got[0]["type"] != "DOUBLE" {
			w.t.Errorf("column %s: type %v", c, got[0]["type"])
		}
	}
}

// widenUntilDone widens a column, again and again while it is killed, and returns the
// values that the last process put back.
func (w *wideningWorld) widenUntilDone(rnd *rand.Rand, column string, killed *atomic.Int64) (int64, error) {
	for range 100 {
		var out, errs bytes.Buffer
		cmd := w.command("schema", "widen", column, "float64", "--confirm", "-o", "json", "-q")
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		stop := func() bool { return true }
		if killed.Load() < 0 {
			stop = time.AfterFunc(time.Duration(rnd.Int64N(int64(400*time.Millisecond))), func() { _ = cmd.Process.Kill() }).Stop
		}
		_ = cmd.Wait()
		stop()
		switch code := cmd.ProcessState.ExitCode(); code {
		case -1:
			killed.Add(1)
		case exitTemporary, exitSuperseded:
		case exitOK:
			var done widened
			if err := json.Unmarshal(out.Bytes(), &done); err != nil {
				return 0, fmt.Errorf("widen %s: %w in %q", column, err, out.String())
			}
			return done.Returned, nil
		default:
			return 0, fmt.Errorf("widen %s: exit %d: %s", column, code, errs.String())
		}
	}
	return 0, fmt.Errorf("widen %s: never done", column)
}
