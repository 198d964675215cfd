package record

import (
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// FuzzPlainWhole compares with strconv, with and without room behind the digits.
func FuzzPlainWhole(f *testing.F) {
	plainly := regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)
	for _, seed := range []string{"", "-", "0", "-0", "00", "7", "-7", "12345678", "-12345678", "123456789", "1234567/", "123456:8", "\xb12", "+1", " 1", "1.5", "999999999999999999", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "10000000000000000000"} {
		f.Add(seed, "")
		f.Add(seed, "56789012")
		f.Add(seed, "/:a\x00\xff,\n\"")
	}
	f.Fuzz(func(t *testing.T, text, behind string) {
		want, err := strconv.ParseInt(text, 10, 64)
		is := err == nil && plainly.MatchString(text)
		roomy := []byte(text + behind)[:len(text)]
		for _, b := range [][]byte{roomy, slices.Clip(roomy)} {
			if got, ok := plainWhole(b); ok != is || ok && got != want {
				t.Fatalf("%q before %q: %d, %v, but strconv says %d, %v", text, behind, got, ok, want, err)
			}
		}
	})
}
