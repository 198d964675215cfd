package sample

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"batcher/record"
	"batcher/schema"
)

// propose makes settings and warnings of what was seen.
func (s *Sample) propose(opt Options) {
	if e := s.lists; e != nil && len(opt.Format.Unnest) == 0 {
		s.set("source.files.unnest", yamlText(e.Place.String()), e.Known || e.Bytes*10 >= e.Of*9,
			fmt.Sprintf("%d objects in %d lists hold most of the text", e.Elements, e.Lists))
	}
	s.proposeDialect(opt)
	s.proposeEncoding(opt)
	s.proposeTimes()
	s.proposeNumbers(opt)
	s.proposeFolders(opt)
	slices.SortFunc(s.Settings, func(a, b Setting) int { return cmp.Compare(a.Key, b.Key) })
	s.warn()
}

func (s *Sample) set(key, value string, sure bool, why string) {
	s.Settings = append(s.Settings, Setting{key, value, sure, why})
}

// proposeEncoding takes text that is not UTF-8 for what Windows writes.
func (s *Sample) proposeEncoding(opt Options) {
	if n := s.codes["invalid_utf8"]; n > 0 && opt.Format.Encoding == "" {
		s.set("source.files.encoding", "windows-1252", false, fmt.Sprintf("%d records are not UTF-8", n))
	}
}

// proposeTimes names columns of times that say no zone, and of dates that no
// standard writes.
func (s *Sample) proposeTimes() {
	var naive []string
	for _, c := range s.Columns {
		t := s.texts[c.Name]
		if t == nil || t.typed || c.Type.Kind != schema.String || t.seen == 0 {
			continue
		}
		if t.naive == t.seen {
			naive = append(naive, c.Name)
		}
		if format, certain := t.format(); format != "" {
			kind, why := "date", "dates like "+t.example
			if strings.Contains(format, "%H") {
				kind, naive, certain = "timestamp", append(naive, c.Name), false
				why = "times like " + t.example + "; needs a zone"
			} else if !certain {
				why += "; which part is the day is a guess"
			}
			s.set("schema.columns[]", fmt.Sprintf("{path: %s, type: %s, format: %q}", yamlText((schema.Place{{Key: schema.KeyText(c.Key)}}).String()), kind, format), certain, why)
		}
	}
	if len(naive) > 0 {
		s.set("source.files.zone", "UTC", false, "times without a zone in "+strings.Join(naive, ", ")+"; UTC is a guess: it may be Europe/Berlin")
	}
}

// proposeNumbers finds columns of numbers with a decimal comma.
func (s *Sample) proposeNumbers(opt Options) {
	var columns []string
	points := int64(0)
	for _, c := range s.Columns {
		if t := s.texts[c.Name]; t != nil && !t.typed && c.Type.Kind == schema.String && t.seen > 0 && t.comma == t.seen {
			columns = append(columns, c.Name)
			points += t.points
		}
	}
	if len(columns) == 0 || opt.Format.CSV.Decimal == ',' {
		return
	}
	why := "numbers with a decimal comma in " + strings.Join(columns, ", ")
	s.set("source.files.csv.decimal", `","`, true, why)
	if points > 0 {
		s.set("source.files.csv.thousands", `"."`, true, why)
	}
}

// warn says what of the input does not come through whole.
func (s *Sample) warn() {
	for _, a := range s.added {
		if a.Renamed && schema.KeyText(a.Key) != a.Path {
			s.Warnings = append(s.Warnings, fmt.Sprintf("key %s becomes column %s", schema.KeyText(a.Key), a.Path))
		}
	}
	if s.Dead > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%d of %d records are bad, the first: %s at byte %d: %s", s.Dead, s.Records, s.bad.Source, s.bad.Offset, s.bad.Message))
	}
	s.Warnings = append(s.Warnings, s.broken...)
}

// envelope looks for a list that holds the records. All objects are to agree.
func (s *Sample) envelope(text []byte) {
	e, ok := record.FindEnvelope(text)
	switch {
	case !ok || s.otherwise || s.lists != nil && s.lists.Place.String() != e.Place.String():
		s.lists, s.otherwise = nil, true
	case s.lists == nil:
		s.lists = &e
	default:
		s.lists.Lists += e.Lists
		s.lists.Elements += e.Elements
		s.lists.Bytes += e.Bytes
		s.lists.Of += e.Of
	}
}

// yamlText is a YAML scalar that is always the text.
func yamlText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
