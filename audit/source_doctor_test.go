package audit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"batcher/audit"
	"batcher/object"
	"batcher/object/memstore"
)

// readOnly is a source that must not be written to.
type readOnly struct {
	object.Store
	t   *testing.T
	get func(s object.Store, ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error)
}

func (r *readOnly) Put(_ context.Context, key string, _ []byte, _ object.Condition) (object.Info, error) {
	r.t.Errorf("%s is written", key)
	return object.Info{}, object.ErrDenied
}

func (r *readOnly) Delete(_ context.Context, key string) error {
	r.t.Errorf("%s is deleted", key)
	return object.ErrDenied
}

func (r *readOnly) Get(ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	if r.get != nil {
		return r.get(r.Store, ctx, key, opts)
	}
	return r.Store.Get(ctx, key, opts)
}

// TestASourceIsJudgedByWhatASourceNeeds gives the probes sources that can be read, and
// some that break one promise each. None is written to.
func TestASourceIsJudgedByWhatASourceNeeds(t *testing.T) {
	type get = func(s object.Store, ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error)
	denying := func(keys ...string) get {
		return func(s object.Store, ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
			if slices.Contains(keys, key) {
				return nil, object.Info{}, fmt.Errorf("get %s: %w", key, object.ErrDenied)
			}
			return s.Get(ctx, key, opts)
		}
	}
	ignoring := func(change func(*object.GetOptions)) get {
		return func(s object.Store, ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
			change(&opts)
			return s.Get(ctx, key, opts)
		}
	}
	all := []string{"list", "read", "range", "pinned"}
	for _, c := range []struct {
		name   string
		keys   []string
		get    get
		made   []string // probes
		failed []string
		note   string // the name of a probe with something to know
	}{
		{"all is well", []string{"a", "b"}, nil, all, nil, ""},
		{"nothing is there", nil, nil, all[:2], nil, "read"},
		{"nothing is wanted", []string{"_SUCCESS"}, nil, all[:2], nil, "read"},
		{"one is denied", []string{"a", "b"}, denying("a"), all, nil, "read"},
		{"all are denied", []string{"a", "b"}, denying("a", "b"), all[:2], []string{"read"}, ""},
		{"it ignores ranges", []string{"a"}, ignoring(func(o *object.GetOptions) { o.From = 0 }), all, []string{"range"}, ""},
		{"it ignores pins", []string{"a"}, ignoring(func(o *object.GetOptions) { o.ETag = "" }), all, []string{"pinned"}, ""},
	} {
		held := memstore.New(memstore.WithClock(time.Now))
		for _, key := range c.keys {
			if _, err := held.Put(t.Context(), key, []byte("content of "+key), object.Always); err != nil {
				t.Fatal(err)
			}
		}
		wanted := func(key string) bool { return key[0] != '_' }
		var told []audit.Finding
		findings, err := audit.DoctorSource(t.Context(), &readOnly{held, t, c.get}, wanted, func(f audit.Finding) { told = append(told, f) })
		var made, noted []string
		for _, f := range findings {
			made = append(made, f.Name)
			if f.Note != "" {
				noted = append(noted, f.Name)
			}
		}
		if err != nil || !slices.Equal(made, c.made) || !slices.Equal(failed(findings), c.failed) || len(told) != len(findings) {
			t.Errorf("%s: probes %q, failed %q, told %d; %v", c.name, made, failed(findings), len(told), err)
		}
		if (c.note == "") != (len(noted) == 0) || c.note != "" && noted[0] != c.note {
			t.Errorf("%s: notes at %q, want %q", c.name, noted, c.note)
		}
	}
}

// TestASourceThatCannotBeListed ends at its first probe.
func TestASourceThatCannotBeListed(t *testing.T) {
	s := memstore.New(memstore.WithClock(time.Now))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	findings, err := audit.DoctorSource(ctx, s, func(string) bool { return true }, nil)
	if !errors.Is(err, context.Canceled) || len(findings) != 1 || findings[0].Err == nil {
		t.Errorf("%+v, %v", findings, err)
	}
}
