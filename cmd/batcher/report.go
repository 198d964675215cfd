package main

import (
	"fmt"
	"strings"
	"time"

	"batcher/object"
)

// Outcomes of a run, as the report names them.
const (
	outcomeCommitted = "committed"
	outcomeAlready   = "already"
	outcomeEmpty     = "empty"
	outcomeUnknown   = "unknown"
	outcomeFenced    = "fenced"
	outcomeFailed    = "failed"
)

// report is what a run says when it ends. Its JSON form is one line, and a
// contract: fields may be added at the end, never renamed. Counts are sums over
// the run's batches; seq, batch_id and attempt are those of the last one.
type report struct {
	Outcome    string           `json:"outcome"`
	Batches    int              `json:"batches"`
	Seq        *int64           `json:"seq"` // null when no batch was committed
	BatchID    string           `json:"batch_id"`
	Attempt    string           `json:"attempt"`
	Rows       reportRows       `json:"rows"`
	Bytes      reportBytes      `json:"bytes"`
	Objects    reportObjects    `json:"objects"`
	Requests   object.Requests  `json:"requests"`
	Progress   reportProgress   `json:"progress"`
	Lag        reportLag        `json:"lag"`
	Files      []reportFile     `json:"files"`
	Conflicts  []reportConflict `json:"conflicts"`
	DurationMS int64            `json:"duration_ms"`
	Error      *reportError     `json:"error"`           // null when the run did not fail
	Query      string           `json:"query,omitempty"` // how to read what was committed
	Merged     reportMerged     `json:"merged"`          // small files that were merged after the last batch

	Unreadable []reportUnreadable `json:"unreadable"` // objects that could not be read, by key; at most maxUnreadable

	Added     []reportAdded `json:"added"`     // columns and fields that came into the main table
	Warnings  []string      `json:"warnings"`  // what was found out of objects and nobody declared
	Unmatched []string      `json:"unmatched"` // pins of which no record had the field, while the pipeline is young

	LeftOut []reportLeftOut `json:"left_out"` // names below the source path that are no input; objects.ignored is the sum of the objects among them

	nothingIn string // the source, where it has nothing to begin a pipeline with
}

// maxUnreadable bounds the objects that a report names.
const maxUnreadable = 1000

// reportUnreadable is an object that was listed and could not be read. Later runs try
// it again.
type reportUnreadable struct {
	Key   string `json:"key"`
	Cause string `json:"cause"` // archived, denied, unavailable, torn, gone, differs, refused, misnamed
	Code  string `json:"code"`  // the store's own word, such as InvalidObjectState
}

// String is the object for people.
func (o reportUnreadable) String() string {
	if o.Code == "" {
		return fmt.Sprintf("%q cannot be read: %s", o.Key, o.Cause)
	}
	return fmt.Sprintf("%q cannot be read: %s (%s)", o.Key, o.Cause, o.Code)
}

// reportMerged counts files that one or several larger ones replaced.
type reportMerged struct {
	Files int64 `json:"files"`
	Into  int64 `json:"into"`
}

type reportRows struct {
	Read      int64 `json:"read"`
	Written   int64 `json:"written"`
	Late      int64 `json:"late"`
	Dead      int64 `json:"dead"`
	Duplicate int64 `json:"duplicate"`
	Replaced  int64 `json:"replaced"` // of earlier batches, taken away
}

// reportBytes are decoded bytes read and file bytes written.
type reportBytes struct {
	Read    int64 `json:"read"`
	Written int64 `json:"written"`
}

type reportObjects struct {
	Read        int64 `json:"read"`
	Late        int64 `json:"late"`
	Changed     int64 `json:"changed"`
	Ignored     int64 `json:"ignored"`
	Quarantined int64 `json:"quarantined"`
	Young       int64 `json:"young"`    // waiting to settle
	Appended    int64 `json:"appended"` // changed ones that were consumed beside what was there
	Replaced    int64 `json:"replaced"` // changed ones whose rows were replaced

	Unreadable int64 `json:"unreadable"` // not consumed: they wait
}

// alone is how many changed objects were left alone.
func (o reportObjects) alone() int64 { return o.Changed - o.Appended - o.Replaced }

// reportProgress is how far the source is consumed after the run.
type reportProgress struct {
	Objects int64     `json:"objects"`         // consumed in the whole life of the pipeline
	Newest  time.Time `json:"newest,omitzero"` // newest modification time consumed
}

// reportLag is what was left to read when the run ended.
type reportLag struct {
	Objects int64     `json:"objects"`
	Bytes   int64     `json:"bytes"` // as stored
	Seconds float64   `json:"seconds"`
	Oldest  time.Time `json:"oldest,omitzero"`   // modification time
	Records int64     `json:"records,omitempty"` // status only: estimated by the newest batch; 0: unknown
}

type reportFile struct {
	Table string `json:"table"`
	URI   string `json:"uri"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
}

// reportConflict is a column with values that did not fit, or an object with keys
// that have no column, and the cure.
type reportConflict struct {
	Table     string `json:"table"`
	Column    string `json:"column"` // "": the record itself
	Count     int64  `json:"count"`
	Cure      string `json:"cure"`
	Discarded bool   `json:"discarded,omitempty"` // counted, and stored nowhere: the pipeline file says so
}

// String is the conflict for people.
func (c reportConflict) String() string {
	place, fate, cure := c.Table, "kept in _rescued", ""
	if c.Column != "" {
		place += "." + c.Column
	}
	if c.Discarded {
		fate = "stored nowhere"
	}
	if c.Cure != "" {
		cure = " (" + c.Cure + ")"
	}
	return fmt.Sprintf("%s: %s did not fit, %s%s", place, many(c.Count, "value"), fate, cure)
}

type reportError struct {
	Code    int      `json:"code"` // exit code
	Message string   `json:"message"`
	Hint    string   `json:"hint,omitempty"`
	First   []string `json:"first,omitempty"` // first offending records
}

// failed completes the report of a run that ended in err. What the run already
// said about its outcome or its error stands.
func (r report) failed(err error) report {
	e := classify(err)
	if r.Outcome == "" {
		r.Outcome = outcomeOf(e.Code)
	}
	if r.Error == nil {
		r.Error = &reportError{Code: e.Code, Message: e.Error(), Hint: e.Hint}
	}
	return r
}

// outcomeOf is the outcome that an exit code speaks of.
func outcomeOf(code int) string {
	switch code {
	case exitSuperseded:
		return outcomeFenced
	case exitTemporary:
		return outcomeUnknown
	}
	return outcomeFailed
}

// line is the report as one line of JSON.
func (r report) line() (string, error) {
	r.Files, r.Conflicts, r.Unreadable = listed(r.Files), listed(r.Conflicts), listed(r.Unreadable)
	r.Added, r.Unmatched, r.LeftOut, r.Warnings = listed(r.Added), listed(r.Unmatched), listed(r.LeftOut), listed(r.Warnings)
	text, err := jsonLine(r)
	if err != nil {
		return "", fmt.Errorf("encode the report: %w", err)
	}
	return text, nil
}

// maxFilesShown bounds the files that the report for people names.
const maxFilesShown = 5

// text is the report for people.
func (r report) text() string {
	var b strings.Builder
	b.WriteString(r.first())
	for _, part := range []struct {
		count int64
		name  string
	}{{r.Objects.Late, "late"}, {r.Objects.Appended, "changed since consumed, appended"}, {r.Objects.Replaced, "changed since consumed, replaced"},
		{r.Objects.Young, "too young to be read yet (source.files.settle)"}} {
		if part.count > 0 {
			fmt.Fprintf(&b, "  %s %s\n", many(part.count, "object"), part.name)
		}
	}
	b.WriteString(r.troubles())
	b.WriteString(r.leaves())
	for _, line := range r.news() {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	if r.Merged.Files > 0 {
		fmt.Fprintf(&b, "  %s merged into %s\n", many(r.Merged.Files, "small file"), grouped(r.Merged.Into))
	}
	for i, f := range r.Files {
		if i == maxFilesShown {
			fmt.Fprintf(&b, "  … and %s (batcher files)\n", many(len(r.Files)-i, "more file"))
			break
		}
		fmt.Fprintf(&b, "  %s: %s, %s in %s\n", f.Table, many(f.Rows, "row"), sized(f.Bytes), shortened(f.URI))
	}
	if r.Lag.Objects > 0 {
		fmt.Fprintf(&b, "  left to read: %s, %s\n", many(r.Lag.Objects, "object"), sized(r.Lag.Bytes))
	}
	if r.Query != "" {
		fmt.Fprintf(&b, "query it: %s\n", r.Query)
	}
	return b.String()
}

// brief is the report for a mailbox: nothing of a run that had nothing to do, else what
// was done and what went wrong.
func (r report) brief() string {
	if r.idles() {
		return ""
	}
	if r.nothingIn != "" {
		return r.first() + r.leaves() + r.troubles()
	}
	return r.first() + r.troubles()
}

// leaves are lines on names that are no input.
func (r report) leaves() string {
	var b strings.Builder
	for _, o := range r.LeftOut {
		fmt.Fprintf(&b, "  %s\n", o)
	}
	return b.String()
}

// idles says whether a run had nothing to do, in a place where there was something.
func (r report) idles() bool {
	return r.Outcome == outcomeAlready || r.Outcome == outcomeEmpty && (r.nothingIn == "" || r.Objects.Young > 0)
}

// first is the line that says what became of the run.
func (r report) first() string {
	switch r.Outcome {
	case outcomeEmpty:
		return r.idle()
	case outcomeAlready:
		return "already committed: nothing was written\n"
	}
	return r.counts()
}

// troubles are lines on what somebody ought to look at.
func (r report) troubles() string {
	var b strings.Builder
	if n := r.Objects.alone(); n > 0 {
		fmt.Fprintf(&b, "  %s changed since consumed, left alone\n", many(n, "object"))
	}
	if n := r.Objects.Quarantined; n > 0 {
		fmt.Fprintf(&b, "  %s quarantined: broken, too large or unreadable; batcher dlq list says why\n", many(n, "object"))
	}
	for i, o := range r.Unreadable {
		if i == maxFilesShown {
			fmt.Fprintf(&b, "  … and %s that cannot be read\n", many(r.Objects.Unreadable-maxFilesShown, "more object"))
			break
		}
		fmt.Fprintf(&b, "  %s\n", o)
	}
	for _, c := range r.Conflicts {
		fmt.Fprintf(&b, "  %s\n", c)
	}
	return b.String()
}

// idle is the first line of the report of a run that did nothing. What is left to
// read is said after it.
func (r report) idle() string {
	switch {
	case r.nothingIn != "" && r.Objects.Young > 0:
		return "nothing to do yet\n"
	case r.nothingIn != "" && r.Objects.Ignored > 0:
		return fmt.Sprintf("no objects to read under %s: %s left out by name, include or exclude; nothing was created\n", r.nothingIn, many(r.Objects.Ignored, "object"))
	case r.nothingIn != "":
		return fmt.Sprintf("no objects to read under %s; nothing was created\n", r.nothingIn)
	case r.Lag.Objects > 0:
		return "nothing was done\n"
	case r.Progress.Objects == 1:
		return "nothing to do: the one object is consumed\n"
	case r.Progress.Objects > 0:
		return fmt.Sprintf("nothing to do: all %s are consumed\n", many(r.Progress.Objects, "object"))
	case r.Objects.Young > 0:
		return "nothing to do yet\n"
	}
	return "nothing to do: there are no objects\n"
}

// counts is the first line of the report of a run that did something. A run that failed
// did so after its last manifest, which stands.
func (r report) counts() string {
	var b strings.Builder
	switch {
	case r.Seq == nil:
		b.WriteString(r.Outcome)
	case r.Error == nil:
		fmt.Fprintf(&b, "%s manifest %d", r.Outcome, *r.Seq)
	case r.Error.Code == exitInterrupted || r.Error.Code == exitTerminated:
		fmt.Fprintf(&b, "interrupted after manifest %d was committed", *r.Seq)
	default:
		fmt.Fprintf(&b, "%s after manifest %d was committed", r.Outcome, *r.Seq)
	}
	fmt.Fprintf(&b, ": %s, %s, %s → %s", many(r.Batches, "batch"), many(r.Objects.Read, "object"), many(r.Rows.Read, "record"), many(r.Rows.Written, "row"))
	for _, part := range []struct {
		count int64
		name  string
	}{{r.Rows.Late, "late row"}, {r.Rows.Dead, "dead letter"}, {r.Rows.Duplicate, "duplicate"}} {
		if part.count > 0 {
			fmt.Fprintf(&b, ", %s", many(part.count, part.name))
		}
	}
	fmt.Fprintf(&b, " in %s\n", time.Duration(r.DurationMS)*time.Millisecond)
	return b.String()
}
