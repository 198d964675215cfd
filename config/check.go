package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"batcher/schema"
)

// directorySettle is what settle: auto means for a directory, where a file may
// still be growing. An object on S3 appears whole.
const directorySettle = 5 * time.Second

// complete fills in the defaults that depend on other keys, makes paths
// absolute, and checks what no single value can tell.
func (d *decoder) complete(p *Pipeline) {
	d.require("pipeline", "store", "source", "source.files", "source.files.path")
	if p.Table == "" && d.where["table"] == nil {
		p.Table = TableName(p.Name)
	}
	if p.DeadLetters.Table == "" && d.where["dead_letters.table"] == nil {
		p.DeadLetters.Table = p.Table + "_dead"
	}
	if p.EventTime != nil && p.EventTime.Unit == "" {
		p.EventTime.Unit = UnitISO
	}
	if p.Source.Files.Settle.Auto && !p.Source.Files.Path.IsS3() {
		p.Source.Files.Settle.Age = directorySettle
	}
	d.absolutePaths(p)
	d.checkTables(p)
	d.checkPlaces(p)
	d.checkInput(p)
	if len(p.Source.Files.Include) == 0 {
		d.failAt("source.files.include", "leave it out to take everything", "is empty: nothing would ever be read")
	}
	d.checkColumns(p)
}

// failAt records an error at the node that gave a key's value, or at the
// nearest mapping above it.
func (d *decoder) failAt(key, hint, msg string) {
	for at := key; ; {
		if n := d.where[at]; n != nil {
			d.fail(n, key, hint, "%s", msg)
			return
		}
		cut := strings.LastIndexByte(at, '.')
		at = at[:max(cut, 0)]
	}
}

// require reports the first missing key of a chain once, at the mapping that
// lacks it.
func (d *decoder) require(keys ...string) {
	for _, key := range keys {
		parent, name := "", key
		if cut := strings.LastIndexByte(key, '.'); cut >= 0 {
			parent, name = key[:cut], key[cut+1:]
		}
		at := d.where[parent]
		if at == nil || at.Kind != yaml.MappingNode || valueSlot(at, name) != nil {
			continue
		}
		e := &Error{File: d.file, Line: at.Line, Col: at.Column, Key: key, Msg: "is missing"}
		if origin, ok := d.origin[at]; ok {
			e.File, e.Line, e.Col = origin, 0, 0
		}
		d.errs = append(d.errs, e)
	}
}

// absolutePaths resolves relative paths against the pipeline file's directory.
func (d *decoder) absolutePaths(p *Pipeline) {
	for key, at := range map[string]*string{
		"store":                   &p.Store.Dir,
		"source.files.path":       &p.Source.Files.Path.Dir,
		"s3.ca_file":              (*string)(&p.S3.CAFile),
		"source.files.s3.ca_file": (*string)(&p.Source.Files.S3.CAFile),
	} {
		if *at == "" {
			continue
		}
		path, err := d.absolute(*at)
		if err != nil {
			d.failAt(key, "", err.Error())
			continue
		}
		*at = path
	}
}

func (d *decoder) absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	if d.opts.Dir == "" {
		return "", errors.New("a relative path means nothing in a pipeline file on S3; write an absolute path or s3://bucket/prefix")
	}
	return filepath.Join(d.opts.Dir, path), nil
}

// checkTables keeps the pipeline's tables apart. <pipeline>_batches tells in SQL
// what each batch consumed.
func (d *decoder) checkTables(p *Pipeline) {
	batches := TableName(p.Name) + "_batches"
	dead := "dead_letters.table"
	switch {
	case p.Name == "" || p.Table == "" || p.DeadLetters.Table == "":
	case p.DeadLetters.Table == p.Table:
		d.failAt(dead, "", "must not be the main table")
	case p.Table == batches:
		d.failAt("table", "", "is the name of the table that lists the batches")
	case p.DeadLetters.Table == batches:
		d.failAt(dead, "", "is the name of the table that lists the batches")
	case !tablePattern.MatchString(string(p.DeadLetters.Table)):
		d.failAt(dead, "name the dead-letter table", "the default, the main table's name and _dead, is too long")
	}
}

// checkPlaces refuses a source inside the store and a store inside the source:
// the pipeline would consume what it writes.
func (d *decoder) checkPlaces(p *Pipeline) {
	store, source := p.Store, p.Source.Files.Path
	if store == (Location{}) || source == (Location{}) {
		return
	}
	elsewhere := store.IsS3() && d.endpoint(p.S3) != d.endpoint(p.Source.Files.S3)
	if !elsewhere && store.overlaps(source, d.opts.RealDir) {
		d.failAt("source.files.path", "keep them side by side", "source and store must not contain each other")
	}
	d.checkBeside("s3", p.S3, "store", store)
	d.checkBeside("source.files.s3", p.Source.Files.S3, "source.files.path", source)
}

// checkBeside refuses S3 settings beside a directory. A place that was overridden
// may be one: the settings then wait for the next run without the override.
func (d *decoder) checkBeside(key string, s S3, place string, at Location) {
	if s != (S3{}) && !at.IsS3() && d.origin[d.where[place]] == "" {
		d.failAt(key, "", place+", which it stands beside, is a directory")
	}
}

// endpoint returns where a place is reached, as far as that is known here.
func (d *decoder) endpoint(s S3) string {
	for _, candidate := range []string{string(s.Endpoint), d.variable("AWS_ENDPOINT_URL_S3"), d.variable("AWS_ENDPOINT_URL")} {
		if candidate != "" {
			return strings.ToLower(strings.TrimSuffix(candidate, "/"))
		}
	}
	return ""
}

func (d *decoder) variable(name string) string {
	text, _ := d.opts.getenv(name)
	return text
}

// checkInput keeps settings apart from formats that they mean nothing to.
func (d *decoder) checkInput(p *Pipeline) {
	files := p.Source.Files
	format := files.Format
	if files.CSV.Encoding == "" {
		p.Source.Files.CSV.Encoding = files.Encoding
	}
	forFormat := "must not be given beside source.files.format: " + string(format)
	if files.Unnest.Place != nil && format != InputAuto && format != InputJSON && format != InputNDJSON {
		d.failAt("source.files.unnest", "", forFormat)
	}
	if files.Encoding != EncodingUTF8 && !format.isText() {
		d.failAt("source.files.encoding", "", forFormat)
	}
	dialect := files.CSV
	dialect.Encoding = ""
	if format != InputAuto && format != InputCSV && !reflect.DeepEqual(dialect, defaultCSV()) {
		d.failAt("source.files.csv", "", forFormat)
	}
	if files.Limits.RecordBytes > 1<<30 {
		d.failAt("source.files.limits.record_bytes", "", "must not be above 1GiB")
	}
	if clash := files.CSV.clash(); clash != "" {
		d.failAt("source.files.csv", "", clash)
	}
}

// checkColumns checks the pins against each other, and what refers to them.
func (d *decoder) checkColumns(p *Pipeline) {
	for i, c := range p.Schema.Columns {
		at := fmt.Sprintf("schema.columns[%d]", i)
		d.require(at+".path", at+".type")
		d.checkPlacesOf(c, at)
		if c.Default == nil || d.where[at+".type"] == nil {
			continue
		}
		if _, err := schema.ParseDefault(c.Type.Type, string(*c.Default)); err != nil {
			d.failAt(at+".default", "", err.Error())
		}
	}
	if p.EventTime != nil {
		d.require("event_time.field")
	}
	if slices.ContainsFunc(p.Pins(), func(pin schema.Pin) bool { return len(pin.Place) == 0 || pin.Type.Kind == schema.None }) {
		return // reported before
	}
	if i, err := schema.CheckPins(p.Pins()); err != nil {
		at := "event_time.field"
		if i < len(p.Schema.Columns) {
			at = fmt.Sprintf("schema.columns[%d].path", i)
		}
		d.failAt(at, "", err.Error())
	}
	d.checkEventTime(p)
	d.checkTimes(p)
	d.checkKeyColumns(p)
	d.checkPartitions(p)
	if p.Schema.OnlyListed && len(p.Pins()) == 0 {
		d.failAt("schema.only_listed", "list columns under schema.columns", "must not be true where no column is listed")
	}
}

// checkEventTime holds a pin of the same field to what an event time is.
func (d *decoder) checkEventTime(p *Pipeline) {
	for i, pin := range p.Pins() {
		if p.EventTime == nil || i == len(p.Schema.Columns) || !slices.Equal(pin.Place, p.EventTime.Field.Place) {
			continue
		}
		at := fmt.Sprintf("schema.columns[%d]", i)
		if pin.Type.Kind != schema.Timestamp {
			d.failAt(at+".type", "", "must not be other than timestamp: the field is the event time")
		}
		if pin.Default != "" && pin.Unit != schema.ISO {
			d.failAt(at+".default", "", "must not be given for an event time in "+string(p.EventTime.Unit))
		}
	}
}

// failedBelow says whether a key inside of another one is already known to be wrong.
func (d *decoder) failedBelow(key string) bool {
	return slices.ContainsFunc(d.errs, func(e *Error) bool { return strings.HasPrefix(e.Key, key+".") })
}

// checkPartitions holds partitions to declared columns, so that no batch can
// show a type that splits nothing.
func (d *decoder) checkPartitions(p *Pipeline) {
	declared := p.declared()
	seen := map[string]bool{}
	for i, part := range p.PartitionBy {
		at := fmt.Sprintf("partition_by[%d]", i)
		kind, column, hint := part.wants()
		if kind == "" {
			if !d.failedBelow(at) {
				d.failAt(at, "", "wants one of day, hour and column")
			}
			continue
		}
		t, ok := declared[column]
		switch {
		case !ok:
			d.failAt(at+"."+kind, "its type must be known before the first batch", "must be declared: a top-level column under schema.columns, or the event_time")
		case !slices.Contains(hint, t.Kind):
			d.failAt(at+"."+kind, "", fmt.Sprintf("must not be %s: %s splits by columns of type %s", t, kind, kindList(hint)))
		}
		if name := part.Name(); seen[name] || kind != "column" && declared[name].Kind != schema.None {
			d.failAt(at+"."+kind, "", "must not give a column the name of another one")
		} else {
			seen[name] = true
		}
	}
}

// checkPlacesOf holds a column that several places feed to what can be joined: plain
// values, one of each in a record.
func (d *decoder) checkPlacesOf(c Column, at string) {
	inList := func(f Field) bool { return slices.ContainsFunc(f.Place, func(s schema.Step) bool { return s.Element }) }
	switch {
	case len(c.Path) < 2:
	case c.Type.Type.Kind.IsNested():
		d.failAt(at+".path", "", "must be one place for a column that is "+c.Type.Type.Kind.String())
	case slices.ContainsFunc(c.Path, inList):
		d.failAt(at+".path", "", "must not have a place inside of a list among several")
	case len(c.Path.home()) != 1:
		d.failAt(at+".path", "the column is there", "must have a place that is no part of an object among several")
	case c.Default != nil:
		d.failAt(at+".default", "", "must not be given beside several places")
	}
}
