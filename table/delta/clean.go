package delta

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"batcher/object"
)

// keepLog is how long versions and checkpoints stay in a Delta log after readers no
// longer need them, by the store's own clock.
const keepLog = 30 * 24 * time.Hour

// Cleaned is what was deleted from the Delta log of one table, or would be.
type Cleaned struct {
	Versions    int64
	Checkpoints int64
	Files       int64    // of the table of batches, whose files no manifest names
	Keys        []string // all of them, in the order in which they are deleted
}

// Clean deletes what no reader needs from the Delta log of a table, and returns it;
// Stale only finds it.
//
// Readers need a checkpoint and what comes after it. The one that is kept is the
// newest that was written long ago and is not newer than the one that the hint
// names, so that neither a reader that works with an older hint, nor a hint that
// comes late, meets a checkpoint that is gone. What is older than that one goes, the
// oldest first, so that the log has no hole whenever it ends. A table without such a
// checkpoint keeps everything.
//
// Of the table of batches the data files go, too, that neither a version from the first
// retained snapshot on nor one that is left in the log shows.
func (p *Projector) Clean(ctx context.Context, table string) (Cleaned, error) {
	c, err := p.Stale(ctx, table)
	if err != nil {
		return Cleaned{}, err
	}
	for _, key := range c.Keys {
		if err := p.store.Delete(ctx, key); err != nil {
			return Cleaned{}, fmt.Errorf("delete %s: %w", key, err)
		}
	}
	return c, nil
}

// Stale finds what Clean would delete. It changes nothing.
func (p *Projector) Stale(ctx context.Context, table string) (Cleaned, error) {
	h, err := p.hint(ctx, table)
	if err != nil || h.Version < 0 {
		return Cleaned{}, err
	}
	if table == p.batches.name { // the name may be that of another pipeline's table
		if ours, err := p.batches.wrote(ctx, h.Version); err != nil || !ours {
			return Cleaned{}, err
		}
	}
	entries, err := p.entries(ctx, table)
	if err != nil {
		return Cleaned{}, err
	}
	before := p.clock.Now().Add(-keepLog)
	keep := Version(-1)
	for _, e := range entries {
		if e.checkpoint && e.version <= h.Version && e.modified.Before(before) {
			keep = max(keep, e.version)
		}
	}
	var c Cleaned
	for _, e := range entries {
		switch {
		case e.version >= keep || !e.modified.Before(before):
			continue
		case e.checkpoint:
			c.Checkpoints++
		default:
			c.Versions++
		}
		c.Keys = append(c.Keys, e.key)
	}
	if table != p.batches.name {
		return c, nil
	}
	files, err := p.batches.stale(ctx, entries, keep)
	c.Files, c.Keys = int64(len(files)), append(c.Keys, files...)
	return c, err
}

// entry is one object of a Delta log.
type entry struct {
	key        string
	version    Version
	checkpoint bool
	modified   time.Time
}

// entries lists the versions and checkpoints of a table, oldest first. What has
// another name is somebody else's.
func (p *Projector) entries(ctx context.Context, table string) ([]entry, error) {
	var out []entry
	for info, err := range p.store.List(ctx, logFolder(table), object.Shallow) {
		if err != nil {
			return nil, fmt.Errorf("list the Delta log of %s: %w", table, err)
		}
		digits, _, _ := strings.Cut(strings.TrimPrefix(info.Key, logFolder(table)), ".")
		n, err := strconv.ParseInt(digits, 10, 64)
		v := Version(n)
		switch {
		case err != nil || n < 0:
		case info.Key == commitKey(table, v):
			out = append(out, entry{info.Key, v, false, info.Modified})
		case info.Key == checkpointKey(table, v):
			out = append(out, entry{info.Key, v, true, info.Modified})
		}
	}
	slices.SortFunc(out, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.version, b.version), strings.Compare(a.key, b.key))
	})
	return out, nil
}
