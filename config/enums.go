package config

// choice is a scalar that takes one of a few words. Words that CLI.md names but
// this version cannot honour yet stand in later with the reason.
type choice interface {
	words() []string
	later() map[string]string
}

const notBuilt = "is not supported by this version"

// InputFormat is the format of source objects.
type InputFormat string

// The input formats. The pipeline file also knows json, csv, parquet, avro and
// lines, which this version refuses.
const (
	InputAuto   InputFormat = "auto"   // by name and content
	InputNDJSON InputFormat = "ndjson" // one JSON object a line
)

func (InputFormat) words() []string { return []string{string(InputAuto), string(InputNDJSON)} }
func (InputFormat) later() map[string]string {
	return map[string]string{"json": notBuilt, "csv": notBuilt, "parquet": notBuilt, "avro": notBuilt, "lines": notBuilt}
}

// OnChange says what to do about a consumed key with other content.
type OnChange string

// The ways to meet a changed object. The pipeline file also knows append and
// replace, which this version refuses.
const (
	OnChangeSkip OnChange = "skip" // leave it alone and report it
	OnChangeFail OnChange = "fail" // fail the run
)

func (OnChange) words() []string { return []string{string(OnChangeSkip), string(OnChangeFail)} }
func (OnChange) later() map[string]string {
	return map[string]string{"append": notBuilt, "replace": notBuilt}
}

// OnBroken says what to do about an object whose container cannot be read.
type OnBroken string

// The ways to meet a broken container.
const (
	OnBrokenQuarantine OnBroken = "quarantine" // one dead letter for the object
	OnBrokenFail       OnBroken = "fail"       // fail the run
)

func (OnBroken) words() []string          { return []string{string(OnBrokenQuarantine), string(OnBrokenFail)} }
func (OnBroken) later() map[string]string { return nil }

// RecordID says how a record is identified.
type RecordID string

// RecordIDPosition identifies a record by its object and the position in it.
const RecordIDPosition RecordID = "position"

func (RecordID) words() []string          { return []string{string(RecordIDPosition)} }
func (RecordID) later() map[string]string { return nil }

// Contract says what a record may do to the schema.
type Contract string

// ContractEvolve lets new fields become columns. The pipeline file also knows
// freeze, discard_value and discard_row, which this version refuses.
const ContractEvolve Contract = "evolve"

func (Contract) words() []string { return []string{string(ContractEvolve)} }
func (Contract) later() map[string]string {
	return map[string]string{"freeze": notBuilt, "discard_value": notBuilt, "discard_row": notBuilt}
}

// Names says how input keys become column names.
type Names string

// The ways to name columns.
const (
	NamesLower Names = "lower" // eventTime → eventtime
	NamesSnake Names = "snake" // eventTime → event_time
)

func (Names) words() []string          { return []string{string(NamesLower), string(NamesSnake)} }
func (Names) later() map[string]string { return nil }

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

// Format is a table format that the chain can be projected into.
type Format string

func (Format) words() []string { return []string{} }
func (Format) later() map[string]string {
	return map[string]string{"delta": "is not supported by this version: the projection is not built yet; leave publish out or write []"}
}
