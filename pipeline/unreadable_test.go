package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"batcher/object"
	"batcher/pipeline"
	"batcher/source"
	"batcher/source/files"
)

// mu guards what stores of these tests count.
var mu sync.Mutex

// archivedError is what a service says of an object in an archive.
type archivedError struct{}

func (archivedError) Error() string {
	return "the operation is not valid for the object's storage class"
}
func (archivedError) ErrorCode() string { return "InvalidObjectState" }

// barred is a store some of whose objects cannot be read, for ever or for a while.
type barred struct {
	object.Store
	bars map[string]error
	tear map[string]bool // bodies break off after one byte
	gets map[string]int
}

func bar(s object.Store, bars map[string]error) *barred {
	return &barred{Store: s, bars: bars, tear: map[string]bool{}, gets: map[string]int{}}
}

func (b *barred) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	mu.Lock()
	b.gets[key]++
	err := b.bars[key]
	if err == nil {
		err = b.bars["*"]
	}
	tear := b.tear[key]
	mu.Unlock()
	if err != nil {
		return nil, object.Info{}, fmt.Errorf("get %s: %w", key, err)
	}
	r, info, err := b.Store.Get(ctx, key, o)
	if err == nil && tear && o.Limit == 0 {
		r = &short{r, 1}
	}
	return r, info, err
}

func (b *barred) reads() (n int) {
	mu.Lock()
	defer mu.Unlock()
	for _, c := range b.gets {
		n += c
	}
	clear(b.gets)
	return n
}

// short is a body that breaks off.
type short struct {
	io.ReadCloser
	left int
}

func (s *short) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, fmt.Errorf("%w: %w", object.ErrUnknown, io.ErrUnexpectedEOF)
	}
	n, err := s.ReadCloser.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}

var (
	errArchived = fmt.Errorf("%w: %w", object.ErrDenied, archivedError{})
	errDenied   = fmt.Errorf("AccessDenied: %w", object.ErrDenied)
	errBusy     = fmt.Errorf("InternalError: %w", object.ErrUnknown)
	errGone     = fmt.Errorf("NoSuchKey: %w", object.ErrNotFound)
)

// over makes an invocation that reads its source through another store.
func (w *world) over(input object.Store, change func(*files.Config)) *pipeline.Pipeline {
	w.t.Helper()
	p := w.invoke(source.Shard{})
	cfg := files.Config{Location: "mem://in", OnChange: w.change}
	if change != nil {
		change(&cfg)
	}
	src, err := files.New(input, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	p.Source, p.Input, p.Set = src, input, src.NewSet(p.Log)
	return p
}

func words(objects []pipeline.Unreadable) (out []string) {
	for _, o := range objects {
		out = append(out, fmt.Sprintf("%s %s %s", o.Key, o.Cause, o.Code))
	}
	return out
}

// TestObjectsThatCannotBeReadHoldUpNoOther has four bad ones among a thousand, then a
// run that finds nothing new, then one after whatever it was is over.
func TestObjectsThatCannotBeReadHoldUpNoOther(t *testing.T) {
	w := newWorld(t)
	w.limits.Objects = 300
	for i := range 1000 {
		w.drop(fmt.Sprintf("o%04d.ndjson", i), lines(i, 1))
	}
	in := bar(w.input, map[string]error{"o0000.ndjson": errArchived, "o0400.ndjson": errDenied, "o0599.ndjson": errBusy, "o0999.ndjson": errGone})
	rep, err := w.over(in, nil).Run(t.Context(), pipeline.Options{})
	var waits *pipeline.WaitingError
	if !errors.As(err, &waits) || waits.Passes || waits.Differs {
		t.Fatalf("%v", err)
	}
	want := []string{"o0000.ndjson archived InvalidObjectState", "o0400.ndjson denied ", "o0599.ndjson unavailable ", "o0999.ndjson gone "}
	if got := words(rep.Unreadable); !slices.Equal(got, want) || rep.Rows.Written != 996 || rep.Outcome != pipeline.Committed || rep.Lag.Objects != 4 {
		t.Fatalf("%q, %d rows, %s, lag %+v", got, rep.Rows.Written, rep.Outcome, rep.Lag)
	}
	if n := in.reads(); n > 1000+2*4+32 {
		t.Errorf("%d reads of 1000 objects", n)
	}
	again, err := w.over(in, nil).Run(t.Context(), pipeline.Options{})
	if got := words(again.Unreadable); !errors.As(err, &waits) || !slices.Equal(got, want) || again.Batches != 0 {
		t.Fatalf("again: %q, %d batches, %v", got, again.Batches, err)
	}
	if n := in.reads(); n > 2*4+32 {
		t.Errorf("again: %d reads", n)
	}
	in.bars = nil
	rep, err = w.over(in, nil).Run(t.Context(), pipeline.Options{})
	if err != nil || rep.Rows.Written != 4 || rep.Lag.Objects != 0 || len(rep.Unreadable) != 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	if v := w.verify(); v.Source.Verified != 1000 {
		t.Fatalf("%+v", v)
	}
}

// TestASourceThatCannotBeReadAtAllIsAnError tells the end of the whole from that of
// single objects, also when it comes in the middle.
func TestASourceThatCannotBeReadAtAllIsAnError(t *testing.T) {
	for _, bad := range []error{errDenied, errBusy} {
		w := newWorld(t)
		for i := range 200 {
			w.drop(fmt.Sprintf("o%03d.ndjson", i), lines(i, 1))
		}
		in := bar(w.input, map[string]error{"*": bad})
		rep, err := w.over(in, nil).Run(t.Context(), pipeline.Options{})
		var waits *pipeline.WaitingError
		if errors.As(err, &waits) || !errors.Is(err, errors.Unwrap(bad)) || rep.Outcome != pipeline.Failed {
			t.Fatalf("%v: %v", bad, err)
		}
		if n := in.reads(); n > 64 {
			t.Errorf("%v: %d reads", bad, n)
		}
		w.limits.Objects = 20
		in.bars = map[string]error{}
		p := w.over(in, nil)
		p.Step = func(s pipeline.Step) {
			if s.Objects == 50 {
				mu.Lock()
				in.bars["*"] = bad
				mu.Unlock()
			}
		}
		rep, err = p.Run(t.Context(), pipeline.Options{})
		if errors.As(err, &waits) || !errors.Is(err, errors.Unwrap(bad)) || rep.Batches < 2 || rep.Batches > 4 { // some were read ahead
			t.Fatalf("%v in the middle: %v after %d batches", bad, err, rep.Batches)
		}
	}
}

// TestBodiesThatBreakOff are taken up again where they broke, and given up in the end:
// of such an object no record is there.
func TestBodiesThatBreakOff(t *testing.T) {
	w := newWorld(t)
	w.drop("a.ndjson", lines(0, 3))
	w.drop("b.ndjson", lines(3, 40_000)) // not read ahead as a whole
	w.drop("c.ndjson", lines(40_003, 3))
	in := bar(w.input, map[string]error{})
	in.tear["a.ndjson"], in.tear["b.ndjson"] = true, true
	rep, err := w.over(in, nil).Run(t.Context(), pipeline.Options{})
	var waits *pipeline.WaitingError
	if got := words(rep.Unreadable); !errors.As(err, &waits) || !waits.Passes || !slices.Equal(got, []string{"a.ndjson torn ", "b.ndjson torn "}) || rep.Rows.Written != 3 {
		t.Fatalf("%q, %d rows, %v", got, rep.Rows.Written, err)
	}
	in.tear["a.ndjson"] = false
	torn := &tornOnce{Store: in.Store, at: 100_000}
	if rep, err = w.over(torn, nil).Run(t.Context(), pipeline.Options{}); err != nil || rep.Rows.Written != 40_003 || torn.torn != 2 {
		t.Fatalf("%+v, %v, torn %d", rep, err, torn.torn)
	}
	if v := w.verify(); v.Source.Verified != 40_006 {
		t.Fatalf("%+v", v)
	}
}

// tornOnce breaks the first body of each object off.
type tornOnce struct {
	object.Store
	at, torn int
}

func (s *tornOnce) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	r, info, err := s.Store.Get(ctx, key, o)
	if err == nil && o.From == 0 && o.Limit == 0 {
		mu.Lock()
		s.torn++
		mu.Unlock()
		r = &short{r, min(s.at, int(info.Size)/2)}
	}
	return r, info, err
}

// TestUnreadableObjectsFailOrAreQuarantinedWhereSaid has the two other policies, and an
// explicit range, which has nothing else to go on with.
func TestUnreadableObjectsFailOrAreQuarantinedWhereSaid(t *testing.T) {
	w := newWorld(t)
	w.budget.Ratio = 1
	w.drop("a.ndjson", lines(0, 3))
	w.drop("b.ndjson", lines(3, 3))
	w.drop("c.ndjson", lines(6, 3))
	in := bar(w.input, map[string]error{"b.ndjson": errArchived, "c.ndjson": errGone})
	p := w.over(in, nil)
	p.Unreadable = pipeline.FailUnreadable
	if rep, err := p.Run(t.Context(), pipeline.Options{}); !errors.Is(err, object.ErrDenied) || rep.Batches != 0 {
		t.Fatalf("%d batches, %v", rep.Batches, err)
	}
	info := list(t, w.input)["b.ndjson"]
	named := []source.Range{{Key: info.Key, ETag: info.ETag, Size: info.Size, Modified: info.Modified, To: source.Position(info.Size), Last: true}}
	if rep, err := w.over(in, nil).Run(t.Context(), pipeline.Options{Ranges: named}); !errors.Is(err, object.ErrDenied) || rep.Batches != 0 {
		t.Fatalf("range: %d batches, %v", rep.Batches, err)
	}
	p = w.over(in, nil)
	p.Unreadable = pipeline.QuarantineUnreadable
	rep, err := p.Run(t.Context(), pipeline.Options{})
	if got := words(rep.Unreadable); rep.Rows.Written != 3 || rep.Rows.Dead != 1 || rep.Objects.Quarantined != 1 || !slices.Equal(got, []string{"c.ndjson gone "}) {
		t.Fatalf("%q, %+v, %v", got, rep, err)
	}
	if o := rep.Offenders[0]; o.Code != "unreadable" || !strings.Contains(o.Message, "InvalidObjectState") {
		t.Fatalf("%+v", o)
	}
	delete(in.bars, "c.ndjson")
	if rep, err := w.over(in, nil).Run(t.Context(), pipeline.Options{}); err != nil || rep.Rows.Written != 3 {
		t.Fatalf("%+v, %v", rep, err)
	}
	if v := w.verify(); v.Source.Verified != 6 || v.Source.Unverifiable != 1 {
		t.Fatalf("%+v", v)
	}
}

// lying is a store that lists an object otherwise than it reads it.
type lying struct {
	object.Store
	key string
}

func (l lying) List(ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		for info, err := range l.Store.List(ctx, prefix, depth) {
			if info.Key == l.key {
				info.ETag = "another"
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

// TestASourceThatContradictsItself shows both values, after the rest is committed.
func TestASourceThatContradictsItself(t *testing.T) {
	w := newWorld(t)
	w.drop("a.ndjson", lines(0, 3))
	w.drop("b.ndjson", lines(3, 3))
	rep, err := w.over(lying{w.input, "b.ndjson"}, nil).Run(t.Context(), pipeline.Options{})
	var waits *pipeline.WaitingError
	if !errors.As(err, &waits) || !waits.Differs || rep.Rows.Written != 3 {
		t.Fatalf("%d rows, %v", rep.Rows.Written, err)
	}
	for _, part := range []string{"b.ndjson", "another", list(t, w.input)["b.ndjson"].ETag} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %q", err, part)
		}
	}
}

// TestMoreUnreadableObjectsThanAPlanHolds come before all others, and hold them up no
// more than few do.
func TestMoreUnreadableObjectsThanAPlanHolds(t *testing.T) {
	w := newWorld(t)
	bars := map[string]error{}
	for i := range 100 {
		key := fmt.Sprintf("o%03d.ndjson", i)
		w.drop(key, lines(i, 1))
		if i < 70 {
			bars[key] = errArchived
		}
	}
	in := bar(w.input, bars)
	rep, err := w.over(in, func(c *files.Config) { c.MaxObjects = 20 }).Run(t.Context(), pipeline.Options{})
	var waits *pipeline.WaitingError
	if !errors.As(err, &waits) || len(waits.Objects) != 70 || rep.Rows.Written != 30 {
		t.Fatalf("%d rows, %v", rep.Rows.Written, err)
	}
}

// TestAnObjectThatWaitsLongerThanTheLookback is tried again in every run if that may
// help, and else once per relisting; in the end it is consumed once.
func TestAnObjectThatWaitsLongerThanTheLookback(t *testing.T) {
	for cause, every := range map[error]bool{errArchived: false, errBusy: true} {
		w := newWorld(t)
		w.drop("2025/11/01/a", lines(0, 3))
		w.drop("2025/11/01/b", lines(3, 3))
		in := bar(w.input, map[string]error{"2025/11/01/a": cause})
		run := func(after time.Duration) (pipeline.Report, error) {
			_ = w.clock.Sleep(t.Context(), after)
			return w.over(in, func(c *files.Config) {
				c.Lookback, c.TimePath, c.Relist = time.Hour, "{yyyy}/{MM}/{dd}", 24*time.Hour
			}).Run(t.Context(), pipeline.Options{})
		}
		var waits *pipeline.WaitingError
		if rep, err := run(0); !errors.As(err, &waits) || rep.Rows.Written != 3 {
			t.Fatalf("%v: %d rows, %v", cause, rep.Rows.Written, err)
		}
		if _, err := run(time.Hour); errors.As(err, &waits) != every {
			t.Errorf("%v, an hour later: %v", cause, err)
		}
		if _, err := run(25 * time.Hour); !errors.As(err, &waits) {
			t.Errorf("%v, a day later: %v", cause, err)
		}
		in.bars = nil
		if rep, err := run(25 * time.Hour); err != nil || rep.Rows.Written != 3 {
			t.Errorf("%v, in the end: %d rows, %v", cause, rep.Rows.Written, err)
		}
		if v := w.verify(); v.Source.Verified != 6 {
			t.Errorf("%v: %+v", cause, v)
		}
	}
}
