package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// value is a scalar with a text form of its own. parse takes the text as it
// stands in the file; its errors never repeat the text, because it may be a
// secret.
type value interface {
	parse(text string) error
	// wants completes the sentence "wants …".
	wants() string
}

// Name is the name of a pipeline: [a-z][a-z0-9_-]{0,62}.
type Name string

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

func (*Name) wants() string { return "a name like events" }
func (n *Name) parse(text string) error {
	if !namePattern.MatchString(text) {
		return errors.New("must begin with a lower-case letter and go on with at most 62 of a-z, 0-9, _ and -")
	}
	*n = Name(text)
	return nil
}

// TableName is the name of a table: [a-z][a-z0-9_-]{0,127}.
type TableName string

var tablePattern = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,127}$`)

func (*TableName) wants() string { return "a table name like events" }
func (n *TableName) parse(text string) error {
	if !tablePattern.MatchString(text) {
		return errors.New("must begin with a lower-case letter and go on with at most 127 of a-z, 0-9, _ and -")
	}
	*n = TableName(text)
	return nil
}

// Size is a number of bytes, at least 1. In the file: 1GiB, 128MiB, 500KB or a
// whole number.
type Size int64

var (
	sizePattern = regexp.MustCompile(`^([1-9][0-9]{0,5})(B|KiB|MiB|GiB|TiB|KB|MB|GB|TB)$`)
	sizeUnits   = map[string]int64{
		"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
		"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	}
)

// maxWhole is the largest whole number a file may hold, the largest that every
// JSON reader keeps exact.
const maxWhole = 1<<53 - 1

func (*Size) wants() string { return "a size like 128MiB" }
func (s *Size) parse(text string) error {
	if m := sizePattern.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		*s = Size(n * sizeUnits[m[2]])
		return err
	}
	n, err := parseWhole(text)
	if err != nil || n < 1 {
		return errors.New("wants a size like 128MiB: a whole number from 1 and B, KiB, MiB, GiB, TiB, KB, MB, GB or TB")
	}
	*s = Size(n)
	return nil
}

var wholePattern = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,15})$`)

// parseWhole reads a whole number in plain digits: no sign but minus, no
// leading zero (014 is 12 in one YAML and 14 in the next), no underscores.
func parseWhole(text string) (int64, error) {
	if !wholePattern.MatchString(text) {
		return 0, errors.New("wants a whole number in plain digits")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > maxWhole || n < -maxWhole {
		return 0, fmt.Errorf("wants a whole number up to %d", int64(maxWhole))
	}
	return n, nil
}

var durationPattern = regexp.MustCompile(`^([0-9]{1,6}(\.[0-9]{1,6})?(h|m|s|ms))+$`)

// parseDuration reads 72h, 1h30m, 5s or 0.
func parseDuration(text string) (time.Duration, error) {
	const wants = "wants a duration like 72h, 14m or 5s"
	if text == "0" {
		return 0, nil
	}
	if !durationPattern.MatchString(text) {
		return 0, errors.New(wants)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New(wants)
	}
	return d, nil
}

// Share is a part of a whole, 0 to 1. In the file: 20% or 0.
type Share float64

var sharePattern = regexp.MustCompile(`^((100|[0-9]{1,2})|[0-9]{1,2}\.[0-9]{1,6})%$`)

func (*Share) wants() string { return "a percentage like 20%" }
func (s *Share) parse(text string) error {
	if text == "0" {
		*s = 0
		return nil
	}
	if !sharePattern.MatchString(text) {
		return errors.New("wants a percentage from 0% to 100%, or 0")
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	*s = Share(f / 100)
	return err
}

// StartAt is the kind of a Start.
type StartAt uint8

// The kinds of Start.
const (
	StartEarliest StartAt = iota // everything there is
	StartNow                     // what is modified from the first run on
	StartTime                    // what is modified from Start.Time on
)

// Start says which objects belong to a source.
type Start struct {
	At   StartAt
	Time time.Time // UTC; set with StartTime only
}

// String is the form of the file: earliest, now or an RFC 3339 time.
func (s Start) String() string {
	switch s.At {
	case StartNow:
		return "now"
	case StartTime:
		return s.Time.Format(time.RFC3339Nano)
	}
	return "earliest"
}

func (*Start) wants() string { return "earliest, now or a time like 2026-11-01T00:00:00Z" }
func (s *Start) parse(text string) error {
	switch text {
	case "earliest":
		*s = Start{At: StartEarliest}
		return nil
	case "now":
		*s = Start{At: StartNow}
		return nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			*s = Start{At: StartTime, Time: t.UTC()}
			return nil
		}
	}
	return errors.New("wants earliest, now, a day (UTC) or an RFC 3339 time like 2026-11-01T00:00:00Z")
}

// Settle is the age below which files wait for the next run.
type Settle struct {
	Auto bool          // the file said auto, or nothing
	Age  time.Duration // resolved, also when Auto
}

func (*Settle) wants() string { return "auto or a duration like 5s" }
func (s *Settle) parse(text string) error {
	if text == "auto" {
		*s = Settle{Auto: true}
		return nil
	}
	d, err := parseDuration(text)
	if err != nil {
		return errors.New("wants auto or a duration like 5s")
	}
	*s = Settle{Age: d}
	return nil
}

// Glob is a pattern of keys below a source path: * within a folder, ** across.
type Glob string

var globPattern = regexp.MustCompile(`^[^/].*$`)

func (*Glob) wants() string { return `a glob like "**/*.ndjson"` }
func (g *Glob) parse(text string) error {
	if !globPattern.MatchString(text) {
		return errors.New(`wants a glob below the source path, like "**/*.ndjson", without a leading /`)
	}
	*g = Glob(text)
	return nil
}

// TimePath is a pattern of folders with {yyyy}, {MM}, {dd} and {HH}.
type TimePath string

var timePathPattern = regexp.MustCompile(`^([^{}/]|\{(yyyy|MM|dd|HH)\})([^{}]|\{(yyyy|MM|dd|HH)\})*$`)

func (*TimePath) wants() string { return `a pattern like "{yyyy}/{MM}/{dd}/"` }
func (p *TimePath) parse(text string) error {
	if text != "" && !timePathPattern.MatchString(text) {
		return errors.New(`wants folders below the source path with {yyyy}, {MM}, {dd} and {HH}, like "{yyyy}/{MM}/{dd}/"`)
	}
	*p = TimePath(text)
	return nil
}

// Endpoint is the base URL of an S3-compatible service: http(s)://host[:port].
type Endpoint string

var endpointPattern = regexp.MustCompile(`^https?://[^/?#@\s]+/?$`)

func (*Endpoint) wants() string { return "a URL like https://minio.example:9000" }
func (e *Endpoint) parse(text string) error {
	u, err := url.Parse(text)
	if err != nil || !endpointPattern.MatchString(text) || u.Hostname() == "" {
		return errors.New("wants a URL like https://minio.example:9000, without credentials, path or query")
	}
	*e = Endpoint(strings.TrimSuffix(text, "/"))
	return nil
}

// FilePath is a path of the local file system; absolute after Parse.
type FilePath string

func (*FilePath) wants() string { return "a file path" }
func (p *FilePath) parse(text string) error {
	if err := checkLocalPath(text); err != nil {
		return err
	}
	*p = FilePath(text)
	return nil
}
