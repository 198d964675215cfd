package commit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
	"batcher/segment"
	"batcher/source"
)

// MissingError says that a run which a manifest names is not there. It never
// means "empty": either garbage collection passed a stale attempt, or the store
// lost data.
type MissingError struct{ Ref segment.Ref }

// Error names the run.
func (e *MissingError) Error() string {
	return fmt.Sprintf("state %s is named by a manifest but absent", e.Ref.Key)
}

// Load reads a run and checks its hash. Runs are immutable, so they are kept in
// memory, within a bound.
func (l *Log) Load(ctx context.Context, ref segment.Ref) ([]byte, error) {
	if run, ok := l.runs.get(ref.SHA256); ok {
		return run, nil
	}
	if ref.Size == 0 {
		return nil, ref.Check(nil)
	}
	run, _, err := object.ReadAll(ctx, l.store, ref.Key, object.GetOptions{From: ref.Offset, Limit: ref.Size}, ref.Size)
	if errors.Is(err, object.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, &MissingError{ref})
	}
	if err != nil {
		return nil, fmt.Errorf("get state: %w", err)
	}
	if err := ref.Check(run); err != nil {
		return nil, fmt.Errorf("%w: %w (I10)", ErrDamaged, err)
	}
	l.runs.put(ref.SHA256, run)
	return run, nil
}

// LoadLists fills in the ranges, touched objects and files of a manifest where
// they stand elsewhere, so that it can be held to every rule.
func (l *Log) LoadLists(ctx context.Context, m *manifest.Manifest) (err error) {
	for _, name := range slices.Sorted(maps.Keys(m.Tables)) {
		t := m.Tables[name]
		if t.Add.Items, err = loadList(ctx, l, t.Add); err != nil {
			return err
		}
		if t.Remove.Items, err = loadList(ctx, l, t.Remove); err != nil {
			return err
		}
		m.Tables[name] = t
	}
	if m.Batch == nil {
		return nil
	}
	if m.Batch.Ranges.Items, err = loadList(ctx, l, m.Batch.Ranges); err != nil {
		return err
	}
	if m.Batch.Touched.Items, err = loadList(ctx, l, m.Batch.Touched); err != nil {
		return err
	}
	m.Batch.Replaced.Items, err = loadList(ctx, l, m.Batch.Replaced)
	return err
}

// LoadSchema returns the schema of a table.
func (l *Log) LoadSchema(ctx context.Context, ref manifest.SchemaRef) (*schema.Schema, error) {
	if ref.Inline != nil {
		return ref.Inline, nil
	}
	if ref.Ref == nil {
		return nil, fmt.Errorf("%w: a table without a schema", ErrDamaged)
	}
	run, err := l.Load(ctx, *ref.Ref)
	if err != nil {
		return nil, err
	}
	s, err := manifest.DecodeSchema(run)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, ref.Ref.Key, err)
	}
	return s, nil
}

// LoadConsumed returns the refs of the consumed segments of a progress.
func (l *Log) LoadConsumed(ctx context.Context, f *source.FilesProgress) ([]source.ConsumedRef, error) {
	return loadList(ctx, l, f.Segments)
}

// LoadFiles returns the files of a list.
func (l *Log) LoadFiles(ctx context.Context, list segment.List[manifest.File]) ([]manifest.File, error) {
	return loadList(ctx, l, list)
}

// LoadPaths returns the paths of a list.
func (l *Log) LoadPaths(ctx context.Context, list segment.List[string]) ([]string, error) {
	return loadList(ctx, l, list)
}

// LoadLive returns every live file of a table, oldest first.
func (l *Log) LoadLive(ctx context.Context, live manifest.Live) ([]manifest.File, error) {
	refs, err := loadList(ctx, l, live.Segments)
	if err != nil {
		return nil, err
	}
	files := make([]manifest.File, 0, live.Files)
	for _, ref := range refs {
		part, err := l.loadRun(ctx, ref)
		if err != nil {
			return nil, err
		}
		files = append(files, part...)
	}
	files = append(files, live.Recent...)
	if int64(len(files)) != live.Files {
		return nil, fmt.Errorf("%w: live list has %d files, the manifest says %d", ErrDamaged, len(files), live.Files)
	}
	return files, nil
}

// loadRun returns the files of one segment of a live list.
func (l *Log) loadRun(ctx context.Context, ref segment.Ref) ([]manifest.File, error) {
	run, err := l.Load(ctx, ref)
	if err != nil {
		return nil, err
	}
	files, err := segment.Decode[manifest.File](manifest.LiveKind, run)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, ref.Key, err)
	}
	return files, nil
}

// LiveRefs returns the runs that hold the live files of a table.
func (l *Log) LiveRefs(ctx context.Context, live manifest.Live) ([]segment.Ref, error) {
	return loadList(ctx, l, live.Segments)
}

// Items yields the items of a list in order. Of a list that stands elsewhere the bytes
// are held in memory, and one item at a time. An error comes last.
func Items[T any](ctx context.Context, l *Log, list segment.List[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if list.Loaded() {
			for _, item := range list.Items {
				if !yield(item, nil) {
					return
				}
			}
			return
		}
		var none T
		run, err := l.Load(ctx, *list.Ref)
		if err != nil {
			yield(none, err)
			return
		}
		n := int64(0)
		for item, err := range segment.Each[T]("list", run) {
			if err != nil {
				yield(none, fmt.Errorf("%w: %s: %w", ErrDamaged, list.Ref.Key, err))
				return
			}
			if n++; !yield(item, nil) {
				return
			}
		}
		if n != list.Count {
			yield(none, fmt.Errorf("%w: %s has %d items, the manifest says %d", ErrDamaged, list.Ref.Key, n, list.Count))
		}
	}
}

func loadList[T any](ctx context.Context, l *Log, list segment.List[T]) ([]T, error) {
	if list.Loaded() {
		return list.Items, nil
	}
	var items []T
	for item, err := range Items(ctx, l, list) {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// runCache keeps runs by hash up to a number of bytes, and forgets all when it
// is full: what is needed again is read again.
type runCache struct {
	mu    sync.Mutex
	limit int
	size  int
	runs  map[segment.SHA256][]byte
}

func newRunCache(limit int) *runCache {
	return &runCache{limit: limit, runs: map[segment.SHA256][]byte{}}
}

func (c *runCache) get(sum segment.SHA256) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	run, ok := c.runs[sum]
	return run, ok
}

func (c *runCache) put(sum segment.SHA256, run []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size+len(run) > c.limit {
		clear(c.runs)
		c.size = 0
	}
	if _, ok := c.runs[sum]; !ok && len(run) <= c.limit {
		c.runs[sum] = run
		c.size += len(run)
	}
}
