// Package strptime reads dates and times as a format of strptime(3) says.
//
// Duty: compile a format once, and read texts by it exactly: all of a text, and
// nothing that is no date.
//
// Invariants: the same text and format give the same instant anywhere: names of
// months and days are English, and no clock or time zone of the machine counts.
//
// It never guesses: a text that differs from the format in a single sign is none.
package strptime

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Format is a compiled format. It is safe for concurrent use.
type Format struct {
	text  string
	steps []step
	has   [256]bool // directives in it
}

// step is a directive, or signs that stand for themselves.
type step struct {
	directive byte // 0: literal
	literal   string
	tight     bool // digits follow at once, so that this number has all of its own
}

// directives are those that are read, with how many digits each has at most.
var directives = map[byte]int{
	'Y': 4, 'y': 2, 'm': 2, 'd': 2, 'H': 2, 'I': 2, 'M': 2, 'S': 2, 'f': 9, 'j': 3, 's': 12,
	'b': 0, 'B': 0, 'a': 0, 'A': 0, 'p': 0, 'z': 0, 'Z': 0,
}

// short are directives for several others.
var short = strings.NewReplacer("%T", "%H:%M:%S", "%R", "%H:%M", "%F", "%Y-%m-%d", "%D", "%m/%d/%y", "%e", "%d", "%k", "%H", "%l", "%I", "%h", "%b", "%-", "%")

// Compile reads a format: %Y %y %m %d %e %j %b %B %a %A for the day, %H %I %p %M %S
// %f for the time, %z and %Z for the zone, %s for seconds since 1970, and %F %D
// %T %R for several of them. %f has the digits of a fraction, as many as there are.
func Compile(text string) (*Format, error) {
	f := &Format{text: text}
	rest := short.Replace(text)
	for rest != "" {
		at := strings.IndexByte(rest, '%')
		switch {
		case at != 0:
			if at < 0 {
				at = len(rest)
			}
			f.literal(rest[:at])
			rest = rest[at:]
			continue
		case len(rest) == 1:
			return nil, errors.New("ends in a % without a letter")
		case rest[1] == '%':
			f.literal("%")
		default:
			if _, ok := directives[rest[1]]; !ok {
				return nil, fmt.Errorf("%%%c is no directive that is read here", rest[1])
			}
			if f.has[rest[1]] {
				return nil, fmt.Errorf("%%%c is there twice", rest[1])
			}
			f.has[rest[1]] = true
			f.steps = append(f.steps, step{directive: rest[1]})
		}
		rest = rest[2:]
	}
	for i := range f.steps[:max(len(f.steps)-1, 0)] {
		next := f.steps[i+1]
		f.steps[i].tight = directives[next.directive] > 0 || next.directive == 0 && next.literal[0]-'0' <= 9
	}
	return f, f.check()
}

func (f *Format) literal(text string) {
	if n := len(f.steps); n > 0 && f.steps[n-1].directive == 0 {
		f.steps[n-1].literal += text
		return
	}
	f.steps = append(f.steps, step{literal: text})
}

// check says what a format lacks to name a day.
func (f *Format) check() error {
	year := f.has['Y'] || f.has['y']
	month := f.has['m'] || f.has['b'] || f.has['B']
	switch {
	case f.has['s']:
		return nil
	case !year || (!month || !f.has['d']) && !f.has['j']:
		return errors.New("must have a year, a month and a day: %Y-%m-%d")
	case f.has['I'] != f.has['p']:
		return errors.New("must have %I and %p together")
	case f.has['H'] && f.has['I']:
		return errors.New("must have %H or %I, not both")
	}
	return nil
}

// String is the format as it was given.
func (f *Format) String() string { return f.text }

// HasTime says whether the format has a time of day.
func (f *Format) HasTime() bool {
	return f.has['H'] || f.has['I'] || f.has['M'] || f.has['S'] || f.has['f'] || f.has['s']
}

// HasZone says whether texts of the format say their offset from UTC.
func (f *Format) HasZone() bool { return f.has['z'] || f.has['Z'] || f.has['s'] }

// parsed is what was read of a text.
type parsed struct {
	year, month, day, yday        int
	hour, minute, second, micros  int
	offset, epoch                 int64
	pm, am, cut, negative, failed bool
}

// Parse reads a text as microseconds since 1970-01-01T00:00:00, in UTC if the
// format has a zone and in local time otherwise. cut says that a fraction held more
// than microseconds.
func (f *Format) Parse(text []byte) (us int64, cut, ok bool) {
	p, ok := f.read(text)
	if !ok {
		return 0, false, false
	}
	us, ok = p.instant(f)
	return us, p.cut, ok
}

// Offset reads the offset from UTC that a text says, in seconds: none where the format
// has only seconds since 1970.
func (f *Format) Offset(text []byte) (seconds int64, ok bool) {
	p, ok := f.read(text)
	return p.offset, ok && (f.has['z'] || f.has['Z'])
}

// read reads all of a text.
func (f *Format) read(text []byte) (p parsed, ok bool) {
	p = parsed{month: 1, day: 1}
	for i := range f.steps {
		if text, ok = p.step(&f.steps[i], text); !ok {
			return p, false
		}
	}
	return p, len(text) == 0
}

// step reads what one step says, and returns what follows it.
func (p *parsed) step(s *step, text []byte) (rest []byte, ok bool) {
	switch s.directive {
	case 0:
		return bytes.CutPrefix(text, []byte(s.literal))
	case 'b':
		p.month, rest, ok = name(text, shortMonths)
		return rest, ok
	case 'B':
		p.month, rest, ok = name(text, months)
		return rest, ok
	case 'a':
		_, rest, ok = name(text, shortDays)
		return rest, ok
	case 'A':
		_, rest, ok = name(text, days)
		return rest, ok
	case 'p':
		return p.half(text)
	case 'z', 'Z':
		return p.zone(text)
	case 's':
		if bytes.HasPrefix(text, []byte("-")) {
			p.negative, text = true, text[1:]
		}
	}
	v, n := number(text, directives[s.directive])
	most := directives[s.directive]
	if n == 0 || (s.tight || s.directive == 'Y' || s.directive == 'y') && n < most && s.directive != 'f' && s.directive != 's' {
		return nil, false
	}
	p.set(s.directive, v, n)
	return text[n:], true
}

// number reads at most so many digits.
func number(text []byte, most int) (v int64, n int) {
	for n < len(text) && n < most && text[n]-'0' <= 9 {
		v = v*10 + int64(text[n]-'0')
		n++
	}
	return v, n
}

func (p *parsed) set(directive byte, v int64, digits int) {
	n := int(v)
	switch directive {
	case 'Y':
		p.year = n
	case 'y': // as POSIX has it
		if p.year = 1900 + n; n < 69 {
			p.year = 2000 + n
		}
	case 'm':
		p.month = n
	case 'd':
		p.day = n
	case 'j':
		p.yday = n
		p.failed = p.failed || n < 1
	case 'H', 'I':
		p.hour = n
		p.failed = p.failed || directive == 'I' && (n < 1 || n > 12)
	case 'M':
		p.minute = n
	case 'S':
		p.second = n
	case 's':
		p.epoch = v
	case 'f':
		for ; digits < 6; digits++ {
			n *= 10
		}
		for ; digits > 6; digits-- {
			p.cut = p.cut || n%10 > 0
			n /= 10
		}
		p.micros = n
	}
}

var (
	months = []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
	days   = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

	shortMonths, shortDays = heads(months), heads(days)
)

// heads are the first three letters of names.
func heads(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name[:3]
	}
	return out
}

// name reads a name of a list, in any case. It returns
// its number, from 1 on.
func name(text []byte, names []string) (n int, rest []byte, ok bool) {
	for i, name := range names {
		if len(text) >= len(name) && bytes.EqualFold(text[:len(name)], []byte(name)) {
			return i + 1, text[len(name):], true
		}
	}
	return 0, nil, false
}

// half reads AM or PM.
func (p *parsed) half(text []byte) (rest []byte, ok bool) {
	if len(text) < 2 || text[1]|0x20 != 'm' {
		return nil, false
	}
	p.am, p.pm = text[0]|0x20 == 'a', text[0]|0x20 == 'p'
	return text[2:], p.am || p.pm
}

// zone reads Z, UTC, GMT or an offset.
func (p *parsed) zone(text []byte) (rest []byte, ok bool) {
	for _, utc := range []string{"UTC", "GMT", "Z", "z"} {
		if rest, ok = bytes.CutPrefix(text, []byte(utc)); ok {
			return rest, true
		}
	}
	if len(text) < 3 || text[0] != '+' && text[0] != '-' {
		return nil, false
	}
	hours, n := number(text[1:], 2)
	rest = text[1+n:]
	minutes := int64(0)
	if len(rest) > 0 {
		after := bytes.TrimPrefix(rest, []byte(":"))
		if v, m := number(after, 2); m == 2 {
			minutes, rest = v, after[2:]
		} else if len(after) < len(rest) {
			return nil, false
		}
	}
	if p.offset = hours*3600 + minutes*60; text[0] == '-' {
		p.offset = -p.offset
	}
	return rest, n == 2 && hours < 24 && minutes < 60
}

// instant joins what was read, if there is such a time.
func (p *parsed) instant(f *Format) (us int64, ok bool) {
	if f.has['s'] {
		us = p.epoch * 1e6
		if p.negative {
			us = -us
		}
		return us, true
	}
	switch {
	case p.pm && p.hour < 12:
		p.hour += 12
	case p.am && p.hour == 12:
		p.hour = 0
	}
	if p.failed || p.year < 1 || p.hour > 23 || p.minute > 59 || p.second > 59 {
		return 0, false
	}
	day, ok := p.date()
	return ((day*24+int64(p.hour))*60+int64(p.minute))*60e6 + int64(p.second)*1e6 + int64(p.micros) - p.offset*1e6, ok
}

// date is the day since 1970-01-01.
func (p *parsed) date() (int64, bool) {
	leap := p.year%4 == 0 && (p.year%100 != 0 || p.year%400 == 0)
	lengths := []int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	if leap {
		lengths[1] = 29
	}
	if p.yday > 0 {
		p.month, p.day = 1, p.yday
		for p.month <= 12 && p.day > lengths[p.month-1] {
			p.day -= lengths[p.month-1]
			p.month++
		}
	}
	if p.month < 1 || p.month > 12 || p.day < 1 || p.day > lengths[p.month-1] {
		return 0, false
	}
	before := int64(p.year - 1)
	n := before*365 + before/4 - before/100 + before/400 - 719162
	for _, length := range lengths[:p.month-1] {
		n += int64(length)
	}
	return n + int64(p.day-1), true
}
