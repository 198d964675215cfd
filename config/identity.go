package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strings"

	"batcher/schema"
)

// Identity is what binds a pipeline file to the chain it began: the settings
// that may not change in an existing pipeline.
type Identity struct {
	Source   string // location, without secrets
	Format   string
	RecordID string
	Table    string
	Dead     string // dead-letter table
	Split    string // names of the columns that split the main table, joined by ","
}

// Identity returns what binds this file to its chain.
func (p *Pipeline) Identity() Identity {
	return Identity{
		Source:   p.Source.Files.Path.String(),
		Format:   p.format(),
		RecordID: string(p.RecordID),
		Table:    string(p.Table),
		Dead:     string(p.DeadLetters.Table),
		Split:    p.split(),
	}
}

func (p *Pipeline) split() string {
	names := make([]string, len(p.PartitionBy))
	for i, part := range p.PartitionBy {
		names[i] = part.Name()
	}
	return strings.Join(names, ",")
}

// format is the input format with the envelope, which moves where records begin.
func (p *Pipeline) format() string {
	files := p.Source.Files
	if files.Unnest.Place == nil {
		return string(files.Format)
	}
	return string(files.Format) + " unnest " + files.Unnest.String()
}

// deciding are the settings that decide what is written for given records. The
// field order is part of the hash; a new field needs omitempty or omitzero so
// that hashes of files that do not use it stay as they are.
//
// Not in it: where the store is and how places are reached (the data would be
// the same anywhere); batch limits, settle, lookback, relist and time_path
// (they decide how records are cut into batches and when, and a batch's ranges
// stand in its manifest); the bad-record budget (it decides whether a batch is
// committed, not what it holds); compact and publish (they follow the chain).
type deciding struct {
	Pipeline    string
	Source      string
	Include     []Glob
	Exclude     []Glob
	Start       string
	Format      InputFormat
	OnChange    OnChange
	OnBroken    OnBroken
	Table       TableName
	RecordID    RecordID
	Contract    Contract
	Nested      Nested
	Names       Names
	Dead        TableName
	Compression Compression
	TargetBytes Size
	Unnest      string        `json:",omitempty"`
	CSV         *CSV          `json:",omitempty"` // nil: the default dialect
	Encoding    Encoding      `json:",omitempty"` // "": UTF-8
	InvalidUTF8 OnInvalidUTF8 `json:",omitempty"` // "": reject
	Unreadable  OnUnreadable  `json:",omitempty"` // "": nothing is written for such an object
	Columns     []pinned      `json:",omitempty"` // with the event time
	OnlyListed  bool          `json:",omitempty"`
	PartitionBy []Partition   `json:",omitempty"`
	Limits      *ObjectLimits `json:",omitempty"` // nil: the defaults
	Zone        string        `json:",omitempty"` // of times without one
	KeyColumns  string        `json:",omitempty"`
	Rules       int           // of this program: readingRules
}

// readingRules counts the changes of what this program makes of the same bytes
// under the same settings. It is part of the hash, so that rows which an earlier
// program wrote by other rules are told from rows that are wrong.
const readingRules = 2

// Hash is the SHA-256, in hex, of the settings that decide what is written. A
// writer whose file has another hash than the chain's last must plan anew.
func (p *Pipeline) Hash() string {
	text, err := json.Marshal(p.deciding())
	if err != nil {
		panic("config: plain values do not marshal: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// pinned is a pin in words: a struct may be pinned without its fields, which is no
// type that a column can have.
type pinned struct {
	Place   schema.Place
	Places  []schema.Place `json:",omitempty"`
	Type    string
	Name    string      `json:",omitempty"`
	Default string      `json:",omitempty"`
	Unit    schema.Unit `json:",omitempty"`
	Format  string      `json:",omitempty"`
	Zone    string      `json:",omitempty"`
	Offset  string      `json:",omitempty"`
	True    []string    `json:",omitempty"`
	False   []string    `json:",omitempty"`
}

func pinnedOf(pins []schema.Pin) []pinned {
	out := make([]pinned, len(pins))
	for i, p := range pins {
		out[i] = pinned{Place: p.Place, Places: p.Places, Type: p.Type.String(), Name: p.Name, Default: p.Default, Unit: p.Unit, Offset: p.Offset, True: p.True, False: p.False}
		if p.Format != nil {
			out[i].Format = p.Format.String()
		}
		if p.Zone != nil {
			out[i].Zone = p.Zone.String()
		}
	}
	return out
}

func (p *Pipeline) deciding() deciding {
	files := p.Source.Files
	d := deciding{
		Pipeline:    string(p.Name),
		Source:      files.Path.String(),
		Include:     files.Include,
		Exclude:     files.Exclude,
		Start:       files.Start.String(),
		Format:      files.Format,
		OnChange:    files.OnChange,
		OnBroken:    files.OnBroken,
		Table:       p.Table,
		RecordID:    p.RecordID,
		Contract:    p.Schema.Contract,
		Nested:      p.Schema.Nested,
		Names:       p.Schema.Names,
		Dead:        p.DeadLetters.Table,
		Compression: p.Parquet.Compression,
		TargetBytes: p.Parquet.TargetFileBytes,
		Unnest:      files.Unnest.String(),
		Columns:     pinnedOf(p.Pins()),
		OnlyListed:  p.Schema.OnlyListed,
		PartitionBy: p.PartitionBy,
		Rules:       readingRules,
		Zone:        files.Zone.String(),
		KeyColumns:  files.KeyColumns.String(),
	}
	if files.Encoding != EncodingUTF8 {
		d.Encoding = files.Encoding
	}
	if files.OnInvalidUTF8 != InvalidUTF8Reject {
		d.InvalidUTF8 = files.OnInvalidUTF8
	}
	if files.OnUnreadable == OnUnreadableQuarantine {
		d.Unreadable = files.OnUnreadable
	}
	if files.Limits != defaultLimits() {
		d.Limits = &files.Limits
	}
	dialect := defaultCSV()
	if dialect.Encoding = files.Encoding; !reflect.DeepEqual(files.CSV, dialect) {
		d.CSV = &files.CSV
	}
	return d
}
