package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"batcher/object"
	"batcher/record"
	"batcher/schema"
	"batcher/source"
	"batcher/source/files"
)

// OnUnreadable is what becomes of an object that is listed and cannot be read.
type OnUnreadable string

// The ways to meet one. Whatever the way, it is named in the report, and where nothing
// of the source can be read the run fails. What is gone, or not as it was listed, is
// never quarantined: nobody knows what would be consumed.
const (
	WaitUnreadable       OnUnreadable = "wait"       // the default: others are consumed, it stays to be read
	FailUnreadable       OnUnreadable = "fail"       // the run fails
	QuarantineUnreadable OnUnreadable = "quarantine" // it is consumed as one dead letter
)

// Unreadable names an object that could not be read.
type Unreadable struct {
	Key   string
	Cause files.Cause
	Code  string // the store's own word; "" if it gave none
	Text  string // the store's answer
}

// WaitingError says that a run did what it could and that objects are left which could
// not be read: they are not consumed, and later runs try them again.
type WaitingError struct {
	Objects []Unreadable // by key
	Differs bool         // of one of them the source says two things
	Passes  bool         // all of the causes may pass by themselves
	errs    []error
}

// Error names the first objects.
func (e *WaitingError) Error() string {
	const most = 5
	var b strings.Builder
	fmt.Fprintf(&b, "%d objects could not be read and wait", len(e.Objects))
	for i, o := range e.Objects {
		if i == most {
			fmt.Fprintf(&b, "\n… and %d more", len(e.Objects)-most)
			break
		}
		fmt.Fprintf(&b, "\n%q: %s", o.Key, o.Cause)
		if o.Code != "" {
			fmt.Fprintf(&b, " (%s)", o.Code)
		}
		if o.Cause == files.Misnamed {
			fmt.Fprintf(&b, ": %s", o.Text)
		}
		if o.Cause == files.Differs {
			fmt.Fprintf(&b, ": listed alike twice, but %s", o.Text)
		}
	}
	return b.String()
}

// Unwrap returns what the store answered.
func (e *WaitingError) Unwrap() []error { return e.errs }

// patience is how long a run waits in all for objects that cannot be read, as a store may
// need to recover; after that it gives up sooner. After so many in a row that cannot be
// read, and again after as many more, others are looked at to see whether any can.
const (
	patience = 30 * time.Second
	inARow   = 8
)

// unread is what a run knows of objects that it could not read.
type unread struct {
	waiting map[string]*files.UnreadableError // by key
	missed  map[string]files.Object           // not as listed: a second listing tells what to think of them
	looked  bool                              // there was a second listing
	some    bool                              // something was read
	row     int                               // how many in a row could not be
	lost    time.Duration                     // on objects that could not be read
}

func newUnread() unread {
	return unread{waiting: map[string]*files.UnreadableError{}, missed: map[string]files.Object{}}
}

// readOne notes that an object was read.
func (u *unread) readOne() { u.some, u.row = true, 0 }

// bears says whether the run goes on without an object that cannot be read: nil if so.
// An explicit range has no others to go on with, and where none can be read the source
// is out of reach.
func (r *run) bears(ctx context.Context, e *files.UnreadableError) error {
	if len(r.opts.Ranges) > 0 || r.Unreadable == FailUnreadable {
		return e
	}
	if e.Cause == files.Unavailable || e.Cause == files.Denied || e.Cause == files.Refused {
		if r.unread.row++; (!r.unread.some && r.unread.row == 1 || r.unread.row%inARow == 0) && !r.readsOthers(ctx) {
			return e
		}
	}
	return nil
}

// wait leaves an object to later runs.
func (r *run) wait(o files.Object, e *files.UnreadableError) {
	r.unread.waiting[o.Key] = e
	r.Set.PassOver(&o)
	r.leftOut = r.leftOut || e.Cause.Passes()
	r.Logger.Warn("object cannot be read and waits", "object", o.Key, "cause", string(e.Cause), "code", e.Code, "error", e.Err)
}

// samples is how many objects are looked at before the source as a whole is said to be
// out of reach.
const samples = 16

// readsOthers says whether the first byte of any other object can be read. It looks at
// some that are spread over the queue and over the listing.
func (r *run) readsOthers(ctx context.Context) bool {
	keys := r.plan.Samples
	keys = keys[max(0, len(keys)-samples):]
	for i := range samples {
		if at := i * len(r.queue) / samples; len(r.queue) > 0 {
			keys = append(slices.Clip(keys), r.queue[at].Key)
		}
	}
	slices.Sort(keys)
	ctx, stop := context.WithCancel(object.Hurried(ctx))
	defer stop()
	var all sync.WaitGroup
	var read sync.Map
	for _, key := range slices.Compact(keys) {
		if r.unread.waiting[key] != nil {
			continue
		}
		all.Go(func() {
			if r.Source.Probe(ctx, key) == nil {
				read.Store(key, true)
				stop()
			}
		})
	}
	all.Wait()
	found := false
	read.Range(func(any, any) bool { found = true; return false })
	return found
}

// lookAgain says whether the source is to be listed a second time, for the sake of
// objects that were not as they were listed.
func (r *run) lookAgain() bool {
	if len(r.unread.missed) == 0 || r.unread.looked {
		return false
	}
	r.unread.looked = true
	return true
}

// stillListed forgets what was missed and is in the new listing no more.
func (r *run) stillListed() {
	if len(r.unread.missed) == 0 {
		return
	}
	listed := map[string]bool{}
	for i := range r.plan.Objects {
		listed[r.plan.Objects[i].Key] = true
	}
	maps.DeleteFunc(r.unread.missed, func(key string, _ files.Object) bool { return !listed[key] })
}

// miss takes in that an object was gone or other than it was listed. When it has been
// listed again in between, just as before, the source contradicts itself.
func (r *run) miss(o files.Object, err error) {
	before, again := r.unread.missed[o.Key]
	if again && r.unread.looked && before.ETag == o.ETag && before.Size == o.Size {
		e := files.NotAsListed(o.Key, err)
		r.unread.waiting[o.Key] = e
		delete(r.unread.missed, o.Key)
		r.Set.PassOver(&o)
		r.Logger.Warn("object is not as it was listed, and listed so again", "object", o.Key, "cause", string(e.Cause), "error", err)
	} else {
		r.unread.missed[o.Key] = o
		r.Logger.Warn("object is not as planned and waits", "object", o.Key, "error", err)
	}
	r.leftOut = true
}

// waiting is what the run says in the end of the objects that it could not read; nil
// if there are none.
func (r *run) waiting() error {
	out := &WaitingError{Passes: true}
	for _, key := range slices.Sorted(maps.Keys(r.unread.waiting)) {
		e := r.unread.waiting[key]
		out.Objects = append(out.Objects, Unreadable{Key: key, Cause: e.Cause, Code: e.Code, Text: e.Error()})
		out.errs = append(out.errs, e)
		out.Passes = out.Passes && e.Cause.Passes()
		out.Differs = out.Differs || e.Cause == files.Differs
	}
	r.report.Unreadable = out.Objects
	if len(out.Objects) == 0 {
		return nil
	}
	return out
}

// plannedUnread takes in what a plan could not read: consumed objects that may have
// changed.
func (r *run) plannedUnread(ctx context.Context, plan *files.Plan) error {
	for _, e := range plan.Unreadable {
		if err := r.bears(ctx, e); err != nil {
			return err
		}
		r.wait(files.Object{Info: object.Info{Key: e.Key}}, e)
	}
	return nil
}

// Misnamed says why the key of an object does not give the columns that are taken from
// keys; nil if it does.
func Misnamed(rules schema.Rules, key string) *files.UnreadableError {
	if err := record.CheckKey(rules, key); err != nil {
		return &files.UnreadableError{Key: key, Cause: files.Misnamed, Err: err}
	}
	return nil
}

// defective is an object that is quarantined because it cannot be read.
func defective(e *files.UnreadableError) *record.BrokenError {
	return &record.BrokenError{Reason: source.UnreadReason + e.Word(), Unread: true}
}

// unreadable looks for an object that cannot be read in an error.
func unreadable(err error) *files.UnreadableError {
	var u *files.UnreadableError
	errors.As(err, &u)
	return u
}
