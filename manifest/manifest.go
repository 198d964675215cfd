// Package manifest has the words of the chain: Manifest, Table, File, Snapshot,
// BatchID, and their deterministic encoding.
//
// Duty: define the numbered objects that commit a batch, field by field as in
// docs/FORMAT.md, and Apply, the one function that says whether a manifest may
// follow another.
//
// Invariants: encoding is a pure function of the value; decoding refuses an
// unknown format or an unknown field loudly; Apply refuses gaps, wrong parents,
// bases below the floor and progress that falls.
//
// It never touches a store, a clock or randomness.
package manifest

import (
	"encoding/json"
	"strings"
	"time"

	"batcher/schema"
	"batcher/segment"
	"batcher/source"
)

// Format is the version of every object under _batcher/ that this code writes.
const Format = 1

// Seq numbers the manifests of a pipeline, contiguous from 0 (genesis).
type Seq int64

// Generation counts rewinds and adoptions: attempts of an older one can never
// commit.
type Generation int64

// Kind is what a manifest does to the chain.
type Kind string

// The kinds of manifest.
const (
	Genesis   Kind = "genesis"
	Data      Kind = "data"
	Compact   Kind = "compact"
	Rewrite   Kind = "rewrite"
	Replay    Kind = "replay"
	Replace   Kind = "replace"
	Republish Kind = "republish"
	Adopt     Kind = "adopt"
	Floor     Kind = "floor"
	Expire    Kind = "expire"
	Gap       Kind = "gap"
	Rewind    Kind = "rewind"
	Drop      Kind = "drop" // nothing follows it: the pipeline is being deleted
)

// SHA256 is the hash of an object's bytes; 64 hex digits in JSON.
type SHA256 = segment.SHA256

// Attempt is 128 random bits, drawn once per batch attempt before its first
// write; 32 hex digits in JSON and in keys.
type Attempt [16]byte

// BatchID names what a batch consumed: see NewBatchID.
type BatchID [16]byte

// Parent names the manifest that a manifest was built on.
type Parent struct {
	Seq     Seq     `json:"seq"`
	Attempt Attempt `json:"attempt"`
	SHA256  SHA256  `json:"sha256"`
}

// Manifest is one numbered object of the chain.
type Manifest struct {
	Format     int              `json:"format"`
	Pipeline   string           `json:"pipeline"` // pipeline id: name, "-", 32 hex digits
	Seq        Seq              `json:"seq"`
	Kind       Kind             `json:"kind"`
	Attempt    Attempt          `json:"attempt"`
	Base       Seq              `json:"base"`   // head on which the attempt started
	Parent     *Parent          `json:"parent"` // nil in genesis only
	GCFloor    Seq              `json:"gc_floor"`
	RetainFrom Seq              `json:"retain_from"`
	Generation Generation       `json:"generation"`
	Progress   source.Progress  `json:"progress"` // after this manifest
	Batch      *Batch           `json:"batch,omitempty"`
	RewindTo   *Seq             `json:"rewind_to,omitempty"` // rewind only: the snapshot that was restored
	Letters    *Letters         `json:"letters,omitempty"`   // replay only: what became of dead letters
	Gaps       []GapRecord      `json:"gaps,omitempty"`
	Republish  *Republished     `json:"republish,omitempty"` // republish only: the table that is published anew
	Tables     map[string]Table `json:"tables"`              // every table of the pipeline
	Config     Config           `json:"config"`
	Writer     Writer           `json:"writer"`
	CreatedAt  time.Time        `json:"created_at"` // information; never before the parent's
}

// Config is what the writer's pipeline file said where it binds later runs.
type Config struct {
	Hash     string `json:"hash"`                   // sha256 of the settings that decide what is written
	Source   string `json:"source"`                 // location, without secrets
	Format   string `json:"format"`                 // input format
	RecordID string `json:"record_id"`              // how records are identified
	Table    string `json:"table"`                  // main table
	Dead     string `json:"dead"`                   // dead-letter table
	Split    string `json:"partition_by,omitempty"` // columns whose values split the main table, joined by ","; "": none
}

// PartitionBy returns the columns of the main table whose values stand in Part of
// each of its files, in order; none if the table is not split.
func (c Config) PartitionBy() []string {
	if c.Split == "" {
		return nil
	}
	return strings.Split(c.Split, ",")
}

// Writer is information about the process that made the manifest.
type Writer struct {
	Version string `json:"version"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
}

// Batch is what a manifest of kind data or replace consumed.
type Batch struct {
	ID      BatchID                    `json:"id"`
	Ranges  segment.List[source.Range] `json:"ranges"`
	Objects int64                      `json:"objects"` // objects the ranges belong to
	Late    int64                      `json:"late"`    // of these, older than the lookback
	Touched segment.List[Touched]      `json:"touched"` // consumed objects that got a new identity around the same content
	// Replaced are the objects among the ranges whose earlier rows this manifest
	// takes away; replace only.
	Replaced segment.List[Replaced] `json:"replaced,omitzero"`
	Rows     RowCounts              `json:"rows"`
	Bytes    int64                  `json:"bytes"` // decoded bytes read
}

// Replaced is a consumed object of which all rows, good and dead and under
// whatever name (source.KeyOf), are swapped for those of another content, or of the
// same content read again. Its range says what content was there.
type Replaced struct {
	Key   string      `json:"key"`
	Rows  int64       `json:"rows"`   // that it had in all tables, and that are taken away
	IDSum source.Hash `json:"id_sum"` // of these, as in source.Range
}

// Letters says what a replay manifest did to dead letters. Every letter that it
// takes out of the dead-letter table became a row with the same id, or was dropped
// for good on somebody's word.
type Letters struct {
	Replayed    int64       `json:"replayed"`     // became rows of the main table
	Discarded   int64       `json:"discarded"`    // are gone
	DiscardedID source.Hash `json:"discarded_id"` // sum of the discarded letters' id hashes modulo 2^128
}

// Touched is a consumed object whose identity changed while its content did
// not: its entry in the consumed set is replaced, none of its records is read.
type Touched struct {
	Key      string      `json:"key"`
	ETag     string      `json:"etag,omitempty"`
	Size     int64       `json:"size"`
	Modified time.Time   `json:"modified"`
	Content  source.Hash `json:"content"`
	Was      source.Hash `json:"was"` // identity hash that the entry had
}

// RowCounts says where the records of a batch went:
// Written + Dead + Duplicate + Late = Read. Replaced counts rows of earlier
// batches that a replace manifest takes away.
type RowCounts struct {
	Read      int64 `json:"read"`
	Written   int64 `json:"written"`
	Late      int64 `json:"late"`
	Dead      int64 `json:"dead"`
	Duplicate int64 `json:"duplicate"`
	Replaced  int64 `json:"replaced,omitempty"`
}

// GapRecord is a part of the source that was given up on purpose.
type GapRecord struct {
	Key    string `json:"key"`
	From   int64  `json:"from"`
	Reason string `json:"reason"`
}

// Table is the state of one output after a manifest, and what the manifest
// did to it.
type Table struct {
	Schema  SchemaRef `json:"schema"`
	Version int64     `json:"version"`  // dense version of its Delta table; -1 before the first
	LastSeq Seq       `json:"last_seq"` // last manifest that touched it
	// Rewritten is the last manifest that changed the types of published columns;
	// files of an attempt with an older base may have the types from before.
	Rewritten Seq                `json:"rewritten,omitempty"`
	Live      Live               `json:"live"`   // every live file
	Add       segment.List[File] `json:"add"`    // files this manifest made live
	Remove    segment.List[File] `json:"remove"` // files this manifest took away
}

// SchemaRef holds a schema in place or, when it is long, by reference.
type SchemaRef struct {
	SHA256 SHA256         `json:"sha256"`  // of the encoded schema: two equal schemas have equal hashes
	LastID int32          `json:"last_id"` // highest field id ever given in the table
	Inline *schema.Schema `json:"inline,omitempty"`
	Ref    *segment.Ref   `json:"ref,omitempty"`
}

// Live is the set of live files: segments, oldest first, then the recent files
// that no segment holds yet.
type Live struct {
	Files    int64                     `json:"files"`
	Rows     int64                     `json:"rows"`
	Bytes    int64                     `json:"bytes"`
	Segments segment.List[segment.Ref] `json:"segments"` // each a run of JSON lines of File
	Recent   []File                    `json:"recent,omitempty"`
}

// File is one immutable Parquet object of a table.
type File struct {
	Key     string            `json:"key"` // below the store's root
	Size    int64             `json:"size"`
	Rows    int64             `json:"rows"`
	SHA256  SHA256            `json:"sha256"`
	Seq     Seq               `json:"seq,omitempty"` // manifest that added it; set in Live lists
	Columns []ColumnStats     `json:"columns,omitempty"`
	Schema  SHA256            `json:"schema"`              // hash of the schema it was written under
	Part    map[string]string `json:"partition,omitempty"` // values of Config.PartitionBy that all rows have, as Delta writes them; a column that is not there is null, or a string too long to name a partition
}

// ColumnStats are the statistics of one of the first 32 leaf columns that lie
// in no list or map. Min and Max are JSON values in the form that docs/FORMAT.md
// gives: they are absent where the type has none, where a float column holds a
// NaN, and where all is null; Max of a string is absent where that is long.
type ColumnStats struct {
	ID    int32           `json:"id"` // field id of the leaf
	Nulls int64           `json:"nulls"`
	Min   json.RawMessage `json:"min,omitempty"`
	Max   json.RawMessage `json:"max,omitempty"`
}
