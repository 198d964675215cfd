// Package compact keeps tables small and the store clean.
//
// Duty: plan which small files are worth merging (Plan), merge them (Merge), give a
// column another type (Widen), append the manifests that repair a chain (Repair),
// and collect the objects that no committed manifest needs, under a floor that the
// chain itself carries (GC).
//
// Invariants: a merge keeps every row, a row is never live twice; nothing is deleted
// before the floor that permits it is committed; nothing at or above the floor is
// deleted; nothing that a retained snapshot refers to is deleted; manifests, claims
// and formats are never deleted.
//
// It never uses an object's age, and never deletes without being told to.
package compact

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/segment"
)

// GC collects the garbage of one pipeline.
type GC struct {
	Log    *commit.Log
	Store  object.Store
	Now    func() time.Time
	Logger *slog.Logger
	// Ahead is how many manifests are read at the same time. With 0 or 1 every call to
	// the store is made in order, and by the caller's goroutine.
	Ahead int
}

// GCMode says whether anything may be deleted.
type GCMode uint8

// The modes.
const (
	Dry     GCMode = iota // tell what would be deleted, commit nothing
	Confirm               // commit the floor, then delete
)

// GCOptions bound a collection.
type GCOptions struct {
	Mode     GCMode
	Keep     time.Duration // the floor is the newest manifest older than this
	MaxShare float64       // refuse to delete a larger share of what was listed and never committed; 0 means 0.5
}

// GCReport says what a collection found and did.
type GCReport struct {
	Floor         manifest.Seq `json:"floor"`
	Listed        int64        `json:"listed"`
	ListedBytes   int64        `json:"listed_bytes"`
	Garbage       int64        `json:"garbage"`
	GarbageBytes  int64        `json:"garbage_bytes"`
	Deleted       int64        `json:"deleted"`
	AboveFloor    int64        `json:"above_floor"` // unreferenced, but an attempt may still commit them
	Keys          []string     `json:"keys"`        // the first few of the garbage
	FloorManifest manifest.Seq `json:"floor_manifest"`
}

// ImplausibleError says that more would be deleted than garbage can plausibly be.
type ImplausibleError struct {
	Garbage int64 // objects that no manifest ever named, as far as the chain tells
	Listed  int64
}

// Error gives the figures.
func (e *ImplausibleError) Error() string {
	return fmt.Sprintf("%d of %d objects look like garbage that was never committed, more than plausible: nothing was deleted", e.Garbage, e.Listed)
}

// minImplausible is the number of objects below which any share is plausible.
const minImplausible = 200

// Run collects. The steps, and why no two may swap:
//  1. commit the floor: from then on no attempt with an older base can commit;
//  2. only when it is committed, collect the references of that manifest and of
//     every retained snapshot: nothing below the floor can become referenced later;
//  3. list, and delete what is unreferenced and below the floor.
func (g *GC) Run(ctx context.Context, o GCOptions) (GCReport, error) {
	head, err := g.Log.Head(ctx)
	if err != nil {
		return GCReport{}, err
	}
	floor, err := g.floor(ctx, head, o.Keep)
	if err != nil {
		return GCReport{}, err
	}
	report := GCReport{Floor: floor, FloorManifest: head.Manifest.Seq}
	if o.Mode == Confirm && floor > head.Manifest.GCFloor {
		if head, err = g.commitFloor(ctx, head, floor); err != nil {
			return report, err
		}
		report.Floor, report.FloorManifest = head.Manifest.GCFloor, head.Manifest.Seq
	}
	refs, err := g.references(ctx, head)
	if err != nil {
		return report, g.Log.Expired(ctx, head, err)
	}
	garbage, err := g.list(ctx, head, refs, &report)
	if err != nil {
		return report, err
	}
	if err := g.plausible(ctx, head, garbage, report, o.MaxShare); err != nil {
		return report, err
	}
	if o.Mode != Confirm {
		return report, nil
	}
	for _, key := range garbage {
		if err := g.Store.Delete(ctx, key); err != nil {
			return report, fmt.Errorf("delete %s: %w", key, err)
		}
		report.Deleted++
	}
	return report, nil
}

// plausible refuses to delete a large share of what is there, unless the chain tells
// how it came about: what a manifest brought or took away before the first retained
// snapshot was committed once and is needed no more, as all files are that were
// merged. It reads back along the chain only while there is too much that is not
// explained.
func (g *GC) plausible(ctx context.Context, head manifest.Snapshot, garbage []string, r GCReport, share float64) error {
	if share == 0 {
		share = 0.5
	}
	left := make(map[string]bool, len(garbage))
	for _, key := range garbage {
		left[key] = true
	}
	for seq := head.Manifest.RetainFrom; len(left) >= minImplausible && float64(len(left)) > share*float64(r.Listed); seq-- {
		if seq < 0 {
			return &ImplausibleError{int64(len(left)), r.Listed}
		}
		s, err := g.Log.Slot(ctx, seq)
		if err != nil {
			return err
		}
		if err := g.named(ctx, s.Manifest, func(key string) { delete(left, key) }); err != nil {
			return err
		}
	}
	return nil
}

// named gives the keys that a manifest names itself, as far as its lists are there
// still.
func (g *GC) named(ctx context.Context, m *manifest.Manifest, each func(key string)) error {
	for _, r := range m.Refs() {
		each(r.Key)
	}
	for _, t := range m.Tables {
		for _, list := range []segment.List[manifest.File]{t.Add, t.Remove} {
			files, err := g.Log.LoadFiles(ctx, list)
			var gone *commit.MissingError
			if err != nil && !errors.As(err, &gone) {
				return err
			}
			for i := range files {
				each(files[i].Key)
			}
		}
	}
	return nil
}

// floor is the newest manifest older than keep, found by bisection: created_at
// never falls along the chain.
func (g *GC) floor(ctx context.Context, head manifest.Snapshot, keep time.Duration) (manifest.Seq, error) {
	limit := g.Now().Add(-keep)
	return newestThat(ctx, g.Log, head, head.Manifest.GCFloor, func(s manifest.Snapshot) (bool, error) {
		return !s.Manifest.CreatedAt.After(limit), nil
	})
}

// commitFloor appends the floor manifest and returns it as the head.
func (g *GC) commitFloor(ctx context.Context, head manifest.Snapshot, floor manifest.Seq) (manifest.Snapshot, error) {
	var attempt manifest.Attempt
	if _, err := rand.Read(attempt[:]); err != nil {
		return head, err
	}
	out, err := g.Log.Append(ctx, commit.Proposal{
		Kind: manifest.Floor, Attempt: attempt, Base: head, Repair: commit.Repair{Floor: floor}, Config: head.Manifest.Config,
	})
	if err != nil {
		return head, fmt.Errorf("commit floor %d: %w", int64(floor), err)
	}
	if out.Verdict != commit.Committed {
		return head, &commit.SupersededError{Reason: fmt.Sprintf("floor %d: %s", int64(floor), out.Reason)}
	}
	g.Logger.Info("floor committed", "seq", int64(out.Receipt.Seq()), "floor", int64(floor))
	return out.Head, nil
}

// references collects the keys that the snapshots from retain_from to head need:
// everything in the first of them, and what each later manifest brought itself.
func (g *GC) references(ctx context.Context, head manifest.Snapshot) (map[string]bool, error) {
	refs := map[string]bool{}
	first, err := g.Log.Slot(ctx, head.Manifest.RetainFrom)
	if err != nil {
		return nil, err
	}
	for _, s := range []manifest.Snapshot{first, head} {
		if err := g.whole(ctx, s.Manifest, refs); err != nil {
			return nil, err
		}
	}
	prev := first
	for s, err := range slots(ctx, g.Log, first.Manifest.Seq+1, head.Manifest.Seq, g.Ahead) {
		if err != nil {
			return nil, err
		}
		if _, err := prev.Apply(s.Manifest, s.SHA256); err != nil {
			return nil, fmt.Errorf("%w: %w", commit.ErrDamaged, err)
		}
		needs := g.own
		if s.Manifest.Kind == manifest.Rewind {
			needs = g.whole // it refers to what stood before the first retained snapshot, too
		}
		if err := needs(ctx, s.Manifest, refs); err != nil {
			return nil, err
		}
		prev = s
	}
	if prev.SHA256 != head.SHA256 {
		return nil, fmt.Errorf("%w: manifest %d changed while it was read", commit.ErrDamaged, int64(head.Manifest.Seq))
	}
	return refs, nil
}

// own adds what a manifest names in place and the files it made live.
func (g *GC) own(ctx context.Context, m *manifest.Manifest, refs map[string]bool) error {
	for _, r := range m.Refs() {
		refs[r.Key] = true
	}
	for _, name := range slices.Sorted(maps.Keys(m.Tables)) {
		t := m.Tables[name]
		files, err := g.Log.LoadFiles(ctx, t.Add)
		if err != nil {
			return err
		}
		for i := range files {
			refs[files[i].Key] = true
		}
	}
	return nil
}

// whole adds everything a snapshot needs, also what stands inside of its lists.
func (g *GC) whole(ctx context.Context, m *manifest.Manifest, refs map[string]bool) error {
	if err := g.own(ctx, m, refs); err != nil {
		return err
	}
	if f := m.Progress.Files; f != nil {
		segments, err := g.Log.LoadConsumed(ctx, f)
		if err != nil {
			return err
		}
		for i := range segments {
			refs[segments[i].Key] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Tables)) {
		t := m.Tables[name]
		runs, err := g.Log.LiveRefs(ctx, t.Live)
		if err != nil {
			return err
		}
		for i := range runs {
			refs[runs[i].Key] = true
		}
		files, err := g.Log.LoadLive(ctx, t.Live)
		if err != nil {
			return err
		}
		for i := range files {
			refs[files[i].Key] = true
		}
	}
	return nil
}

// folder is where attempts leave objects, and the key of the n-th one of them.
type folder struct {
	prefix string
	key    func(base manifest.Seq, a manifest.Attempt, n int) string
}

// base returns the base that a key carries, if an attempt made the key. A key
// that is not to the letter what batcher writes is somebody else's.
func (f folder) base(key string) (manifest.Seq, bool) {
	rest := strings.TrimPrefix(key, f.prefix)
	base, ok := manifest.BaseOf(rest)
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 {
		return 0, false
	}
	var attempt manifest.Attempt
	if attempt.UnmarshalText([]byte(parts[1])) != nil {
		return 0, false
	}
	digits, _, _ := strings.Cut(parts[2], ".")
	n, err := strconv.Atoi(digits)
	return base, err == nil && n >= 0 && f.key(base, attempt, n) == key
}

// folders are those of the pipeline: its state, and the data of every table.
func (g *GC) folders(m *manifest.Manifest) []folder {
	out := []folder{{g.Log.Layout().States(), g.Log.Layout().State}}
	for _, name := range slices.Sorted(maps.Keys(m.Tables)) {
		out = append(out, folder{manifest.TableData(name), func(base manifest.Seq, a manifest.Attempt, n int) string {
			return manifest.DataFile(name, base, a, n)
		}})
	}
	return out
}

// list finds the garbage below the floor.
func (g *GC) list(ctx context.Context, head manifest.Snapshot, refs map[string]bool, report *GCReport) ([]string, error) {
	var garbage []string
	for _, folder := range g.folders(head.Manifest) {
		for info, err := range g.Store.List(ctx, folder.prefix, object.Deep) {
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", folder.prefix, err)
			}
			report.Listed++
			report.ListedBytes += info.Size
			base, ours := folder.base(info.Key)
			switch {
			case !ours || refs[info.Key]:
			case base >= report.Floor:
				report.AboveFloor++
			default:
				report.Garbage++
				report.GarbageBytes += info.Size
				garbage = append(garbage, info.Key)
				if len(report.Keys) < 20 {
					report.Keys = append(report.Keys, info.Key)
				}
			}
		}
	}
	return garbage, nil
}
