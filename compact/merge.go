package compact

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"time"

	"batcher/commit"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/output"
	"batcher/schema"
)

const (
	mergeBytes    = 1 << 30 // files that one manifest replaces, unless a single group has more
	maxMergeLost  = 16      // attempts in a row that rivals overtook
	maxMergeFiles = 10_000  // of one manifest
	// A footer has an entry of some 120 bytes for each column of each row group, and
	// whoever makes or reads it several times that in memory. Row groups of so many rows
	// stay as they are.
	maxMergeChunks = 64 << 10
	mergeGroupRows = 100_000
)

// Merge makes few large files of many small ones, while writers go on. Every row
// keeps its id and its values; what it replaces is removed from the table by the
// manifest that adds what it wrote, and stays in the store for as long as a
// snapshot that has it is retained.
type Merge struct {
	Log    *commit.Log
	Store  object.Store
	Random io.Reader // attempts
	Now    func() time.Time
	Logger *slog.Logger
	File   datafile.Options
	Rules  Rules // its Order is found by OrderBy, its Rows by the number of columns
	// OrderBy is the key of a column of type timestamp or date by which files are put
	// in order, in tables that have it, or empty.
	OrderBy string
	// Pace is how many bytes of files are merged in a second, as far as anything is
	// known about it. It is learned from each group that was merged.
	Pace float64
	// Ahead is how many files are read at the same time; 0 stands for 8. With 1 every
	// call to the store is made one after the other.
	Ahead int
	// Step tells how many files were merged, and how many are to be as far as known; it
	// may be nil.
	Step func(done, total int64)
}

// Merged is what was merged in one table, or would be.
type Merged struct {
	Manifests int
	Files     int64 // that were replaced
	Into      int64 // files that replace them
	Rows      int64
	Read      int64 // bytes of the files that were replaced
	Written   int64
	Left      int // groups that wait for another time
}

// Plan says what Run would merge in a table.
func (m *Merge) Plan(ctx context.Context, head manifest.Snapshot, table string) (Merged, error) {
	groups, err := m.groups(ctx, head, table)
	out := Merged{Left: len(groups)}
	for _, g := range groups {
		out.add(g)
	}
	return out, err
}

func (m *Merged) add(g Group) {
	m.Files += int64(len(g.Files))
	m.Into++
	m.Rows += g.Rows
	m.Read += g.Bytes
}

// groups plans a table on a head.
func (m *Merge) groups(ctx context.Context, head manifest.Snapshot, table string) ([]Group, error) {
	t, ok := head.Manifest.Tables[table]
	if !ok {
		return nil, fmt.Errorf("table %q is not part of the pipeline", table)
	}
	s, err := m.Log.LoadSchema(ctx, t.Schema)
	if err != nil {
		return nil, err
	}
	rules := m.Rules
	rules.Rows = int64(maxMergeChunks/len(s.Leaves())) * mergeGroupRows
	if m.OrderBy != "" {
		rules.Order = orderID(s, m.OrderBy)
	}
	live, err := m.Log.LoadLive(ctx, t.Live)
	if err != nil {
		return nil, err
	}
	return Plan(live, rules), nil
}

// orderID is the field id of a column whose statistics sort as its values do.
func orderID(s *schema.Schema, key string) int32 {
	i := schema.IndexOf(s.Fields, key)
	if i < 0 || s.Fields[i].Type.Kind != schema.Timestamp && s.Fields[i].Type.Kind != schema.Date {
		return 0
	}
	return s.Fields[i].ID
}

// Due says by a manifest alone, without a request, whether it is worth while to
// plan a table: its youngest files are enough to merge, or have just moved into a
// segment of the live list with others.
func (m *Merge) Due(t manifest.Table) bool {
	return len(t.Live.Recent) == 0 && t.Live.Segments.Count > 0 || len(Plan(t.Live.Recent, m.Rules)) > 0
}

// Until bounds the time of a compaction. A zero time is no bound.
type Until struct {
	Begin time.Time // no group is begun after it; one that was begun is finished
	Done  time.Time // no group is begun that would not be committed by then, at Pace
}

// passed says whether no more of so many bytes may be begun.
func (m *Merge) passed(u Until, bytes int64) bool {
	now := m.Now()
	takes := time.Duration(0)
	if m.Pace > 0 {
		takes = time.Duration(float64(bytes) / m.Pace * float64(time.Second))
	}
	return !u.Begin.IsZero() && now.After(u.Begin) || !u.Done.IsZero() && now.Add(takes).After(u.Done)
}

// Run merges what is worth it in one table, manifest by manifest, until nothing is
// left or time is up. Whatever interrupts it, whole manifests stand or nothing.
func (m *Merge) Run(ctx context.Context, head manifest.Snapshot, table string, until Until) (manifest.Snapshot, Merged, error) {
	var total Merged
	lost := 0
	for {
		groups, err := m.groups(ctx, head, table)
		if err != nil {
			return head, total, m.Log.Absent(ctx, head, head, err)
		}
		if total.Left = len(groups); total.Left == 0 || m.passed(until, groups[0].Bytes) {
			return head, total, nil
		}
		m.step(total.Files, groups)
		out, did, err := m.attempt(ctx, head, table, groups, until)
		if err != nil {
			return head, total, err
		}
		head = out.Head
		if out.Verdict == commit.Committed {
			lost = 0
			total.plus(did)
			m.committed(table, out, did)
			continue
		}
		if lost++; lost == maxMergeLost {
			return head, total, &commit.SupersededError{Reason: fmt.Sprintf("merge %s, %d times: %s", table, lost, out.Reason)}
		}
		m.Logger.Info("merging anew on a newer head", "table", table, "reason", out.Reason)
	}
}

// step tells how far a table is.
func (m *Merge) step(done int64, left []Group) {
	if m.Step == nil {
		return
	}
	total := done
	for _, g := range left {
		total += int64(len(g.Files))
	}
	m.Step(done, total)
}

func (m *Merged) plus(o Merged) {
	m.Manifests++
	m.Files += o.Files
	m.Into += o.Into
	m.Rows += o.Rows
	m.Read += o.Read
	m.Written += o.Written
}

// attempt merges the first groups and proposes the result. The steps, and why no
// two may swap:
//  1. write the files under the attempt's own keys, until the store has
//     acknowledged them: a manifest names nothing that is not there;
//  2. propose. A rival that took away one of the files that are replaced makes the
//     proposal lose: its rows would come to stand twice;
//  3. only where the chain has proved that it lost, delete what was written.
func (m *Merge) attempt(ctx context.Context, base manifest.Snapshot, table string, groups []Group, until Until) (commit.Outcome, Merged, error) {
	a := merging{Merge: m, table: table, base: base}
	if _, err := io.ReadFull(m.Random, a.id[:]); err != nil {
		return commit.Outcome{}, Merged{}, err
	}
	s, err := m.Log.LoadSchema(ctx, base.Manifest.Tables[table].Schema)
	if err != nil {
		return commit.Outcome{}, Merged{}, m.Log.Absent(ctx, base, base, err)
	}
	a.schema = s
	for i, g := range groups {
		if i > 0 && (a.did.Read+g.Bytes > mergeBytes || len(a.delta.Remove)+len(g.Files) > maxMergeFiles || m.passed(until, g.Bytes)) {
			break
		}
		begun := m.Now()
		if err := a.merge(ctx, g); err != nil {
			a.drop(ctx)
			return commit.Outcome{}, Merged{}, m.Log.Absent(ctx, base, base, fmt.Errorf("merge files of %s: %w", table, err))
		}
		m.learn(g.Bytes, m.Now().Sub(begun))
	}
	out, err := m.Log.Append(ctx, commit.Proposal{Kind: manifest.Compact, Attempt: a.id, Base: base,
		Tables: map[string]commit.Delta{table: a.delta}, Config: base.Manifest.Config})
	if err != nil {
		return out, a.did, fmt.Errorf("merge files of %s: %w", table, err)
	}
	if out.Verdict != commit.Committed {
		a.drop(ctx)
	}
	return out, a.did, nil
}

// learn takes the pace of a group for that of the next ones, unless it was too small
// to tell.
func (m *Merge) learn(bytes int64, took time.Duration) {
	if bytes >= 1<<20 && took > 0 {
		m.Pace = float64(bytes) / took.Seconds()
	}
}

// merging is one attempt.
type merging struct {
	*Merge
	table  string
	id     manifest.Attempt
	base   manifest.Snapshot
	schema *schema.Schema
	delta  commit.Delta
	wrote  []*output.Files
	next   int // number of the next file
	did    Merged
}

// merge writes the files of a group into one, row by row in their order, under the
// table's columns of now.
func (a *merging) merge(ctx context.Context, g Group) error {
	out := output.New(output.Options{Store: a.Store, Table: a.table, Base: a.base.Manifest.Seq, Attempt: a.id,
		File: a.File, Bytes: math.MaxInt64, Next: &a.next})
	a.wrote = append(a.wrote, out)
	behind := output.NewBacklog()
	defer behind.Stop()
	files := readAhead(ctx, a.Store, a.Ahead, g.Files)
	defer files.stop()
	for i := range g.Files {
		f := &g.Files[i]
		in, err := files.next()
		if err == nil {
			err = a.take(ctx, f, in, out, behind)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Key, err)
		}
		a.delta.Remove = append(a.delta.Remove, f.Key)
	}
	if err := behind.Settle(); err != nil {
		return err
	}
	if err := out.Close(ctx); err != nil {
		return err
	}
	for _, f := range out.Done() {
		f.Part = g.Part
		a.delta.Add = append(a.delta.Add, f)
		a.did.Written += f.Size
	}
	a.did.add(g)
	return nil
}

// take takes over all rows of a file: copied where it is as a new file would be, and
// else decoded and written anew.
func (a *merging) take(ctx context.Context, f *manifest.File, r io.ReaderAt, out *output.Files, behind *output.Backlog) error {
	in, err := datafile.Open(r, f.Size)
	if err != nil {
		return err
	}
	if in.Rows() != f.Rows {
		return fmt.Errorf("%w: %d rows, the manifest says %d", datafile.ErrDamaged, in.Rows(), f.Rows)
	}
	if a.File.Copies(in, a.schema) {
		if err := behind.Settle(); err != nil {
			return err
		}
		return out.Copy(ctx, in, a.schema)
	}
	for b, err := range in.Blocks(a.schema) {
		if err != nil {
			return err
		}
		if _, err := behind.Write(ctx, out, b); err != nil {
			return err
		}
	}
	return nil
}

// drop gives up all files of the attempt.
func (a *merging) drop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	for _, out := range a.wrote {
		out.Drop(ctx)
	}
}

// committed tells.
func (m *Merge) committed(table string, out commit.Outcome, did Merged) {
	m.Logger.Info("files merged", "seq", int64(out.Receipt.Seq()), "table", table, "files", did.Files, "into", did.Into,
		"rows", did.Rows, "read", did.Read, "written", did.Written)
}
