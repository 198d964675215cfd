package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"batcher/compact"
	"batcher/manifest"
)

// repairs opens an existing chain for repair.
func repairs(ctx context.Context, c *call) (repairing, manifest.Snapshot, error) {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return repairing{}, manifest.Snapshot{}, err
	}
	head, err := r.chain(ctx)
	repair := &compact.Repair{Log: r.log, Now: time.Now, Logger: c.Logger}
	if r.delta != nil {
		repair.ShownSince = r.delta.ShownSince
	}
	return repairing{repair, r}, head, err
}

// repairing is a repair with the rooms that it works in.
type repairing struct {
	*compact.Repair
	*rooms
}

// repaired is what a repair prints.
type repaired struct {
	Done       bool                `json:"done"` // false: it only said what it would do
	Kind       manifest.Kind       `json:"kind"`
	Seq        manifest.Seq        `json:"seq"` // head
	GCFloor    manifest.Seq        `json:"gc_floor"`
	RetainFrom manifest.Seq        `json:"retain_from"`
	Generation manifest.Generation `json:"generation"`
	Pipeline   string              `json:"pipeline"`
	Text       string              `json:"text"`
}

// conclude prints what a repair did, or would do.
func (o confirmation) conclude(c *call, head manifest.Snapshot, kind manifest.Kind, did, would string) error {
	m := head.Manifest
	out := repaired{o.Confirm, kind, m.Seq, m.GCFloor, m.RetainFrom, m.Generation, m.Pipeline, did}
	if !o.Confirm {
		out.Text = would + "; --confirm does it"
	}
	if c.Output == outputJSON {
		return printJSON(c, out)
	}
	return printTo(c.Stdout, out.Text+"\n")
}

// fence is the verb fence.
func fence(ctx context.Context, c *call, o confirmation) error {
	r, head, err := repairs(ctx, c)
	if err == nil && o.Confirm {
		head, err = r.Fence(ctx)
	}
	if err != nil {
		return err
	}
	return o.conclude(c, head, manifest.Floor,
		fmt.Sprintf("fenced at manifest %d: no attempt from before can commit", head.Manifest.Seq),
		fmt.Sprintf("would fence every attempt that began on manifest %d or before", head.Manifest.Seq))
}

// adopt is the verb adopt.
func adopt(ctx context.Context, c *call, o adoptOptions) error {
	if o.Source {
		return adoptSource(ctx, c, o.confirmation)
	}
	r, head, err := repairs(ctx, c)
	was := ""
	if err == nil {
		was = head.Manifest.Pipeline
		if o.Confirm {
			head, err = r.Adopt(ctx)
		}
	}
	if err != nil {
		return err
	}
	return o.conclude(c, head, manifest.Adopt,
		fmt.Sprintf("adopted by manifest %d: %s is now %s", head.Manifest.Seq, was, head.Manifest.Pipeline),
		fmt.Sprintf("would give the chain of %s at manifest %d a new id and generation", was, head.Manifest.Seq))
}

// rewind is the verb rewind.
func rewind(ctx context.Context, c *call, o rewindOptions) error {
	r, head, err := repairs(ctx, c)
	before := head
	if err == nil {
		o.Seq, err = resolve(o.Seq, head)
	}
	if err == nil && o.Confirm {
		head, err = r.Rewind(ctx, o.Seq)
	}
	if err != nil {
		return err
	}
	if !o.Confirm && (o.Seq >= before.Manifest.Seq || o.Seq < before.Manifest.RetainFrom) {
		return usageError(fmt.Sprintf("retained are manifests %d to %d", before.Manifest.RetainFrom, before.Manifest.Seq-1), "cannot rewind to %d", o.Seq)
	}
	loss := ""
	if !o.Confirm {
		if loss, err = r.loses(ctx, before.Manifest, o.Seq); err != nil {
			return err
		}
	}
	return o.conclude(c, head, manifest.Rewind,
		fmt.Sprintf("manifest %d restores what was there after manifest %d; later runs consume again what came since", head.Manifest.Seq, o.Seq),
		fmt.Sprintf("would restore what was there after manifest %d, %s back%s", o.Seq, many(int64(before.Manifest.Seq-o.Seq), "manifest"), loss))
}

// loses says how many rows of each table a rewind changes, and which batches it undoes.
func (r repairing) loses(ctx context.Context, now *manifest.Manifest, to manifest.Seq) (string, error) {
	var b strings.Builder
	then, err := r.log.Slot(ctx, to)
	if err != nil {
		return "", err
	}
	for _, name := range sortedKeys(now.Tables) {
		was, is := then.Manifest.Tables[name].Live.Rows, now.Tables[name].Live.Rows
		fmt.Fprintf(&b, "\n  %s: %s now, %s then", name, many(is, "row"), grouped(was))
	}
	for seq, shown := now.Seq, 0; seq > to; seq-- {
		s, err := r.log.Slot(ctx, seq)
		if err != nil {
			return "", err
		}
		batch := s.Manifest.Batch
		if batch == nil {
			continue
		}
		if shown++; shown > maxUndone {
			fmt.Fprintf(&b, "\n  … and earlier ones (batcher history)")
			break
		}
		fmt.Fprintf(&b, "\n  undoes batch %s of manifest %d: %s of %s", batch.ID, seq, many(batch.Rows.Read, "record"), many(batch.Objects, "object"))
	}
	return b.String() + "\nLater runs consume again what came since", nil
}

// held says whether the floor of the garbage collection, and not their age, is why no more
// snapshots would expire: the one after it is old enough.
func (r repairing) held(ctx context.Context, head manifest.Snapshot, from manifest.Seq, keep time.Duration) bool {
	if from != head.Manifest.GCFloor || from >= head.Manifest.Seq {
		return false
	}
	next, err := r.log.Slot(ctx, from+1)
	return err == nil && time.Since(next.Manifest.CreatedAt) > keep
}

// maxUndone bounds the batches that rewind names.
const maxUndone = 10

// expire is the verb expire.
func expire(ctx context.Context, c *call, o expireOptions) error {
	r, head, err := repairs(ctx, c)
	if err != nil {
		return err
	}
	if o.Confirm {
		if err := r.everythingPublished(ctx, head); err != nil {
			return err
		}
	}
	from, err := r.ExpireTo(ctx, head, o.Keep)
	if err == nil && o.Confirm {
		head, err = r.Expire(ctx, o.Keep)
	}
	if err != nil {
		return err
	}
	kept := fmt.Sprintf("snapshots are retained from manifest %d", head.Manifest.RetainFrom)
	would := fmt.Sprintf("would retain snapshots from manifest %d, not %d", from, head.Manifest.RetainFrom)
	if from <= head.Manifest.RetainFrom {
		would = kept + ", and would be"
	}
	if r.held(ctx, head, from, o.Keep) {
		would += fmt.Sprintf("; younger ones are held by the floor, manifest %d, which batcher gc --confirm raises", head.Manifest.GCFloor)
	}
	return o.conclude(c, head, manifest.Expire, kept, would)
}
