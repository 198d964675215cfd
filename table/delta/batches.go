package delta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"batcher/commit"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
)

const (
	// batchesAtOnce is how many versions of the table of batches one Publish adds.
	batchesAtOnce = 200
	// batchesWithin is after how much time it adds no more: an invocation may have but
	// half a minute, and most of that is for its batch.
	batchesWithin = 5 * time.Second
	// maxClaim bounds the bytes of a claim.
	maxClaim = 4 << 10
	// maxReplay is how many versions are read back to a checkpoint.
	maxReplay = 1000
	// keepReplaced is how long a file is kept for readers after the version was put that
	// shows it no longer.
	keepReplaced = 7 * 24 * time.Hour
	// maxFacts is how large a file of facts or a checkpoint of them may be that is read.
	maxFacts = 256 << 20
)

// batches is the table of batches: a row for everything that a manifest says it did.
// Version v is what manifest v did. No manifest names its files: each version has one
// with a name that follows from the manifest, and folds some that the versions before
// show. So its checkpoints are made from its log, which begins, without a version
// before, at the first manifest whose lists were sure to be there.
type batches struct {
	p        *Projector
	name     string
	encoders *datafile.Encoders

	version Version // that has files; forgotten where another projector is met
	files   []kept  // nil: not known
}

func (b *batches) stands(m *manifest.Manifest) place { return place{Version(m.Seq), m.Seq} }

// first is where a log begins whose beginning is not known: no earlier one would now.
func (b *batches) first(head manifest.Snapshot) Version { return Version(head.Manifest.RetainFrom) }

func (b *batches) path(_ context.Context, head manifest.Snapshot, at Version) ([]manifest.Seq, error) {
	from := at + 1
	if at < 0 {
		from = b.first(head)
	}
	var seqs []manifest.Seq
	for v := from; v <= Version(head.Manifest.Seq) && v < from+batchesAtOnce; v++ {
		seqs = append(seqs, manifest.Seq(v))
	}
	return seqs, nil
}

// commit puts the files of a version and gives its bytes.
func (b *batches) commit(ctx context.Context, head, _, made manifest.Snapshot, at Version) ([]byte, error) {
	m := made.Manifest
	origin, err := b.p.begin(ctx, head)
	if err != nil {
		return nil, err
	}
	v := batchesVersion{table: b.name, made: made}
	if at < 0 {
		if err := b.p.log.Claim(ctx, b.name, origin.Pipeline); err != nil {
			return nil, err
		}
		v.origin, b.version, b.files = &origin, at, []kept{}
	}
	if v.facts, err = b.putFacts(ctx, m); err != nil {
		return nil, err
	}
	if at >= 0 && m.Seq%foldLeast == 0 {
		if err := b.fold(ctx, &v); err != nil {
			return nil, err
		}
	}
	actions, err := v.actions()
	if err != nil {
		return nil, err
	}
	if err := b.remember(at, Version(m.Seq), actions); err != nil {
		return nil, err
	}
	return encode(actions)
}

// claimed gives what is wrong with the log another reason where the name is that of
// another pipeline's table, which may be older than the table of batches is: an error
// that wraps commit.ErrForeign.
func (b *batches) claimed(ctx context.Context, head manifest.Snapshot, wrong error) error {
	body, _, err := object.ReadAll(ctx, b.p.store, manifest.Claim(b.name), object.GetOptions{}, maxClaim)
	if errors.Is(err, object.ErrNotFound) {
		return wrong
	}
	if err != nil {
		return fmt.Errorf("whose table %s is: %w", b.name, err)
	}
	origin, err := b.p.begin(ctx, head)
	if err != nil {
		return err
	}
	c, err := manifest.DecodeClaim(body)
	if err != nil || c.Pipeline == origin.Pipeline {
		return wrong
	}
	return fmt.Errorf("%w: %s, as the table of batches would be called, belongs to pipeline %s", commit.ErrForeign, b.name, c.Pipeline)
}

// wrote says whether a version that is there is of this chain.
func (b *batches) wrote(ctx context.Context, v Version) (bool, error) {
	head, err := b.p.log.Head(ctx)
	if err != nil {
		return false, err
	}
	who, there, err := b.p.author(ctx, b.name, v)
	if err != nil || !there {
		return false, err
	}
	err = b.p.prove(ctx, head, b.name, v, who)
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		return false, nil
	}
	return err == nil, err
}

// remember keeps what the table shows after a version, if that is known of the one
// before.
func (b *batches) remember(before, v Version, actions []action) (err error) {
	if b.files == nil || b.version != before {
		b.forget()
		return nil
	}
	b.version = v
	b.files, err = apply(b.files, actions)
	return err
}

// forget drops what is remembered: somebody else made a version, and may have folded
// otherwise.
func (b *batches) forget() { b.files = nil }

// putFacts puts the rows of one manifest.
func (b *batches) putFacts(ctx context.Context, m *manifest.Manifest) (manifest.File, error) {
	return b.put(ctx, m.Seq, m.Seq+1, func(w *datafile.Writer) error {
		return writeFacts(m, listsOf(ctx, b.p.log, m), w.Write)
	})
}

// listsOf reads the lists of a manifest as they are gone through.
func listsOf(ctx context.Context, log *commit.Log, m *manifest.Manifest) (l lists) {
	if m.Batch != nil {
		l.ranges = commit.Items(ctx, log, m.Batch.Ranges)
		l.touched = commit.Items(ctx, log, m.Batch.Touched)
		l.replaced = commit.Items(ctx, log, m.Batch.Replaced)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Tables)) {
		t := m.Tables[name]
		l.tables = append(l.tables, changed{name, commit.Items(ctx, log, t.Add), commit.Items(ctx, log, t.Remove)})
	}
	return l
}

// fold puts one file for those that a version folds, if there are any.
func (b *batches) fold(ctx context.Context, v *batchesVersion) error {
	at := Version(v.made.Manifest.Seq)
	files, err := b.at(ctx, at-1)
	if err != nil {
		return err
	}
	v.gone = foldable(files, at)
	if len(v.gone) == 0 {
		return nil
	}
	folded, err := b.put(ctx, v.gone[0].from, v.gone[len(v.gone)-1].to, func(w *datafile.Writer) error {
		for i := range v.gone {
			if err := b.copyFacts(ctx, w, &v.gone[i].add); err != nil {
				return fmt.Errorf("fold %s: %w", v.gone[i].add.Path, err)
			}
		}
		return nil
	})
	v.folded = &folded
	return err
}

// copyFacts writes the rows of a file.
func (b *batches) copyFacts(ctx context.Context, w *datafile.Writer, a *add) error {
	body, _, err := object.ReadAll(ctx, b.p.store, b.name+"/"+a.Path, object.GetOptions{}, maxFacts)
	if err != nil {
		return err
	}
	r, err := datafile.Open(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return err
	}
	for block, err := range r.Blocks(BatchesSchema()) {
		if err != nil {
			return err
		}
		if err := w.Write(block); err != nil {
			return err
		}
	}
	return nil
}

// put makes the file of the manifests in [from, to) and puts it, if absent.
func (b *batches) put(ctx context.Context, from, to manifest.Seq, write func(*datafile.Writer) error) (f manifest.File, err error) {
	if b.encoders == nil {
		if b.encoders, err = datafile.NewEncoders(datafile.Zstd); err != nil {
			return f, err
		}
	}
	var body bytes.Buffer
	w := datafile.NewWriter(&body, datafile.Options{Encoders: b.encoders})
	if err := write(w); err != nil {
		return f, err
	}
	if f, err = w.Close(); err != nil {
		return f, err
	}
	f.Key = b.name + "/" + factsPath(from, to)
	err = b.p.settle(ctx, f.Key, body.Bytes(), func() (bool, error) { return b.occupied(ctx, &f) })
	if err != nil {
		return f, fmt.Errorf("put %s: %w", f.Key, err)
	}
	return f, nil
}

// occupied looks at a file that somebody else put first. It has the same rows. Another
// version of batcher may have written it otherwise: then its size and its number of
// rows count, and nothing more is said about it.
func (b *batches) occupied(ctx context.Context, f *manifest.File) (there bool, err error) {
	body, info, err := b.p.store.Get(ctx, f.Key, object.GetOptions{Limit: 1})
	if errors.Is(err, object.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := body.Close(); err != nil {
		return false, err
	}
	r, err := datafile.Open(object.NewReaderAt(ctx, b.p.store, f.Key), info.Size)
	if err != nil {
		return false, err
	}
	if info.Size != f.Size || r.Rows() != f.Rows {
		f.Size, f.Rows, f.Columns = info.Size, r.Rows(), nil
	}
	return true, b.p.sync(ctx, b.name+"/data/")
}

// checkpoint is made from what the log shows.
func (b *batches) checkpoint(ctx context.Context, head manifest.Snapshot, v Version) ([]byte, Hint, error) {
	files, err := b.at(ctx, v)
	if err != nil {
		return nil, Hint{}, err
	}
	made, err := b.p.slot(ctx, head, manifest.Seq(v))
	if err != nil {
		return nil, Hint{}, err
	}
	origin, err := b.p.begin(ctx, head)
	if err != nil {
		return nil, Hint{}, err
	}
	adds := make([]action, len(files))
	for i := range files {
		adds[i].Add = &files[i].add
	}
	return newView(b.name, made.Manifest, BatchesSchema()).checkpoint(v, origin, adds)
}

// at returns the files that a version shows, oldest first. It fails with
// commit.ErrExpired if the log does not go back to it.
func (b *batches) at(ctx context.Context, v Version) ([]kept, error) {
	if b.files != nil && b.version == v {
		return b.files, nil
	}
	files, err := b.replay(ctx, v)
	if err == nil {
		b.version, b.files = v, files
	}
	return files, err
}

// replay reads back from a version to the last checkpoint, or to where the log begins.
func (b *batches) replay(ctx context.Context, v Version) ([]kept, error) {
	var later [][]action
	files := []kept{}
	for u := v; ; u-- {
		if v-u >= maxReplay {
			return nil, fmt.Errorf("version %d of %s: no checkpoint among the %d versions before", v, b.name, maxReplay)
		}
		if u > 0 && u%checkpointEvery == 0 {
			adds, there, err := b.readCheckpoint(ctx, u)
			if err != nil {
				return nil, err
			}
			if there {
				later = append(later, adds)
				break
			}
		}
		actions, err := b.readVersion(ctx, u)
		if err != nil {
			return nil, err
		}
		later = append(later, actions)
		if slices.ContainsFunc(actions, func(a action) bool { return a.Protocol != nil }) {
			break
		}
	}
	for _, actions := range slices.Backward(later) {
		var err error
		if files, err = apply(files, actions); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// readCheckpoint reads what a checkpoint shows, if it is there.
func (b *batches) readCheckpoint(ctx context.Context, v Version) (adds []action, there bool, err error) {
	body, _, err := object.ReadAll(ctx, b.p.store, checkpointKey(b.name, v), object.GetOptions{}, maxFacts)
	if errors.Is(err, object.ErrNotFound) {
		return nil, false, nil
	}
	if err == nil {
		adds, err = parseCheckpoint(body)
	}
	if err != nil {
		return nil, false, fmt.Errorf("read checkpoint %d: %w", v, err)
	}
	return adds, true, nil
}

// readVersion reads what a version did, having proved that it is one of ours.
func (b *batches) readVersion(ctx context.Context, v Version) ([]action, error) {
	body, _, err := object.ReadAll(ctx, b.p.store, commitKey(b.name, v), object.GetOptions{}, maxFacts)
	if errors.Is(err, object.ErrNotFound) {
		return nil, fmt.Errorf("version %d of %s is not there: %w", v, b.name, commit.ErrExpired)
	}
	if err != nil {
		return nil, fmt.Errorf("read version %d of the Delta log: %w", v, err)
	}
	if who := parseAuthor(body); !who.Ours || Version(who.Seq) != v {
		return nil, &ConflictError{b.name, v, who.Engine}
	}
	return parseActions(body)
}

// stale finds the files that no version shows that readers may be at: from the first
// retained snapshot on or the oldest that will be left in the log, keep, and at any rate
// those that were put in the last days, for whatever manifest. A file that a version no
// longer shows never comes back, so those of which all rows are of manifests before that
// version are told by it alone.
func (b *batches) stale(ctx context.Context, entries []entry, keep Version) ([]string, error) {
	head, err := b.p.log.Head(ctx)
	if err != nil {
		return nil, err
	}
	needed, oldest := max(Version(head.Manifest.RetainFrom), keep), Version(-1)
	before := b.p.clock.Now().Add(-keepReplaced)
	for _, e := range entries {
		if !e.checkpoint && e.version <= needed && e.modified.Before(before) {
			oldest = max(oldest, e.version)
		}
	}
	if oldest < 0 {
		return nil, nil
	}
	files, err := b.replay(ctx, oldest)
	if errors.Is(err, commit.ErrExpired) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	shown := map[string]bool{}
	for i := range files {
		shown[files[i].add.Path] = true
	}
	var stale []string
	for info, err := range b.p.store.List(ctx, b.name+"/data/", object.Shallow) {
		if err != nil {
			return nil, fmt.Errorf("list the files of %s: %w", b.name, err)
		}
		path := strings.TrimPrefix(info.Key, b.name+"/")
		if _, to, ours := parseFactsPath(path); ours && Version(to) <= oldest && !shown[path] {
			stale = append(stale, info.Key)
		}
	}
	slices.Sort(stale)
	return stale, nil
}
