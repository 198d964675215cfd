package record

import (
	"slices"
	"strings"
	"unicode"

	"batcher/schema"
)

// Whether the first row of CSV is a record or a header.

// record says whether the first row is a record, which is like the rows below it. In
// doubt the keys of columns decide: most names of a header are such keys, or the columns
// that objects without a header gave it are. Else it is a header, unless a value of it is
// below as well.
func (r *reading) record(columns known) bool {
	if len(r.rows) == 0 || r.rows[0].wrong {
		return false
	}
	first, below := r.rows[0], r.rows[1:]
	known, of := countKnown(first.cells, columns)
	if known > 0 && known == of || years(&first, below) {
		return false
	}
	alike, unlike := compare(&first, below)
	switch {
	case alike != unlike:
		return alike > unlike
	case alike == 0 && known*2 > of:
		return false
	case alike == 0 && of > 0 && columns.numbers(len(first.cells)):
		return true
	case len(below) == 0:
		return slices.ContainsFunc(first.cells, func(cell string) bool { return value(sort(cell)) })
	case alike > 0:
		return false
	}
	return first.repeats(below)
}

// doubtful says whether nothing but its text makes a header of the first row: neither the
// rows below it nor a column that is named so.
func (r *reading) doubtful(columns known) bool {
	if len(r.rows) < 2 || r.rows[0].wrong {
		return false
	}
	known, _ := countKnown(r.rows[0].cells, columns)
	alike, unlike := compare(&r.rows[0], r.rows[1:])
	return known == 0 && alike == 0 && unlike == 0
}

// compare counts the cells of a row that are values like those of the rows below,
// and those that differ from them.
func compare(row *sniffedRow, below []sniffedRow) (alike, unlike int) {
	whole := slices.DeleteFunc(slices.Clone(below), func(b sniffedRow) bool { return b.wrong || len(b.cells) < len(row.cells) })
	if len(whole) > 0 { // a footer, or a part of a row, says nothing of columns
		below = whole
	}
	for i, cell := range row.cells {
		switch mine, theirs := sort(cell), sortBelow(below, i); {
		case theirs == 0 || mine == schema.SawBlank:
		case theirs == schema.SawText:
		case mine == theirs:
			alike++
		default:
			unlike++
		}
	}
	return alike, unlike
}

// countKnown counts the cells that have columns, of those that are not empty.
func countKnown(cells []string, columns known) (known, of int) {
	for _, cell := range cells {
		if cell = strings.TrimSpace(cell); cell != "" {
			of++
			if columns.has(cell) {
				known++
			}
		}
	}
	return known, of
}

// sort is what a cell looks like: a number, or an identifier of digits; a date, a time
// or what else has digits but no letters, such as 01/02/2024, 17:40, 10.0.0.1 and $5; a
// bool; text; or nothing.
func sort(cell string) schema.Class {
	switch c := classOfCell([]byte(cell)); c {
	case schema.SawWideInt, schema.SawDecimal, schema.SawFloat, schema.SawFraction, schema.SawHuge, schema.SawInfinite:
		return schema.SawInt
	case schema.SawTimestamp:
		return schema.SawDate
	case schema.SawText:
		const digits = "0123456789"
		switch {
		case !strings.ContainsAny(cell, digits):
			return c
		case strings.Trim(strings.TrimSpace(cell), "+"+digits) == "", hasDecimalComma(cell):
			return schema.SawInt
		case isLocalTime(cell), !strings.ContainsFunc(cell, unicode.IsLetter):
			return schema.SawDate
		}
		return c
	default:
		return c
	}
}

// isLocalTime says whether text is a date and a time without zone.
func isLocalTime(cell string) bool {
	return isInstant(append([]byte(strings.TrimSpace(cell)), 'Z'))
}

// value says whether what a cell looks like is no name.
func value(c schema.Class) bool {
	return c == schema.SawInt || c == schema.SawDate || c == schema.SawBool
}

// sortBelow is what all cells of a column look like, but those that say nothing;
// text if they differ, and 0 if there are none.
func sortBelow(rows []sniffedRow, column int) (all schema.Class) {
	for _, row := range rows {
		if row.wrong || column >= len(row.cells) {
			continue
		}
		c := sort(row.cells[column])
		switch {
		case c == schema.SawBlank:
		case all == 0:
			all = c
		case all != c:
			return schema.SawText
		}
	}
	return all
}

// years says whether the cells of a row that are numbers are years in order, as in
// headers of tables with a column a year. Over columns of years they are values.
func years(row *sniffedRow, below []sniffedRow) bool {
	last, n, values := "", 0, 0
	for i, cell := range row.cells {
		cell = strings.TrimSpace(cell)
		if sort(cell) != schema.SawInt {
			continue
		}
		if !isYear(cell) || cell <= last {
			return false
		}
		last, n = cell, n+1
		if yearsBelow(below, i) {
			values++
		}
	}
	return n > 1 && values < n
}

func isYear(cell string) bool {
	return len(cell) == 4 && cell >= "1900" && cell <= "2100" && sort(cell) == schema.SawInt
}

// yearsBelow says whether all cells of a column are years, but those that say nothing.
func yearsBelow(rows []sniffedRow, column int) (all bool) {
	for _, row := range rows {
		if row.wrong || column >= len(row.cells) || sort(row.cells[column]) == schema.SawBlank {
			continue
		}
		if all = isYear(strings.TrimSpace(row.cells[column])); !all {
			return false
		}
	}
	return all
}

// repeats says whether a cell of the row is in its column below as well, but not the
// whole row, which is a header again where files were put together.
func (s *sniffedRow) repeats(below []sniffedRow) bool {
	for _, row := range below {
		if len(row.cells) != len(s.cells) || slices.EqualFunc(row.cells, s.cells, sameName) {
			continue
		}
		for i, cell := range row.cells {
			if cell != "" && cell == s.cells[i] {
				return true
			}
		}
	}
	return false
}

// sameName says whether texts are one name, with a byte order mark before it or without.
func sameName(a, b string) bool {
	return strings.TrimPrefix(a, "\ufeff") == strings.TrimPrefix(b, "\ufeff")
}
