package commit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
	"batcher/segment"
)

// Repair is what a proposal of a kind that reads no source wants. At most one
// member is set.
type Repair struct {
	Floor      manifest.Seq          // floor: the floor to set, own seq if larger
	RetainFrom manifest.Seq          // expire: the first snapshot to retain
	To         *manifest.Snapshot    // rewind: the snapshot to restore
	Pipeline   string                // adopt: the new pipeline id
	Republish  *manifest.Republished // republish: what to publish anew, found on a head that the proposal may leave behind
}

// ErrExpired says that a snapshot is no longer retained.
var ErrExpired = errors.New("snapshot is not retained")

// buildRepair fills in what the kinds without a batch decide. m is a copy of the
// head's state so far, on which every cumulative reference rests.
func (l *Log) buildRepair(ctx context.Context, p Proposal, h, m *manifest.Manifest, pack *segment.Pack) error {
	switch p.Kind {
	case manifest.Floor:
		m.GCFloor = max(h.GCFloor, min(p.Repair.Floor, m.Seq))
	case manifest.Expire:
		if p.Repair.RetainFrom > h.GCFloor {
			return fmt.Errorf("retain_from %d is above the floor %d", p.Repair.RetainFrom, h.GCFloor)
		}
		m.RetainFrom = max(h.RetainFrom, p.Repair.RetainFrom)
	case manifest.Rewind:
		return l.buildRewind(ctx, *p.Repair.To, h, m, pack)
	case manifest.Adopt:
		m.Pipeline, m.Generation = p.Repair.Pipeline, h.Generation+1
	case manifest.Republish:
		return buildRepublish(*p.Repair.Republish, m, pack)
	}
	return nil
}

// buildRepublish has the projection of a table go on above the versions of others.
func buildRepublish(r manifest.Republished, m *manifest.Manifest, pack *segment.Pack) error {
	t := m.Tables[r.Table]
	t.Version, t.LastSeq = r.Version, m.Seq
	m.Tables[r.Table] = t
	m.Republish = &r
	var err error
	r.Foreign, err = segment.Externalize(r.Foreign, pack)
	return err
}

// buildRewind restores a snapshot: progress, the live files of every table and the
// types of its columns are those of then. Columns that were added since, field
// ids, versions, floors and the chain itself stay. It is computed anew on every proposal: the files to
// remove are those of the head that is built on.
func (l *Log) buildRewind(ctx context.Context, to manifest.Snapshot, h, m *manifest.Manifest, pack *segment.Pack) error {
	then := to.Manifest
	if then.Seq < h.RetainFrom {
		return fmt.Errorf("rewind to %d: %w: retained from %d", int64(then.Seq), ErrExpired, int64(h.RetainFrom))
	}
	m.Generation = h.Generation + 1
	m.RewindTo = &then.Seq
	m.Progress = then.Progress
	for _, name := range slices.Sorted(maps.Keys(m.Tables)) {
		t := m.Tables[name]
		old, ok := then.Tables[name]
		if !ok {
			old = manifest.Table{}
		}
		if err := l.restore(ctx, &t, old, m.Seq, pack); err != nil {
			return fmt.Errorf("table %q: %w", name, err)
		}
		m.Tables[name] = t
	}
	return nil
}

// restore gives a table the live files of old. Every one of them must be there.
func (l *Log) restore(ctx context.Context, t *manifest.Table, old manifest.Table, seq manifest.Seq, pack *segment.Pack) error {
	now, err := l.LoadLive(ctx, t.Live)
	if err != nil {
		return err
	}
	then, err := l.LoadLive(ctx, old.Live)
	if err != nil {
		return err
	}
	add, remove := without(then, now), without(now, then)
	if err := l.present(ctx, add); err != nil {
		return err
	}
	if t.Add, err = segment.Externalize(segment.Of(add), pack); err != nil {
		return err
	}
	if t.Remove, err = segment.Externalize(segment.Of(remove), pack); err != nil {
		return err
	}
	t.Live = old.Live
	retyped, err := l.restoreSchema(ctx, t, old, pack)
	if err != nil {
		return err
	}
	if len(add)+len(remove) > 0 || retyped {
		t.Version++
		t.LastSeq = seq
	}
	return nil
}

// restoreSchema gives the columns of a table the types that they had in old, under
// which the files were written that come back.
func (l *Log) restoreSchema(ctx context.Context, t *manifest.Table, old manifest.Table, pack *segment.Pack) (bool, error) {
	if old.Schema.SHA256 == t.Schema.SHA256 || old.Schema.SHA256 == (manifest.SHA256{}) {
		return false, nil
	}
	then, err := l.LoadSchema(ctx, old.Schema)
	if err != nil {
		return false, err
	}
	now, err := l.LoadSchema(ctx, t.Schema)
	if err != nil {
		return false, err
	}
	restored := schema.Restore(then, now)
	sum, err := manifest.SchemaHash(restored)
	if err != nil || sum == t.Schema.SHA256 {
		return false, err
	}
	t.Schema, err = manifest.NewSchemaRef(restored, pack)
	return err == nil, err
}

// without returns the files of a that are not in b.
func without(a, b []manifest.File) []manifest.File {
	in := make(map[string]bool, len(b))
	for i := range b {
		in[b[i].Key] = true
	}
	var out []manifest.File
	for i := range a {
		if !in[a[i].Key] {
			out = append(out, a[i])
		}
	}
	return out
}

// present proves that files which were not live are still there, whole.
func (l *Log) present(ctx context.Context, files []manifest.File) error {
	for i := range files {
		r, info, err := l.store.Get(ctx, files[i].Key, object.GetOptions{Limit: 1})
		if errors.Is(err, object.ErrNotFound) {
			return fmt.Errorf("%w: %s is gone", ErrExpired, files[i].Key)
		}
		if err != nil {
			return err
		}
		_ = r.Close()
		if info.Size != files[i].Size {
			return fmt.Errorf("%w: %s has %d bytes, the manifest says %d", ErrDamaged, files[i].Key, info.Size, files[i].Size)
		}
	}
	return nil
}
