package mutants_test

// edit replaces one text of a file by another. The old text stands there once.
type edit struct {
	file     string
	old, new string
}

// suite is what has to notice: tests of one package.
type suite struct {
	run   string // pattern of tests
	where string // package
}

// The suites. Each is a part of the ordinary tests and passes without a mutant.
var (
	twoRuns   = suite{"^TestExplore$/^(shards|overlap|budget_spent)$", "./sim"}
	columns   = suite{"^TestExplore$/^columns$", "./sim"}
	batches   = suite{"^TestExplore$/^batches$", "./sim"}
	withGC    = suite{"^TestExplore$/^shards_and_gc$", "./sim"}
	gcTwice   = suite{"^TestExplore$/^gc_twice$", "./sim"}
	withFence = suite{"^TestExplore$/^fence_and_gc$", "./sim"}
	withUndo  = suite{"^TestExplore$/^(rewind|rewind_and_gc)$", "./sim"}
	known     = suite{"^(TestKnownFaults|TestAHint.*|TestP6_.*)$", "./sim"}
	widening  = suite{"^TestExplore$/^(widen|widen_and_rewind)$", "./sim"}
	hastily   = suite{"^TestExplore$/^hasty_widening$", "./sim"}
	merging   = suite{"^TestExplore$/^(hasty_merge|two_merges)$", "./sim"}
	rewritten = suite{"^(TestARewind.*|TestAWidening.*|TestAValue.*)$", "./compact"}
	retyped   = suite{"", "./retype"}
	replaced  = suite{"^(TestApplyHolds.*|TestNoFileOfAnOlder.*)$", "./manifest"}
	commits   = suite{"", "./commit"}
	chain     = suite{"^TestApplyRefuses$", "./manifest"}
	ids       = suite{"^TestIDsDoNotDependOnBatchBounds$", "./record"}
	consumed  = suite{"^(TestTenThousand|TestRandomHistories|TestAdvance).*$", "./source/files"}
	follows   = suite{"^(TestARangeThatFollows|TestARebaseLoads|TestAContentThatComesBack|TestATouchedObject).*$", "./source/files"}
	changes   = suite{"^(TestAReplacedContent|TestAnAppendedContent|TestAContentThatCameBack|TestOfTwoRunsThatMeet).*$", "./pipeline"}
	dropping  = suite{"^(TestADropHasRivals|TestAWriterInFlight.*)$", "./pipeline"}
	beginning = suite{"^TestOfTwoRunsThatBegin.*$", "./pipeline"}
	moving    = suite{"^(TestASourceThat|TestTakingOver).*$", "./pipeline"}
	batchIDs  = suite{"^(TestAContentThatComesBack|TestApplyAdmits|TestApplyHolds).*$", "./manifest"}
)

// mutant is a planted fault: a guard that is taken away.
type mutant struct {
	name  string
	guard string // what it was for
	edits []edit
	suite suite
}

// Guards that stand one behind the other: what Decide lets through is refused when
// the proposal is read back. A mutant that takes both away shows that the tests
// see the harm itself, not only the second guard.
var (
	noFloorInDecide = edit{"commit/decide.go", "if f.Base.Seq < f.Head.GCFloor {", "if f.Base.Seq < f.Head.GCFloor && false {"}
	noFloorInApply  = edit{"manifest/apply.go", "case m.Base < h.GCFloor:", "case m.Base < h.GCFloor && false:"}
	noProgress      = edit{"commit/decide.go", "covered == files.CoveredAll:", "covered == files.CoveredAll && false:"}
	noEntry         = edit{"source/files/advance.go", "mine || consumed && e.Identity != was:", "mine || consumed && e.Identity != was && false:"}
	noWholeList     = edit{"commit/decide.go", "case f.Kind == manifest.Rewrite && now.LastSeq == rival.Seq:", "case f.Kind == manifest.Rewrite && now.LastSeq == rival.Seq && false:"}
	noRewritten     = edit{"commit/decide.go", "case now.Rewritten != f.Base.Tables[w.Table].Rewritten:", "case now.Rewritten != f.Base.Tables[w.Table].Rewritten && false:"}
	noReadBack      = edit{"commit/append.go", "for _, version := range []*manifest.Manifest{read, m} {", "for _, version := range []*manifest.Manifest{read, m}[:0] {"}
)

var mutants = []mutant{
	{"progress of rivals ignored", "Decide: what a rival consumed is a no-op",
		[]edit{noProgress}, commits},
	{"progress ignored altogether", "Decide and Set.Advance: an object is consumed once",
		[]edit{noProgress, noEntry}, twoRuns},
	{"next slot after an unknown outcome", "settle: nothing goes to seq+1 before seq has a known occupant",
		[]edit{{"commit/append.go", "		if err != nil {\n			return l.failed(ctx, p, head, err)", "		if errors.Is(err, ErrUnresolved) {\n			next := *head.Manifest\n			next.Seq++\n			head = manifest.Snapshot{Manifest: &next, SHA256: mine}\n			continue\n		}\n		if err != nil {\n			return l.failed(ctx, p, head, err)"}}, twoRuns},
	{"unknown outcome read as stored", "settle: an unknown outcome is repeated",
		[]edit{{"commit/settle.go", "		default:\n			earlier = maybeStored\n", "		default:\n			return body, nil\n"}}, twoRuns},
	{"unknown outcome read as lost", "settle: the same bytes go to the same slot until it is occupied",
		[]edit{{"commit/settle.go", "		default:\n			earlier = maybeStored\n", "		default:\n			return nil, err\n"}}, known},
	{"clean-up after an unknown outcome", "pipeline: nothing is deleted on an unknown outcome",
		[]edit{{"pipeline/batch.go", "		out, err := r.propose(ctx, p)\n		if err != nil {\n", "		out, err := r.propose(ctx, p)\n		if err != nil {\n			p.drop(ctx)\n"}}, twoRuns},
	{"conflict read as stored", "settle: 409 settles nothing",
		[]edit{{"commit/settle.go", "		case errors.Is(err, object.ErrConflict):\n", "		case errors.Is(err, object.ErrConflict):\n			return body, nil\n"}}, twoRuns},
	{"conflict read as a refusal", "settle: after 409 the same bytes are sent again",
		[]edit{{"commit/settle.go", "		case errors.Is(err, object.ErrConflict):\n", "		case errors.Is(err, object.ErrConflict):\n			return nil, err\n"}}, known},
	{"taken slot read as our own", "settle: after 412 the slot is read",
		[]edit{{"commit/settle.go", "if stored, err = l.readOnce(ctx, key); err == nil {", "if stored, err = body, nil; err == nil {"}}, twoRuns},
	{"absent slot read as a proof", "settle: a refusal after an unknown outcome proves nothing",
		[]edit{{"commit/settle.go", "if earlier == nothingStored {", "if earlier == nothingStored || earlier == maybeStored {"}}, twoRuns},
	{"own attempt not recognised", "Append: our attempt in the slot is a success whatever we were told",
		[]edit{{"commit/append.go", "if occ.m.Attempt == p.Attempt {", "if occ.m.Attempt == p.Attempt && p.Batch == nil {"}}, twoRuns},
	{"attempt used twice", "pipeline: every attempt is drawn anew",
		[]edit{{"pipeline/batch.go", "if p.attempt, err = r.draw(); err != nil {\n		return nil, err\n	}\n	published", "p.attempt = manifest.Attempt{7}\n	published"}}, batches},
	{"parent unchecked", "Apply: a manifest names the bytes before it",
		[]edit{{"manifest/apply.go", " || m.Parent.SHA256 != p.SHA256:", ":"}}, chain},
	{"fork not looked for", "Confirm: a process reads its last slot before it goes on",
		[]edit{{"commit/commit.go", "if o.sum != head.SHA256 {", "if o.sum != head.SHA256 && false {"}}, known},
	{"hint ahead accepted", "Head: a hint names a manifest that is there",
		[]edit{{"commit/head.go", "case errors.Is(err, object.ErrNotFound) && hinted:", "case errors.Is(err, object.ErrNotFound) && hinted && false:"}}, commits},
	{"hash of the hint ignored", "Head: the hint carries the hash of its manifest",
		[]edit{{"commit/head.go", "case hinted && o.sum != start.SHA256:", "case hinted && o.sum != start.SHA256 && false:"}}, known},
	{"generation ignored", "Decide: no attempt commits over a rewind",
		[]edit{{"commit/decide.go", "if f.Head.Generation != f.Base.Generation {", "if f.Head.Generation != f.Base.Generation && false {"}}, withUndo},
	{"floor ignored", "Decide: no attempt commits below the floor",
		[]edit{noFloorInDecide}, gcTwice},
	{"floor ignored altogether", "Decide and Apply: no attempt commits below the floor",
		[]edit{noFloorInDecide, noFloorInApply}, withGC},
	{"floor looked at once", "Decide: the floor holds on every proposal",
		[]edit{{"commit/decide.go", noFloorInDecide.old, "if f.Base.Seq < f.Head.GCFloor && len(f.Rivals) == 0 {"}, noFloorInApply}, withGC},
	{"fence below its own number", "Repair: a fence is a floor at its own number",
		[]edit{{"commit/repair.go", "min(p.Repair.Floor, m.Seq))", "min(p.Repair.Floor, m.Seq-1))"}}, withFence},
	{"gc without a floor", "GC: the floor is committed before anything is deleted",
		[]edit{{"compact/compact.go", "if o.Mode == Confirm && floor > head.Manifest.GCFloor {", "if o.Mode == Confirm && floor < head.Manifest.GCFloor {"}}, withGC},
	{"gc collects references too early", "GC: references are those of the floor's own manifest",
		[]edit{
			{"compact/compact.go", "	report := GCReport{Floor: floor, FloorManifest: head.Manifest.Seq}\n", "	refs, err := g.references(ctx, head)\n	if err != nil {\n		return GCReport{}, err\n	}\n	report := GCReport{Floor: floor, FloorManifest: head.Manifest.Seq}\n"},
			{"compact/compact.go", "	refs, err := g.references(ctx, head)\n	if err != nil {\n		return report, g.Log.Expired(ctx, head, err)\n	}\n", ""},
		}, gcTwice},
	{"gc deletes at the floor", "GC: only what is below the floor is garbage",
		[]edit{{"compact/compact.go", "case base >= report.Floor:", "case base > report.Floor:"}}, gcTwice},
	{"gc keeps the head alone", "GC: every retained snapshot keeps its references",
		[]edit{{"compact/compact.go", "g.Log.Slot(ctx, head.Manifest.RetainFrom)", "g.Log.Slot(ctx, head.Manifest.Seq)"}}, withUndo},
	{"live list of the base", "build: lists are computed from the parent",
		[]edit{{"commit/append.go", "for name, t := range h.Tables {", "for name, t := range p.Base.Manifest.Tables {"}}, twoRuns},
	{"consumed set of the base", "build: the consumed set is computed from the parent",
		[]edit{{"commit/append.go", "before := h.Progress.Files", "before := p.Base.Manifest.Progress.Files"}}, twoRuns},
	{"everything of the base", "build, and the proposal read back: lists are computed from the parent",
		[]edit{noReadBack, {"commit/append.go", "before := h.Progress.Files", "before := p.Base.Manifest.Progress.Files"},
			{"commit/append.go", "for name, t := range h.Tables {", "for name, t := range p.Base.Manifest.Tables {"}}, twoRuns},
	{"schema of rivals ignored", "Decide: files that add columns are encoded again",
		[]edit{{"commit/decide.go", "case w.Grows == AddsColumns && now.", "case w.Grows == AddsColumns && false && now."}}, columns},
	{"consumed set forgets", "Set.Advance: an entry is never dropped",
		[]edit{{"source/files/advance.go", "	for _, e := range recent {\n		if _, replaced", "	for _, e := range recent[:0] {\n		if _, replaced"}}, withGC},
	{"consumed set forgets when it spills", "Set.Advance: a spilled entry stands in a segment",
		[]edit{{"source/files/advance.go", "spilled, err := a.set.addRuns(entries, pack)", "spilled, err := a.set.addRuns(entries[:1], pack)"}}, consumed},
	{"an entry that is another's followed", "Set.Advance: a range follows the entry that was planned on",
		[]edit{{noEntry.file, noEntry.old, "mine || consumed && was.IsZero() && e.Identity != was:"}}, follows},
	{"an entry followed unseen", "Set.Advance: the entry that a range follows is proved to be the newest",
		[]edit{{"source/files/advance.go", "case !a.set.proves(a.parent, a.refs, a.known, hash, ", "case false && !a.set.proves(a.parent, a.refs, a.known, hash, "},
			{"source/files/advance.go", "	case !consumed:\n", "	case !consumed && false:\n"}}, follows},
	{"what cannot be told taken for a change", "Plan: a touched object is never consumed again",
		[]edit{{"source/files/changed.go", "case errors.Is(err, errBudget) && p.source.cfg.OnChange.consumes():", "case false:"}}, follows},
	{"names without a time", "AppendedName: a content that comes back has another name",
		[]edit{{"source/files/files.go", "sha256.Sum256(modified.UTC().AppendFormat(identity[:], time.RFC3339Nano))", "sha256.Sum256(identity[:])"}}, follows},
	{"a content that came back taken for the one before", "Source.Open: an exact range of a change is of that change",
		[]edit{{"source/files/files.go", "if o.Exact != nil && !o.Was.IsZero() &&", "if false && o.Exact != nil && !o.Was.IsZero() &&"}}, changes},
	{"appended rows outlive a replacement", "replace: rows go under whatever name",
		[]edit{{"pipeline/replace.go", "k.last = source.KeyOf(k.name)", "k.last = k.name"}}, changes},
	{"a replacement without the letters", "replace: dead letters go too",
		[]edit{{"pipeline/replace.go", "		{t, t.Dead, letters, p.dead, taken},\n", ""}, {"pipeline/replace.go", "letters, err := ", "_, err := "}}, changes},
	{"a change that counts as an object", "Apply: another content of a key is no other object",
		[]edit{{"manifest/apply.go", "	if p.was.IsZero() {\n", "	if true {\n"}}, batchIDs},
	{"a batch that comes back", "NewBatchID: a change is told by when it was",
		[]edit{{"manifest/id.go", "			number(ranges[i].Modified.Unix())\n			number(int64(ranges[i].Modified.Nanosecond()))\n", ""}}, batchIDs},
	{"ids count from the range", "record: an id is the position in the object",
		[]edit{{"record/decode.go", "t.sum = t.sum.Add(idHash(d.id, rec.pos))", "t.sum = t.sum.Add(idHash(d.id, rec.pos-int64(t.max.From)))"}}, ids},
	{"the end of a chain ignored", "Decide and Apply: nothing follows the manifest that ends a chain",
		[]edit{{"commit/decide.go", "if f.Head.Kind == manifest.Drop {", "if f.Head.Kind == manifest.Drop && false {"},
			{"manifest/apply.go", "case h.Kind == Drop:", "case h.Kind == Drop && false:"}}, dropping},
	{"settings of a rival ignored", "run: who lost the race to begin a pipeline goes by its settings, or ends",
		[]edit{{"pipeline/batch.go", "if err := r.head.Admits(r.Config); err != nil {", "if err := r.head.Admits(r.Config); err != nil && false {"}}, beginning},
	{"renamed objects of a source that moved", "Move: no content is consumed under a second key",
		[]edit{{"pipeline/move.go", "if n := len(moved.Renamed); n > 0 {", "if n := len(moved.Renamed); n > 0 && false {"}}, moving},
	{"an open object of a source that moved", "Move: what is consumed in part is not taken over",
		[]edit{{"pipeline/move.go", "case len(f.Open) > 0:", "case len(f.Open) > 0 && false:"}}, moving},
	{"a file replaced twice", "Decide: every file that a proposal takes away is live still",
		[]edit{{"commit/decide.go", "if mine[gone[i].Key] {", "if mine[gone[i].Key] && false {"}}, commits},
	{"a rewrite that leaves files", "Decide: a rewrite has read the whole live list",
		[]edit{noWholeList}, widening},
	{"a rewrite that leaves files altogether", "Decide and Apply: a rewrite takes every live file",
		[]edit{noWholeList, {"manifest/tables.go", "case rewritten && t.Remove.Count != before.Live.Files:", "case rewritten && t.Remove.Count != before.Live.Files && false:"}}, widening},
	{"an append over a rewrite", "Decide: files of other types are written again",
		[]edit{noRewritten}, widening},
	{"an append over a rewrite altogether", "Decide and Apply: no file of a base below a rewrite comes after it",
		[]edit{noRewritten, {"manifest/tables.go", "case t.Add.Count > 0 && m.Base < before.Rewritten:", "case t.Add.Count > 0 && m.Base < before.Rewritten && false:"}}, widening},
	{"a compaction that loses rows", "Apply: compactions and rewrites keep the rows",
		[]edit{{"manifest/tables.go", "(m.Kind == Compact || m.Kind == Rewrite) && add.Rows != remove.Rows", "false"}}, replaced},
	{"a file taken away that was not live", "Apply: what goes was live",
		[]edit{{"manifest/tables.go", "if away[key] || before.Live.Segments.Count == 0 && !was[key] {", "if away[key] {"}}, replaced},
	{"a live list that keeps what went", "Apply: what goes is live no more",
		[]edit{{"manifest/tables.go", "if away[key] || seen[key] {", "if seen[key] {"}}, replaced},
	{"a rewrite cleans up after an unknown outcome", "Widen: nothing is deleted on an unknown outcome",
		[]edit{{"compact/widen.go", "		out, err := a.Log.Append(ctx, p)\n		if err != nil {\n", "		out, err := a.Log.Append(ctx, p)\n		if err != nil {\n			a.drop(ctx)\n"}}, hastily},
	{"a merge cleans up after an unknown outcome", "Merge: nothing is deleted on an unknown outcome",
		[]edit{{"compact/merge.go", "return out, a.did, fmt.Errorf(\"merge files of %s: %w\", table, err)", "a.drop(ctx)\n		return out, a.did, fmt.Errorf(\"merge files of %s: %w\", table, err)"}}, merging},
	{"a merge that goes on with what a rival took", "Decide: every file that a merge takes away is live still",
		[]edit{{"commit/decide.go", "if mine[gone[i].Key] {", "if mine[gone[i].Key] && false {"}}, merging},
	{"a rewind keeps the types", "Rewind: columns have the types of the files that come back",
		[]edit{{"commit/repair.go", "if err != nil || sum == t.Schema.SHA256 {", "if err != nil || sum != t.Schema.SHA256 {"}}, rewritten},
	{"a value leaves its column", "retype: what stood in the column stands in it afterwards",
		[]edit{{"retype/graft.go", "if in.rescued != nil && in.def < v.change.old.def {", "if in.rescued != nil || in.def >= v.change.old.def {"}}, retyped},
	{"a value stays rescued too", "retype: what is put back is taken out of _rescued",
		[]edit{{"retype/rescued.go", "m.taken, r.changed = true, true", "m.taken, r.changed = true, false"}}, retyped},
}
