package files

import (
	"context"
	"fmt"

	"batcher/object"
	"batcher/source"
)

// Find returns the entry of a consumed key according to a head's progress. For
// that it loads all of the set that is not in memory.
func (s *Set) Find(ctx context.Context, progress *source.FilesProgress, key string) (Entry, bool, error) {
	if progress == nil {
		return Entry{}, false, nil
	}
	refs, err := s.loadRefs(ctx, progress)
	if err == nil {
		err = s.loadRuns(ctx, refs, refs)
	}
	if err != nil {
		return Entry{}, false, fmt.Errorf("find %s: %w", key, err)
	}
	recent, err := DecodeRecent(progress.Recent)
	if err != nil {
		return Entry{}, false, fmt.Errorf("find %s: %w", key, err)
	}
	known, err := s.view(recent, refs)
	if err != nil {
		return Entry{}, false, fmt.Errorf("find %s: %w", key, err)
	}
	e, found := known.find(KeyHash(key))
	return e, found, nil
}

// Stat says what stands under a key of the source now. An absent one gives
// object.ErrNotFound.
func (s *Source) Stat(ctx context.Context, key string) (object.Info, error) {
	r, info, err := s.store.Get(ctx, key, object.GetOptions{Limit: 1})
	if err != nil {
		return object.Info{}, unreadable(key, fmt.Errorf("look at %s: %w", key, err))
	}
	info.Key = key
	return info, r.Close()
}
