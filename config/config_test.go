package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batcher/config"
)

const minimal = `pipeline: events
store: ./lake
source:
  files:
    path: ./in
`

func parse(t *testing.T, text string, opts config.Options) *config.Pipeline {
	t.Helper()
	p, err := config.Parse("/etc/batcher/pipeline.yaml", []byte(text), opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// refuse parses a bad file and returns its errors, one a line.
func refuse(t *testing.T, text string, opts config.Options) string {
	t.Helper()
	p, err := config.Parse("p.yaml", []byte(text), opts)
	if err == nil {
		t.Fatalf("accepted: %+v", p)
	}
	var es config.Errors
	if !errors.As(err, &es) || len(es) == 0 {
		t.Fatalf("%T is not config.Errors", err)
	}
	return err.Error()
}

func TestParse_MinimalFileHasEveryDefault(t *testing.T) {
	p := parse(t, minimal, config.Options{})
	got := fmt.Sprintf("%+v", *p)
	want := "{Name:events Store:/etc/batcher/lake S3:{Endpoint: Region: PathStyle:<nil> CAFile: Profile: RoleARN: SSEKMSKey:} " +
		"Source:{Files:{Path:/etc/batcher/in S3:{Endpoint: Region: PathStyle:<nil> CAFile: Profile: RoleARN: SSEKMSKey:} " +
		"Include:[**] Exclude:[] TimePath: Relist:24h0m0s Start:earliest Format:auto Unnest: Encoding:utf-8 OnInvalidUTF8:reject KeyColumns: Zone: " +
		"CSV:{Delimiter:auto Header:auto Columns:[] Pad:false Quote:\" Escape: Comment: SkipLines:0 Trailing:auto Encoding:utf-8 Null:[] Decimal:. Thousands:} " +
		"Lookback:72h0m0s Settle:{Auto:true Age:5s} OnChange:skip Limits:{RecordBytes:8388608 PageBytes:268435456 WindowBytes:33554432 Ratio:1000 RatioFrom:1073741824 DecodedBytes:1099511627776} OnBroken:quarantine OnUnreadable:wait}} " +
		"Table:events Batch:{MaxBytes:1073741824 MaxRecords:5000000 MaxObjects:10000} RecordID:position " +
		"Schema:{Contract:evolve Nested:{MaxDepth:4 MaxLeaves:128 MinRecords:100} Columns:[] OnlyListed:false Names:lower} " +
		"EventTime:<nil> PartitionBy:[] DeadLetters:{Table:events_dead FailAbove:{Ratio:0.1 MinRecords:1000}} " +
		"Parquet:{Compression:zstd TargetFileBytes:134217728} Compact:{AfterRun:0.2} Publish:[delta] PublishOnConflict:fail}"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestParse_EveryKeyIsTyped(t *testing.T) {
	p := parse(t, `
pipeline: clicks-2
store: s3://lake/prod/
s3: {endpoint: "http://minio:9000/", region: eu, path_style: false, ca_file: tls/ca.pem, profile: ops, role_arn: arn, sse_kms_key: key}
source:
  files:
    path: s3://raw/app
    s3: {region: us}
    include: ["**/*.ndjson"]
    exclude: [tmp/**]
    time_path: "*/{yyyy}/{MM}/{dd}/"
    relist: 90m
    start: 2026-11-01T02:00:00+02:00
    format: ndjson
    lookback: 1h30m
    settle: 250ms
    on_change: fail
    on_broken: fail
    on_unreadable: quarantine
table: clicks
batch: {max_bytes: 500KB, max_records: 7, max_objects: 2}
schema: {nested: {max_depth: 1, max_leaves: 1, min_records: 2}, names: snake}
dead_letters: {table: bad, fail_above: {ratio: 0, min_records: 0}}
parquet: {compression: snappy, target_file_bytes: 1TiB}
`, config.Options{})
	got := fmt.Sprintf("%+v", *p)
	for _, want := range []string{
		"Name:clicks-2 Store:s3://lake/prod S3:{Endpoint:http://minio:9000 Region:eu PathStyle:0x", "CAFile:/etc/batcher/tls/ca.pem Profile:ops RoleARN:arn SSEKMSKey:key}",
		"Path:s3://raw/app S3:{Endpoint: Region:us", "Include:[**/*.ndjson] Exclude:[tmp/**] TimePath:*/{yyyy}/{MM}/{dd}/ Relist:1h30m0s Start:2026-11-01T00:00:00Z Format:ndjson",
		"Lookback:1h30m0s Settle:{Auto:false Age:250ms} OnChange:fail Limits:{RecordBytes:8388608 PageBytes:268435456 WindowBytes:33554432 Ratio:1000 RatioFrom:1073741824 DecodedBytes:1099511627776} OnBroken:fail OnUnreadable:quarantine", "Table:clicks Batch:{MaxBytes:500000 MaxRecords:7 MaxObjects:2}",
		"Nested:{MaxDepth:1 MaxLeaves:1 MinRecords:2}", "Names:snake", "DeadLetters:{Table:bad FailAbove:{Ratio:0 MinRecords:0}}", "Parquet:{Compression:snappy TargetFileBytes:1099511627776}",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s\nin %s", want, got)
		}
	}
}

func TestParse_SettleAutoIsZeroOnS3(t *testing.T) {
	p := parse(t, strings.Replace(minimal, "./in", "s3://bucket/in", 1), config.Options{})
	if s := p.Source.Files.Settle; !s.Auto || s.Age != 0 {
		t.Errorf("settle %+v", s)
	}
}

// TestParse_Errors gives whole messages: position, key, what is wrong, the cure.
func TestParse_Errors(t *testing.T) {
	const head = minimal
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", "p.yaml: is empty (batcher init writes a first one)"},
		"comment only":       {"# nothing\n", "p.yaml: is empty (batcher init writes a first one)"},
		"a list":             {"- a\n", "p.yaml:1:1: wants keys and values, found a list"},
		"text":               {"hello", "p.yaml:1:1: wants keys and values, found text"},
		"second document":    {head + "---\ntable: x\n", "p.yaml:6:1: a second YAML document begins here; a pipeline file holds one"},
		"tab":                {"source:\n\tfiles: x\n", "p.yaml:2:1: a tab in the indentation (YAML indents with spaces only)"},
		"not YAML":           {head + "table: [a\n", "p.yaml:6:1: is not YAML: did not find expected ',' or ']'"},
		"unknown key":        {head + "tabel: x\n", "p.yaml:6:1: tabel: unknown key (did you mean table?)"},
		"unknown, elsewhere": {head + "lookback: 1h\n", "p.yaml:6:1: lookback: unknown key (did you mean source.files.lookback?)"},
		"unknown, nested":    {head + "batch: {max_record: 5}\n", "p.yaml:6:9: batch.max_record: unknown key (did you mean max_records?)"},
		"unknown, far":       {head + "zebra: 5\n", "p.yaml:6:1: zebra: unknown key"},
		"camel case":         {head + "batch: {max-bytes: 5}\n", "p.yaml:6:9: batch.max-bytes: unknown key (did you mean max_bytes?)"},
		"twice":              {head + "store: /x\n", "p.yaml:6:1: store: is given twice, first in line 2"},
		"wrong type":         {head + "batch: {max_records: many}\n", "p.yaml:6:22: batch.max_records: wants a whole number, found text"},
		"number for text":    {head + "table: 5\n", "p.yaml:6:8: table: wants a table name like events, found a whole number (quote it if it is meant as text)"},
		"list for text":      {head + "table: [a]\n", "p.yaml:6:8: table: wants a table name like events, found a list"},
		"text for list":      {head + "publish: delta\n", "p.yaml:6:10: publish: wants a list like [a, b], found text"},
		"text for mapping":   {head + "batch: 1GiB\n", "p.yaml:6:8: batch: wants the keys max_bytes, max_records, max_objects, found text"},
		"no value":           {head + "table:\n", "p.yaml:6:7: table: has no value (leave the key out for its default)"},
		"octal":              {head + "batch: {max_records: 014}\n", "p.yaml:6:22: batch.max_records: wants a whole number in plain digits"},
		"hex":                {head + "batch: {max_records: 0x14}\n", "p.yaml:6:22: batch.max_records: wants a whole number in plain digits"},
		"underscore":         {head + "batch: {max_records: 1_000}\n", "p.yaml:6:22: batch.max_records: wants a whole number in plain digits"},
		"records too long":   {strings.Replace(head, "path: ./in", "path: ./in\n    limits: {record_bytes: 1025MiB}", 1), "p.yaml:6:28: source.files.limits.record_bytes: must not be above 1GiB"},
		"zero":               {head + "batch: {max_records: 0}\n", "p.yaml:6:22: batch.max_records: must not be below 1"},
		"size":               {head + "batch: {max_bytes: 1Gi}\n", "p.yaml:6:20: batch.max_bytes: wants a size like 128MiB: a whole number from 1 and B, KiB, MiB, GiB, TiB, KB, MB, GB or TB"},
		"NaN":                {head + "dead_letters: {fail_above: {ratio: .nan}}\n", "p.yaml:6:36: dead_letters.fail_above.ratio: wants a number"},
		"alias":              {head + "table: &a x\ndead_letters: {table: *a}\n", "p.yaml:6:8: table: anchors and aliases are not allowed (write the value out)\np.yaml:7:23: dead_letters.table: anchors and aliases are not allowed (write the value out)"},
		"merge":              {head + "batch: {<<: {max_records: 1}}\n", "p.yaml:6:9: batch: merge keys are not allowed (write the keys out)"},
		"tag":                {head + "table: !!str 5\n", "p.yaml:6:8: table: explicit types are not allowed (leave the !tag out)"},
		"substitution":       {head + "table: ${TABLE}\n", `p.yaml:6:8: table: holds "${", but text is never substituted (write {env: NAME} or {file: path} as the whole value)`},
		"key not text":       {head + "? [a]\n: x\n", "p.yaml:6:3: a key is plain text"},
		"scheme":             {strings.Replace(head, "./lake", "gs://b/x", 1), "p.yaml:2:8: store: wants the path of a directory or s3://bucket/prefix; other schemes are not supported"},
		"home":               {strings.Replace(head, "./lake", "~/x", 1), "p.yaml:2:8: store: ~ is not expanded; write the whole path, or leave it to the shell with --set or the environment"},
		"missing":            {"source: {files: {}}\n", "p.yaml:1:1: pipeline: is missing\np.yaml:1:1: store: is missing\np.yaml:1:17: source.files.path: is missing"},
		"same table":         {head + "dead_letters: {table: events}\n", "p.yaml:6:23: dead_letters.table: must not be the main table"},
		"batches table":      {head + "table: events_batches\n", "p.yaml:6:8: table: is the name of the table that lists the batches"},
		"nothing included":   {strings.TrimSuffix(head, "\n") + "\n    include: []\n", "p.yaml:6:14: source.files.include: is empty: nothing would ever be read (leave it out to take everything)"},
		"s3 beside a dir":    {head + "s3: {region: eu}\n", "p.yaml:6:5: s3: store, which it stands beside, is a directory"},
		"all at once":        {"pipeline: Events\nstor: ./lake\nsource: {files: {path: ./in, lookback: 3d}}\n", "p.yaml:1:1: store: is missing\np.yaml:1:11: pipeline: must begin with a lower-case letter and go on with at most 62 of a-z, 0-9, _ and -\np.yaml:2:1: stor: unknown key (did you mean store?)\np.yaml:3:40: source.files.lookback: wants a duration like 72h, 14m or 5s"},
		"deep":               {"a: " + strings.Repeat("[", 500) + strings.Repeat("]", 500), "p.yaml:1:1: a: unknown key\np.yaml:1:1: pipeline: is missing\np.yaml:1:1: store: is missing\np.yaml:1:1: source: is missing\np.yaml:1:37: is nested too deep for a pipeline file"},
		"endpoint secret":    {head + "s3: {endpoint: 'https://me:pa55@host'}\n", "p.yaml:6:16: s3.endpoint: wants a URL like https://minio.example:9000, without credentials, path or query"},

		"format typo":      {head + "    format: ndjsn\n", "p.yaml:6:13: source.files.format: wants one of auto, ndjson, json, csv, parquet, avro, lines (did you mean ndjson?)"},
		"record_id fields": {head + "record_id: {fields: [id]}\n", "p.yaml:6:12: record_id: identifying records by fields is not supported by this version"},
		"publish":          {head + "publish: [iceberg]\n", "p.yaml:6:11: publish[0]: wants delta"},
		"compact":          {head + "compact: {after_run: 200%}\n", "p.yaml:6:22: compact.after_run: wants a percentage from 0% to 100%, or 0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := refuse(t, c.text, config.Options{}); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestParse_SourceAndStoreMustNotContainEachOther(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "lake", "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "lake"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		store, source string
		environ       []string
		extra         string
		nested        bool
	}{
		{store: "lake", source: "lake", nested: true},
		{store: "lake", source: "lake/in", nested: true},
		{store: "lake/out", source: "lake", nested: true},
		{store: "lake", source: "link/in", nested: true},
		{store: "lake", source: "link/not-there-yet/x", nested: true},
		{store: ".", source: "in", nested: true},
		{store: "/", source: "in", nested: true},
		{store: "lake", source: "lake2"},
		{store: "lake", source: "in"},
		{store: "s3://bucket", source: "s3://bucket/in", nested: true},
		{store: "s3://bucket/in/x", source: "s3://bucket/in/", nested: true},
		{store: "s3://bucket/app", source: "s3://bucket/app-old"},
		{store: "s3://bucket/app", source: "s3://bucket2/app"},
		{store: "s3://bucket/app", source: "lake"},
		{store: "s3://bucket/app", source: "s3://bucket/app", extra: "s3: {endpoint: 'http://elsewhere:9000'}"},
		{store: "s3://bucket/app", source: "s3://bucket/app", extra: "s3: {endpoint: 'http://Minio:9000/'}", environ: []string{"AWS_ENDPOINT_URL_S3=http://minio:9000"}, nested: true},
	} {
		text := fmt.Sprintf("pipeline: a\nstore: %s\nsource: {files: {path: %s}}\n%s\n", c.store, c.source, c.extra)
		_, err := config.Parse("p.yaml", []byte(text), config.Options{Dir: dir, Environ: c.environ})
		if got := err != nil && strings.Contains(err.Error(), "must not contain each other"); got != c.nested {
			t.Errorf("store %s, source %s %s: nested %v, want %v (%v)", c.store, c.source, c.extra, got, c.nested, err)
		}
	}
}

func TestParse_Precedence(t *testing.T) {
	const text = minimal + "batch: {max_bytes: 1MiB, max_records: 1}\n"
	environ := []string{"BATCHER_BATCH__MAX_BYTES=2MiB", "BATCHER_BATCH__MAX_RECORDS=2", "BATCHER_BATCH__MAX_OBJECTS=2", "BATCHER_TABLE=5x", "BATCHER_TABLE=fromenv", "BATCHER_SOURCE__FILES__INCLUDE=[a, b]", "BATCHER_STORE=", "OTHER=1"}
	p := parse(t, text, config.Options{Environ: environ, Set: []string{"batch.max_records=4", "batch.max_records=3", "dead_letters.table=bad=no", "dead_letters.table=bad", "s3.path_style=true", "store=s3://b3t/x"}})
	if p.Batch != (config.Batch{MaxBytes: 2 << 20, MaxRecords: 3, MaxObjects: 2}) || p.Table != "fromenv" || p.DeadLetters.Table != "bad" || len(p.Source.Files.Include) != 2 || p.S3.PathStyle == nil || !*p.S3.PathStyle || p.Store.String() != "s3://b3t/x" {
		t.Errorf("%+v", *p)
	}
}

func TestParse_OverriddenStoreLeavesItsS3SettingsUnused(t *testing.T) {
	text := strings.Replace(minimal, "./lake", "s3://bucket/lake", 1) + "s3: {region: eu}\n"
	if p := parse(t, text, config.Options{Environ: []string{"BATCHER_STORE=/tmp/lake"}}); p.Store.String() != "/tmp/lake" {
		t.Errorf("%+v", p.Store)
	}
}

func TestParse_OverlayErrorsNameTheirOrigin(t *testing.T) {
	for name, c := range map[string]struct {
		opts config.Options
		want string
	}{
		"no value":        {config.Options{Set: []string{"table"}}, "--set: wants key.path=value"},
		"no key":          {config.Options{Set: []string{"=x"}}, "--set: wants key.path=value"},
		"unknown":         {config.Options{Set: []string{"batch.max_byte=1"}}, "--set: batch.max_byte: unknown key (did you mean max_bytes?)"},
		"wrong":           {config.Options{Set: []string{"batch.max_records=x"}}, "--set: batch.max_records: wants a whole number in plain digits"},
		"bad YAML":        {config.Options{Set: []string{"publish=[a"}}, "--set: publish: begins like a YAML list, mapping or quoted text, but is none"},
		"below a value":   {config.Options{Set: []string{"table.x=1"}}, "--set: table.x: cannot be set: table is not a mapping in the file"},
		"substitution":    {config.Options{Set: []string{"table=${X}"}}, `--set: table: holds "${", but text is never substituted (write {env: NAME} or {file: path} as the whole value)`},
		"env wrong":       {config.Options{Environ: []string{"BATCHER_BATCH__MAX_BYTES=s3cret"}}, "environment variable BATCHER_BATCH__MAX_BYTES: batch.max_bytes: wants a size like 128MiB: a whole number from 1 and B, KiB, MiB, GiB, TiB, KB, MB, GB or TB"},
		"env unknown":     {config.Options{Environ: []string{"BATCHER_BATCH__MAX_BYTE=s3cret"}}, "environment variable BATCHER_BATCH__MAX_BYTE: batch.max_byte: unknown key (did you mean max_bytes?)"},
		"env mapping":     {config.Options{Environ: []string{"BATCHER_BATCH=s3cret"}}, "environment variable BATCHER_BATCH: batch: wants the keys max_bytes, max_records, max_objects, found text"},
		"env not fit":     {config.Options{Environ: []string{"BATCHER_SOURCE__FILES__FORMAT=s3cret"}}, "environment variable BATCHER_SOURCE__FILES__FORMAT: source.files.format: wants one of auto, ndjson, json, csv, parquet, avro, lines"},
		"env, no mapping": {config.Options{Environ: []string{"BATCHER_TABLE__X=1"}}, "environment variable BATCHER_TABLE__X: table.x: cannot be set: table is not a mapping in the file"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := refuse(t, minimal+"table: t\n", c.opts); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestParse_WarnsOfVariablesThatNameNoKey(t *testing.T) {
	var warnings []string
	parse(t, minimal, config.Options{
		Environ: []string{"BATCHER_STORES=/x", "BATCHER_BATCHES__MAX_BYTES=1", "BATCHER_PORT_80_TCP=tcp://10.0.0.1:80", "BATCHER_SERVICE_HOST=10.0.0.1"},
		Warn:    func(m string) { warnings = append(warnings, m) },
	})
	want := "environment variable BATCHER_STORES names no key of a pipeline file and is ignored; did you mean BATCHER_STORE?\n" +
		"environment variable BATCHER_BATCHES__MAX_BYTES names no key of a pipeline file and is ignored; did you mean BATCHER_BATCH__MAX_BYTES?"
	if got := strings.Join(warnings, "\n"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestParse_References(t *testing.T) {
	const text = `pipeline: {env: NAME}
store: {file: store.txt}
source: {files: {path: /in, relist: {env: RELIST}, include: [{env: GLOB}]}}
batch: {max_records: {env: COUNT}}
s3: {path_style: {env: STYLE}}
dead_letters: {fail_above: {ratio: {env: RATIO}}}
`
	p := parse(t, text, config.Options{
		Environ: []string{"NAME=events", "RELIST=2h", "GLOB=*.x", "COUNT=12", "STYLE=true", "RATIO=0.5"},
		ReadFile: func(path string) ([]byte, error) {
			return []byte("s3://from-file/x\r\n"), map[bool]error{true: nil, false: errors.New(path)}[path == "/etc/batcher/store.txt"]
		},
	})
	if p.Name != "events" || p.Store.String() != "s3://from-file/x" || p.Source.Files.Relist != 2*time.Hour || p.Source.Files.Include[0] != "*.x" || p.Batch.MaxRecords != 12 || !*p.S3.PathStyle || p.DeadLetters.FailAbove.Ratio != 0.5 {
		t.Errorf("%+v", *p)
	}
}

// TestParse_ReferencesNeverShowTheValue resolves a secret where it cannot fit,
// at every kind of key.
func TestParse_ReferencesNeverShowTheValue(t *testing.T) {
	const secret = "hunter2-Geheim:%zz{"
	opts := config.Options{
		Environ:  []string{"S=" + secret},
		ReadFile: func(string) ([]byte, error) { return []byte(secret), nil },
	}
	for _, key := range []string{"pipeline", "store", "table", "record_id", "s3.endpoint", "s3.path_style", "s3.ca_file", "source.files.path", "source.files.include", "source.files.time_path", "source.files.relist", "source.files.start", "source.files.format", "source.files.settle", "source.files.csv.header", "source.files.csv.quote", "source.files.encoding", "batch.max_bytes", "batch.max_records", "schema.contract", "dead_letters.table", "dead_letters.fail_above.ratio", "compact.after_run"} {
		for _, ref := range []string{"{env: S}", "{file: S}"} {
			value := ref
			if key == "source.files.include" {
				value = "[{env: S}, '/x']"
			}
			opts.Set = []string{key + "=" + value}
			if got := refuse(t, minimal, opts); strings.Contains(got, "hunter2") || strings.Contains(got, "Geheim") {
				t.Errorf("%s: %s", key, got)
			}
		}
	}
}

func TestParse_ReferenceErrors(t *testing.T) {
	opts := config.Options{Environ: []string{"EMPTY="}, ReadFile: func(string) ([]byte, error) { return nil, os.ErrNotExist }}
	for name, c := range map[string]struct{ text, want string }{
		"not set":   {"table: {env: NOPE}", "p.yaml:6:8: table: environment variable NOPE is not set"},
		"empty":     {"table: {env: EMPTY}", "p.yaml:6:8: table: environment variable EMPTY is not set"},
		"no file":   {"table: {file: nope}", "p.yaml:6:8: table: the value comes from a file: file does not exist"},
		"no name":   {"table: {env: ''}", "p.yaml:6:14: table.env: wants the name of a variable or a file, found text"},
		"list":      {"table: {env: [A]}", "p.yaml:6:14: table.env: wants the name of a variable or a file, found a list"},
		"both":      {"table: {env: A, file: b}", "p.yaml:6:8: table: wants a table name like events, found keys and values"},
		"a mapping": {"batch: {env: A}", "p.yaml:6:9: batch.env: unknown key"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := refuse(t, minimal+c.text+"\n", opts); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestParse_FileOnS3HasNoRelativePaths(t *testing.T) {
	_, err := config.Parse("s3://bucket/pipeline.yaml", []byte(minimal), config.Options{})
	if err == nil || strings.Count(err.Error(), "a relative path means nothing in a pipeline file on S3") != 2 {
		t.Error(err)
	}
	text := strings.NewReplacer("./lake", "s3://bucket/lake", "./in", "/in").Replace(minimal)
	if _, err := config.Parse("s3://bucket/pipeline.yaml", []byte(text), config.Options{}); err != nil {
		t.Error(err)
	}
}

func TestIdentityAndHash(t *testing.T) {
	base := parse(t, minimal, config.Options{})
	if got, want := base.Hash(), "937379ac2c197cc474e6439a4494896da63ae5de2fe9fb1e06714a995c0f3af8"; got != want {
		t.Errorf("the hash of an unchanged file changed: %s, was %s", got, want)
	}
	if got := base.Identity(); got != (config.Identity{Source: "/etc/batcher/in", Format: "auto", RecordID: "position", Table: "events", Dead: "events_dead"}) {
		t.Errorf("%+v", got)
	}
	for set, want := range map[string]struct{ hash, identity bool }{
		"source.files.path=/other":                             {true, true},
		"source.files.format=ndjson":                           {true, true},
		"table=clicks":                                         {true, true},
		"dead_letters.table=bad":                               {true, true},
		"pipeline=other":                                       {true, true},
		"source.files.include=[a]":                             {true, false},
		"source.files.exclude=[a]":                             {true, false},
		"source.files.start=now":                               {true, false},
		"source.files.on_change=fail":                          {true, false},
		"source.files.on_broken=fail":                          {true, false},
		"source.files.on_unreadable=quarantine":                {true, false},
		"source.files.on_unreadable=fail":                      {false, false},
		"schema.names=snake":                                   {true, false},
		"schema.nested.max_depth=1":                            {true, false},
		"parquet.compression=none":                             {true, false},
		"parquet.target_file_bytes=1MiB":                       {true, false},
		"store=/elsewhere":                                     {false, false},
		"batch.max_bytes=5":                                    {false, false},
		"source.files.lookback=1h":                             {false, false},
		"source.files.settle=1h":                               {false, false},
		"source.files.relist=1h":                               {false, false},
		"source.files.time_path={yyyy}/":                       {false, false},
		"dead_letters.fail_above.ratio=1":                      {false, false},
		"compact.after_run=0%":                                 {false, false},
		"source.files.unnest=Records":                          {true, true},
		"source.files.encoding=latin1":                         {true, false},
		"source.files.csv.encoding=utf-8":                      {false, false},
		"source.files.csv.skip_lines=1":                        {true, false},
		"source.files.on_invalid_utf8=replace":                 {true, false},
		"schema.contract=freeze":                               {true, false},
		"schema.columns=[{path: a, type: string}]":             {true, false},
		"schema.columns=[{path: a, type: struct}]":             {true, false},
		"schema.columns=[{path: a, type: string, default: x}]": {true, false},
		"event_time={field: ts}":                               {true, false},
		"event_time={field: ts, unit: ms}":                     {true, false},
	} {
		opts := config.Options{Set: []string{set}}
		if strings.Contains(set, "{yyyy}") {
			opts.Set = []string{`source.files.time_path="{yyyy}/"`}
		}
		p := parse(t, minimal, opts)
		if (p.Hash() != base.Hash()) != want.hash {
			t.Errorf("%s: hash changed %v, want %v", set, p.Hash() != base.Hash(), want.hash)
		}
		if (p.Identity() != base.Identity()) != want.identity {
			t.Errorf("%s: identity %+v, was %+v; want changed %v", set, p.Identity(), base.Identity(), want.identity)
		}
	}
	want := base.Identity()
	want.Table, want.Dead = "clicks", "clicks_dead"
	if got := parse(t, minimal+"table: clicks\n", config.Options{}).Identity(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(minimal)
	f.Add(minimal + "batch: {max_bytes: 1GiB, <<: {a: *b}}\n---\n")
	f.Add("? [a]\n: b\npipeline: &x {env: S}\n")
	f.Add("source: {files: {include: [a, {file: x}], start: 2026-11-01}}\ns3: {path_style: yes}\n")
	f.Add("\xef\xbb\xbfpipeline: \"${X}\"\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		opts := config.Options{
			Dir:      "/d",
			Environ:  []string{"S=geheim"},
			ReadFile: func(string) ([]byte, error) { return []byte("geheim"), nil },
			RealDir:  filepath.Clean,
		}
		p, err := config.Parse("p.yaml", []byte(text), opts)
		if err == nil {
			if p.Hash() == "" || !strings.HasPrefix(p.Store.String(), "/") && !p.Store.IsS3() {
				t.Errorf("%+v", p)
			}
			return
		}
		var es config.Errors
		if !errors.As(err, &es) || len(es) == 0 {
			t.Fatalf("%T", err)
		}
		if !strings.Contains(text, "geheim") && strings.Contains(err.Error(), "geheim") {
			t.Errorf("shows a secret: %s", err)
		}
		for _, e := range es {
			if e.Line > 1+strings.Count(text, "\n")+breaks(text) {
				t.Errorf("%s lies beyond the file", e)
			}
		}
	})
}

// breaks counts the line breaks that YAML knows besides the newline.
func breaks(text string) int {
	n := 0
	for _, b := range []string{"\r", "\u0085", "\u2028", "\u2029"} {
		n += strings.Count(text, b)
	}
	return n
}
