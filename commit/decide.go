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
	// Reencode: the ranges are still free, but what the files were written under,
	// or files that they were to replace, have changed; write them again on the
	// new head as a new attempt. A rewrite may go on with its own: see Decide.
	Reencode Verdict = "re-encode"
	// Abort: the attempt is fenced (floor) or of an older generation; its files
	// may be gone. Start anew.
	Abort Verdict = "abort"
)

// Facts are all that Decide looks at.
type Facts struct {
	Kind   manifest.Kind        // of the proposal
	Base   *manifest.Manifest   // head on which the attempt started
	Seen   *manifest.Manifest   // head that the proposal's files account for, Base or above
	Head   *manifest.Manifest   // head to build on
	Rivals []*manifest.Manifest // every manifest in (Seen, Head], in order, with ranges and files loaded
	Ranges []source.Range       // what the proposal consumes
	Config string               // config hash it was written under
	Writes []TableWrite         // tables it changes
}

// TableWrite is the read set of a proposal in one table.
type TableWrite struct {
	Table  string
	Grows  Growth   // whether it adds columns to the schema of Base
	Remove []string // keys of files that it takes away
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
//     Nor may anything after the end of a chain;
//  2. floor: below it files of the attempt may be deleted already. Both hold on
//     every proposal, the first included;
//  3. ranges: what a rival consumed is not consumed again. All covered is a
//     success without a PUT, part covered needs another plan;
//  4. read set: configuration and schema must be what the files were written
//     under in every manifest since, or provably compatible, and every file that
//     the proposal takes away must be live still. A republish has read where the
//     Delta log ends, which another one moves.
//
// A rewrite has read the whole live list of its tables: any file that came or went
// since Seen makes it Reencode. It may then write the files that came, leave out
// what replaces files that went, and propose again with a newer Seen under the
// same attempt. Another rewrite meanwhile ends that: the attempt's files have
// types that are no more, and it has to begin anew.
func Decide(f Facts) Decision {
	if f.Head.Generation != f.Base.Generation {
		return Decision{Abort, fmt.Sprintf("generation is %d, the attempt began in %d", f.Head.Generation, f.Base.Generation)}
	}
	if f.Head.Kind == manifest.Drop {
		return Decision{Abort, fmt.Sprintf("manifest %d ends the chain: the pipeline is dropped", f.Head.Seq)}
	}
	if f.Base.Seq < f.Head.GCFloor {
		return Decision{Abort, belowFloor(f.Base, f.Head)}
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
		if f.Kind == manifest.Republish && r.Kind == manifest.Republish {
			return Decision{Reencode, fmt.Sprintf("manifest %d publishes a table anew, and so would this one", r.Seq)}
		}
		if len(f.Writes) > 0 && decodes(f.Kind) && r.Config.Hash != f.Config {
			return Decision{Reencode, fmt.Sprintf("manifest %d was written under another configuration", r.Seq)}
		}
		for _, w := range f.Writes {
			if d := readSet(f, r, w); d.Verdict != Propose {
				return d
			}
		}
	}
	return Decision{Propose, ""}
}

// belowFloor is the reason that fences an attempt.
func belowFloor(base, head *manifest.Manifest) string {
	return fmt.Sprintf("base %d is below the floor %d", base.Seq, head.GCFloor)
}

// decodes says whether manifests of a kind hold rows that were decoded under the
// pipeline file: a configuration that changes meanwhile concerns them.
func decodes(k manifest.Kind) bool {
	return k == manifest.Data || k == manifest.Replace || k == manifest.Replay || k == manifest.Gap
}

// readSet holds what a rival did to one table against what the proposal has read
// of it. Columns are only ever added, except by a rewrite; so files that add none
// are still right under a schema that grew.
func readSet(f Facts, rival *manifest.Manifest, w TableWrite) Decision {
	now := rival.Tables[w.Table]
	switch {
	case now.Rewritten != f.Base.Tables[w.Table].Rewritten:
		return Decision{Reencode, fmt.Sprintf("manifest %d rewrote columns of %s", now.Rewritten, w.Table)}
	case f.Kind == manifest.Rewrite && now.LastSeq == rival.Seq:
		return Decision{Reencode, fmt.Sprintf("manifest %d changed %s, all of which is rewritten", rival.Seq, w.Table)}
	case w.Grows == AddsColumns && now.Schema.SHA256 != f.Base.Tables[w.Table].Schema.SHA256:
		return Decision{Reencode, fmt.Sprintf("manifest %d added columns to %s, and so would this one", rival.Seq, w.Table)}
	}
	return stillLive(rival, now.Remove.Items, w.Remove)
}

// stillLive says whether a rival took away a file that the proposal replaces. Its
// rows would come to stand twice.
func stillLive(rival *manifest.Manifest, gone []manifest.File, replaced []string) Decision {
	if len(gone) == 0 || len(replaced) == 0 {
		return Decision{Propose, ""}
	}
	mine := make(map[string]bool, len(replaced))
	for _, key := range replaced {
		mine[key] = true
	}
	for i := range gone {
		if mine[gone[i].Key] {
			return Decision{Reencode, fmt.Sprintf("manifest %d took away %s, which was to be replaced", rival.Seq, gone[i].Key)}
		}
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
