package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"batcher/schema"
	"batcher/strptime"
)

// writing is how the texts of a column are written, where that was declared.
type writing struct {
	format  *strptime.Format // of dates and times; nil: ISO 8601
	zone    *time.Location   // of times without one; nil: they are none
	yes, no []string         // words of a bool besides the usual ones
}

// writtenOf is what a pin says of its place, under a zone that holds for all of them.
func writtenOf(p *schema.Pin, zone *time.Location) writing {
	if p == nil {
		return writing{zone: zone}
	}
	r := writing{format: p.Format, zone: zone, yes: p.True, no: p.False}
	if p.Zone != nil {
		r.zone = p.Zone
	}
	return r
}

// instant reads a timestamp as the column wants it: ISO 8601, the declared format, or
// a number of units since 1970-01-01T00:00:00Z. naive says that it is a time
// without a zone, and nothing says which one is meant.
func (n *node) instant(text []byte) (us int64, cut, naive, ok bool) {
	switch {
	case n.unit != schema.ISO:
		us, cut, ok = epoch(text, n.unit)
		return us, cut, false, ok
	case n.reads.format != nil:
		us, cut, ok = n.reads.format.Parse(text)
		if !ok || n.reads.format.HasZone() {
			return us, cut, false, ok
		}
	default:
		var end int
		if us, end, cut, ok = moment(text); ok && end < len(text) {
			us, ok = zoned(us, text[end:])
			return us, cut, false, ok
		}
	}
	if !ok {
		return 0, false, false, false
	}
	if n.reads.zone == nil {
		return 0, false, true, false
	}
	us, ok = local(us, n.reads.zone)
	return us, cut, false, ok && inYears(us)
}

// keepOffset keeps the offset of a text that is an instant: minutes that local time is
// ahead of UTC.
func (s *scanner) keepOffset(n *node, text []byte, us int64) {
	if seconds, ok := n.offsetOf(text, us); ok && seconds%60 == 0 {
		n.offset.Int32(s.row, 0, int32(seconds/60))
	}
}

// offsetOf is the UTC offset in seconds that an instant is written with, or that of the
// declared zone at that instant. Numbers have none.
func (n *node) offsetOf(text []byte, us int64) (seconds int64, ok bool) {
	switch {
	case n.unit != schema.ISO:
		return 0, false
	case n.reads.format != nil:
		if n.reads.format.HasZone() {
			return n.reads.format.Offset(text)
		}
	default:
		if _, end, _, ok := moment(text); ok && end < len(text) {
			return zone(text[end:])
		}
	}
	_, offset := time.UnixMicro(us).In(n.reads.zone).Zone()
	return int64(offset), true
}

// local returns the instant of a local time, given as microseconds as if it were
// UTC. Of a time that the clocks show twice it is the first; of one that they skip
// there is none.
func local(us int64, zone *time.Location) (int64, bool) {
	if zone == time.UTC {
		return us, true
	}
	seconds := us / 1e6
	if us%1e6 < 0 {
		seconds--
	}
	const day = 86400
	first, found := int64(0), false
	for _, near := range [...]int64{seconds - day, seconds + day} {
		_, offset := time.Unix(near, 0).In(zone).Zone()
		at := seconds - int64(offset)
		if _, is := time.Unix(at, 0).In(zone).Zone(); is == offset && (!found || at < first) {
			first, found = at, true
		}
	}
	return us + (first-seconds)*1e6, found
}

// isNaive says whether text is an ISO 8601 date and time without a zone.
func isNaive(text []byte) bool {
	_, end, _, ok := moment(text)
	return ok && end == len(text)
}

// dayOf reads the day of a date column whose format was declared.
func (n *node) dayOf(text []byte) (days int32, ok bool) {
	us, _, ok := n.reads.format.Parse(text)
	const perDay = 86400 * 1e6
	if us%perDay != 0 {
		return 0, false
	}
	return int32(us / perDay), ok && inYears(us)
}

// word is the bool that a declared word says, in any case.
func (r *writing) word(text []byte) (value uint8, ok bool) {
	is := func(word string) bool { return strings.EqualFold(word, string(text)) }
	if slices.ContainsFunc(r.yes, is) {
		return 1, true
	}
	return 0, slices.ContainsFunc(r.no, is)
}

// naives counts the times without a zone that a declared column did not take.
type naives struct {
	count   int64
	last    int64 // the record that was counted last: one may be scanned twice
	example string
}

// noteNaive counts a text that a declared column of timestamps did not take because
// it says no zone.
func (s *scanner) noteNaive(n *node, text []byte) {
	if s.naives == nil {
		s.naives = map[string]*naives{}
	}
	at := s.naives[n.column]
	if at == nil {
		at = &naives{example: string(text), last: -1}
		s.naives[n.column] = at
	}
	if at.last != s.serial {
		at.count, at.last = at.count+1, s.serial
	}
}

// NaiveError says that most times of a declared column of timestamps have no zone:
// the pipeline file has to say which one is meant.
type NaiveError struct {
	Column  string
	Count   int64 // times without a zone
	Example string
}

// Error names the column and a value.
func (e *NaiveError) Error() string {
	return fmt.Sprintf("column %s is a timestamp, but %d times have no zone, the first: %s", e.Column, e.Count, e.Example)
}

// checkNaive fails if half of the rows or more have a time without a zone in a
// declared column. A few among others are rescued as what does not fit.
func (d *Decoder) checkNaive() error {
	for _, column := range slices.Sorted(maps.Keys(d.scanner.naives)) {
		if at := d.scanner.naives[column]; at.count*2 >= d.notes.rows {
			return &NaiveError{Column: column, Count: at.count, Example: at.example}
		}
	}
	return nil
}
