package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"batcher/schema"
	"batcher/strptime"
)

// Zone is the time zone of times that say none; nil: they are no times.
type Zone struct{ Location *time.Location }

var zonePattern = regexp.MustCompile(`^(UTC|[A-Z][A-Za-z_]+/[A-Za-z0-9_+/-]+)$`)

func (*Zone) wants() string { return "a time zone like UTC or Europe/Berlin" }
func (z *Zone) parse(text string) error {
	z.Location = nil
	if text == "" {
		return nil
	}
	if !zonePattern.MatchString(text) {
		return errors.New("wants UTC or a name of the time zone database like Europe/Berlin")
	}
	at, err := time.LoadLocation(text)
	if err != nil {
		return errors.New("is no time zone that is known here: wants UTC or a name like Europe/Berlin")
	}
	if z.Location = at; text == "UTC" {
		z.Location = time.UTC
	}
	return nil
}

// String is the form of the file.
func (z Zone) String() string {
	if z.Location == nil {
		return ""
	}
	return z.Location.String()
}

// TimeFormat is how dates and times are written; nil: as ISO 8601 has it.
type TimeFormat struct{ Format *strptime.Format }

func (*TimeFormat) wants() string { return "a format of strptime like %d.%m.%Y" }
func (f *TimeFormat) parse(text string) error {
	f.Format = nil
	if text == "" {
		return nil
	}
	format, err := strptime.Compile(text)
	f.Format = format
	if err != nil {
		f.Format = nil
	}
	return err
}

// String is the form of the file.
func (f TimeFormat) String() string {
	if f.Format == nil {
		return ""
	}
	return f.Format.String()
}

// Thousands is what stands between groups of three digits; "" if nothing does.
type Thousands string

func (*Thousands) wants() string { return `one of ".", ",", " " and "'", or "" for none` }
func (t *Thousands) parse(text string) error {
	if !slices.Contains([]string{"", ".", ",", "'", " "}, text) {
		return errors.New(`wants one of ".", ",", " " and "'", or "" for none`)
	}
	*t = Thousands(text)
	return nil
}

// checkTimes holds what a pin says of its texts to its type, and finds the zone
// that times without one are in.
func (d *decoder) checkTimes(p *Pipeline) {
	for i, c := range p.Schema.Columns {
		at := fmt.Sprintf("schema.columns[%d]", i)
		kind, format := c.Type.Type.Kind.String(), c.Format.Format
		switch {
		case format != nil && kind != "date" && kind != "timestamp":
			d.failAt(at+".format", "", "must not be given for a column that is "+kind)
		case format != nil && kind == "date" && format.HasTime():
			d.failAt(at+".format", "", "must not have a time of day: the column is a date")
		case format != nil && kind == "timestamp" && !format.HasZone() && c.Zone.Location == nil && p.Source.Files.Zone.Location == nil:
			d.failAt(at+".format", "set zone here, or source.files.zone: UTC, or whichever zone they are in", "must have %z where no zone is given: its times are those of some place")
		}
		if c.Zone.Location != nil && kind != "timestamp" {
			d.failAt(at+".zone", "", "must not be given for a column that is "+kind)
		}
		d.checkOffset(p, i)
		if len(c.True)+len(c.False) > 0 && kind != "bool" {
			d.failAt(at, "", "must not have words of true and false: the column is "+kind)
		}
	}
	csv := p.Source.Files.CSV
	if string(csv.Thousands) != "" && string(csv.Thousands) == string(csv.Decimal) {
		d.failAt("source.files.csv.thousands", "", "must not be the decimal sign too")
	}
}

// checkOffset holds a column of UTC offsets to what has them: texts of one timestamp in
// a row.
func (d *decoder) checkOffset(p *Pipeline, i int) {
	c, at := p.Schema.Columns[i], fmt.Sprintf("schema.columns[%d].offset", i)
	if c.Offset == "" || len(c.Path.home()) == 0 {
		return
	}
	event := p.EventTime != nil && slices.Equal(c.Path.home(), p.EventTime.Field.Place)
	switch {
	case c.Type.Type.Kind != schema.Timestamp:
		d.failAt(at, "", "must not be given for a column that is "+c.Type.Type.Kind.String())
	case slices.ContainsFunc(c.Path.home(), func(s schema.Step) bool { return s.Element }):
		d.failAt(at, "", "must not be given inside of a list: there are many times in one row")
	case len(c.Path) > 1:
		d.failAt(at, "", "must not be given beside several places")
	case event && p.EventTime.Unit != UnitISO:
		d.failAt(at, "", "must not be given for an event time in "+string(p.EventTime.Unit)+": numbers have no offset")
	case slices.ContainsFunc(p.Pins(), func(pin schema.Pin) bool { return len(pin.Place) > 0 && p.columnOf(pin) == string(c.Offset) }):
		d.failAt(at, "", "must not be the name of another column")
	}
}
