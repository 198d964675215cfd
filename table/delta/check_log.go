package delta

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
)

// said is what is read of an action, in a commit or a checkpoint, whoever wrote it.
type said struct {
	Txn *struct {
		App     string `json:"appId" parquet:"appId"`
		Version int64  `json:"version" parquet:"version"`
	} `json:"txn" parquet:"txn,optional"`
	MetaData *metaSaid `json:"metaData" parquet:"metaData,optional"`
	Protocol *protocol `json:"protocol" parquet:"protocol,optional"`
	Add      *struct {
		Path  string  `json:"path" parquet:"path"`
		Size  int64   `json:"size" parquet:"size"`
		Stats *string `json:"stats" parquet:"stats,optional"`
	} `json:"add" parquet:"add,optional"`
	Remove *struct {
		Path string `json:"path" parquet:"path"`
	} `json:"remove" parquet:"remove,optional"`
}

// metaSaid is what is read of metaData.
type metaSaid struct {
	Schema     string   `json:"schemaString" parquet:"schemaString"`
	Partitions []string `json:"partitionColumns" parquet:"partitionColumns,list"`
}

// shown is a file as a log shows it.
type shown struct{ size, rows int64 }

// files are those that a log shows, by path.
type files map[string]shown

// sums are totals of files.
type sums struct{ files, rows, bytes int64 }

func (f files) sums() (s sums) {
	for _, one := range f {
		s.files, s.rows, s.bytes = s.files+1, s.rows+one.rows, s.bytes+one.size
	}
	return s
}

func (s sums) minus(o sums) sums { return sums{s.files - o.files, s.rows - o.rows, s.bytes - o.bytes} }

// beyond is by which files are more than those which the manifest at hand gives the
// table; nothing where it does not say.
func (c *checking) beyond(f files) sums {
	if c.out.Derived {
		return sums{}
	}
	live := c.made.Manifest.Tables[c.table].Live
	return f.sums().minus(sums{live.Files, live.Rows, live.Bytes})
}

// page is what a commit or a checkpoint does to what is shown.
type page struct {
	files  files // after it
	clears bool  // a protocol begins the table anew: only what comes after it is shown
	begins bool  // it has a protocol
	txn    int64 // last one; -1: none
	app    string
	meta   *metaSaid
	twice  []string // paths that it adds and that were shown
	none   []string // paths that it removes and that were not
}

// take does an action.
func (p *page) take(a *said) error {
	switch {
	case a.Txn != nil:
		p.txn, p.app = a.Txn.Version, a.Txn.App
	case a.MetaData != nil:
		p.meta = a.MetaData
	case a.Protocol != nil:
		if p.begins = true; p.clears {
			clear(p.files)
		}
	case a.Add != nil:
		var stats struct {
			Records int64 `json:"numRecords"`
		}
		if a.Add.Stats != nil {
			if err := json.Unmarshal([]byte(*a.Add.Stats), &stats); err != nil {
				return fmt.Errorf("statistics of %s: %w", a.Add.Path, err)
			}
		}
		if _, there := p.files[a.Add.Path]; there {
			p.twice = append(p.twice, a.Add.Path)
		}
		p.files[a.Add.Path] = shown{a.Add.Size, stats.Records}
	case a.Remove != nil:
		if _, there := p.files[a.Remove.Path]; !there {
			p.none = append(p.none, a.Remove.Path)
		}
		delete(p.files, a.Remove.Path)
	}
	return nil
}

// page does what a commit says to what is shown.
func (c *checking) page(shows files, body []byte) (*page, error) {
	p := &page{files: shows, txn: -1, clears: c.out.Derived}
	for d := json.NewDecoder(bytes.NewReader(body)); ; {
		var a said
		err := d.Decode(&a)
		if err == io.EOF {
			return p, nil
		}
		if err == nil {
			err = p.take(&a)
		}
		if err != nil {
			return p, err
		}
	}
}

// version goes through one version and returns the next one to be gone through; -1 if
// that is the end.
func (c *checking) version(ctx context.Context, v Version) (Version, error) {
	body, there, err := c.body(ctx, v)
	if err != nil || !there {
		return -1, err
	}
	who := parseAuthor(body[:min(len(body), authorBytes)])
	made, ours, err := c.maker(ctx, who)
	switch {
	case err != nil:
		return -1, err
	case !ours:
		return c.foreign(ctx, v, who)
	}
	return v + 1, c.judge(ctx, v, who, made, c.apply(v, body))
}

// body reads a version whole, unless it is gone, which is reported.
func (c *checking) body(ctx context.Context, v Version) ([]byte, bool, error) {
	key := commitKey(c.table, v)
	body, _, err := object.ReadAll(ctx, c.p.store, key, object.GetOptions{}, maxCommit)
	if errors.Is(err, object.ErrNotFound) {
		c.found(v, key, "version %d is missing", v)
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read version %d: %w", v, err)
	}
	return body, true, nil
}

// maker returns the manifest that a version names, and whether a pipeline of ours
// wrote it. The manifest is nil where it is not in the chain.
func (c *checking) maker(ctx context.Context, who author) (manifest.Snapshot, bool, error) {
	if !who.Ours || who.Seq < 0 {
		return manifest.Snapshot{}, false, nil
	}
	made, err := c.p.slot(ctx, c.head, who.Seq)
	switch {
	case errors.Is(err, commit.ErrDamaged):
		return manifest.Snapshot{}, who.App == application(c.head.Manifest.Pipeline), nil
	case err != nil:
		return manifest.Snapshot{}, false, err
	}
	return made, who.App == application(made.Manifest.Pipeline), nil
}

// apply does what a version says; what cannot be read is reported, and done as far as
// it could be.
func (c *checking) apply(v Version, body []byte) *page {
	p, err := c.page(c.live, body)
	if err != nil {
		c.found(v, commitKey(c.table, v), "version %d cannot be read: %v", v, err)
	}
	if p.meta != nil {
		c.meta = p.meta
	}
	return p
}

// judge holds a version of ours against the manifest that it names, and the checkpoint
// of the version against both.
func (c *checking) judge(ctx context.Context, v Version, who author, made manifest.Snapshot, p *page) error {
	key, before := commitKey(c.table, v), c.made
	if made.Manifest == nil {
		c.found(v, key, "version %d was made from manifest %d, which is not in the chain", v, int64(who.Seq))
		return nil
	}
	c.made = made
	m, stands := made.Manifest, c.p.of(c.table).stands(made.Manifest)
	anew := m.Republish != nil && m.Republish.Table == c.table && Version(m.Republish.Version) == v
	switch {
	case made.SHA256 != who.SHA256:
		c.found(v, key, "version %d was made from manifest %d with sha256 %s, the chain has %s", v, int64(m.Seq), who.SHA256, made.SHA256)
	case stands != place{v, m.Seq}:
		c.found(v, key, "version %d was made from manifest %d, which made version %d of the table", v, int64(m.Seq), stands.version)
	case before.Manifest != nil && before.Manifest.Seq >= m.Seq:
		c.found(v, key, "version %d was made from manifest %d, the one before from manifest %d", v, int64(m.Seq), int64(before.Manifest.Seq))
	case p.txn != int64(m.Seq) || p.app != who.App:
		c.found(v, key, "version %d says that the table accounts for manifest %d of %s, want %d", v, p.txn, p.app, int64(m.Seq))
	}
	if v != c.loaded && !anew { // a checkpoint has what its version adds already
		for _, path := range p.twice {
			c.found(v, key, "version %d adds %s, which is there before", v, path)
		}
		for _, path := range p.none {
			c.found(v, key, "version %d removes %s, which is not there before", v, path)
		}
	}
	off := c.beyond(c.live)
	if off != c.off && off != (sums{}) && v != c.loaded {
		c.found(v, key, "version %d shows %d files, %d rows and %d bytes more than manifest %d has live", v, off.files, off.rows, off.bytes, int64(m.Seq))
	}
	if v != c.loaded {
		c.off = off
	}
	c.out.Projected = v
	if v >= c.from {
		c.out.Versions++
		if c.out.From < 0 {
			c.out.From = v
		}
	}
	return c.checkpoint(ctx, v)
}

// checkpoint holds the checkpoint of a version, if there is one, against what the
// versions up to it show. Where these are wrong and it is right, what it shows counts
// from there on, as it does for readers.
func (c *checking) checkpoint(ctx context.Context, v Version) error {
	if _, there := slices.BinarySearch(c.checkpoints, v); !there {
		return nil
	}
	key, m := checkpointKey(c.table, v), c.made.Manifest
	p, wrong, err := c.readCheckpoint(ctx, v)
	if err != nil {
		return err
	}
	if v >= c.from {
		c.out.Checkpoints++
	}
	off := sums{}
	if wrong == "" {
		off = c.beyond(p.files)
	}
	switch {
	case wrong != "":
		c.found(v, key, "checkpoint %d %s", v, wrong)
		return nil
	case p.txn != int64(m.Seq):
		c.found(v, key, "checkpoint %d says that the table accounts for manifest %d, want %d", v, p.txn, int64(m.Seq))
	case off != (sums{}):
		if v == c.loaded {
			c.off = off
		}
		c.found(v, key, "checkpoint %d shows %d files, %d rows and %d bytes more than manifest %d has live", v, off.files, off.rows, off.bytes, int64(m.Seq))
	case c.off == (sums{}):
		c.differ(v, p.files)
	default:
		c.live, c.off = p.files, sums{}
	}
	return nil
}

// differ reports the first file that a checkpoint shows otherwise than the versions do.
func (c *checking) differ(v Version, checkpoint files) {
	for path, is := range c.live {
		if has, there := checkpoint[path]; !there || has != is {
			c.found(v, checkpointKey(c.table, v), "checkpoint %d and the versions up to it do not show the same: %s is one of the files in question", v, path)
			return
		}
	}
}

// readCheckpoint reads what a checkpoint shows; wrong is what is wrong with it if it
// cannot be read.
func (c *checking) readCheckpoint(ctx context.Context, v Version) (p *page, wrong string, err error) {
	key := checkpointKey(c.table, v)
	body, info, err := c.p.store.Get(ctx, key, object.GetOptions{Limit: 1})
	if errors.Is(err, object.ErrNotFound) {
		return nil, "is missing", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read checkpoint %d: %w", v, err)
	}
	if err := body.Close(); err != nil {
		return nil, "", fmt.Errorf("read checkpoint %d: %w", v, err)
	}
	in := &watched{ReaderAt: object.NewReaderAt(ctx, c.p.store, key)}
	p, err = applyCheckpoint(io.NewSectionReader(in, 0, info.Size))
	if errors.Is(in.err, object.ErrNotFound) {
		return nil, "is missing", nil // it was cleaned away meanwhile
	}
	if in.err != nil {
		return nil, "", fmt.Errorf("read checkpoint %d: %w", v, in.err)
	}
	if err != nil {
		return nil, fmt.Sprintf("cannot be read: %v", err), nil
	}
	return p, "", nil
}

// watched remembers that the store failed, which a Parquet reader wraps at will.
type watched struct {
	io.ReaderAt
	err error
}

// ReadAt implements io.ReaderAt.
func (w *watched) ReadAt(b []byte, off int64) (int, error) {
	n, err := w.ReaderAt.ReadAt(b, off)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// applyCheckpoint does what a checkpoint says. The library panics over some damaged
// bytes.
func applyCheckpoint(in *io.SectionReader) (p *page, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged: %v", r)
		}
	}()
	r := parquet.NewGenericReader[said](in)
	defer func() { _ = r.Close() }() // of memory
	p = &page{files: files{}, txn: -1}
	rows := make([]said, 64)
	for {
		clear(rows)
		n, err := r.Read(rows)
		for i := range rows[:n] {
			if err := p.take(&rows[i]); err != nil {
				return nil, err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if len(p.twice) > 0 || p.meta == nil {
		return nil, fmt.Errorf("shows %d files twice, and has metaData: %t", len(p.twice), p.meta != nil)
	}
	return p, nil
}

// foreign goes through a version that is not ours, and those of others behind it.
// Nobody overwrites a version, so that one below another of ours is either followed by
// one that publishes the table anew, or has come in the place of ours.
func (c *checking) foreign(ctx context.Context, v Version, who author) (Version, error) {
	last := c.versions[len(c.versions)-1]
	u, anew := v+1, false
	for ; u <= last; u++ {
		next, there, err := c.p.author(ctx, c.table, u)
		if err != nil || !there {
			return -1, err
		}
		made, ours, err := c.maker(ctx, next)
		if err != nil {
			return -1, err
		}
		if ours {
			r := (*manifest.Republished)(nil)
			if made.Manifest != nil {
				r = made.Manifest.Republish
			}
			anew = r != nil && r.Table == c.table && Version(r.Version) == u
			break
		}
	}
	if u > last {
		c.out.Conflict = &ConflictError{Table: c.table, Version: v, Engine: who.Engine}
		return -1, nil
	}
	if !anew {
		c.found(max(v, c.from), commitKey(c.table, v), "version %d is a foreign commit, and version %d behind it is ours", v, u)
	}
	for w := v; w < u; w++ {
		body, there, err := c.body(ctx, w)
		if err != nil || !there {
			return -1, err
		}
		if p, err := c.page(c.live, body); err == nil && p.meta != nil {
			c.meta = p.meta
		}
	}
	return u, nil
}

// columns holds the columns that readers see of a version against its schema.
func (c *checking) columns(v Version, s *schema.Schema) {
	key := commitKey(c.table, v)
	if c.meta == nil {
		c.found(v, key, "no metaData stands in the versions up to %d", v)
		return
	}
	var is struct {
		Fields []struct {
			Name string `json:"name"`
		} `json:"fields"`
	}
	if err := json.Unmarshal([]byte(c.meta.Schema), &is); err != nil {
		c.found(v, key, "the columns of version %d cannot be read: %v", v, err)
		return
	}
	var names, want []string
	for _, f := range is.Fields {
		names = append(names, f.Name)
	}
	for _, f := range s.Fields {
		want = append(want, f.Name)
	}
	if !slices.Equal(names, want) {
		c.found(v, key, "version %d has the columns %q, manifest %d %q", v, names, int64(c.made.Manifest.Seq), want)
	}
	m := c.made.Manifest
	if split := m.Config.PartitionBy(); c.table == m.Config.Table && !slices.Equal(c.meta.Partitions, split) {
		c.found(v, key, "version %d is split by %q, manifest %d by %q", v, c.meta.Partitions, int64(m.Seq), split)
	}
}
