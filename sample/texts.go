package sample

import (
	"encoding/json"
	"regexp"
	"strconv"
)

// texts counts how the texts of one column are written.
type texts struct {
	seen    int64
	naive   int64 // times without a zone
	comma   int64 // numbers with a decimal comma
	points  int64 // of these, those with points between thousands
	pattern map[string]int64
	first   int // greatest first and second part of a written date
	second  int
	example string
	typed   bool // the column is not text
}

var (
	naiveTime    = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$`)
	commaNumber  = regexp.MustCompile(`^[-+]?\d+,\d+$`)
	pointsNumber = regexp.MustCompile(`^[-+]?\d{1,3}(\.\d{3})+,\d+$`)
	writtenDate  = regexp.MustCompile(`^(\d{1,2})([./-])(\d{1,2})[./-](\d{4}|\d{2})(?: (\d{1,2}:\d{2})(:\d{2})?)?$`)
)

// see looks at the values of a row, given as JSON.
func (s *Sample) see(line []byte) error {
	row := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &row); err != nil {
		return err
	}
	for name, value := range row {
		if string(value) == "null" {
			continue
		}
		t := s.texts[name]
		if t == nil {
			t = &texts{pattern: map[string]int64{}}
			s.texts[name] = t
		}
		var text string
		if value[0] != '"' || json.Unmarshal(value, &text) != nil {
			t.typed = true
			continue
		}
		if text != "" {
			t.see(text)
		}
	}
	return nil
}

func (t *texts) see(text string) {
	t.seen++
	switch m := writtenDate.FindStringSubmatch(text); {
	case naiveTime.MatchString(text):
		t.naive++
	case commaNumber.MatchString(text):
		t.comma++
	case pointsNumber.MatchString(text):
		t.comma++
		t.points++
	case m != nil:
		year := "%Y"
		if len(m[4]) == 2 {
			year = "%y"
		}
		form := m[2] + year
		if m[5] != "" {
			form += " %H:%M"
		}
		if m[6] != "" {
			form += ":%S"
		}
		t.pattern[form]++
		first, _ := strconv.Atoi(m[1])
		second, _ := strconv.Atoi(m[3])
		t.first, t.second = max(t.first, first), max(t.second, second)
	default:
		return
	}
	t.example = text
}

// format is the strptime format of a column of written dates, and whether the day
// is certain: a part above 12 is no month.
func (t *texts) format() (format string, sure bool) {
	for form, n := range t.pattern {
		if n != t.seen || t.first > 31 || t.second > 31 || t.first > 12 && t.second > 12 {
			return "", false
		}
		sign := form[:1]
		if t.second > 12 {
			return "%m" + sign + "%d" + form, true
		}
		return "%d" + sign + "%m" + form, t.first > 12 || sign == "."
	}
	return "", false
}
