package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"batcher/batch"
	"batcher/commit"
	"batcher/config"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/retry"
	"batcher/pipeline"
	"batcher/record"
	"batcher/schema"
	"batcher/source"
	"batcher/source/files"
	"batcher/table/delta"
)

// wired returns the verbs of the real program.
func wired() verbs {
	return verbs{
		ReadFile: readRemote,
		Reach:    reach,
		Init:     initialize,
		Plan:     planRun,
		Run:      runPipeline,
		Status:   status,
		History:  history,
		Show:     show,
		Files:    listFiles,
		Head:     head,
		DDL:      ddl,
		Verify:   verify,
		Doctor:   doctor,
		Schema:   schemaVerb,
		DLQ:      deadLetters,
		Compact:  compactTables,
		Publish:  publish,
		GC:       collect,
		Fence:    fence,
		Adopt:    adopt,
		Drop:     drop,
		Rewind:   rewind,
		Expire:   expire,
	}
}

// rooms are one pipeline's rooms, wired to its stores.
type rooms struct {
	cfg    *config.Pipeline
	store  object.Store // holds the pipeline
	input  object.Store // holds the source
	log    *commit.Log
	delta  *delta.Projector // nil: nothing is published
	source *files.Source
	set    *files.Set
}

// wiring is what a verb's flags say about the source.
type wiring struct {
	Shard   source.Shard
	OnGap   gapPolicy
	Changed changedPolicy
}

// changedPolicy says what a verb does about on_change: fail.
type changedPolicy uint8

const (
	changedAsConfigured changedPolicy = iota // it ends there
	changedCounted                           // it only looks, so it counts them and goes on
)

// open reads the pipeline file and wires its rooms. It makes no request.
func open(ctx context.Context, c *call, w wiring) (*rooms, error) {
	cfg, err := c.Pipeline(ctx)
	if err != nil {
		return nil, err
	}
	return wire(ctx, c, cfg, w)
}

func wire(ctx context.Context, c *call, cfg *config.Pipeline, w wiring) (*rooms, error) {
	r := &rooms{cfg: cfg}
	var err error
	if r.store, err = openStore(ctx, cfg.Store, cfg.S3); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	in := cfg.Source.Files
	if r.input, err = openStore(ctx, in.Path, in.S3); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	r.log = commit.New(commit.Options{
		Store: r.store, Pipeline: string(cfg.Name), Clock: wallClock{}, Logger: c.Logger, Writer: writer(),
	})
	r.publishes(c)
	onChange := files.OnChange(in.OnChange)
	if w.Changed == changedCounted && onChange == files.FailChanged {
		onChange = files.SkipChanged
	}
	fc := files.Config{
		Location: in.Path.String(), Include: texts(in.Include), Exclude: texts(in.Exclude),
		TimePath: string(in.TimePath), Relist: in.Relist, Lookback: in.Lookback, Settle: in.Settle.Age,
		Shard: w.Shard, OnChange: onChange, OnGap: files.OnGap(w.OnGap), Start: start(in.Start),
	}
	if r.source, err = files.New(r.input, fc); err != nil {
		return nil, &exitError{Code: exitConfig, Err: err}
	}
	r.set = r.source.NewSet(r.log)
	return r, nil
}

// start is the instant from which on objects belong to the source, as far as the
// pipeline file says; the chain keeps what the first run made of it.
func start(s config.Start) time.Time {
	if s.At == config.StartNow {
		return time.Now().UTC()
	}
	return s.Time
}

func texts[T ~string](in []T) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}

// identity is what binds the pipeline file to its chain.
func identity(cfg *config.Pipeline) manifest.Config {
	id := cfg.Identity()
	return manifest.Config{Hash: cfg.Hash(), Source: id.Source, Format: id.Format, RecordID: id.RecordID, Table: id.Table, Dead: id.Dead, Split: id.Split}
}

func rulesOf(cfg *config.Pipeline) schema.Rules {
	n := cfg.Schema.Nested
	return schema.Rules{
		Names: cfg.Schema.Names.Naming(), MaxDepth: int(n.MaxDepth), MaxLeaves: int(n.MaxLeaves), MinRecords: n.MinRecords,
		Pins: cfg.Pins(), OnlyListed: cfg.Schema.OnlyListed, Contract: contracts[cfg.Schema.Contract],
		Derived: cfg.Derived(), Zone: cfg.Source.Files.Zone.Location,
		Key: cfg.Source.Files.KeyColumns.Columns,
	}
}

var contracts = map[config.Contract]schema.Contract{
	config.ContractEvolve: schema.Evolving, config.ContractFreeze: schema.Freeze,
	config.ContractDiscardValue: schema.DiscardValue, config.ContractDiscardRow: schema.DiscardRow,
}

// limitsOf are the bounds of objects.
func limitsOf(cfg *config.Pipeline) record.Limits {
	l := cfg.Source.Files.Limits
	return record.Limits{
		MaxRecordBytes: int(l.RecordBytes), MaxPageBytes: int(l.PageBytes), MaxWindow: int64(l.WindowBytes), MaxRatio: l.Ratio, RatioFrom: int64(l.RatioFrom), MaxDecoded: int64(l.DecodedBytes),
	}
}

// formatOf says how objects are read.
func formatOf(cfg *config.Pipeline) record.Format {
	in := cfg.Source.Files
	return record.Format{
		Kind: record.Kind(in.Format), Unnest: in.Unnest.Keys(), CSV: dialectOf(in.CSV), Encoding: string(in.Encoding),
		Invalid: record.Policy(in.OnInvalidUTF8),
	}
}

func dialectOf(c config.CSV) record.Dialect {
	d := record.Dialect{
		Quote: record.NoQuote, Decimal: c.Decimal[0], Skip: int(c.SkipLines), Null: c.Null,
		Encoding: string(c.Encoding), Header: headers[c.Header], Escape: byteOf(c.Escape), Comment: byteOf(c.Comment),
		Columns: c.Columns, Pad: c.Pad, Trailing: trailings[c.Trailing], Thousands: byteOf(c.Thousands),
	}
	if c.Delimiter != "auto" {
		d.Delimiter = byteOf(c.Delimiter)
	}
	if c.Quote != "" {
		d.Quote = int(c.Quote[0])
	}
	return d
}

// headers and trailings are "" where the objects show it.
var (
	headers   = map[config.Header]record.Header{config.HeaderTrue: record.Named, config.HeaderFalse: record.Numbered}
	trailings = map[config.Trailing]record.Trailing{config.TrailingTrue: record.Ignored, config.TrailingFalse: record.Cell}
)

// byteOf is the one character of a dialect, or 0 if there is none.
func byteOf[T ~string](mark T) byte {
	if mark == "" {
		return 0
	}
	return mark[0]
}

// pipeline wires a run.
func (r *rooms) pipeline(c *call) *pipeline.Pipeline {
	cfg := r.cfg
	return &pipeline.Pipeline{
		Log: r.log, Store: r.store, Source: r.source, Input: r.input, Set: r.set,
		Config: identity(cfg), Start: start(cfg.Source.Files.Start), BeginsNow: cfg.Source.Files.Start.At == config.StartNow,
		Table: string(cfg.Table), Dead: string(cfg.DeadLetters.Table),
		Rules: rulesOf(cfg), Record: limitsOf(cfg), Format: formatOf(cfg),
		Limits:     batch.Limits{Bytes: int64(cfg.Batch.MaxBytes), Records: cfg.Batch.MaxRecords, Objects: cfg.Batch.MaxObjects},
		Budget:     batch.Budget{Ratio: cfg.DeadLetters.FailAbove.Ratio, MinRecords: cfg.DeadLetters.FailAbove.MinRecords},
		File:       datafile.Options{Compression: datafile.Compression(cfg.Parquet.Compression), CreatedBy: "batcher"},
		FileBytes:  int64(cfg.Parquet.TargetFileBytes),
		FailBroken: cfg.Source.Files.OnBroken == config.OnBrokenFail,
		Unreadable: pipeline.OnUnreadable(cfg.Source.Files.OnUnreadable),
		Clock:      wallClock{}, Random: rand.Reader, Logger: c.Logger,
		Admit:  func(ctx context.Context) error { return admit(ctx, r.store) },
		Opened: r.catchUp(c),
		Step:   func(s pipeline.Step) { showStep(c, s) },
	}
}

// wallClock is the time of this machine.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) Sleep(ctx context.Context, d time.Duration) error {
	return retry.System().Sleep(ctx, d)
}

// writer describes this process in manifests.
func writer() manifest.Writer {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return manifest.Writer{Version: buildVersion(), Host: host, PID: os.Getpid()}
}

// reach proves that store and source can be listed.
func reach(ctx context.Context, cfg *config.Pipeline) error {
	for _, place := range []struct {
		what string
		at   config.Location
		s3   config.S3
		must presence
	}{{"store", cfg.Store, cfg.S3, mayBeAbsent}, {"source", cfg.Source.Files.Path, cfg.Source.Files.S3, mustExist}} {
		s, err := openStore(ctx, place.at, place.s3)
		if err != nil {
			return fmt.Errorf("%s: %w", place.what, err)
		}
		for _, err := range s.List(ctx, "", object.Shallow) {
			if errors.Is(err, object.ErrNotFound) && place.must == mayBeAbsent {
				break
			}
			if err != nil {
				return fmt.Errorf("%s %s: %w", place.what, s, err)
			}
			break
		}
	}
	return nil
}

type presence uint8

const (
	mayBeAbsent presence = iota
	mustExist
)

// chain finds the head of an existing pipeline, and refuses a pipeline file that does
// not fit it: what was written under one reads wrong under another.
func (r *rooms) chain(ctx context.Context) (manifest.Snapshot, error) {
	head, err := r.begun(ctx)
	if errors.Is(err, commit.ErrNoChain) {
		return head, &exitError{Code: exitGap, Err: &notYetError{string(r.cfg.Name), r.store.String()}, Hint: "batcher run begins it"}
	}
	return head, err
}

// begun is chain for a pipeline that may have no manifest yet: commit.ErrNoChain.
func (r *rooms) begun(ctx context.Context) (manifest.Snapshot, error) {
	head, err := r.log.Head(ctx)
	if err != nil {
		return head, err
	}
	return head, head.Admits(identity(r.cfg))
}

// at returns the snapshot after a manifest, or the head, and puts its number in the place
// of a name.
func (r *rooms) at(ctx context.Context, seq *manifest.Seq) (manifest.Snapshot, error) {
	head, err := r.chain(ctx)
	if err != nil || seq == nil {
		return head, err
	}
	if *seq, err = resolve(*seq, head); err != nil || *seq == head.Manifest.Seq {
		return head, err
	}
	if *seq > head.Manifest.Seq || *seq < head.Manifest.RetainFrom {
		return head, usageError(fmt.Sprintf("manifests %d to %d are there", head.Manifest.RetainFrom, head.Manifest.Seq), "manifest %d is not retained", *seq)
	}
	return r.log.Slot(ctx, *seq)
}

// table returns a table of a snapshot; an empty name is the main one.
func (r *rooms) table(s manifest.Snapshot, name string) (string, manifest.Table, error) {
	if name == "" {
		name = string(r.cfg.Table)
	}
	t, ok := s.Manifest.Tables[name]
	if !ok && s.Fresh() && (name == string(r.cfg.Table) || name == string(r.cfg.DeadLetters.Table)) {
		t, err := r.empty(name)
		return name, t, err
	}
	if !ok {
		return name, t, usageError("", "pipeline %s has no table %q", r.cfg.Name, name)
	}
	return name, t, nil
}

// uri is the address of an object of the store, for other programs.
func (r *rooms) uri(key string) string {
	if l := r.cfg.Store; !l.IsS3() {
		return l.Dir + "/" + key
	}
	return r.cfg.Store.String() + "/" + key
}
