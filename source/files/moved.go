package files

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"slices"

	"batcher/object"
	"batcher/source"
)

// maxMoved is how many objects one plan of a source that moved tells from others.
const maxMoved = 1_000_000

// At is the source as if its objects stood at another location: identities and names
// are those of there.
func (s *Source) At(location string) *Source {
	at := *s
	at.cfg.Location = location
	return &at
}

// Location is where the objects stand, as identities have it.
func (s *Source) Location() string { return s.cfg.Location }

// Timed says whether objects are told by size and time, as in a directory: another content
// may have the identity of the one that was consumed.
func (s *Source) Timed() bool {
	_, ok := s.store.(object.Timed)
	return ok
}

// From is the source for one plan of everything after its objects were moved here from
// another location. An object that has kept key, ETag and size is known again by these,
// one that has kept its key alone by its content, however much has to be read for that:
// Plan.Touched has them. None is planned for being changed.
func (s *Source) From(location string) *Source {
	from := *s
	from.cfg.formerly, from.cfg.Rehash, from.cfg.OnChange = location, math.MaxInt64, SkipChanged
	from.cfg.Relist, from.cfg.Settle, from.cfg.Shard = 0, 0, source.Shard{}
	return &from
}

// Known returns the objects whose content was consumed under some key: a source that
// moved and whose keys are others now would bring it again. It reads them all.
func (s *Source) Known(ctx context.Context, progress *source.FilesProgress, set *Set, objects []Object) ([]string, error) {
	refs, err := set.loadRefs(ctx, progress)
	if err == nil {
		err = set.loadRuns(ctx, refs, refs)
	}
	if err != nil {
		return nil, fmt.Errorf("look for known contents: %w", err)
	}
	recent, err := DecodeRecent(progress.Recent)
	if err != nil {
		return nil, fmt.Errorf("look for known contents: %w", err)
	}
	contents := map[source.Hash]bool{}
	for i := range recent {
		contents[recent[i].Content] = true
	}
	for _, ref := range refs {
		run := set.runs[ref.SHA256]
		for i := range run.Len() {
			contents[run.At(i).Content] = true
		}
	}
	var known []string
	for _, o := range objects {
		content, err := s.hash(ctx, o)
		if err != nil {
			return nil, err
		}
		if contents[content] {
			known = append(known, o.Key)
		}
	}
	slices.Sort(known)
	return known, nil
}

// hash is that of the stored bytes, as entries have it.
func (s *Source) hash(ctx context.Context, o Object) (source.Hash, error) {
	r, err := s.Open(ctx, o)
	if err != nil {
		return source.Hash{}, err
	}
	defer r.Close()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return source.Hash{}, fmt.Errorf("hash %s: %w", o.Key, err)
	}
	return source.Hash(h.Sum(nil)[:16]), nil
}
