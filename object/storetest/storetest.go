// Package storetest is the conformance suite of object.Store.
//
// Duty: find out by live probes whether a store keeps the promises of
// object.Store, and say which one it breaks. The tests of every store run all
// checks; "batcher doctor", and the first run on a root, run those that decide
// whether the commit protocol may be used on a store at all.
//
// Invariants: every key lies below Env.Prefix and is deleted afterwards; a
// check that passes has seen the promise kept, none passes by doing nothing (a
// capability that a store does not offer is ErrNotOffered).
//
// It never imports testing, so that the shipped program can contain it, and it
// never judges a store by its name.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"batcher/object"
)

// ErrNotOffered says that a check does not apply, because the store lacks an
// optional capability.
var ErrNotOffered = errors.New("capability not offered")

// Env is what the checks run on.
type Env struct {
	// Store is the store under test.
	Store object.Store
	// Peers are further ways to the same place, such as the other endpoints of
	// a cluster. The race check spreads its racers over Store and Peers.
	Peers []object.Store
	// Prefix is "" or ends in "/". Nothing else may use the keys below it.
	Prefix string
	// Params scale the checks; zero fields take the defaults.
	Params Params

	keys *keyring // keys that may exist and are to be deleted
}

// Params scale the checks.
type Params struct {
	RaceKeys    int           // keys raced for with small bodies; default 256
	LargeKeys   int           // keys raced for with large bodies; default 48
	LargeTime   time.Duration // after which no further one of these is raced for; default 5s
	ListObjects int           // objects of the paging check; default 50, over 1000 makes S3 page
	UploadBytes int           // size of the large upload; default 40 MiB, three parts
}

func (p Params) withDefaults() Params {
	set := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	set(&p.RaceKeys, 256)
	set(&p.LargeKeys, 48)
	if p.LargeTime == 0 {
		p.LargeTime = 5 * time.Second
	}
	set(&p.ListObjects, 50)
	set(&p.UploadBytes, 40<<20)
	return p
}

// Check is one promise and the way to probe it.
type Check struct {
	Name string // kebab case, stable: users meet it in the output of doctor
	Why  string // what goes wrong on a store that fails
	Run  func(ctx context.Context, env Env) error
}

// Result is the outcome of one check.
type Result struct {
	Check    Check
	Err      error           // nil: passed; ErrNotOffered: does not apply
	CleanUp  error           // what could not be deleted afterwards
	Requests object.Requests // what the check cost, clean-up included, if the store counts
}

// All returns every check.
func All() []Check { return slices.Concat(Needed(), Peculiar()) }

// Needed returns what batcher relies on: the checks of Admission first, then the
// conformance of the rest.
func Needed() []Check {
	return slices.Concat(Admission(), reading(), listing(), writing(), uploading())
}

// Peculiar returns checks that fit stores fail, and why that is worth knowing.
func Peculiar() []Check {
	return []Check{
		{"control-keys", "objects with control characters in their keys are listed under other names: none that batcher writes, but a source may have some", controlKeys},
		{"create-again", "a key that was deleted cannot be created again: after batcher drop a pipeline needs another name or place", createAgain},
	}
}

// Run makes each check on its own folder below env.Prefix, reports it, and
// goes on to the next whether it passed or not.
func Run(ctx context.Context, env Env, checks []Check, report func(Result)) {
	env.Params = env.Params.withDefaults()
	for _, c := range checks {
		before := object.RequestsOf(env.Store)
		own := env
		own.Prefix = env.Prefix + c.Name + "/"
		own.keys = &keyring{keys: make(map[string]bool)}
		err := c.Run(ctx, own)
		cleanUp := own.cleanUp(context.WithoutCancel(ctx))
		report(Result{
			Check: c, Err: err, CleanUp: cleanUp,
			Requests: object.RequestsOf(env.Store).Sub(before),
		})
	}
}

// keyring remembers keys for the clean-up.
type keyring struct {
	mu   sync.Mutex
	keys map[string]bool
}

// key returns the full key of name and has it deleted after the check.
func (e Env) key(name string) string {
	key := e.Prefix + name
	e.keys.mu.Lock()
	defer e.keys.mu.Unlock()
	e.keys.keys[key] = true
	return key
}

// cleanUp deletes every key that the check named, several at a time.
func (e Env) cleanUp(ctx context.Context) error {
	keys := slices.Sorted(maps.Keys(e.keys.keys))
	failures := make([]error, len(keys))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(8, len(keys)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(keys)); i = next.Add(1) - 1 {
				if err := e.Store.Delete(ctx, keys[i]); err != nil && !errors.Is(err, object.ErrUnsupported) {
					failures[i] = err
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(failures...)
}

// put writes a key of the check and verifies what the store says about it.
func (e Env) put(ctx context.Context, name, body string, cond object.Condition) (object.Info, error) {
	key := e.key(name)
	info, err := e.Store.Put(ctx, key, []byte(body), cond)
	if err != nil {
		return info, err
	}
	if info.Key != key || info.Size != int64(len(body)) {
		return info, fmt.Errorf("put %q of %d bytes answered key %q, %d bytes", key, len(body), info.Key, info.Size)
	}
	return info, nil
}

// get reads a whole key of the check.
func (e Env) get(ctx context.Context, name string, opts object.GetOptions) ([]byte, object.Info, error) {
	return object.ReadAll(ctx, e.Store, e.key(name), opts, 1<<30)
}

// holds verifies that the store returns exactly body for name.
func (e Env) holds(ctx context.Context, name, body string) error {
	got, info, err := e.get(ctx, name, object.GetOptions{})
	if err != nil {
		return err
	}
	if !bytes.Equal(got, []byte(body)) {
		return fmt.Errorf("get %q: %s, want %s", name, brief(got), brief([]byte(body)))
	}
	if info.Size != int64(len(body)) || info.Key != e.Prefix+name {
		return fmt.Errorf("get %q: info says key %q, %d bytes, want %d", name, info.Key, info.Size, len(body))
	}
	return nil
}

// wantErr verifies that err is the wanted sentinel and no other one.
func wantErr(what string, err, want error) error {
	if err == nil {
		return fmt.Errorf("%s succeeded, want: %w", what, want)
	}
	for _, sentinel := range []error{
		object.ErrNotFound, object.ErrExists, object.ErrChanged, object.ErrConflict,
		object.ErrUnknown, object.ErrDenied, object.ErrUnsupported,
	} {
		if errors.Is(err, sentinel) != errors.Is(want, sentinel) {
			return fmt.Errorf("%s: got %q, want %q", what, err.Error(), want.Error())
		}
	}
	return nil
}

// brief shows a body in an error text.
func brief(body []byte) string {
	if text := bytes.TrimRight(body, " "); len(text) <= 40 {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q… (%d bytes)", body[:40], len(body))
}
