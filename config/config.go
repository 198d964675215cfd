// Package config turns a pipeline file into a plain struct.
//
// Duty: parse strict YAML, lay --set values and the environment over it,
// resolve references to secrets, fill in defaults, and refuse whatever does not
// hold together or cannot be done yet, each with file, line and column.
//
// Invariants: a Pipeline that Parse returned is complete (every default filled
// in, every path absolute) and valid; every key of docs/pipeline.schema.json is
// a field here and the other way round; all errors of a file are reported at
// once; no error text holds a value that came from the environment or a file.
//
// It never opens a store, never expands text inside a value and never guesses
// at a key it does not know.
package config

import "time"

// Pipeline is one pipeline file with everything laid over it. Field tags name
// the keys of the file.
type Pipeline struct {
	// Name is the identity of the pipeline inside its store:
	// [a-z][a-z0-9_-]{0,62}.
	Name Name `yaml:"pipeline"`
	// Store is where the chain and the tables live. A store holds many
	// pipelines.
	Store Location `yaml:"store"`
	// S3 says how to reach Store where that differs from the environment.
	S3 S3 `yaml:"s3"`
	// Source is where records come from.
	Source Source `yaml:"source"`
	// Table is the main output. Default: the name of the pipeline.
	Table TableName `yaml:"table"`
	// Batch bounds what one batch holds.
	Batch Batch `yaml:"batch"`
	// RecordID says how a record is identified. Default: position.
	RecordID RecordID `yaml:"record_id"`
	// Schema says how the shape of the table is found and kept.
	Schema Schema `yaml:"schema"`
	// EventTime names the field that says when a record happened, or is nil.
	EventTime *EventTime `yaml:"event_time"`
	// PartitionBy splits the table. Default: empty, one partition.
	PartitionBy []Partition `yaml:"partition_by"`
	// DeadLetters says where bad records go and how many are too many.
	DeadLetters DeadLetters `yaml:"dead_letters"`
	// Parquet shapes the data files.
	Parquet Parquet `yaml:"parquet"`
	// Compact says how much table care follows a run.
	Compact Compact `yaml:"compact"`
	// Publish lists the table formats to project into. Default: delta; empty: none.
	Publish []Format `yaml:"publish"`
	// PublishOnConflict says what a run does when a published table has a foreign
	// commit. Default: fail.
	PublishOnConflict OnConflict `yaml:"publish_on_conflict"`
}

// S3 says how to reach one place on S3 where that differs from what the AWS SDK
// finds in the environment. It holds for the place it stands beside and for no
// other. Empty fields leave the choice to the SDK.
type S3 struct {
	Endpoint  Endpoint `yaml:"endpoint"`    // http(s)://host[:port]
	Region    string   `yaml:"region"`      // e.g. eu-central-1
	PathStyle *bool    `yaml:"path_style"`  // nil: path style for any endpoint that is not AWS
	CAFile    FilePath `yaml:"ca_file"`     // PEM file of further certificate authorities
	Profile   string   `yaml:"profile"`     // profile of the shared AWS configuration
	RoleARN   string   `yaml:"role_arn"`    // role to assume
	SSEKMSKey string   `yaml:"sse_kms_key"` // KMS key for written objects
}

// Source holds exactly one kind of source.
type Source struct {
	Files Files `yaml:"files"`
}

// Files is a source of objects below a path.
type Files struct {
	// Path is a directory or s3://bucket/prefix; the prefix is a directory too.
	Path Location `yaml:"path"`
	// S3 says how to reach Path where that differs from the environment.
	S3 S3 `yaml:"s3"`
	// Include and Exclude are globs below Path. Default: ["**"] and none.
	Include []Glob `yaml:"include"`
	Exclude []Glob `yaml:"exclude"`
	// TimePath is a pattern of folders with {yyyy}, {MM}, {dd} and {HH}: a run
	// lists only the folders inside Lookback. Default: "", list everything.
	TimePath TimePath `yaml:"time_path"`
	// Relist is how often everything is listed in spite of TimePath.
	// Default: 24h.
	Relist time.Duration `yaml:"relist"`
	// Start says which objects belong to the source. Default: earliest.
	Start Start `yaml:"start"`
	// Format of the objects. Default: auto.
	Format InputFormat `yaml:"format"`
	// Unnest names the array whose elements are the records. Default: "", the
	// records are not in an envelope.
	Unnest Unnest `yaml:"unnest"`
	// Encoding of text: ndjson, json, csv and lines. Default: utf-8.
	Encoding Encoding `yaml:"encoding"`
	// OnInvalidUTF8 says what to do about text that is not UTF-8 once it is
	// decoded. Default: reject.
	OnInvalidUTF8 OnInvalidUTF8 `yaml:"on_invalid_utf8"`
	// KeyColumns is a pattern that the keys of objects follow, with columns in it.
	// Default: "", keys say nothing.
	KeyColumns KeyColumns `yaml:"key_columns"`
	// Zone is the time zone of times that say none. Default: "", they are text.
	Zone Zone `yaml:"zone"`
	// CSV is the dialect of CSV input.
	CSV CSV `yaml:"csv"`
	// Lookback is how far back consumed objects are kept at hand. Older objects
	// are still consumed exactly once. Default: 72h.
	Lookback time.Duration `yaml:"lookback"`
	// Settle is the age below which files are left for the next run. Default:
	// auto, which is 0s on S3 and 5s in directories. It is resolved here.
	Settle Settle `yaml:"settle"`
	// OnChange says what to do about a consumed key with other content.
	// Default: skip.
	OnChange OnChange `yaml:"on_change"`
	// Limits are what one object may take. Beyond it is quarantined, or a record of it
	// is a dead letter.
	Limits ObjectLimits `yaml:"limits"`
	// OnBroken says what to do about an unreadable container. Default:
	// quarantine.
	OnBroken OnBroken `yaml:"on_broken"`
	// OnUnreadable says what to do about an object that is listed and cannot be
	// read: archived, denied, or gone. Default: wait.
	OnUnreadable OnUnreadable `yaml:"on_unreadable"`
}

// ObjectLimits bound what an object may take. They do not follow the memory of a
// machine, so that an object is good or too large wherever it is read.
type ObjectLimits struct {
	RecordBytes  Size  `yaml:"record_bytes"`  // of one record, up to 1GiB; default 8MiB
	PageBytes    Size  `yaml:"page_bytes"`    // of a page of Parquet, a block of Avro or of a compression; default 256MiB
	WindowBytes  Size  `yaml:"window_bytes"`  // that zstd looks back, held in memory; default 32MiB
	Ratio        int64 `yaml:"ratio" min:"1"` // decoded bytes for each stored byte; default 1000
	RatioFrom    Size  `yaml:"ratio_from"`    // decoded bytes from which on the ratio counts; default 1GiB
	DecodedBytes Size  `yaml:"decoded_bytes"` // of one object; default 1TiB
}

// CSV is a dialect of CSV.
type CSV struct {
	Delimiter Delimiter `yaml:"delimiter"`                     // between fields; default auto: found in the first lines
	Header    Header    `yaml:"header"`                        // the first line names the columns; default auto: found in the first lines
	Columns   []string  `yaml:"columns"`                       // names of the columns, for files without header; default none
	Pad       bool      `yaml:"pad"`                           // rows may end early; default false
	Quote     Quote     `yaml:"quote"`                         // around fields; default "; empty: quotes mean nothing
	Escape    Escape    `yaml:"escape"`                        // before a quote inside of quotes; default empty: the quote is doubled
	Comment   Comment   `yaml:"comment"`                       // begins a line that is no record; default empty: no line
	SkipLines int64     `yaml:"skip_lines" min:"0" max:"1000"` // lines before the header; default 0
	Trailing  Trailing  `yaml:"trailing_delimiter"`            // a delimiter at the end of a row means nothing; default auto
	Encoding  Encoding  `yaml:"encoding"`                      // default: source.files.encoding
	Null      []string  `yaml:"null"`                          // texts that mean null; default [""]
	Decimal   Decimal   `yaml:"decimal"`                       // decimal point; default "."
	Thousands Thousands `yaml:"thousands"`                     // between groups of three digits; default none
}

// Batch bounds what one batch holds; the first limit reached closes it.
type Batch struct {
	MaxBytes   Size  `yaml:"max_bytes"`           // decoded bytes; default 1GiB
	MaxRecords int64 `yaml:"max_records" min:"1"` // default 5000000
	MaxObjects int64 `yaml:"max_objects" min:"1"` // default 10000
}

// Schema says how the shape of the table is found and kept.
type Schema struct {
	Contract   Contract `yaml:"contract"`    // default evolve
	Nested     Nested   `yaml:"nested"`      // bounds for structs and lists
	Columns    []Column `yaml:"columns"`     // pinned columns; default none
	OnlyListed bool     `yaml:"only_listed"` // no columns but the pinned; default false
	Names      Names    `yaml:"names"`       // default lower
}

// Nested bounds which nested values become structs and lists. What lies beyond
// is kept as its JSON text.
type Nested struct {
	MaxDepth   int64 `yaml:"max_depth" min:"1" max:"32"` // levels; default 4
	MaxLeaves  int64 `yaml:"max_leaves" min:"1"`         // leaf columns under one top-level field; default 128
	MinRecords int64 `yaml:"min_records" min:"1"`        // records a shape must be seen in; default 100
}

// Column pins the type of one place of the records.
type Column struct {
	Path    Fields     `yaml:"path"`    // e.g. price, detail.price, items[].price, or a list of places that feed the column
	Type    ColumnType `yaml:"type"`    // logical type, e.g. json or decimal(18,2)
	Name    ColumnName `yaml:"name"`    // of a top-level column; default: the key by Schema.Names
	Default *Default   `yaml:"default"` // value of records without the key; nil: null
	Format  TimeFormat `yaml:"format"`  // of the texts of a date or a timestamp; default ISO 8601
	Zone    Zone       `yaml:"zone"`    // of times without one in a timestamp; default Source.Files.Zone
	Offset  ColumnName `yaml:"offset"`  // of a column with the UTC offsets of a timestamp's texts, in minutes; default none
	True    []string   `yaml:"true"`    // words of a bool besides true, in any case; default none
	False   []string   `yaml:"false"`   // and besides false
}

// EventTime names the field that says when a record happened: it becomes a
// timestamp column.
type EventTime struct {
	Field Field    `yaml:"field"`
	Unit  TimeUnit `yaml:"unit"` // what its numbers count; default iso: it is text
}

// Partition is one level of a table's partitioning. Exactly one of its fields
// is set, to the name of a top-level column.
type Partition struct {
	Day    ColumnName `yaml:"day"`    // timestamp column whose UTC day splits the table: <name>_day
	Hour   ColumnName `yaml:"hour"`   // timestamp column whose UTC hour splits the table: <name>_hour
	Column ColumnName `yaml:"column"` // column of type string, date, int32 or int64
}

// DeadLetters says where bad records go and how many are too many.
type DeadLetters struct {
	Table     TableName `yaml:"table"` // default: the main table's name and _dead
	FailAbove FailAbove `yaml:"fail_above"`
}

// FailAbove is the bad-record budget: a batch of at least MinRecords records in
// which more than Ratio of them are bad commits nothing.
type FailAbove struct {
	Ratio      float64 `yaml:"ratio" min:"0" max:"1"` // default 0.1
	MinRecords int64   `yaml:"min_records" min:"0"`   // default 1000
}

// Parquet shapes the data files.
type Parquet struct {
	Compression     Compression `yaml:"compression"`       // default zstd
	TargetFileBytes Size        `yaml:"target_file_bytes"` // default 128MiB
}

// Compact says how much table care follows a run.
type Compact struct {
	// AfterRun is the share of the run's time that may go into merging small
	// files, 0 to 1; 0 is off.
	AfterRun Share `yaml:"after_run"`
}

// defaults returns what a file that says nothing means. Table names and Settle
// depend on other keys and are filled in afterwards.
func defaults() Pipeline {
	return Pipeline{
		Source: Source{Files: Files{
			Include:  []Glob{"**"},
			Exclude:  []Glob{},
			Relist:   24 * time.Hour,
			Start:    Start{At: StartEarliest},
			Format:   InputAuto,
			Encoding: EncodingUTF8,
			CSV:      defaultCSV(),
			Lookback: 72 * time.Hour,
			Settle:   Settle{Auto: true},
			Limits:   defaultLimits(),
			OnChange: OnChangeSkip,
			OnBroken: OnBrokenQuarantine,

			OnUnreadable:  OnUnreadableWait,
			OnInvalidUTF8: InvalidUTF8Reject,
		}},
		Batch:    Batch{MaxBytes: 1 << 30, MaxRecords: 5_000_000, MaxObjects: 10_000},
		RecordID: RecordIDPosition,
		Schema: Schema{
			Contract: ContractEvolve,
			Nested:   Nested{MaxDepth: 4, MaxLeaves: 128, MinRecords: 100},
			Columns:  []Column{},
			Names:    NamesLower,
		},
		PartitionBy: []Partition{},
		DeadLetters: DeadLetters{FailAbove: FailAbove{Ratio: 0.1, MinRecords: 1000}},
		Parquet:     Parquet{Compression: CompressionZstd, TargetFileBytes: 128 << 20},
		Compact:     Compact{AfterRun: 0.2},
		Publish:     []Format{FormatDelta},

		PublishOnConflict: OnConflictFail,
	}
}

func defaultLimits() ObjectLimits {
	return ObjectLimits{RecordBytes: 8 << 20, PageBytes: 256 << 20, WindowBytes: 32 << 20, Ratio: 1000, RatioFrom: 1 << 30, DecodedBytes: 1 << 40}
}

// defaultCSV is the dialect of a file that says nothing, but for the encoding,
// which is that of the source.
func defaultCSV() CSV {
	return CSV{Delimiter: "auto", Header: HeaderAuto, Columns: []string{}, Quote: `"`, Null: []string{""}, Decimal: DecimalPoint, Trailing: TrailingAuto}
}
