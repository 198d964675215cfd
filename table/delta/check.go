package delta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
)

// Checked is what Check found of one table.
type Checked struct {
	Table       string
	Derived     bool    // it is the table of batches: nothing but readers depends on it
	From        Version // first version that was compared; -1 if none was
	Chain       Version // in the chain; -1: nothing was written to the table yet
	Projected   Version // last version of ours up to which the log is whole; -1: none
	Versions    int64   // that were compared with their manifests
	Checkpoints int64   // that were compared with the versions up to them
	Files       int64   // that Projected shows
	Conflict    *ConflictError
	Findings    []Finding
}

// Lag is how many versions readers of the Delta table do not see yet.
func (c Checked) Lag() int64 { return max(0, int64(c.Chain-c.Projected)) }

// Finding is an object of a Delta log that is not what the chain says.
type Finding struct {
	Key    string
	Seq    manifest.Seq // of the manifest that made the version in question, as far as that is known
	Detail string
}

const (
	maxChecks   = 4  // of a table whose log is cleaned meanwhile
	maxFindings = 20 // of a table
)

// Check holds the Delta log of each table of the chain against the manifests up to
// head, and returns what it found by table. It reads the log as a reader of the table
// would, from the oldest checkpoint or version on, and nothing of what renders it:
//
//   - the versions are there without a gap, and each is of the manifest that it names;
//   - the files that it shows are, in number, rows and bytes, the live ones of that
//     manifest, and those of the last version are each of them;
//   - a checkpoint shows the same files as the versions up to it, and the hint names
//     one that is there;
//   - the columns of the last version are those of the schema.
//
// No manifest names the files of the table of batches: of that the files of the last
// version have to be of all manifests from some one on, each once, and there.
//
// After since, the number of a manifest, only later versions are judged; 0 judges all
// that are there. That readers do not see the newest versions yet, or that others
// wrote behind them, is told and is no finding. It changes nothing. An error means
// that the check could not be brought to an end; it is object.ErrChanged where the log
// was cleaned each time that it was read.
//
// For each version it makes two requests, one of them for the manifest; for each
// checkpoint a few, for each file that the table of batches shows one. Memory grows with
// the files that are shown and with the largest version.
func (p *Projector) Check(ctx context.Context, head manifest.Snapshot, since manifest.Seq) ([]Checked, error) {
	var out []Checked
	for _, s := range p.states(head) {
		c, err := p.checkTable(ctx, head, s, since)
		if err != nil {
			return nil, fmt.Errorf("check the Delta log of %s: %w", s.Table, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// checkTable checks one table, anew where its log was cleaned meanwhile.
func (p *Projector) checkTable(ctx context.Context, head manifest.Snapshot, s State, since manifest.Seq) (Checked, error) {
	for range maxChecks {
		c := &checking{p: p, head: head, table: s.Table, loaded: -1,
			out: Checked{Table: s.Table, Derived: s.Derived, From: -1, Chain: s.Chain, Projected: -1}}
		if err := c.run(ctx, since); err != nil || len(c.out.Findings) == 0 {
			return c.out, err
		}
		now := checking{p: p, table: s.Table}
		if err := now.list(ctx); err != nil {
			return c.out, err
		}
		if now.oldest() == c.oldest() {
			return c.out, nil
		}
	}
	return Checked{}, fmt.Errorf("it was cleaned each of %d times that it was read: %w", maxChecks, object.ErrChanged)
}

// checking is one check of one table under way.
type checking struct {
	p     *Projector
	head  manifest.Snapshot
	table string
	out   Checked

	versions    []Version         // that are there, in order
	checkpoints []Version         // likewise
	from        Version           // first version that is judged
	made        manifest.Snapshot // manifest of the last version that was found ours
	live        files             // what the log shows
	loaded      Version           // whose checkpoint, of the same version, is what it shows
	off         sums              // by which that differs from what manifests say, and was reported
	meta        *metaSaid         // last one
}

// run checks the table.
func (c *checking) run(ctx context.Context, since manifest.Seq) error {
	if err := c.list(ctx); err != nil {
		return err
	}
	if len(c.versions) > 0 {
		if err := c.judgeFrom(ctx, since); err != nil {
			return err
		}
		if err := c.replay(ctx); err != nil {
			return err
		}
		if err := c.end(ctx); err != nil {
			return err
		}
	}
	return c.hint(ctx)
}

// list notes the versions and checkpoints that are there.
func (c *checking) list(ctx context.Context) error {
	entries, err := c.p.entries(ctx, c.table)
	for _, e := range entries {
		if e.checkpoint {
			c.checkpoints = append(c.checkpoints, e.version)
		} else {
			c.versions = append(c.versions, e.version)
		}
	}
	return err
}

// oldest are the first version and the first checkpoint that are there; -1 if none is.
// Cleaning takes one of them with each object that it deletes.
func (c *checking) oldest() [2]Version {
	first := [2]Version{-1, -1}
	for i, there := range [][]Version{c.versions, c.checkpoints} {
		if len(there) > 0 {
			first[i] = there[0]
		}
	}
	return first
}

// judgeFrom finds the first version that is judged.
func (c *checking) judgeFrom(ctx context.Context, since manifest.Seq) error {
	if since <= 0 {
		return nil
	}
	at, err := c.p.slot(ctx, c.head, since)
	if err != nil {
		return err
	}
	c.from = c.p.of(c.table).stands(at.Manifest).version + 1
	return nil
}

// found notes a finding about a version that is judged.
func (c *checking) found(v Version, key, format string, args ...any) {
	if v < c.from || len(c.out.Findings) == maxFindings {
		return
	}
	seq := manifest.Seq(0)
	if c.made.Manifest != nil {
		seq = c.made.Manifest.Seq
	}
	c.out.Findings = append(c.out.Findings, Finding{key, seq, fmt.Sprintf(format, args...)})
}

// replay goes through the versions, from the last checkpoint before those that are
// judged, or from the first that readers can begin with.
func (c *checking) replay(ctx context.Context) error {
	v, err := c.begin(ctx)
	if err != nil || v < 0 {
		return err
	}
	last := c.versions[len(c.versions)-1]
	if n := len(c.checkpoints); n > 0 {
		last = max(last, c.checkpoints[n-1])
	}
	for v <= last {
		there, err := c.there(ctx, v)
		if err != nil {
			return err
		}
		if !there {
			if v, err = c.restart(ctx, v, last); err != nil || v < 0 {
				return err
			}
		}
		if v, err = c.version(ctx, v); err != nil || v < 0 {
			return err
		}
	}
	return nil
}

// there says whether a version is there: when the log was listed, or since.
func (c *checking) there(ctx context.Context, v Version) (bool, error) {
	if _, listed := slices.BinarySearch(c.versions, v); listed {
		return true, nil
	}
	_, now, err := c.p.author(ctx, c.table, v)
	return now, err
}

// begin loads what is shown before the first version to be gone through, which it
// returns; -1 where readers have nothing to begin with.
func (c *checking) begin(ctx context.Context) (Version, error) {
	c.live = files{}
	at := Version(-1)
	for _, v := range c.checkpoints {
		if at < 0 && c.versions[0] > 0 || v < c.from {
			at = v
		}
	}
	switch {
	case at >= 0:
		return c.load(ctx, at)
	case c.out.Derived:
		return c.versions[0], nil // it may begin anywhere
	case c.versions[0] > 0:
		c.found(max(c.versions[0], c.from), commitKey(c.table, 0), "version 0 is missing, and no checkpoint is there in its place")
		return -1, nil
	}
	return 0, nil
}

// restart goes on behind a version that is missing, with the next checkpoint; -1 if
// there is none. The table of batches begins anew by itself where it had to.
func (c *checking) restart(ctx context.Context, missing, last Version) (Version, error) {
	if i, _ := slices.BinarySearch(c.versions, missing); c.out.Derived && i < len(c.versions) {
		body, there, err := c.body(ctx, c.versions[i])
		if err != nil || !there {
			return -1, err
		}
		if p, err := c.page(files{}, body); err == nil && p.begins {
			return c.versions[i], nil
		}
	}
	c.found(max(missing, c.from), commitKey(c.table, missing), "version %d is missing, and version %d or its checkpoint is there", missing, last)
	i, _ := slices.BinarySearch(c.checkpoints, missing)
	for _, v := range c.checkpoints[i:] {
		if _, there := slices.BinarySearch(c.versions, v); there {
			return c.load(ctx, v)
		}
	}
	return -1, nil
}

// load takes what a checkpoint shows for what is shown, and returns its version; -1 if
// it cannot be read.
func (c *checking) load(ctx context.Context, v Version) (Version, error) {
	p, wrong, err := c.readCheckpoint(ctx, v)
	if err != nil {
		return -1, err
	}
	if wrong != "" {
		c.found(max(v, c.from), checkpointKey(c.table, v), "checkpoint %d %s", v, wrong)
		return -1, nil
	}
	c.live, c.meta, c.off, c.loaded = p.files, p.meta, sums{}, v
	return v, nil
}

// end holds what the last version of ours shows against its manifest, file by file.
func (c *checking) end(ctx context.Context) error {
	if c.made.Manifest == nil || c.out.Projected < 0 {
		return nil
	}
	v, t := c.out.Projected, c.made.Manifest.Tables[c.table]
	key := commitKey(c.table, v)
	c.out.Files = int64(len(c.live))
	if c.out.Derived {
		c.covers(v)
		return c.present(ctx, v)
	}
	live, err := c.p.log.LoadLive(ctx, t.Live)
	if done, err := c.cannot(err); done || err != nil {
		return err
	}
	for i := range live {
		f := &live[i]
		path := f.Key[min(len(c.table)+1, len(f.Key)):]
		switch is, there := c.live[path]; {
		case !there:
			c.found(v, key, "version %d does not show %s, which is live in manifest %d", v, f.Key, int64(c.made.Manifest.Seq))
		case is.size != f.Size || is.rows != f.Rows:
			c.found(v, key, "version %d shows %s with %d bytes and %d rows, manifest %d says %d and %d",
				v, f.Key, is.size, is.rows, int64(c.made.Manifest.Seq), f.Size, f.Rows)
		}
		delete(c.live, path)
	}
	for _, path := range slices.Sorted(maps.Keys(c.live)) {
		c.found(v, key, "version %d shows %s, which is not live in manifest %d", v, path, int64(c.made.Manifest.Seq))
	}
	s, err := c.p.log.LoadSchema(ctx, t.Schema)
	if done, err := c.cannot(err); done || err != nil {
		return err
	}
	c.columns(v, s)
	return nil
}

// covers proves that what the table of batches shows is of each manifest once, from
// some one on up to that of the version.
func (c *checking) covers(v Version) {
	var shown []kept
	for path := range c.live {
		from, to, ok := parseFactsPath(path)
		if !ok {
			c.found(v, commitKey(c.table, v), "version %d shows %s, which is no file of this table", v, path)
		}
		shown = append(shown, kept{from: from, to: to})
	}
	slices.SortFunc(shown, func(a, b kept) int { return cmp.Compare(a.from, b.from) })
	for i, k := range shown {
		next := manifest.Seq(v) + 1
		if i+1 < len(shown) {
			next = shown[i+1].from
		}
		if k.to != next {
			c.found(v, commitKey(c.table, v), "version %d shows a file of manifests %d to %d, and the next one begins with %d", v, int64(k.from), int64(k.to)-1, int64(next))
		}
	}
}

// present proves that the files are there which the table of batches shows: no manifest
// names them, so nothing else tells.
func (c *checking) present(ctx context.Context, v Version) error {
	for _, path := range slices.Sorted(maps.Keys(c.live)) {
		key := c.table + "/" + path
		_, info, err := object.ReadAll(ctx, c.p.store, key, object.GetOptions{Limit: 1}, 1)
		switch is := c.live[path]; {
		case errors.Is(err, object.ErrNotFound):
			c.found(v, key, "version %d shows it, and it is missing", v)
		case err != nil:
			return err
		case info.Size != is.size:
			c.found(v, key, "version %d shows it with %d bytes, and it has %d", v, is.size, info.Size)
		}
	}
	return nil
}

// cannot says whether something that a manifest names cannot be had, which is a
// finding about the chain and not about the log. What it cannot tell is an error.
func (c *checking) cannot(err error) (bool, error) {
	var gone *commit.MissingError
	if errors.As(err, &gone) || errors.Is(err, commit.ErrDamaged) {
		return true, nil
	}
	return err != nil, err
}

// hint proves that the checkpoint which readers begin with is there.
func (c *checking) hint(ctx context.Context) error {
	h, err := c.p.hint(ctx, c.table)
	if err != nil || h.Version < 0 {
		return err
	}
	if _, there := slices.BinarySearch(c.checkpoints, h.Version); !there {
		// It may have been put after the log was listed.
		_, _, err := object.ReadAll(ctx, c.p.store, checkpointKey(c.table, h.Version), object.GetOptions{Limit: 1}, 1)
		if errors.Is(err, object.ErrNotFound) {
			c.found(max(h.Version, c.from), hintKey(c.table), "it names checkpoint %d, and %s is missing", h.Version, checkpointKey(c.table, h.Version))
			return nil
		}
		return err
	}
	return nil
}
