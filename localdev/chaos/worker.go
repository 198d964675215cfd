package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"batcher/compact"
	"batcher/localdev"
)

// worker runs one process after the other behind a proxy of its own, so that a
// request tells whose it is.
type worker struct {
	*world
	rnd       *rand.Rand
	proxy     *localdev.Proxy
	collector *worker // cleans up while a process of this one is stopped; nil in a collector

	mu  sync.Mutex
	now *blow // what befalls the process that runs
}

// newWorker starts the proxies of a worker and of its collector.
func (w *world) newWorker(i int) *worker {
	worker := w.newRunner(uint64(100 + 2*i))
	worker.collector = w.newRunner(uint64(101 + 2*i))
	return worker
}

func (w *world) newRunner(stream uint64) *worker {
	r := &worker{world: w, rnd: rand.New(rand.NewPCG(w.Seed, stream)), now: spare()}
	r.proxy = w.Server.WatchedProxy(r.decide, func(x localdev.Exchange) {
		w.faults.watch(x)
		w.history.watch(x)
	})
	return r
}

// decide is what becomes of a request of the process that runs.
func (w *worker) decide(n int, req *http.Request) localdev.Action {
	if w.Sabotage != nil {
		if a := w.Sabotage(n, req); a != localdev.Pass {
			return a
		}
	}
	w.mu.Lock()
	now := w.now
	w.mu.Unlock()
	if a, struck := now.at(req); struck {
		return w.faults.note(a)
	}
	return w.faults.draw(req)
}

// release lets land what was kept.
func (w *worker) release() {
	w.proxy.Release()
	if w.collector != nil {
		w.collector.release()
	}
}

func (w *worker) close() {
	w.proxy.Close()
	if w.collector != nil {
		w.collector.close()
	}
}

// work runs processes until enough were killed or the context ends.
func (w *worker) work(ctx context.Context) {
	for !w.enough() && ctx.Err() == nil {
		if w.rnd.IntN(100) < 30 {
			w.arrive(ctx, 1)
		}
		if w.rnd.IntN(100) < 20 {
			w.release()
		}
		if w.rnd.IntN(100) < 4 {
			w.collect(ctx)
		}
		end := w.run(ctx, w.batcher(ctx, w.arguments()...), draw(w.rnd, 70, 15))
		w.judge(end)
		if end.empty() {
			w.arrive(ctx, 1+w.rnd.IntN(6))
		}
	}
}

func (w *worker) arrive(ctx context.Context, objects int) {
	if err := w.feed.arrive(ctx, objects); err != nil && ctx.Err() == nil {
		w.find(err)
	}
}

// maxShards is the largest number of shards. With many, runs that are stopped
// have little in common with those that go on, and find their ranges free.
const maxShards = 8

// arguments are those of one run: everything or a shard, of a number of shards
// that changes, and mostly one batch, so that each acknowledgement is reported.
func (w *worker) arguments() []string {
	args := []string{"run", "-q", "-o", "json", "--max-batches", fmt.Sprint(1 + w.rnd.IntN(2))}
	if shards := 1 + w.rnd.IntN(maxShards); shards > 1 {
		args = append(args, "--shard", fmt.Sprintf("%d/%d", w.rnd.IntN(shards), shards))
	}
	return args
}

// collect cleans up after the processes: a gc; now and then snapshots expire, and
// another gc takes what only they needed; now and then everybody is fenced off.
func (w *worker) collect(ctx context.Context) {
	c := w.collector
	for range 3 { // one of them comes to its end
		if c.gc(ctx).code == 0 {
			break
		}
	}
	switch dice := c.rnd.IntN(100); {
	case dice < 40:
		c.repair(ctx, "expire", "--keep", "1ms", "--confirm")
		c.gc(ctx)
	case dice < 50:
		c.repair(ctx, "fence", "--confirm")
	}
}

// gc runs one gc, to which something may happen, too.
func (w *worker) gc(ctx context.Context) ending {
	keep := time.Duration(w.rnd.IntN(2)) * 300 * time.Millisecond
	end := w.run(ctx, w.command(ctx, w.Programs.Collect, "collect", lakeBucket, w.place, "chaos", keep.String()), draw(w.rnd, 25, 25))
	var report compact.GCReport
	if end.code == 0 {
		if err := json.Unmarshal(end.stdout, &report); err != nil {
			w.find(fmt.Errorf("gc printed %q: %w", end.stdout, err))
		}
	}
	w.excuse("gc", end)
	w.tally(func(f *Figures) {
		f.Collects++
		f.Deleted += report.Deleted
		if end.killed {
			f.GCKills++
		}
		if end.stopped {
			f.GCStops++
		}
	})
	return end
}

// repair runs a verb that appends one manifest and writes nothing else.
func (w *worker) repair(ctx context.Context, verb string, flags ...string) {
	end := w.run(ctx, w.command(ctx, w.Programs.Batcher, append([]string{verb, "-q"}, flags...)...), draw(w.rnd, 25, 25))
	w.excuse(verb, end)
	w.tally(func(f *Figures) { f.Repairs++ })
}

// excuse takes an ending of a verb besides run as a finding, unless it is one
// that the torture explains.
func (w *worker) excuse(verb string, end ending) {
	switch {
	case end.code == 0, end.killed, end.code == exitTemporary, end.code == exitSuperseded, end.code == exitNoChain, w.ended():
	default:
		w.find(fmt.Errorf("%s ended with %d: %s%s", verb, end.code, end.stdout, end.stderr))
	}
}

// batcher is one invocation that was not started yet.
func (w *worker) batcher(ctx context.Context, args ...string) *exec.Cmd {
	return w.command(ctx, w.Programs.Batcher, args...)
}

// command is one process that reaches the store through the worker's proxy.
func (w *worker) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	return w.world.command(ctx, w.proxy.Endpoint, program, args...)
}

// command is one process that reaches the store at an endpoint.
func (w *world) command(ctx context.Context, endpoint, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = w.Folder
	cmd.Env = append(os.Environ(), w.Server.EnvAt(endpoint)...)
	return cmd
}

// ending is how a process ended.
type ending struct {
	code           int // -1: by a signal
	killed         bool
	stopped        bool
	stdout, stderr []byte
	report         *report // if stdout is one
}

// report is the part of the report of a run that is held against the chain.
type report struct {
	Outcome string `json:"outcome"`
	Seq     *int64 `json:"seq"`
	Attempt string `json:"attempt"`
}

// empty says that the run found nothing to read.
func (e ending) empty() bool { return e.code == 0 && e.report != nil && e.report.Outcome == "empty" }

// processLimit is how long a process may live, stops included.
const processLimit = 2 * time.Minute

// run runs a process to its end, whatever that is.
func (w *worker) run(ctx context.Context, cmd *exec.Cmd, b *blow) ending {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	w.mu.Lock()
	w.now = b
	w.mu.Unlock()
	if err := b.start(func() (*os.Process, error) { err := cmd.Start(); return cmd.Process, err }); err != nil {
		if ctx.Err() == nil {
			w.find(fmt.Errorf("start %s: %w", cmd.Path, err))
		}
		return ending{code: -1, killed: true}
	}
	over := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its state says all
		close(over)
	}()
	stopped := w.await(ctx, cmd.Process, b, over)
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	end := ending{
		code: cmd.ProcessState.ExitCode(), killed: status.Signaled() && status.Signal() == syscall.SIGKILL && b.signal == syscall.SIGKILL,
		stopped: stopped, stdout: out.Bytes(), stderr: errs.Bytes(),
	}
	var r report
	if json.Unmarshal(end.stdout, &r) == nil { // a killed process may have printed half of it
		end.report = &r
	}
	return end
}

// await strikes when it is time, and lets a stopped process go on after
// something has happened meanwhile. It returns when the process is over, and
// says whether it was stopped.
func (w *worker) await(ctx context.Context, p *os.Process, b *blow, over <-chan struct{}) (stopped bool) {
	moment, struck := b.moment(), b.struck
	limit := time.NewTimer(processLimit)
	defer limit.Stop()
	for {
		select {
		case <-over:
			return stopped
		case <-moment:
			b.strike()
		case <-struck:
			struck = nil
			if b.signal == syscall.SIGSTOP {
				stopped = true
				w.meanwhile(ctx)
				_ = p.Signal(syscall.SIGCONT) // it may have been killed meanwhile
			}
		case <-limit.C:
			w.find(fmt.Errorf("process %d did not end in %s", p.Pid, processLimit))
			_ = p.Kill()
		}
	}
}

// meanwhile is what happens while a process is stopped: a gc, and others commit.
// While a gc is stopped, others commit.
func (w *worker) meanwhile(ctx context.Context) {
	pause := time.NewTimer(time.Duration(w.rnd.IntN(400)) * time.Millisecond)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
	if w.collector != nil {
		w.collect(ctx)
	}
}

// The exit codes with which a process may end under torture: temporary and
// superseded ones besides success.
const (
	exitSuperseded = 71
	exitTemporary  = 75
	exitNoChain    = 66 // of a verb besides run, before genesis
)

// judge notes what a run said and how it ended.
func (w *worker) judge(end ending) {
	if end.report != nil && end.report.Seq != nil {
		w.acknowledged(ack{*end.report.Seq, end.report.Attempt, string(end.stdout)})
	}
	w.tally(func(f *Figures) {
		f.Processes++
		if end.killed {
			f.Kills++
		}
		if end.killed && f.Kills%100 == 0 {
			w.Logger.Info("tortured", "kills", f.Kills, "processes", f.Processes)
		}
		if end.stopped {
			f.Stops++
		}
		if f.Exits == nil {
			f.Exits = map[int]int{}
		}
		f.Exits[end.code]++
	})
	switch {
	case end.killed, end.code == exitSuperseded, end.code == exitTemporary, w.ended():
	case end.code != 0:
		w.find(fmt.Errorf("a run ended with %d: %s%s", end.code, end.stdout, end.stderr))
	case end.report == nil:
		w.find(errors.New("a run succeeded without a report: " + string(end.stdout)))
	}
}

// acknowledged notes what a process said it committed.
func (w *world) acknowledged(a ack) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acks = append(w.acks, a)
}
