package audit

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"batcher/object"
	"batcher/object/storetest"
)

// probeRoot is the folder below which stores are probed, each time in a folder of
// its own. Nothing stays there, except of a probe that was killed; see the package
// comment for why that is not swept.
const probeRoot = "_batcher/_probe/"

// Finding is the outcome of one probe.
type Finding struct {
	Name string
	Why  string // what goes wrong on a store that fails, whether this one does or not
	Err  error  // nil: passed
	Note string // not offered, or something to know
}

// MarshalJSON writes the error as text, and only beside it what goes wrong.
func (f Finding) MarshalJSON() ([]byte, error) {
	out := struct {
		Name   string `json:"name"`
		Passed bool   `json:"passed"`
		Error  string `json:"error,omitempty"`
		Why    string `json:"why,omitempty"`
		Note   string `json:"note,omitempty"`
	}{Name: f.Name, Passed: f.Err == nil, Note: f.Note}
	if f.Err != nil {
		out.Error, out.Why = f.Err.Error(), f.Why
	}
	return json.Marshal(out)
}

// asNote makes a failure of a probe that a fit store may fail something to know.
func (f Finding) asNote() Finding {
	switch {
	case f.Err == nil:
	case errors.Is(f.Err, object.ErrDenied), errors.Is(f.Err, object.ErrUnknown), errors.Is(f.Err, object.ErrConflict):
		f.Note, f.Err = "could not be tried: "+f.Err.Error(), nil
	default:
		f.Note, f.Err = f.Why+" ("+f.Err.Error()+")", nil
	}
	return f
}

// Admit makes the probes that decide whether a store may be used. The races go on beside
// all others, whose requests wait for one another: a first run waits for both.
func Admit(ctx context.Context, store object.Store) ([]Finding, error) {
	var races, others []storetest.Check
	for _, c := range fitting(store, storetest.Admission()) {
		if storetest.IsRace(c) {
			races = append(races, c)
		} else {
			others = append(others, c)
		}
	}
	var raced []Finding
	var failed error
	var wg sync.WaitGroup
	wg.Go(func() { raced, failed = probe(ctx, store, races, scaled(store), nil) })
	findings, err := probe(ctx, store, others, scaled(store), nil)
	wg.Wait()
	return append(findings, raced...), errors.Join(err, failed)
}

// fitting leaves out the races with large bodies where the size cannot matter: in a
// directory this program writes the body before it gives it a name, and the name alone
// is raced for.
func fitting(store object.Store, checks []storetest.Check) []storetest.Check {
	if !isDirectory(store) {
		return checks
	}
	return slices.DeleteFunc(checks, func(c storetest.Check) bool { return c.Name == storetest.LargeRace })
}

// scaled are the sizes of the races. In a directory there are a quarter of the keys: each
// costs several syncs, and link(2) is one step.
func scaled(store object.Store) storetest.Params {
	p := storetest.Params{RaceKeys: 128, LargeKeys: 24, LargeTime: 2 * time.Second}
	if isDirectory(store) {
		p.RaceKeys /= 4
	}
	return p
}

// isDirectory says whether a store is a directory, every write to which goes to disk.
func isDirectory(store object.Store) bool {
	_, is := store.(object.Syncer)
	return is
}

// Doctor makes every probe of a store. Each finding is reported as it
// comes; report may be nil.
func Doctor(ctx context.Context, store object.Store, log *slog.Logger, report func(Finding)) ([]Finding, error) {
	findings, err := probe(ctx, store, fitting(store, storetest.Needed()), scaled(store), report)
	if err != nil {
		return findings, err
	}
	own, err := settleProbe(ctx, store, log)
	if err != nil {
		return findings, err
	}
	peculiar, err := probe(ctx, store, storetest.Peculiar(), storetest.Params{}, nil)
	if err != nil {
		return findings, err
	}
	rest := []Finding{own}
	for _, f := range peculiar {
		rest = append(rest, f.asNote())
	}
	remarks, err := inspect(ctx, store)
	for _, f := range append(rest, remarks...) {
		tell(report, f)
		findings = append(findings, f)
	}
	return findings, err
}

// tell reports a finding to who wants to know.
func tell(report func(Finding), f Finding) {
	if report != nil {
		report(f)
	}
}

// inspect gathers things to know that make no store unfit.
func inspect(ctx context.Context, store object.Store) ([]Finding, error) {
	var findings []Finding
	if i, ok := store.(object.Inspector); ok {
		remarks, err := i.Inspect(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range remarks {
			findings = append(findings, Finding{Name: r.Subject, Note: r.Text})
		}
	}
	skew, err := clockSkew(ctx, store, time.Now())
	if err != nil {
		return append(findings, Finding{Name: "clock", Note: "could not be compared: " + err.Error()}), ctx.Err()
	}
	if skew.Abs() > maxSkew {
		findings = append(findings, Finding{Name: "clock", Note: fmt.Sprintf(
			"this machine's clock is %s ahead of the store's: settle, start: now and lag are off by as much; no commit depends on it", skew.Round(time.Second))})
	}
	return findings, nil
}

// maxSkew is how far apart two clocks may be before somebody should know.
const maxSkew = time.Minute

// clockSkew is how far this machine's clock is ahead of the store's.
func clockSkew(ctx context.Context, store object.Store, now time.Time) (time.Duration, error) {
	prefix, err := probePrefix()
	if err != nil {
		return 0, err
	}
	key := prefix + "clock"
	if _, err := store.Put(ctx, key, []byte("clock"), object.Always); err != nil {
		return 0, err
	}
	defer func() { _ = store.Delete(context.WithoutCancel(ctx), key) }()
	for info, err := range store.List(ctx, prefix, object.Shallow) {
		if err != nil {
			return 0, err
		}
		return now.Sub(info.Modified), nil
	}
	return 0, nil
}

func probe(ctx context.Context, store object.Store, checks []storetest.Check, params storetest.Params, report func(Finding)) ([]Finding, error) {
	prefix, err := probePrefix()
	if err != nil {
		return nil, err
	}
	var findings []Finding
	storetest.Run(ctx, storetest.Env{Store: store, Prefix: prefix, Params: params}, checks, func(r storetest.Result) {
		f := Finding{Name: r.Check.Name, Why: r.Check.Why, Err: r.Err}
		if errors.Is(r.Err, storetest.ErrNotOffered) {
			f.Err, f.Note = nil, "not offered by this store"
		}
		if f.Err == nil && r.CleanUp != nil {
			f.Note = "probe objects could not be removed: " + r.CleanUp.Error()
		}
		findings = append(findings, f)
		tell(report, f)
	})
	return findings, ctx.Err()
}

// probePrefix is a folder that nobody else uses.
func probePrefix() (string, error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	return probeRoot + hex.EncodeToString(random[:]) + "/", nil
}
