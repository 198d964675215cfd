package sample

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"batcher/record"
	"batcher/source/files"
)

// found is how one object of CSV was found out to be written.
type found struct {
	record.Dialect
	above int // lines above the table
}

// dialect finds out how an object of CSV is written.
func (s *Sample) dialect(ctx context.Context, d *record.Decoder, src *files.Source, o files.Object) error {
	body, err := src.Open(ctx, o)
	if errors.Is(err, files.ErrStale) {
		return nil
	}
	if err != nil {
		return err
	}
	defer body.Close()
	layout, err := d.Layout(ctx, record.Object{Source: o.Key}, body)
	var broken *record.BrokenError
	if errors.As(err, &broken) {
		return nil // decode says so
	}
	if err != nil {
		return err
	}
	if layout.Kind() == record.CSV {
		dialect, above := layout.Dialect()
		s.dialects = append(s.dialects, found{dialect, above})
	}
	return nil
}

// proposeDialect writes down what was found out of CSV, so that no object is read
// another way by its own rows. Where objects differ it says so and leaves them to be
// found out.
func (s *Sample) proposeDialect(opt Options) {
	given := opt.Format.CSV
	if given.Delimiter == 0 {
		s.agree("delimiter", func(f found) string { return yamlText(string(f.Delimiter)) }, "")
	}
	if given.Header == "" {
		s.agree("header", func(f found) string { return strconv.FormatBool(f.Header == record.Named) }, "")
	}
	if given.Escape == 0 {
		s.agree("escape", func(f found) string {
			if f.Escape == 0 {
				return ""
			}
			return yamlText(string(f.Escape))
		}, "")
	}
	if given.Trailing == "" {
		s.agree("trailing_delimiter", func(f found) string {
			if f.Trailing != record.Ignored {
				return ""
			}
			return "true"
		}, "")
	}
	if given.Skip == 0 {
		s.agree("skip_lines", func(f found) string {
			if f.above == 0 {
				return ""
			}
			return strconv.Itoa(f.above)
		}, "; they are no records")
	}
	if none := func(f found) bool { return f.Header != record.Numbered }; len(s.dialects) > 0 && !slices.ContainsFunc(s.dialects, none) && len(given.Columns) == 0 {
		names := make([]string, len(s.Columns))
		for i, c := range s.Columns {
			names[i] = c.Name
		}
		s.set("source.files.csv.columns", "["+strings.Join(names, ", ")+"]", false, "there is no header: please give the columns names")
	}
	if n := s.codes["ragged"]; n > 0 && !given.Pad && n*2 > s.Dead {
		s.set("source.files.csv.pad", "true", false, fmt.Sprintf("%d rows have another number of cells than the header; true pads those that end early", n))
	}
}

// agree proposes a key of the dialect if it is the same in all objects; "" is no value.
func (s *Sample) agree(key string, value func(found) string, why string) {
	if len(s.dialects) == 0 {
		return
	}
	first, same := value(s.dialects[0]), 0
	for _, f := range s.dialects {
		if value(f) == first {
			same++
		}
	}
	switch {
	case same < len(s.dialects):
		s.Warnings = append(s.Warnings, fmt.Sprintf("csv.%s differs: %s in %d of %d objects; it is found out for each", key, first, same, len(s.dialects)))
	case first != "":
		where := fmt.Sprintf("in all %d objects looked at", same)
		if same == 1 {
			where = "in the object looked at"
		}
		s.set("source.files.csv."+key, first, true, where+why)
	}
}
