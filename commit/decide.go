package commit

import (
	"fmt"

	"batcher/manifest"
	"batcher/source"
	"batcher/source/files"
)

// Verdict is what a proposal may do on a head.
type Verdict string

// The verdicts.
const (
	// Propose: put the manifest into the next slot; the files may be kept.
	Propose Verdict = "propose"
	// Committed: the manifest stands in its slot.
	Committed Verdict = "committed"
	// Already: every range is committed by somebody; a no-op.
	Already Verdict = "already"
	// Replan: some of the ranges are committed or changed; plan again.
	Replan Verdict = "replan"
	// Reencode: the ranges are still free, but what the files were written under
	// has changed; write them again on the new head as a new attempt.
	Reencode Verdict = "re-encode"
	// Abort: the attempt is fenced (floor) or of an older generation; its files
	// may be gone. Start anew.
	Abort Verdict = "abort"
)

// Facts are all that Decide looks at.
type Facts struct {
	Base   *manifest.Manifest   // head on which the attempt started
	Head   *manifest.Manifest   // head to build on
	Rivals []*manifest.Manifest // every manifest in (Base, Head], in order, with ranges loaded
	Ranges []source.Range       // what the proposal consumes
	Config string               // config hash it was written under
	Writes []TableWrite         // tables it adds files to
}

// TableWrite is the read set of a proposal in one table.
type TableWrite struct {
	Table string
	Grows Growth // whether it adds columns to the schema of Base
}

// Growth says whether a proposal adds columns.
type Growth uint8

// The two kinds of growth.
const (
	SameColumns Growth = iota
	AddsColumns
)

// Decision is a verdict and why.
type Decision struct {
	Verdict Verdict
	Reason  string
}

// Decide says what a proposal may do on a head. It is pure: the same facts give
// the same decision. The order of the rules matters:
//  1. generation: after a rewind nothing of an older generation may commit;
//  2. floor: below it files of the attempt may be deleted already. Both hold on
//     every proposal, the first included;
//  3. ranges: what a rival consumed is not consumed again. All covered is a
//     success without a PUT, part covered needs another plan;
//  4. read set: configuration and schema must be what the files were written
//     under in every manifest since the base, or provably compatible.
func Decide(f Facts) Decision {
	if f.Head.Generation != f.Base.Generation {
		return Decision{Abort, fmt.Sprintf("generation is %d, the attempt began in %d", f.Head.Generation, f.Base.Generation)}
	}
	if f.Base.Seq < f.Head.GCFloor {
		return Decision{Abort, fmt.Sprintf("base %d is below the floor %d", f.Base.Seq, f.Head.GCFloor)}
	}
	switch covered := files.Covered(rivalRanges(f.Rivals), f.Ranges); {
	case covered == files.CoveredAll:
		return Decision{Already, "all ranges are committed"}
	case covered == files.CoveredSome:
		return Decision{Replan, "some of the ranges are taken, or taken with another content"}
	case retouched(f.Ranges, f.Rivals):
		return Decision{Replan, "a rival replaced the entry of an object"}
	}
	for _, r := range f.Rivals {
		if len(f.Writes) > 0 && r.Config.Hash != f.Config {
			return Decision{Reencode, fmt.Sprintf("manifest %d was written under another configuration", r.Seq)}
		}
		for _, w := range f.Writes {
			if d := readSet(f.Base, r, w); d.Verdict != Propose {
				return d
			}
		}
	}
	return Decision{Propose, ""}
}

// readSet holds the schema of one table in a rival against what the proposal's
// files were written under. Columns are only ever added, except by a rewrite;
// so files that add none are still right under a schema that grew.
func readSet(base, rival *manifest.Manifest, w TableWrite) Decision {
	if rival.Kind == manifest.Rewrite {
		return Decision{Reencode, fmt.Sprintf("manifest %d rewrote columns", rival.Seq)}
	}
	if rival.Tables[w.Table].Schema.SHA256 == base.Tables[w.Table].Schema.SHA256 {
		return Decision{Propose, ""}
	}
	if w.Grows == AddsColumns {
		return Decision{Reencode, fmt.Sprintf("manifest %d added columns to %s, and so would this one", rival.Seq, w.Table)}
	}
	return Decision{Propose, ""}
}

// rivalRanges gathers what rivals consumed.
func rivalRanges(rivals []*manifest.Manifest) []source.Range {
	var all []source.Range
	for _, r := range rivals {
		if r.Batch != nil {
			all = append(all, r.Batch.Ranges.Items...)
		}
	}
	return all
}

// retouched says whether a rival replaced the entry of an object of ours.
func retouched(own []source.Range, rivals []*manifest.Manifest) bool {
	keys := map[string]bool{}
	for _, o := range own {
		keys[o.Key] = true
	}
	for _, r := range rivals {
		if r.Batch == nil {
			continue
		}
		for _, x := range r.Batch.Touched.Items {
			if keys[x.Key] {
				return true
			}
		}
	}
	return false
}
