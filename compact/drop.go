package compact

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
)

// Drop deletes a pipeline: its chain, its tables and what they hold.
type Drop struct {
	Log    *commit.Log
	Store  object.Store
	Tables []string // that may be its own besides those of the chain; only those that it has claimed are
	Logger *slog.Logger
}

// DropReport says what a pipeline has, or what was deleted of it.
type DropReport struct {
	Pipeline string          `json:"pipeline"` // id; "" where nothing says it any more
	Folders  []DroppedFolder `json:"folders"`
	Objects  int64           `json:"objects"`
	Bytes    int64           `json:"bytes"`
}

// DroppedFolder is a folder of a pipeline, or a single object.
type DroppedFolder struct {
	Folder  string `json:"folder"`
	Objects int64  `json:"objects"`
	Bytes   int64  `json:"bytes"`
}

// stopRechecking is how many deletions of keys that another pipeline of the same name
// would use again go without a look at whether there is one by now.
const stopRechecking = 100

// dropping is one pipeline on its way out.
type dropping struct {
	*Drop
	end    manifest.Snapshot // the manifest of kind drop; none where only the hint is left
	id     string            // of the genesis, as claims name it
	tables []string          // own, in order
	report DropReport
}

// List says what Run would delete.
func (d *Drop) List(ctx context.Context) (DropReport, error) {
	p, err := d.find(ctx)
	if err != nil {
		return DropReport{}, err
	}
	for _, folder := range p.folders() {
		if _, err := p.keys(ctx, folder); err != nil {
			return p.report, err
		}
	}
	return p.report, nil
}

// Run drops the pipeline. It may die at any step, be run again, and by several at once.
// The steps, and why no two may swap:
//  1. append a manifest of kind drop: nothing follows it, so whatever is under way or
//     begins now ends there, and a pipeline that is dropped in part is known for that;
//  2. say so in the hint, which is then the last to go: without the chain it would be
//     damage;
//  3. delete the tables, each before its claim: nobody else may have a table with files
//     of this pipeline in it;
//  4. delete state and manifests but for the last one;
//  5. delete the object with the id, then the last manifest, then the hint: from now on
//     there is no pipeline, and a new one may begin.
//
// Before it deletes keys that a new pipeline of the name would have as well it looks
// whether the manifest of step 1 is there still: somebody else may have been quicker.
func (d *Drop) Run(ctx context.Context) (DropReport, error) {
	p, err := d.find(ctx)
	if err != nil {
		return DropReport{}, err
	}
	if p.end.Manifest != nil && p.end.Manifest.Kind != manifest.Drop {
		if p.end, err = d.end(ctx, p.end); err != nil {
			return p.report, err
		}
	}
	if p.end.Manifest != nil {
		if err := d.Log.PutDropped(ctx, p.end); err != nil {
			return p.report, err
		}
		err := p.dropTables(ctx)
		if err == nil {
			err = p.dropChain(ctx)
		}
		if errors.Is(err, errOvertaken) {
			d.Logger.Info("somebody else has dropped the pipeline")
		} else if err != nil {
			return p.report, fmt.Errorf("drop: %w", err)
		}
	}
	if err := p.dropHint(ctx); err != nil {
		return p.report, fmt.Errorf("drop: %w", err)
	}
	return p.report, nil
}

// errOvertaken says that the pipeline is gone already.
var errOvertaken = errors.New("the pipeline is gone")

// maxEnds bounds how often a drop loses the race for a slot.
const maxEnds = 64

// end appends the manifest of kind drop, on whatever comes before.
func (d *Drop) end(ctx context.Context, head manifest.Snapshot) (manifest.Snapshot, error) {
	for range maxEnds {
		p := commit.Proposal{Kind: manifest.Drop, Base: head, Config: head.Manifest.Config}
		if _, err := rand.Read(p.Attempt[:]); err != nil {
			return head, err
		}
		out, err := d.Log.Append(ctx, p)
		if err != nil {
			return head, fmt.Errorf("drop: %w", err)
		}
		if out.Verdict == commit.Committed || out.Head.Manifest.Kind == manifest.Drop {
			return out.Head, nil
		}
		head = out.Head
	}
	return head, &commit.SupersededError{Reason: fmt.Sprintf("drop: lost %d races", maxEnds)}
}

// find learns what there is of the pipeline.
func (d *Drop) find(ctx context.Context) (*dropping, error) {
	p := &dropping{Drop: d, report: DropReport{Folders: []DroppedFolder{}}}
	end, err := d.Log.Last(ctx)
	if errors.Is(err, commit.ErrDamaged) {
		end, err = d.leftover(ctx, err)
	}
	switch {
	case errors.Is(err, commit.ErrDropped):
		return p, nil // but for the hint
	case err != nil:
		return nil, err
	}
	p.end = end
	p.report.Pipeline = end.Manifest.Pipeline
	if p.id, err = d.Log.ID(ctx); err != nil && !errors.Is(err, object.ErrNotFound) {
		return nil, err
	}
	names := append(slices.Collect(maps.Keys(end.Manifest.Tables)), d.Tables...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		owner, err := d.Log.Owner(ctx, name)
		switch {
		case errors.Is(err, object.ErrNotFound): // nobody's, or dropped before
		case err != nil:
			return nil, err
		case owner == p.id:
			p.tables = append(p.tables, name)
		}
	}
	return p, nil
}

// leftover looks for the end of the chain where the hint leads nowhere: a writer that was
// slow to write it has overwritten what a drop said in it. Otherwise the damage is one.
func (d *Drop) leftover(ctx context.Context, damage error) (manifest.Snapshot, error) {
	last := ""
	for info, err := range d.Store.List(ctx, d.Log.Layout().Manifests(), object.Deep) {
		if err != nil {
			return manifest.Snapshot{}, err
		}
		last = max(last, info.Key)
	}
	if last == "" {
		if _, err := d.Log.ID(ctx); errors.Is(err, object.ErrNotFound) {
			return manifest.Snapshot{}, commit.ErrDropped
		}
		return manifest.Snapshot{}, damage
	}
	var seq int64
	if _, err := fmt.Sscanf(last, d.Log.Layout().Manifests()+"%d.json", &seq); err != nil {
		return manifest.Snapshot{}, damage
	}
	end, err := d.Log.Slot(ctx, manifest.Seq(seq))
	if err == nil && end.Manifest.Kind != manifest.Drop {
		err = damage
	}
	return end, err
}

// folders are those of the pipeline, and its single objects.
func (p *dropping) folders() (out []string) {
	for _, name := range p.tables {
		out = append(out, name+"/_delta_log/", manifest.TableData(name), manifest.Claim(name))
	}
	l := p.Log.Layout()
	return append(out, l.States(), l.Manifests(), l.Format(), l.Hint())
}

// keys lists what there is in a folder, and notes it in the report.
func (p *dropping) keys(ctx context.Context, folder string) ([]string, error) {
	f := DroppedFolder{Folder: folder}
	var keys []string
	take := func(info object.Info) {
		keys = append(keys, info.Key)
		f.Objects++
		f.Bytes += info.Size
	}
	if folder[len(folder)-1] != '/' {
		r, info, err := p.Store.Get(ctx, folder, object.GetOptions{Limit: 1})
		if err == nil {
			info.Key = folder
			take(info)
			err = r.Close()
		}
		if err != nil && !errors.Is(err, object.ErrNotFound) {
			return nil, err
		}
	} else {
		for info, err := range p.Store.List(ctx, folder, object.Deep) {
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", folder, err)
			}
			take(info)
		}
	}
	if f.Objects > 0 {
		p.report.Folders = append(p.report.Folders, f)
		p.report.Objects += f.Objects
		p.report.Bytes += f.Bytes
	}
	slices.Sort(keys)
	return keys, nil
}

// remove deletes what there is in a folder, but for one key.
func (p *dropping) remove(ctx context.Context, folder, but string) error {
	keys, err := p.keys(ctx, folder)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if i%stopRechecking == 0 {
			if err := p.stands(ctx); err != nil {
				return err
			}
		}
		if key == but {
			continue
		}
		if err := p.Store.Delete(ctx, key); err != nil {
			return fmt.Errorf("delete %s: %w", key, err)
		}
	}
	return nil
}

// stands says with errOvertaken that the manifest which ends the chain is gone.
func (p *dropping) stands(ctx context.Context) error {
	holds, err := p.Log.Holds(ctx, p.end)
	if err == nil && !holds {
		err = errOvertaken
	}
	return err
}

// dropTables is step 3 of Run.
func (p *dropping) dropTables(ctx context.Context) error {
	for _, name := range p.tables {
		for _, folder := range []string{name + "/_delta_log/", manifest.TableData(name), manifest.Claim(name)} {
			if err := p.remove(ctx, folder, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropChain is steps 4 and 5 of Run, but for the hint.
func (p *dropping) dropChain(ctx context.Context) error {
	l := p.Log.Layout()
	last := l.Manifest(p.end.Manifest.Seq)
	for _, s := range []struct{ folder, but string }{{l.States(), ""}, {l.Manifests(), last}, {l.Format(), ""}} {
		if err := p.remove(ctx, s.folder, s.but); err != nil {
			return err
		}
	}
	if err := p.stands(ctx); err != nil {
		return err
	}
	if err := p.Store.Delete(ctx, last); err != nil {
		return fmt.Errorf("delete %s: %w", last, err)
	}
	return nil
}

// dropHint is the end of step 5.
func (p *dropping) dropHint(ctx context.Context) error {
	orphaned, err := p.Log.Orphaned(ctx)
	if err != nil || !orphaned {
		return err // gone, or that of a new pipeline
	}
	return p.Store.Delete(ctx, p.Log.Layout().Hint())
}
