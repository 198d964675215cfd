package chaos

import (
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"batcher/localdev"
)

// blow is what befalls one process: a signal, at a moment or at one of its
// requests. Use each once.
type blow struct {
	signal  syscall.Signal  // 0: none, SIGKILL or SIGSTOP
	after   time.Duration   // the moment, if count is 0
	count   int             // the request, from 1
	puts    bool            // only PUTs count
	request localdev.Action // what becomes of that request

	struck chan struct{} // closed once the signal was sent

	mu      sync.Mutex
	process *os.Process // nil before the start
	seen    int         // requests that count
	done    bool
}

// spare lets a process be.
func spare() *blow { return &blow{struck: make(chan struct{})} }

// latest is until when a process is struck that is not struck at a request.
const latest = 500 * time.Millisecond

// draw chooses what befalls a process. Of a hundred, kill are killed and stop
// stopped.
func draw(rnd *rand.Rand, kill, stop int) *blow {
	b := spare()
	switch dice := rnd.IntN(100); {
	case dice < kill:
		b.signal = syscall.SIGKILL
		b.request = []localdev.Action{localdev.Pass, localdev.DropRequest, localdev.LoseAndLandLate}[rnd.IntN(3)]
	case dice < kill+stop:
		b.signal = syscall.SIGSTOP
	default:
		return b
	}
	switch rnd.IntN(3) {
	case 0:
		b.after = time.Duration(rnd.Int64N(int64(latest)))
	case 1:
		b.count = 1 + rnd.IntN(25)
	case 2:
		b.count, b.puts = 1+rnd.IntN(5), true
	}
	if b.signal == syscall.SIGSTOP && b.count == 0 {
		b.count, b.puts = 1+rnd.IntN(2), true // its files are written, its manifest is not
	}
	return b
}

// start runs begin, which starts the process, while no request of it is judged.
func (b *blow) start(begin func() (*os.Process, error)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	b.process, err = begin()
	return err
}

// moment returns a channel that fires when it is time, or nil.
func (b *blow) moment() <-chan time.Time {
	if b.signal == 0 || b.count > 0 {
		return nil
	}
	return time.After(b.after)
}

// at counts a request of the process, and strikes if it is the one.
func (b *blow) at(req *http.Request) (localdev.Action, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count == 0 || b.done || b.process == nil || b.puts && req.Method != http.MethodPut {
		return 0, false
	}
	if b.seen++; b.seen < b.count {
		return 0, false
	}
	b.send()
	return b.request, true
}

// strike strikes now.
func (b *blow) strike() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.done {
		b.send()
	}
}

// send sends the signal. A process that has just ended has escaped.
func (b *blow) send() {
	b.done = true
	_ = b.process.Signal(b.signal)
	close(b.struck)
}
