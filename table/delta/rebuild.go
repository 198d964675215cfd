package delta

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/segment"
)

const (
	maxCommit  = 256 << 20 // bytes of a foreign commit
	maxRebuild = 10_000    // foreign commits
)

// BeyondError says that a foreign commit cannot be undone by a commit of ours.
type BeyondError struct {
	Table   string
	Version Version
	Reason  string
}

// Error names the version.
func (e *BeyondError) Error() string {
	return fmt.Sprintf("version %d of table %s %s", e.Version, e.Table, e.Reason)
}

// Rebuild commits a manifest that has the projection of a table go on behind foreign
// commits, and returns it as the head: the next Publish then puts, as the version
// after theirs, one that restores the whole table. No version is written over. It
// does the same where the versions that are missing can no longer be made, because
// the lists of their manifests are not retained. Where nothing is wrong it changes
// nothing and returns the head it was given. It fails with *BeyondError if the foreign
// commits changed the protocol, and with *commit.SupersededError if somebody else was
// faster.
//
// What the versions before may show is written down in the manifest, so that the
// version is a pure function of the chain like every other.
func (p *Projector) Rebuild(ctx context.Context, head manifest.Snapshot, table string, attempt manifest.Attempt) (manifest.Snapshot, error) {
	at, err := p.find(ctx, head, table)
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		ours := p.ours(ctx, head, table, conflict)
		if ours+1 != conflict.Version {
			return head, &BeyondError{table, conflict.Version, "is foreign, and the last one of ours is too far away or gone"}
		}
		at.version = ours
	} else if err != nil || !p.unmakeable(ctx, head, table, at) {
		return head, err
	}
	shown, err := p.shown(ctx, head, table, at.version)
	if err != nil {
		return head, err
	}
	v := at.version + 1
	for ; ; v++ {
		added, there, err := p.foreign(ctx, table, v)
		if err != nil {
			return head, err
		}
		if !there {
			break
		}
		if v-at.version > maxRebuild {
			return head, &BeyondError{table, v, "is one of more foreign versions than can be gone through"}
		}
		shown = append(shown, added...)
	}
	return p.republish(ctx, head, table, v, attempt, shown)
}

// unmakeable says whether a version that is missing cannot be made from the chain.
func (p *Projector) unmakeable(ctx context.Context, head manifest.Snapshot, table string, at place) bool {
	t := head.Manifest.Tables[table]
	if Version(t.Version) <= at.version || at.seq > head.Manifest.Seq {
		return false
	}
	seqs, err := p.path(ctx, head, table, at.version)
	for _, seq := range seqs {
		if seq >= head.Manifest.RetainFrom {
			break
		}
		made, slotErr := p.slot(ctx, head, seq)
		if slotErr != nil {
			return false
		}
		if _, err = (chainTable{p, table}).change(ctx, head, made, made); err != nil {
			break
		}
	}
	return err != nil && errors.Is(expired(head, 0, err), commit.ErrExpired)
}

// republish commits the manifest.
func (p *Projector) republish(ctx context.Context, head manifest.Snapshot, table string, v Version, attempt manifest.Attempt, shown []string) (manifest.Snapshot, error) {
	slices.Sort(shown)
	out, err := p.log.Append(ctx, commit.Proposal{
		Kind: manifest.Republish, Attempt: attempt, Base: head, Config: head.Manifest.Config,
		Repair: commit.Repair{Republish: &manifest.Republished{Table: table, Version: int64(v), Foreign: segment.Of(slices.Compact(shown))}},
	})
	switch {
	case err != nil:
		return head, fmt.Errorf("publish %s anew: %w", table, err)
	case out.Verdict != commit.Committed:
		return head, &commit.SupersededError{Reason: fmt.Sprintf("publish %s anew: %s", table, out.Reason)}
	}
	delete(p.at, table)
	delete(p.hinted, table)
	p.logger.Info("republish committed", "table", table, "version", int64(v), "seq", int64(out.Receipt.Seq()))
	return out.Head, nil
}

// shown returns the paths of the files that a version of ours shows.
func (p *Projector) shown(ctx context.Context, head manifest.Snapshot, table string, v Version) ([]string, error) {
	if v < 0 {
		return nil, nil
	}
	who, _, err := p.author(ctx, table, v)
	if err != nil {
		return nil, err
	}
	made, err := p.slot(ctx, head, who.Seq)
	if err != nil {
		return nil, err
	}
	live, err := p.log.LoadLive(ctx, made.Manifest.Tables[table].Live)
	if err != nil {
		return nil, expired(head, who.Seq, err)
	}
	view := view{table: table}
	paths := make([]string, len(live))
	for i := range live {
		if paths[i], err = view.path(&live[i]); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// foreign returns the paths that a foreign commit adds, as they stand there.
func (p *Projector) foreign(ctx context.Context, table string, v Version) (paths []string, there bool, err error) {
	body, _, err := object.ReadAll(ctx, p.store, commitKey(table, v), object.GetOptions{}, maxCommit)
	if errors.Is(err, object.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read version %d of the Delta log: %w", v, err)
	}
	paths, reason := parseForeign(body)
	if reason != "" {
		return nil, false, &BeyondError{table, v, reason}
	}
	return paths, true, nil
}
