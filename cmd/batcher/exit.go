package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"batcher/batch"
	"batcher/commit"
	"batcher/compact"
	"batcher/config"
	"batcher/datafile"
	"batcher/dlq"
	"batcher/manifest"
	"batcher/object"
	"batcher/output"
	"batcher/pipeline"
	"batcher/record"
	"batcher/retype"
	"batcher/schema"
	"batcher/source/files"
	"batcher/table/delta"
)

// The exit codes, as documented in docs/ and relied on by schedulers.
const (
	exitOK          = 0   // committed, already committed, or nothing to do
	exitBug         = 1   // a bug in batcher
	exitEmpty       = 3   // --fail-on-empty: nothing to do
	exitLag         = 4   // status --max-lag: too far behind
	exitUsage       = 64  // wrong command line
	exitBadRecords  = 65  // bad-record budget: the batch was not committed
	exitGap         = 66  // source gap, changed source, range partly covered, objects that cannot be read
	exitUnavailable = 69  // store or source unreachable for good, capability missing
	exitDamaged     = 70  // chain damaged or forked, verify found a violation
	exitSuperseded  = 71  // fenced or superseded
	exitTemporary   = 75  // temporary, or the commit's outcome is unknown
	exitDenied      = 77  // credentials or permission refused
	exitConfig      = 78  // pipeline file, schema contract, ownership
	exitInterrupted = 130 // SIGINT: whole batches or nothing
	exitTerminated  = 143 // SIGTERM: whole batches or nothing
)

// exitError is an error that knows its exit code.
type exitError struct {
	Code int
	Err  error
	Hint string // what to do about it; may be empty
}

// Error is the text of the error it holds, the cause first.
func (e *exitError) Error() string { return causeFirst(e.Err) }

// causeFirst is the text of an error, with what wraps an explained cause after it.
func causeFirst(err error) string {
	text := err.Error()
	cause, ok := errors.AsType[object.Explained](err)
	if !ok {
		return text
	}
	before, after, found := strings.Cut(text, cause.Error())
	if before = strings.TrimSuffix(before, ": "); !found || before == "" || strings.Contains(before, "\n") {
		return text
	}
	return cause.Error() + after + " (" + before + ")"
}

// Unwrap returns the error it holds.
func (e *exitError) Unwrap() error { return e.Err }

// usageError is a wrong command line.
func usageError(hint, format string, args ...any) error {
	return &exitError{Code: exitUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}

// panicError is a panic that protect caught.
type panicError struct {
	value any
	stack []byte
}

// Error says what was thrown.
func (p *panicError) Error() string { return fmt.Sprintf("a bug in batcher: panic: %v", p.value) }

// protect turns a panic of f into an error.
func protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
	}()
	return f()
}

// rules map the errors of the rooms to exit codes; the first that matches
// decides. What matches none is a bug in batcher.
var rules = []struct {
	matches func(error) bool
	code    int
	hint    string
}{
	{waits(differs), exitUnavailable, "something between batcher and the source gives out other objects than it lists; batcher doctor says more"},
	{waits(passes), exitTemporary, "all others are committed; a later run reads these once they can be read"},
	{waits(misnamed), exitGap, "all others are committed; source.files.key_columns says how keys are written, and source.files.exclude leaves objects out"},
	{waits(nil), exitGap, "all others are committed; restore or permit these, or leave them out with source.files.exclude, or set source.files.on_unreadable: quarantine"},
	{isA[*panicError], exitBug, "please report it with the lines above; committed batches stand, and it is safe to run again"},
	{isA[config.Errors], exitConfig, ""},
	{is(commit.ErrDropped), exitGap, "batcher drop --confirm deletes the rest; then it may begin anew"},
	{is(commit.ErrDamaged), exitDamaged, "nothing was written; batcher verify says more"},
	{isA[*delta.BeyondError], exitUnavailable, "copy the table to another name, or take its _delta_log away by hand and publish it anew"},
	{isA[*delta.UnshownError], exitUsage, "batcher publish brings the tables up; ddl duckdb --no-extension reads the files of any manifest"},
	{isA[*delta.ConflictError], exitUnavailable, "batcher publish --rebuild restores the table; what the foreign commits changed is undone"},
	{isA[*compact.ImplausibleError], exitDamaged, "batcher verify first; if the garbage is real, delete it by hand"},
	{isA[*batch.BudgetError], exitBadRecords, "batcher run --accept-bad commits it once; dead_letters.fail_above sets the budget"},
	{isA[*record.BrokenError], exitBadRecords, "source.files.on_broken: quarantine sets such an object aside"},
	{isA[*record.KeyError], exitGap, "source.files.key_columns says how keys are written, and source.files.exclude leaves objects out"},
	{isA[*files.GapError], exitGap, "--on-gap skip records the gap and goes on"},
	{isA[*files.ChangedError], exitGap, "source.files.on_change: skip leaves changed objects alone and reports them, append and replace consume them"},
	{isA[*pipeline.PartlyCoveredError], exitGap, "batcher show SEQ -o json prints the ranges of a manifest"},
	{isA[*output.PartitionsError], exitConfig, "partition_by wants columns with few values; with a smaller batch.max_records fewer come at once"},
	{isA[*record.NaiveError], exitConfig, "set source.files.zone: UTC, or the zone that the times are in (Europe/Berlin), or zone beside the column"},
	{isA[*schema.PinError], exitConfig, "put the setting back"},
	{isA[*record.ContractError], exitConfig, "schema.contract: discard_row or discard_value go on without what does not fit"},
	{isA[*manifest.MismatchError], exitConfig, "give the pipeline another name, or put the setting back"},
	{isA[*commit.SupersededError], exitSuperseded, "run it again: it begins on the newest head"},
	{isA[*retype.RefusedError], exitConfig, "string and json take every value"},
	{is(schema.ErrNotWider), exitUsage, "batcher schema show lists columns and types"},
	{is(dlq.ErrNoProgress), exitBadRecords, "replay fewer letters at a time (--limit)"},
	{is(commit.ErrExpired), exitUsage, "batcher status and batcher history say what is retained"},
	{is(commit.ErrForeign), exitConfig, "choose another table or store"},
	{is(commit.ErrNoChain), exitGap, "batcher run begins the pipeline"},
	{is(files.ErrDamaged), exitDamaged, "nothing was written; batcher verify says more"},
	{is(record.ErrShort), exitGap, "the object is not what was consumed in part before"},
	{is(pipeline.ErrNoProgress), exitBadRecords, "the batch cannot be brought to an end; try smaller batches (batch.max_objects)"},
	{is(datafile.ErrDamaged), exitDamaged, "batcher verify --deep says more"},
	{is(commit.ErrUnresolved), exitTemporary, "run again: it is safe"},
	{archived, exitGap, "restore the object from its archive first; source.files.on_unreadable: wait goes on with the others"},
	{is(object.ErrDenied), exitDenied, "check the credentials and their permissions"},
	{is(object.ErrUnsupported), exitUnavailable, "batcher doctor says what the store can do"},
	{is(object.ErrUnknown), exitTemporary, "run again: it is safe"},
	{is(object.ErrConflict), exitTemporary, "run again: it is safe"},
	{is(object.ErrNotFound), exitUnavailable, "the place or the object does not exist"},
	{is(object.ErrChanged), exitTemporary, "run again: it is safe"},
	{is(context.DeadlineExceeded), exitTemporary, "run again: it is safe"},
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func isA[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// waits matches a run that committed all but some objects which it could not read.
func waits(also func(*pipeline.WaitingError) bool) func(error) bool {
	return func(err error) bool {
		w, ok := errors.AsType[*pipeline.WaitingError](err)
		return ok && (also == nil || also(w))
	}
}

// archived matches a run that ended at an object in an archive.
func archived(err error) bool {
	u, ok := errors.AsType[*files.UnreadableError](err)
	return ok && u.Cause == files.Archived
}

// misnamed says whether the keys alone are what is wrong with the objects.
func misnamed(w *pipeline.WaitingError) bool {
	return !slices.ContainsFunc(w.Objects, func(o pipeline.Unreadable) bool { return o.Cause != files.Misnamed })
}

func differs(w *pipeline.WaitingError) bool { return w.Differs }
func passes(w *pipeline.WaitingError) bool  { return w.Passes }

// classify returns the error with its exit code.
func classify(err error) *exitError {
	var known *exitError
	if errors.As(err, &known) {
		return &exitError{known.Code, err, known.Hint}
	}
	for _, rule := range rules {
		if rule.matches(err) {
			return &exitError{rule.code, err, cmp.Or(cureFor(err), rule.hint)}
		}
	}
	return &exitError{exitBug, err, "this error has no exit code, which is a bug in batcher; please report it"}
}

// declarations say, by the code of most bad records, what a pipeline file may have to
// say about its source.
var declarations = map[string]string{
	"ragged":        "rows differ in length: set source.files.csv.delimiter, csv.skip_lines for lines before the header, or csv.pad for short rows",
	"bad_quote":     "quotes mean something else here: set source.files.csv.quote, or csv.escape",
	"open_quote":    "quotes mean something else here: set source.files.csv.quote, or csv.escape",
	"invalid_utf8":  "the text is not UTF-8: set source.files.encoding (windows-1252, latin1, utf-16 …), or format if it is no text",
	"syntax":        "this is no JSON: set source.files.format (csv, lines …)",
	"trailing":      "records are not one a line: set source.files.format (json, csv …)",
	"not_object":    "records are no objects: set source.files.format (lines, csv …), or unnest for an array inside an envelope",
	"no_records":    "source.files.unnest names an array that is not there",
	"duplicate_key": "keys stand twice in one object: there is no setting for that",
	"too_long":      "records are longer than they may be: set source.files.format, or unnest for an array inside an envelope",
	"broken":        "containers are broken or are of another format: set source.files.format",
	"unreadable":    "objects cannot be read: restore or permit them first",
}

// cureFor returns the cure that the error itself knows, or "".
func cureFor(err error) string {
	var pin *schema.PinError
	var broken *record.ContractError
	if budget, ok := errors.AsType[*batch.BudgetError](err); ok && budget.First {
		return cmp.Or(declarations[budget.Code], "see whether source.files.format is right") +
			"; batcher init proposes settings, and run --accept-bad takes the records as they are"
	}
	if changed, ok := errors.AsType[*manifest.MismatchError](err); ok && changed.Key == "source.files.path" {
		return "if the same objects have moved there, batcher adopt --source takes them over; else give the pipeline another name, or put the setting back"
	}
	switch {
	case errors.As(err, &pin) && pin.Widen:
		return fmt.Sprintf("put the setting back, or bring the column there: batcher schema widen %s %s", pin.Column, pin.Want)
	case errors.As(err, &broken):
		return broken.Cure
	}
	return ""
}

// conclude prints the error, if there is one, and returns the exit code.
func conclude(w io.Writer, colors palette, err error) int {
	if err == nil {
		return exitOK
	}
	e := classify(err)
	var p *panicError
	if errors.As(err, &p) {
		fmt.Fprintf(w, "%s\n", p.stack)
	}
	for line := range strings.SplitSeq(strings.TrimRight(e.Error(), "\n"), "\n") {
		fmt.Fprintf(w, "%s %s\n", colors.in(red, "batcher:"), printable(line))
	}
	if e.Hint != "" {
		fmt.Fprintf(w, "%s %s\n", colors.in(yellow, "hint:"), e.Hint)
	}
	return e.Code
}

// printable escapes what would steer a terminal: error texts hold keys and names
// that strangers chose.
func printable(line string) string {
	var b strings.Builder
	for _, r := range line {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
