package dlq

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"batcher/datafile"
	"batcher/manifest"
	"batcher/record"
)

// ID is the id of a record: what _source and _offset say.
type ID struct {
	Source string `json:"_source"`
	Offset int64  `json:"_offset"`
}

// String is the id as ParseID reads it.
func (id ID) String() string { return id.Source + ":" + strconv.FormatInt(id.Offset, 10) }

// ParseID reads an id of the form source:offset. The source may have colons of its
// own.
func ParseID(text string) (ID, error) {
	at := strings.LastIndexByte(text, ':')
	if at < 1 {
		return ID{}, fmt.Errorf("%q is no record id: wants _source:_offset", text)
	}
	offset, err := strconv.ParseInt(text[at+1:], 10, 64)
	if err != nil || offset < 0 {
		return ID{}, fmt.Errorf("%q is no record id: %q is no position", text, text[at+1:])
	}
	return ID{text[:at], offset}, nil
}

func idOf(l *record.DeadLetter) ID { return ID{l.Source, l.Offset} }

// Filter chooses letters: those that have one of the values of every list that is
// not empty. The zero value chooses all.
type Filter struct {
	IDs     []ID
	Stages  []string
	Codes   []string
	Sources []string // a source, or everything below a folder that ends in "/"
	Limit   int64    // the first so many; 0: all

	without string // stage of letters that are not chosen
}

// Empty says whether the filter chooses all.
func (f *Filter) Empty() bool {
	return len(f.IDs)+len(f.Stages)+len(f.Codes)+len(f.Sources) == 0 && f.Limit == 0
}

// chooser is a filter at work.
type chooser struct {
	Filter
	ids         map[ID]bool
	first, last string // sources of the ids are not before and not behind these
	left        int64  // letters that may still be chosen; negative: any number
}

func (f Filter) compile() *chooser {
	c := &chooser{Filter: f, left: f.Limit}
	if f.Limit <= 0 {
		c.left = -1
	}
	if len(f.IDs) > 0 {
		c.ids = make(map[ID]bool, len(f.IDs))
		c.first, c.last = f.IDs[0].Source, f.IDs[0].Source
		for _, id := range f.IDs {
			c.ids[id] = true
			c.first, c.last = min(c.first, id.Source), max(c.last, id.Source)
		}
	}
	return c
}

// mayHold says whether a file can have a letter that is chosen.
func (c *chooser) mayHold(f *manifest.File) bool {
	return (len(c.ids) == 0 || datafile.MayHold(f, c.first, c.last)) && (len(c.Sources) == 0 || slices.ContainsFunc(c.Sources, func(s string) bool {
		if strings.HasSuffix(s, "/") {
			return datafile.MayHold(f, s, s+"\xff") // behind every text that begins with s
		}
		return datafile.MayHold(f, s, s)
	}))
}

// chooses says whether the filter chooses a letter.
func (c *chooser) chooses(l *record.DeadLetter) bool {
	return (len(c.ids) == 0 || c.ids[idOf(l)]) && (c.without == "" || c.without != l.Stage) && has(c.Stages, l.Stage) && has(c.Codes, l.Code) &&
		(len(c.Sources) == 0 || slices.ContainsFunc(c.Sources, func(s string) bool {
			return s == l.Source || strings.HasSuffix(s, "/") && strings.HasPrefix(l.Source, s)
		}))
}

func has(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
