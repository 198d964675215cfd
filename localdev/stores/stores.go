// Package stores holds S3 stores to what a first run and doctor make of them.
//
// Duty: start each store that is known, have the shipped program examine it and begin
// a pipeline on it, again and again, and say what came out as a table.
//
// Invariants: every round has a prefix of its own; what the program prints and its exit
// code are the only witnesses; a store that cannot be started is an error and no row.
//
// It never judges a store itself: what is expected of one (Target.Fit) is checked against
// the verdicts by whoever asks.
package stores

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"batcher/localdev"
)

// Target is a store as it is set up.
type Target struct {
	Name    string
	Version string
	Bucket  string // plain, versioned or locked
	Fit     bool   // whether it is one that must be accepted, or refused
	Why     string // what is known of how it keeps or breaks the condition
	start   func(context.Context, localdev.Options) (*localdev.Server, error)
}

// The versions of what localdev builds.
const (
	minioVersion   = "2026-02-12"
	versityVersion = "1.8.0"
)

// Targets returns the stores of the table, in its order.
func Targets() []Target {
	const (
		locked = "looks and writes under a lock of the key"
		window = "looks whether the key is there, and writes later"
	)
	return []Target{
		{"MinIO, plain bucket", minioVersion, "plain", true, locked, localdev.StartMinIO},
		{"MinIO, versioned bucket", minioVersion, "versioned", true, locked, localdev.StartMinIO},
		{"MinIO, bucket with object lock", minioVersion, "locked", true, locked, localdev.StartMinIO},
		{"Versity S3 Gateway, plain bucket", versityVersion, "plain", true, locked, localdev.StartVersity},
		{"Versity S3 Gateway, versioned bucket", versityVersion, "versioned", true, locked, localdev.StartVersity},
		{"S3Proxy, provider filesystem-nio2", localdev.S3ProxyVersion, "plain", false, window, localdev.StartS3Proxy},
		{"Adobe S3Mock", localdev.S3MockVersion, "plain", false, window, localdev.StartS3Mock},
		{"moto server", localdev.MotoVersion, "plain", false, window + ", between which others come only with bodies over 5 MiB", localdev.StartMoto},
	}
}

// buckets are those to make: the source is in a plain one.
func (t Target) buckets() localdev.Options {
	opts := localdev.Options{Buckets: []string{"plain"}}
	switch t.Bucket {
	case "versioned":
		opts.Versioned = []string{t.Bucket}
	case "locked":
		opts.Locked = []string{t.Bucket}
	}
	return opts
}

// Build makes the program in a folder.
func Build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "batcher")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "batcher/cmd/batcher").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build batcher: %w\n%s", err, out)
	}
	return path, nil
}

// Row is what was seen of a store.
type Row struct {
	Target
	Rounds   int
	Fit      int            // verdicts "fit" of doctor on the store
	Admitted int            // first runs that committed
	Codes    map[int]int    // how often a first run ended with an exit code
	Failed   map[string]int // probes of the store that failed in doctor
	Strange  []string       // outcomes that are neither: a program that died, a source that was not fit
	Doctor   time.Duration  // median
	Run      time.Duration  // median
}

// Right says whether every verdict was what the target must get.
func (r Row) Right() bool {
	want := 0
	if r.Target.Fit {
		want = r.Rounds
	}
	return r.Rounds > 0 && r.Fit == want && r.Admitted == want && len(r.Strange) == 0
}

// Survey starts a store, and has the program examine it and begin a pipeline there as
// many times as there are rounds.
func Survey(ctx context.Context, program string, t Target, rounds int) (row Row, err error) {
	server, err := t.start(ctx, t.buckets())
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	if err := server.Put(ctx, "plain", "landing/a.ndjson", []byte("{\"n\":1}\n{\"n\":2}\n")); err != nil {
		return row, err
	}
	dir, err := os.MkdirTemp("", "batcher-stores-")
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	row = Row{Target: t, Rounds: rounds, Codes: map[int]int{}, Failed: map[string]int{}}
	v := visit{program: program, env: server.Env(), file: filepath.Join(dir, "pipeline.yaml")}
	var doctors, runs []time.Duration
	for n := range rounds {
		text := fmt.Sprintf("pipeline: first\nstore: s3://%s/round-%d\nsource: {files: {path: s3://plain/landing}}\n", t.Bucket, n)
		if err := os.WriteFile(v.file, []byte(text), 0o600); err != nil {
			return row, err
		}
		doctors = append(doctors, v.doctor(ctx, &row))
		runs = append(runs, v.run(ctx, &row))
		if ctx.Err() != nil {
			return row, ctx.Err()
		}
	}
	row.Doctor, row.Run = median(doctors), median(runs)
	return row, nil
}

// visit calls the program.
type visit struct {
	program string
	env     []string
	file    string
}

// call runs a verb with -o json and returns its exit code, -1 if it did not end by itself.
func (v visit) call(ctx context.Context, verb string) (out []byte, code int, took time.Duration) {
	cmd := exec.CommandContext(ctx, v.program, verb, "-q", "-o", "json", "-c", v.file)
	cmd.Env = append(os.Environ(), v.env...)
	begun := time.Now()
	out, _ = cmd.Output() // the exit code says it
	return bytes.TrimSpace(out), cmd.ProcessState.ExitCode(), time.Since(begun)
}

// exitUnfit is the exit code for a store that cannot be used.
const exitUnfit = 69

// doctor notes what doctor says.
func (v visit) doctor(ctx context.Context, row *Row) time.Duration {
	out, code, took := v.call(ctx, "doctor")
	var d struct {
		Subjects []struct {
			Subject, Verdict string
			Findings         []struct {
				Name   string
				Passed bool
			}
		}
	}
	if err := json.Unmarshal(out, &d); err != nil || len(d.Subjects) != 2 {
		row.Strange = append(row.Strange, fmt.Sprintf("doctor ended with %d: %s", code, out))
		return took
	}
	store, source := d.Subjects[0], d.Subjects[1]
	switch {
	case store.Verdict == "fit" && code == 0:
		row.Fit++
	case store.Verdict == "unfit" && code == exitUnfit:
	default:
		row.Strange = append(row.Strange, fmt.Sprintf("doctor ended with %d: the store is %s, the source %s", code, store.Verdict, source.Verdict))
	}
	for _, f := range store.Findings {
		if !f.Passed {
			row.Failed[f.Name]++
		}
	}
	return took
}

// run notes how a first run ends.
func (v visit) run(ctx context.Context, row *Row) time.Duration {
	out, code, took := v.call(ctx, "run")
	row.Codes[code]++
	var report struct{ Outcome string }
	err := json.Unmarshal(out, &report)
	switch {
	case code == 0 && err == nil && report.Outcome == "committed":
		row.Admitted++
	case code == exitUnfit:
	default:
		row.Strange = append(row.Strange, fmt.Sprintf("the first run ended with %d: %s", code, out))
	}
	return took
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

// Table is the rows in Markdown.
func Table(rows []Row) string {
	var b strings.Builder
	b.WriteString("| store | version | `doctor`: fit | first runs that were admitted | exit codes | probes of `doctor` that failed | why | `doctor`, first run |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %d of %d | %d of %d | %s | %s | %s | %.1f s, %.1f s |\n", r.Name, r.Version, r.Fit, r.Rounds, r.Admitted, r.Rounds,
			counts(r.Codes, "%d ×%d"), counts(r.Failed, "`%s` %d"), r.Why, r.Doctor.Seconds(), r.Run.Seconds())
	}
	return b.String()
}

// counts lists how often each was there, by its name.
func counts[K int | string](m map[K]int, form string) string {
	var keys []K
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var parts []string
	for _, k := range keys {
		parts = append(parts, fmt.Sprintf(form, k, m[k]))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
