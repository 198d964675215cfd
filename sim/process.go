package sim

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"

	"batcher/object"
)

// Process is a program that uses the store. Run must be a function of the
// answers it gets, must make all calls on the goroutine it is called on, and
// must end.
type Process struct {
	Name string
	Run  func(*Client)
}

// Client is the store as one run of a process sees it, and the way in which it
// tells what it believes. Every call of object.Store is a scheduling point.
type Client struct {
	pool    *pool
	random  io.Reader
	yield   func(call) bool
	answer  answer
	notes   []any
	stopped bool
}

var _ object.Store = (*Client)(nil)

// stop ends a coroutine that is not needed any more.
type stop struct{}

// Note tells the checks something that the process holds to be true from now
// on, such as an acknowledgement.
func (c *Client) Note(v any) { c.notes = append(c.notes, v) }

// Random is randomness that is the same in every run of the process.
func (c *Client) Random() io.Reader { return c.random }

// ask stops until the explorer has an answer.
func (c *Client) ask(q call) answer {
	if c.stopped || !c.yield(q) {
		c.stopped = true
		panic(stop{})
	}
	return c.answer
}

// failed is the error of an answer.
func (c *Client) failed(q call, a answer) error {
	if a.verdict == done {
		return nil
	}
	return fmt.Errorf("%s: %w", c.pool.text(q), sentinels[a.verdict])
}

// Get implements object.Store.
func (c *Client) Get(_ context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	q := call{op: opGet, key: c.pool.key(key), opts: opts}
	a := c.ask(q)
	if err := c.failed(q, a); err != nil {
		return nil, object.Info{}, err
	}
	return c.pool.open(key, a.value, opts)
}

// Put implements object.Store.
func (c *Client) Put(_ context.Context, key string, body []byte, cond object.Condition) (object.Info, error) {
	q := call{op: opPut, key: c.pool.key(key), body: c.pool.body(body), cond: cond}
	if err := c.failed(q, c.ask(q)); err != nil {
		return object.Info{}, err
	}
	return c.pool.info(key, q.body), nil
}

// List implements object.Store. It shows one instant.
func (c *Client) List(_ context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		q := call{op: opList, key: c.pool.key(prefix), depth: depth}
		a := c.ask(q)
		if err := c.failed(q, a); err != nil {
			yield(object.Info{}, err)
			return
		}
		for _, info := range c.pool.listings.values[a.value] {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Delete implements object.Store.
func (c *Client) Delete(_ context.Context, key string) error {
	q := call{op: opDelete, key: c.pool.key(key)}
	return c.failed(q, c.ask(q))
}

// String implements object.Store.
func (c *Client) String() string { return "sim" }

// coroutine is one run of a process that waits for an answer.
type coroutine struct {
	client *Client
	next   func() (call, bool)
	stop   func()
}

// node is a process after a list of answers.
type node struct {
	id     int32
	parent *node
	via    answer // the last answer
	call   call   // what it asks for next
	ended  bool   // it asks for nothing more
	notes  []any  // what it told since the last answer
	next   map[answer]*node
}

// maxLive bounds the coroutines that wait at the nodes of one tree.
const maxLive = 64

// tree is everything a process was ever seen to do.
type tree struct {
	process Process
	pool    *pool
	enter   func(*Client)
	nodes   []*node
	live    map[*node]*coroutine
	order   []*node // of live, oldest first; may name nodes that are not live
	runs    int     // coroutines that were started
}

func newTree(p Process, pool *pool, enter func(*Client)) *tree {
	return &tree{process: p, pool: pool, enter: enter, live: map[*node]*coroutine{}}
}

// root is the process before its first call.
func (t *tree) root() *node {
	if len(t.nodes) > 0 {
		return t.nodes[0]
	}
	c, n := t.start()
	t.keep(n, c)
	return t.add(n)
}

// follow is the process at n after an answer.
func (t *tree) follow(n *node, a answer) (*node, error) {
	if next := n.next[a]; next != nil {
		return next, nil
	}
	c := t.live[n]
	delete(t.live, n)
	if c == nil {
		var err error
		if c, err = t.replay(n); err != nil {
			return nil, err
		}
	}
	next := t.resume(c, n, a)
	if n.next == nil {
		n.next = map[answer]*node{}
	}
	n.next[a] = next
	t.keep(next, c)
	return t.add(next), nil
}

func (t *tree) add(n *node) *node {
	n.id = int32(len(t.nodes))
	t.nodes = append(t.nodes, n)
	return n
}

// keep lets a coroutine wait at its node, and ends the one that waited longest
// if there are too many.
func (t *tree) keep(n *node, c *coroutine) {
	if n.ended {
		return
	}
	t.live[n], t.order = c, append(t.order, n)
	for len(t.live) > maxLive {
		if old := t.live[t.order[0]]; old != nil {
			old.stop()
			delete(t.live, t.order[0])
		}
		t.order = t.order[1:]
	}
}

// close ends all coroutines.
func (t *tree) close() {
	for _, c := range t.live {
		c.stop()
	}
	clear(t.live)
}

// start runs the process up to its first call.
func (t *tree) start() (*coroutine, *node) {
	t.runs++
	seed := sha256.Sum256([]byte(t.process.Name))
	client := &Client{pool: t.pool, random: rand.NewChaCha8(seed)}
	next, stopAll := iter.Pull(func(yield func(call) bool) {
		client.yield = yield
		defer func() {
			if p := recover(); p != nil && p != any(stop{}) {
				panic(p)
			}
		}()
		t.process.Run(client)
	})
	c := &coroutine{client, next, stopAll}
	return c, t.advance(c, nil, answer{})
}

// resume gives a coroutine its answer and runs it to the next call.
func (t *tree) resume(c *coroutine, n *node, a answer) *node {
	c.client.answer = a
	return t.advance(c, n, a)
}

func (t *tree) advance(c *coroutine, parent *node, via answer) *node {
	if t.enter != nil {
		t.enter(c.client)
	}
	c.client.notes = nil
	q, more := c.next()
	return &node{parent: parent, via: via, call: q, ended: !more, notes: c.client.notes}
}

// replay brings a new coroutine to a node, and refuses a process that does not
// do the same again.
func (t *tree) replay(n *node) (*coroutine, error) {
	var path []*node
	for at := n; at != nil; at = at.parent {
		path = append(path, at)
	}
	slices.Reverse(path)
	c, at := t.start()
	for i, want := range path {
		if i > 0 {
			at = t.resume(c, path[i-1], want.via)
		}
		if at.call != want.call || at.ended != want.ended {
			c.stop()
			return nil, fmt.Errorf("process %s does not repeat itself: after %d answers it asks for %q, before it was %q",
				t.process.Name, i, t.pool.text(at.call), t.pool.text(want.call))
		}
	}
	return c, nil
}
