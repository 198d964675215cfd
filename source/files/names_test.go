package files_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"batcher/source/files"
)

// TestNamesOfWhatIsNotWrittenToItsEndAreLeftOut sets names of programs that write, copy
// and download beside names that only look like them.
func TestNamesOfWhatIsNotWrittenToItsEndAreLeftOut(t *testing.T) {
	b := newBucket()
	why := map[string]files.Why{}
	for reason, names := range map[files.Why]string{
		files.Unfinished: "a.csv.filepart a.CSV.FilePart a.csv.crdownload b._COPYING_ c.part d/e.tmp f.TMP g.inprogress h.swp i.csv~ ~ ~$j.xlsx #k.csv# l.partial m.opdownload n.aria2 o_.gstmp p.csv.uploading q.incomplete",
		files.Hidden:     ".a.csv.swp _SUCCESS d=1/_temporary/0/part-0 .a/b.tmp",
		files.Folder:     "folder/ d=1/ folder/tmp/",
		"": "part-00000 part.csv tmp a.tmp.csv a.tmp/b.csv a.part1 a.csv.bak a~b.csv ~a # #a a# x.temp data.download a.tmpl copying a.partition " +
			"tr\u00a0.ndjson a#b?c.ndjson a%20b.ndjson back\\slash.ndjson u\u0308.ndjson \u00fc.ndjson",
	} {
		for name := range strings.FieldsFuncSeq(names, func(r rune) bool { return r == ' ' }) {
			why[name] = reason
			b.put(t, name, "x", noon.Add(-time.Hour))
		}
	}
	c := newChain(t, b, files.Config{})
	p := c.plan()
	counts := map[files.Why]int64{}
	for _, o := range p.LeftOut {
		counts[o.Why] = o.Count
		if int64(len(o.First)) != min(o.Count, 3) || !slices.IsSorted(o.First) {
			t.Errorf("%s: examples %q of %d", o.Why, o.First, o.Count)
		}
		for _, name := range o.First {
			if why[name] != o.Why {
				t.Errorf("%q is %s, want %q", name, o.Why, why[name])
			}
		}
	}
	counts[""] = int64(len(p.Objects))
	want := map[files.Why]int64{}
	for _, reason := range why {
		want[reason]++
	}
	if !maps.Equal(counts, want) {
		t.Errorf("counts %v, want %v", counts, want)
	}
	for _, o := range p.Objects {
		if why[o.Key] != "" {
			t.Errorf("%q is planned, and %s", o.Key, why[o.Key])
		}
	}
	if got := p.Counts.Ignored; got != want[files.Unfinished]+want[files.Hidden]+want[files.Folder] {
		t.Errorf("%d ignored of %v", got, want)
	}
}
