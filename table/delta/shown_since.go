package delta

import (
	"context"
	"errors"
	"fmt"
	"time"

	"batcher/manifest"
	"batcher/object"
)

// ShownSince says since when readers of every Delta table see it as it was after a manifest,
// or later, by the store's own clock. Readers who came before that may still be at work
// on files that the manifest had taken away. What they do not see yet, they see from now
// on at the earliest. It is to be asked after Publish, by the same Projector.
func (p *Projector) ShownSince(ctx context.Context, at manifest.Snapshot) (time.Time, error) {
	var since time.Time
	for table, t := range at.Manifest.Tables {
		if t.Version < 0 {
			continue
		}
		shown, err := p.shownSince(ctx, table, t)
		if err != nil {
			return time.Time{}, fmt.Errorf("since when table %s shows version %d: %w", table, t.Version, err)
		}
		if shown.After(since) {
			since = shown
		}
	}
	return since, nil
}

// shownSince asks it of one table. A version that was cleaned away was shown long ago. The
// number of one that was never projected may belong to others.
func (p *Projector) shownSince(ctx context.Context, table string, t manifest.Table) (time.Time, error) {
	v := Version(t.Version)
	start, info, err := object.ReadAll(ctx, p.store, commitKey(table, v), object.GetOptions{Limit: authorBytes}, authorBytes)
	absent := errors.Is(err, object.ErrNotFound)
	switch {
	case absent && p.at[table].version > v:
		return time.Time{}, nil
	case absent:
		return p.clock.Now(), nil
	case err != nil:
		return time.Time{}, err
	}
	if who := parseAuthor(start); !who.Ours || who.Seq != t.LastSeq {
		return p.clock.Now(), nil
	}
	return info.Modified, nil
}
