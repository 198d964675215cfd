package datafile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"batcher/column"
	"batcher/datafile"
	"batcher/schema"
)

// unscaled is a Decimal value of any size.
func unscaled(text string) (d [16]byte) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		panic(text)
	}
	if n.Sign() < 0 {
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	n.FillBytes(d[:])
	return d
}

// TestDecimal_OneStorageForATypeAndStatisticsInIt writes the ends of decimals of every
// precision: the library finds the physical type that Parquet recommends, and the ends
// in the footer in that type.
func TestDecimal_OneStorageForATypeAndStatisticsInIt(t *testing.T) {
	for precision := int8(1); precision <= 38; precision++ {
		want := parquet.FixedLenByteArray
		switch {
		case precision <= 9:
			want = parquet.Int32
		case precision <= 18:
			want = parquet.Int64
		}
		nines := strings.Repeat("9", int(precision))
		b := shred(table(money(17, "d", precision, 0)), []row{{"d": unscaled(nines)}, {}, {"d": unscaled("-" + nines)}, {"d": decimal(0)}})
		file, said := write(t, datafile.Options{}, b)
		if got := read(t, file, b.Schema); fmt.Sprint(got) != fmt.Sprint(texts(b)) {
			t.Errorf("precision %d: read %v", precision, got)
		}
		f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		m := f.Metadata().RowGroups[0].Columns[0].MetaData
		if got := f.Root().Columns()[0].Type().Kind(); got != want || parquet.Kind(m.Type) != want {
			t.Errorf("precision %d is stored as %v, want %v", precision, got, want)
		}
		typ := f.Root().Columns()[0].Type()
		lo, hi := libraryPlain(typ, want.Value(m.Statistics.MinValue)), libraryPlain(typ, want.Value(m.Statistics.MaxValue))
		if [16]byte(lo) != unscaled("-"+nines) || [16]byte(hi) != unscaled(nines) {
			t.Errorf("precision %d: the footer has %x to %x", precision, m.Statistics.MinValue, m.Statistics.MaxValue)
		}
		if string(said.Columns[0].Min) != "-"+nines || string(said.Columns[0].Max) != nines {
			t.Errorf("precision %d: statistics are %s to %s", precision, said.Columns[0].Min, said.Columns[0].Max)
		}
	}
}

// TestDecimal_MoreDigitsThanItsTypeAreAnError writes values that the integers in the
// file could not hold, or that no reader expects there.
func TestDecimal_MoreDigitsThanItsTypeAreAnError(t *testing.T) {
	for _, c := range []struct {
		precision int8
		value     string
	}{{9, "1000000000"}, {9, "-1000000000"}, {9, "4294967296"}, {9, "18446744073709551616"}, {5, "100000"}, {18, "1000000000000000000"}, {18, "-9223372036854775809"}, {18, "-1000000000000000000"}} {
		w := datafile.NewWriter(io.Discard, datafile.Options{})
		err := w.Write(shred(table(money(17, "d", c.precision, 0)), []row{{"d": unscaled(c.value)}}))
		if err == nil {
			_, err = w.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.value+" has more digits than decimal(") {
			t.Errorf("%s in %d digits: %v", c.value, c.precision, err)
		}
	}
}

// TestDecimal_AnotherStorageIsRefused opens files that have decimals in other types
// than this package writes: two files of a table would differ in them.
func TestDecimal_AnotherStorageIsRefused(t *testing.T) {
	for precision, typ := range map[int]parquet.Type{9: parquet.FixedLenByteArrayType(16), 5: parquet.Int64Type, 18: parquet.FixedLenByteArrayType(8), 38: parquet.FixedLenByteArrayType(17)} {
		var b bytes.Buffer
		w := parquet.NewWriter(&b, parquet.NewSchema("schema", parquet.Group{"d": parquet.FieldID(parquet.Optional(parquet.Decimal(2, precision, typ)), 17)}))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := datafile.Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if !errors.Is(err, datafile.ErrDamaged) || !strings.Contains(err.Error(), `node "d": type`) {
			t.Errorf("decimal(%d,2) as %v: %v", precision, typ, err)
		}
	}
}

// TestDecimal_StatisticsBeyondDoubles looks at bounds of more digits than a double has.
func TestDecimal_StatisticsBeyondDoubles(t *testing.T) {
	for _, c := range []struct {
		precision, scale int8
		value            string
		lo, hi           string
	}{
		{17, 2, "123456789012345", "1234567890123.45", "1234567890123.45"},
		{17, 2, "1234567890123456", "12345678901234.50", "12345678901234.60"},
		{17, 2, "-1234567890123456", "-12345678901234.60", "-12345678901234.50"},
		{16, 2, "9999999999999999", "99999999999999.90", ""},
		{16, 2, "-9999999999999999", "", "-99999999999999.90"},
		{17, 2, "9999999999999999", "99999999999999.90", "100000000000000.00"},
		{18, 17, "12345678901234567", "0.12345678901234500", "0.12345678901234600"},
		{38, 38, "123456789012345678", "0.00000000000000000000123456789012345000", "0.00000000000000000000123456789012346000"},
		{38, 0, "12345678901234567890123456789", "12345678901234567890123456789", "12345678901234567890123456789"},
	} {
		_, f := write(t, datafile.Options{}, shred(table(money(17, "d", c.precision, c.scale)), []row{{"d": unscaled(c.value)}}))
		if s := f.Columns[0]; string(s.Min) != c.lo || string(s.Max) != c.hi {
			t.Errorf("%s of decimal(%d,%d): %s to %s, want %s to %s", c.value, c.precision, c.scale, s.Min, s.Max, c.lo, c.hi)
		}
	}
}

// TestDecimal_ReadersThatMakeDoublesOfStatisticsLoseNoRow does to statistics of random
// values what Trino does: a JSON number with a point becomes a double, that becomes
// text, and that a decimal.
func TestDecimal_ReadersThatMakeDoublesOfStatisticsLoseNoRow(t *testing.T) {
	r := newRandom(t, 0)
	double := func(text []byte) *big.Rat {
		f, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
		return n
	}
	bounded := 0
	for range 2000 {
		s := schema.Type{Kind: schema.Decimal, Precision: int8(1 + r.IntN(38))}
		s.Scale = int8(1 + r.IntN(int(s.Precision)))
		digits := make([]byte, 1+r.IntN(int(s.Precision)))
		for i := range digits {
			digits[i] = byte('0' + []int{r.IntN(10), 9}[r.IntN(2)])
		}
		v := unscaled([]string{"", "-"}[r.IntN(2)] + string(digits))
		_, f := write(t, datafile.Options{Compression: datafile.Uncompressed}, shred(table(money(17, "d", s.Precision, s.Scale)), []row{{"d": v}}))
		value, _ := new(big.Rat).SetString(string(column.AppendDecimal(nil, v[:], int(s.Scale))))
		lo, hi := f.Columns[0].Min, f.Columns[0].Max
		if lo != nil && double(lo).Cmp(value) > 0 || hi != nil && double(hi).Cmp(value) < 0 {
			t.Fatalf("%v: %s is outside of %s to %s", s, value.FloatString(int(s.Scale)), lo, hi)
		}
		if lo != nil && hi != nil {
			bounded++
		}
	}
	if bounded < 1000 {
		t.Errorf("only %d of 2000 values had both bounds", bounded)
	}
}
