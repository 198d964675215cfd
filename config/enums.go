package config

import "batcher/schema"

// choice is a scalar that takes one of a few words. Words that are
// known but that this version cannot honour yet stand in later with the reason.
type choice interface {
	words() []string
	later() map[string]string
}

const notBuilt = "is not supported by this version"

// InputFormat is the format of source objects.
type InputFormat string

// The input formats.
const (
	InputAuto    InputFormat = "auto"    // by name and content
	InputNDJSON  InputFormat = "ndjson"  // one JSON object a line
	InputJSON    InputFormat = "json"    // documents: objects, or arrays of objects
	InputCSV     InputFormat = "csv"     // and TSV, and whatever is like it
	InputParquet InputFormat = "parquet" // rows
	InputAvro    InputFormat = "avro"    // object containers
	InputLines   InputFormat = "lines"   // a line of text is a record
)

func (InputFormat) words() []string {
	return []string{"auto", "ndjson", "json", "csv", "parquet", "avro", "lines"}
}
func (InputFormat) later() map[string]string { return nil }

// isText says whether objects of the format may be text in some encoding.
func (f InputFormat) isText() bool { return f != InputParquet && f != InputAvro }

// Encoding is a character encoding of text.
type Encoding string

// EncodingUTF8 is the encoding of text that nothing is said about.
const EncodingUTF8 Encoding = "utf-8"

// words are the encodings that hold every line break as one byte, and UTF-16.
// utf-16 goes by the byte order mark, utf-16le and utf-16be do not need one.
func (Encoding) words() []string {
	return []string{
		"utf-8", "utf-16", "utf-16le", "utf-16be", "latin1", "iso-8859-1", "iso-8859-2", "iso-8859-3", "iso-8859-4", "iso-8859-5",
		"iso-8859-6", "iso-8859-7", "iso-8859-8", "iso-8859-10", "iso-8859-13", "iso-8859-14", "iso-8859-15", "iso-8859-16",
		"windows-874", "windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254", "windows-1255", "windows-1256",
		"windows-1257", "windows-1258", "koi8-r", "koi8-u", "macintosh",
	}
}
func (Encoding) later() map[string]string { return nil }

// OnInvalidUTF8 says what to do about a record that is not UTF-8 once it is
// decoded.
type OnInvalidUTF8 string

// The ways to meet invalid UTF-8.
const (
	InvalidUTF8Reject  OnInvalidUTF8 = "reject"  // the record becomes a dead letter
	InvalidUTF8Replace OnInvalidUTF8 = "replace" // U+FFFD stands for what is invalid
	InvalidUTF8Bytes   OnInvalidUTF8 = "bytes"   // columns pinned as bytes take it; elsewhere as reject
)

func (OnInvalidUTF8) words() []string          { return []string{"reject", "replace", "bytes"} }
func (OnInvalidUTF8) later() map[string]string { return nil }

// Decimal is the character before the fraction of a number in CSV.
type Decimal string

// The decimal points.
const (
	DecimalPoint Decimal = "."
	DecimalComma Decimal = ","
)

func (Decimal) words() []string          { return []string{string(DecimalPoint), string(DecimalComma)} }
func (Decimal) later() map[string]string { return nil }

// OnChange says what to do about a consumed key with other content.
type OnChange string

// The ways to meet a changed object.
const (
	OnChangeSkip    OnChange = "skip"    // leave it alone and report it
	OnChangeFail    OnChange = "fail"    // fail the run
	OnChangeAppend  OnChange = "append"  // consume the new content besides the old
	OnChangeReplace OnChange = "replace" // consume the new content in place of the old
)

func (OnChange) words() []string          { return []string{"skip", "fail", "append", "replace"} }
func (OnChange) later() map[string]string { return nil }

// OnBroken says what to do about an object whose container cannot be read.
type OnBroken string

// The ways to meet a broken container.
const (
	OnBrokenQuarantine OnBroken = "quarantine" // one dead letter for the object
	OnBrokenFail       OnBroken = "fail"       // fail the run
)

func (OnBroken) words() []string          { return []string{string(OnBrokenQuarantine), string(OnBrokenFail)} }
func (OnBroken) later() map[string]string { return nil }

// OnUnreadable says what to do about an object that is listed and cannot be read.
type OnUnreadable string

// The ways to meet an object that cannot be read.
const (
	OnUnreadableWait       OnUnreadable = "wait"       // consume the others and try it again in later runs
	OnUnreadableFail       OnUnreadable = "fail"       // fail the run
	OnUnreadableQuarantine OnUnreadable = "quarantine" // one dead letter for the object
)

func (OnUnreadable) words() []string          { return []string{"wait", "fail", "quarantine"} }
func (OnUnreadable) later() map[string]string { return nil }

// RecordID says how a record is identified.
type RecordID string

// RecordIDPosition identifies a record by its object and the position in it.
const RecordIDPosition RecordID = "position"

func (RecordID) words() []string          { return []string{string(RecordIDPosition)} }
func (RecordID) later() map[string]string { return nil }

// Contract says what a record may do to the schema, and what becomes of what
// does not fit.
type Contract string

// The contracts.
const (
	ContractEvolve       Contract = "evolve"        // new fields become columns; misfits go to _rescued
	ContractFreeze       Contract = "freeze"        // a new field or a misfit fails the batch
	ContractDiscardValue Contract = "discard_value" // new fields and misfits are counted, not stored
	ContractDiscardRow   Contract = "discard_row"   // a record with one becomes a dead letter
)

func (Contract) words() []string {
	return []string{"evolve", "freeze", "discard_value", "discard_row"}
}
func (Contract) later() map[string]string { return nil }

// Names says how input keys become column names.
type Names string

// The ways to name columns.
const (
	NamesLower Names = "lower" // eventTime → eventtime
	NamesSnake Names = "snake" // eventTime → event_time
)

func (Names) words() []string          { return []string{string(NamesLower), string(NamesSnake)} }
func (Names) later() map[string]string { return nil }

// Naming is the rule as the schema knows it.
func (n Names) Naming() schema.Naming {
	if n == NamesSnake {
		return schema.Snake
	}
	return schema.Lower
}

// TimeUnit says what a number in an event-time field counts.
type TimeUnit string

// The units of event time.
const (
	UnitISO          TimeUnit = "iso" // ISO 8601 text
	UnitSeconds      TimeUnit = "s"
	UnitMilliseconds TimeUnit = "ms"
	UnitMicroseconds TimeUnit = "us"
	UnitNanoseconds  TimeUnit = "ns"
)

func (TimeUnit) words() []string          { return []string{"iso", "s", "ms", "us", "ns"} }
func (TimeUnit) later() map[string]string { return nil }

// Compression is the codec of Parquet pages.
type Compression string

// The codecs.
const (
	CompressionZstd   Compression = "zstd"
	CompressionSnappy Compression = "snappy"
	CompressionNone   Compression = "none"
)

func (Compression) words() []string          { return []string{"zstd", "snappy", "none"} }
func (Compression) later() map[string]string { return nil }

// OnConflict says what a run does about a published table with a foreign commit.
type OnConflict string

// The policies.
const (
	OnConflictFail     OnConflict = "fail"     // commit nothing until the table is published anew
	OnConflictContinue OnConflict = "continue" // commit, and leave the table as it is
)

func (OnConflict) words() []string {
	return []string{string(OnConflictFail), string(OnConflictContinue)}
}
func (OnConflict) later() map[string]string { return nil }

// Format is a table format that the chain can be projected into.
type Format string

// FormatDelta is Delta Lake.
const FormatDelta Format = "delta"

func (Format) words() []string          { return []string{"delta"} }
func (Format) later() map[string]string { return nil }
