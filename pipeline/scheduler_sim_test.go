package pipeline_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"

	"batcher/object"
)

// scheduler lets one store call happen at a time, of all that wait, by lot. Its
// goroutines run in a synctest bubble: once all are blocked, what waits depends
// on nothing but the lots drawn so far, so that a seed fixes a whole run, with
// whatever goroutines the code under test starts.
type scheduler struct {
	lots    *rand.Rand
	between func() // may happen before any call

	mu      sync.Mutex
	waiting []*call
	trace   hash.Hash // of all calls and their answers
	made    int       // calls
	weights []int     // by task: how often it is its turn
	bursts  int       // calls for which the last task goes on alone
	last    int
}

// call is a store call that waits for its turn.
type call struct {
	task    int
	op, key string
	turn    chan struct{}
}

func newScheduler(lots *rand.Rand) *scheduler {
	return &scheduler{lots: lots, trace: sha256.New(), between: func() {}}
}

// start begins tasks, one after the other up to their first calls, and returns
// when all have ended. What tasks there are fixes who may be slow: by the
// weights some hardly ever have their turn while others go all the way.
func (s *scheduler) start(tasks []func()) {
	s.weights = nil
	for range tasks {
		s.weights = append(s.weights, 1<<(2*s.lots.IntN(4)))
	}
	for _, task := range tasks {
		go task()
		synctest.Wait()
	}
	for s.next() {
		synctest.Wait()
	}
}

// next gives one waiting call its turn, and says whether there was one.
func (s *scheduler) next() bool {
	s.mu.Lock()
	if len(s.waiting) == 0 {
		s.mu.Unlock()
		return false
	}
	slices.SortStableFunc(s.waiting, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.task, b.task), cmp.Compare(a.op, b.op), cmp.Compare(a.key, b.key))
	})
	i := s.draw()
	c := s.waiting[i]
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.last = c.task
	s.made++
	s.mu.Unlock()
	s.between()
	close(c.turn)
	return true
}

// draw chooses one of the waiting calls. The caller holds mu.
func (s *scheduler) draw() int {
	if s.bursts > 0 {
		s.bursts--
		if i := slices.IndexFunc(s.waiting, func(c *call) bool { return c.task == s.last }); i >= 0 {
			return i
		}
	}
	if s.lots.IntN(24) == 0 {
		s.bursts = s.lots.IntN(40)
	}
	sum := 0
	for _, c := range s.waiting {
		sum += s.weights[c.task]
	}
	lot := s.lots.IntN(sum)
	for i, c := range s.waiting {
		if lot -= s.weights[c.task]; lot < 0 {
			return i
		}
	}
	panic("a lot beyond the sum of all weights")
}

// await returns when it is the call's turn.
func (s *scheduler) await(task int, op, key string) {
	c := &call{task, op, key, make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, c)
	s.mu.Unlock()
	<-c.turn
}

// note adds a call and its answer to the trace.
func (s *scheduler) note(task int, op, key string, answer ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.trace, task, op, key, answer)
}

// sum is the hash of the trace so far.
func (s *scheduler) sum() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%x", s.trace.Sum(nil)[:16])
}

// scheduled makes every call to a store wait for its turn.
type scheduled struct {
	inner object.Store // an Uploader
	turns *scheduler
	task  int
	name  string            // of the store, in the trace
	tick  func(call string) // before each call; the process may be told to end
}

var (
	_ object.Store    = (*scheduled)(nil)
	_ object.Uploader = (*scheduled)(nil)
)

func (s *scheduled) begin(op, key string) {
	s.turns.await(s.task, op, s.name+key)
	s.tick(op)
}

func (s *scheduled) end(op, key string, answer ...any) {
	s.turns.note(s.task, op, s.name+key, answer...)
}

// Get implements object.Store.
func (s *scheduled) Get(ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	s.begin("get", key)
	r, info, err := s.inner.Get(ctx, key, opts)
	s.end("get", key, opts, info, err)
	return r, info, err
}

// Put implements object.Store.
func (s *scheduled) Put(ctx context.Context, key string, body []byte, cond object.Condition) (object.Info, error) {
	s.begin("put", key)
	info, err := s.inner.Put(ctx, key, body, cond)
	s.end("put", key, sha256.Sum256(body), cond, info, err)
	return info, err
}

// List implements object.Store.
func (s *scheduled) List(ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		s.begin("list", prefix)
		for info, err := range s.inner.List(ctx, prefix, depth) {
			s.end("list", prefix, info, err)
			if !yield(info, err) {
				return
			}
		}
	}
}

// Delete implements object.Store.
func (s *scheduled) Delete(ctx context.Context, key string) error {
	s.begin("delete", key)
	err := s.inner.Delete(ctx, key)
	s.end("delete", key, err)
	return err
}

// String implements object.Store.
func (s *scheduled) String() string { return s.inner.String() }

// Upload implements object.Uploader.
func (s *scheduled) Upload(ctx context.Context, key string) (object.Upload, error) {
	s.begin("upload", key)
	up, err := s.inner.(object.Uploader).Upload(ctx, key)
	s.end("upload", key, err)
	if err != nil {
		return nil, err
	}
	return &scheduledUpload{Upload: up, store: s, key: key, bytes: sha256.New()}, nil
}

// scheduledUpload is an upload whose end waits for its turn.
type scheduledUpload struct {
	object.Upload
	store *scheduled
	key   string
	bytes hash.Hash
}

// Write implements io.Writer.
func (u *scheduledUpload) Write(p []byte) (int, error) {
	n, err := u.Upload.Write(p)
	u.bytes.Write(p[:n])
	return n, err
}

// Complete implements object.Upload.
func (u *scheduledUpload) Complete(ctx context.Context) (object.Info, error) {
	u.store.begin("complete", u.key)
	info, err := u.Upload.Complete(ctx)
	u.store.end("complete", u.key, u.bytes.Sum(nil), info, err)
	return info, err
}

// Abort implements object.Upload.
func (u *scheduledUpload) Abort(ctx context.Context) error {
	u.store.begin("abort", u.key)
	err := u.Upload.Abort(ctx)
	u.store.end("abort", u.key, err)
	return err
}
