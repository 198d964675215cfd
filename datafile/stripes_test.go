package datafile_test

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"batcher/column"
	"batcher/datafile"
	"batcher/localdev"
	"batcher/schema"
)

// ids makes identifiers of one length: what a form has at a place, or a digit
// drawn where it has none.
type ids struct {
	form  string // '?' is a place for a digit
	nulls int    // one value in so many is null; 0: none
}

func (s ids) draw(rng *rand.Rand) any {
	if s.nulls > 0 && rng.IntN(s.nulls) == 0 {
		return nil
	}
	b := []byte(s.form)
	for i := range b {
		if b[i] == '?' {
			b[i] = "0123456789abcdef"[rng.IntN(16)]
		}
	}
	return string(b)
}

// digits is a form with so many places for digits between two texts.
func digits(before string, n int, after string) ids {
	b := []byte(before)
	for range n {
		b = append(b, '?')
	}
	return ids{form: string(b) + after}
}

// idForms are forms of identifiers around every bound of a code for lengths: of
// the digits and of what all values share.
func idForms() []ids {
	long := func(n int) string { return hex.EncodeToString(make([]byte, n))[:n] }
	forms := []ids{
		{form: "????????-????-????-????-????????????"},
		{form: "????????-????-????-????-????????????", nulls: 3},
		digits("s_", 12, ""), digits("", 12, ".log"), digits("in-", 5, "-out"),
		{form: "?" + long(90) + "?"}, {form: "??" + long(40) + "??" + long(41)},
	}
	for _, n := range []int{1, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 127, 128, 500, 512, 1020, 1021} {
		forms = append(forms, digits("", n, ""))
	}
	for _, n := range []int{27, 28, 29, 30, 31, 33, 41, 76, 77, 93, 124, 125, 252, 1000} {
		forms = append(forms, digits(long(n), 10, ""))
	}
	return forms
}

// columnsOf is a file's worth of rows with one column for each form.
func columnsOf(rng *rand.Rand, forms []ids, rows int) *column.Block {
	var fields []schema.Field
	for i := range forms {
		fields = append(fields, field(int32(17+i), fmt.Sprintf("c%d", i), schema.String))
	}
	out := make([]row, rows)
	for i := range out {
		out[i] = row{}
		for k, f := range forms {
			out[i][fields[k].Name] = f.draw(rng)
		}
	}
	return shred(table(fields...), out)
}

// TestIdentifiersOfOneLength: readers see what was written, whatever of it is
// the same in all values.
func TestIdentifiersOfOneLength(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	block := columnsOf(rand.New(rand.NewPCG(seed, 0)), idForms(), 2_500)
	file, _ := write(t, datafile.Options{}, block)
	plain, _ := write(t, datafile.Options{Compression: datafile.Uncompressed}, block)
	compareWithLibrary(t, file, []*column.Block{block})
	if !slices.Equal(read(t, file, block.Schema), texts(block)) {
		t.Error("other rows come back")
	}
	rows := query(t, "SELECT (SELECT count(*) FROM (FROM f0 EXCEPT ALL FROM f1)) AS lost, (SELECT count(*) FROM (FROM f1 EXCEPT ALL FROM f0)) AS made, count(*) AS n FROM f0", file, plain)
	if s := fmt.Sprintf("%v %v %v", rows[0]["lost"], rows[0]["made"], rows[0]["n"]); s != "0 0 2500" {
		t.Errorf("DuckDB sees %s: rows lost, made up, all", s)
	}
}

// TestIdentifiersTakeTheirDigits: 4 bits a digit of a hash, little more of a UUID.
func TestIdentifiersTakeTheirDigits(t *testing.T) {
	for form, most := range map[string]float64{
		"????????-????-????-????-????????????": 19.2, "s_????????????": 6.2, "????????????????????????????????????????": 20.6,
	} {
		block := columnsOf(rand.New(rand.NewPCG(1, 2)), []ids{{form: form}}, 50_000)
		_, f := write(t, datafile.Options{}, block)
		each := float64(f.Size) / 50_000
		localdev.Figure("bytes of an identifier "+form, fmt.Sprintf("%.1f", each))
		if each > most {
			t.Errorf("%s takes %.2f bytes", form, each)
		}
	}
}

// TestNumbersThatNeverRepeat are coded by their bytes alone, until they change
// their kind.
func TestNumbersThatNeverRepeat(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	rows := make([]row, 200_000)
	for i := range rows {
		rows[i] = row{"x": math.Round(rng.Float64()*1e9) / 1e9}
		if i > 100_000 {
			rows[i] = row{"x": 1.5}
		}
	}
	block := shred(table(field(17, "x", schema.Float64)), rows)
	file, f := write(t, datafile.Options{}, block)
	compareWithLibrary(t, file, []*column.Block{block})
	if f.Size > 800_000 {
		t.Errorf("%d bytes: the equal half takes room", f.Size)
	}
	sum := query(t, "SELECT count(*) AS n, sum(x) FILTER (x = 1.5) AS s FROM f0", file)
	if s := fmt.Sprintf("%v %v", sum[0]["n"], sum[0]["s"]); s != "200000 149998.5" {
		t.Errorf("DuckDB sees %s", s)
	}
}

// FuzzIdentifiers draws identifiers of any length and form.
func FuzzIdentifiers(f *testing.F) {
	f.Add(uint64(1), uint16(36), uint64(1<<8), uint8(0))
	f.Add(uint64(2), uint16(1020), uint64(0xffff), uint8(3))
	f.Add(uint64(3), uint16(0), uint64(0), uint8(0))
	f.Fuzz(func(t *testing.T, seed uint64, length uint16, shared uint64, nulls uint8) {
		form := make([]byte, length%1100)
		for i := range form {
			if form[i] = '?'; shared>>(i%64)&1 != 0 {
				form[i] = 'x'
			}
		}
		block := columnsOf(rand.New(rand.NewPCG(seed, 0)), []ids{{form: string(form), nulls: int(nulls)}}, 1_500)
		file, _ := write(t, datafile.Options{}, block)
		compareWithLibrary(t, file, []*column.Block{block})
	})
}

// TestNoBlockIsLongerThanItsFrame writes pages that cannot be made smaller, of all
// sizes around those that a zstd frame has as a block, behind one that decides that
// nothing is searched in them.
func TestNoBlockIsLongerThanItsFrame(t *testing.T) {
	s := table(field(20, "f", schema.Float64))
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, most := range []int{1, 126, 127, 128, 200, 1000, 15_358, 15_359, 15_360, 15_361, 15_500} {
		rows := make([]row, 16_000+most)
		for i := range rows {
			rows[i] = row{"f": rnd.NormFloat64()}
		}
		b := shred(s, rows)
		file, _ := write(t, datafile.Options{RowGroupRows: 16_000}, b)
		if got, err := readAll(file, s); err != nil || !slices.Equal(got, texts(b)) {
			t.Errorf("a page of %d values behind: %v", most, err)
		}
	}
}
