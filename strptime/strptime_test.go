package strptime_test

import (
	"testing"
	"time"

	"batcher/strptime"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ format, text, want string }{
		{"%d.%m.%Y", "01.02.2024", "2024-02-01T00:00:00Z"},
		{"%d.%m.%Y", "1.2.2024", "2024-02-01T00:00:00Z"},
		{"%d.%m.%Y", "31.02.2024", ""},
		{"%d.%m.%Y", "29.02.2023", ""},
		{"%d.%m.%Y", "29.02.2024", "2024-02-29T00:00:00Z"},
		{"%d.%m.%Y", "01.02.24", ""},
		{"%d.%m.%Y", "01.02.20245", ""},
		{"%d.%m.%Y", "01.02.2024 ", ""},
		{"%d.%m.%y", "01.02.24", "2024-02-01T00:00:00Z"},
		{"%d.%m.%y", "01.02.69", "1969-02-01T00:00:00Z"},
		{"%m/%d/%Y", "12/31/1999", "1999-12-31T00:00:00Z"},
		{"%m/%d/%Y", "31/12/1999", ""},
		{"%Y%m%d", "20240229", "2024-02-29T00:00:00Z"},
		{"%Y%m%d", "2024229", ""},
		{"%Y%m%dT%H%M%S", "20240229T235959", "2024-02-29T23:59:59Z"},
		{"%d/%b/%Y:%H:%M:%S %z", "10/Oct/2000:13:55:36 -0700", "2000-10-10T20:55:36Z"},
		{"%a, %d %b %Y %H:%M:%S %Z", "Thu, 01 Feb 2024 10:00:00 GMT", "2024-02-01T10:00:00Z"},
		{"%B %d, %Y", "February 3, 2024", "2024-02-03T00:00:00Z"},
		{"%B %d, %Y", "MAY 3, 2024", "2024-05-03T00:00:00Z"},
		{"%I:%M %p %d-%m-%Y", "12:05 AM 01-02-2024", "2024-02-01T00:05:00Z"},
		{"%I:%M %p %d-%m-%Y", "12:05 PM 01-02-2024", "2024-02-01T12:05:00Z"},
		{"%I:%M %p %d-%m-%Y", "13:05 PM 01-02-2024", ""},
		{"%F %T.%f", "2024-02-01 10:00:00.5", "2024-02-01T10:00:00.5Z"},
		{"%F %T.%f", "2024-02-01 10:00:00.123456789", "2024-02-01T10:00:00.123456Z"},
		{"%F %T", "2024-02-01 24:00:00", ""},
		{"%FT%T%z", "2024-02-01T10:00:00+05:30", "2024-02-01T04:30:00Z"},
		{"%FT%T%z", "2024-02-01T10:00:00+05", "2024-02-01T05:00:00Z"},
		{"%FT%T%z", "2024-02-01T10:00:00Z", "2024-02-01T10:00:00Z"},
		{"%FT%T%z", "2024-02-01T10:00:00", ""},
		{"%Y-%j", "2024-060", "2024-02-29T00:00:00Z"},
		{"%Y-%j", "2023-366", ""},
		{"%s", "1704067200", "2024-01-01T00:00:00Z"},
		{"%s", "-1", "1969-12-31T23:59:59Z"},
		{"%d%%%m%%%Y", "01%02%2024", "2024-02-01T00:00:00Z"},
		{"%Y-%m-%d", "0001-01-01", "0001-01-01T00:00:00Z"},
		{"%Y-%m-%d", "9999-12-31", "9999-12-31T00:00:00Z"},
		{"%Y-%m-%d", "0000-12-31", ""},
		{"%Y-%m-%d", "", ""},
	} {
		f, err := strptime.Compile(c.format)
		if err != nil {
			t.Fatalf("%s: %v", c.format, err)
		}
		got := ""
		if us, _, ok := f.Parse([]byte(c.text)); ok {
			got = time.UnixMicro(us).UTC().Format(time.RFC3339Nano)
		}
		if got != c.want {
			t.Errorf("%s of %q: %q, want %q", c.format, c.text, got, c.want)
		}
	}
	for _, bad := range []string{"", "%", "%d", "%Y", "%m-%d", "%Y-%m", "%Q", "%Y-%m-%d %I:%M", "%Y-%m-%d %p", "%Y-%m-%d %d", "%Y-%m-%d %H %I %p"} {
		if _, err := strptime.Compile(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// FuzzParse compares with the time package under formats that both have.
func FuzzParse(f *testing.F) {
	formats := map[string]string{"%Y-%m-%d": "2006-01-02", "%d.%m.%Y %H:%M:%S": "02.01.2006 15:04:05", "%d %b %Y": "02 Jan 2006"}
	f.Add("2024-02-29")
	f.Add("01.02.2024 10:00:00")
	f.Add("03 Feb 2024")
	f.Fuzz(func(t *testing.T, text string) {
		for format, layout := range formats {
			compiled, err := strptime.Compile(format)
			if err != nil {
				t.Fatal(err)
			}
			us, _, ok := compiled.Parse([]byte(text))
			at, err := time.Parse(layout, text)
			if err == nil && at.Year() > 0 && len(text) == len(layout) && (!ok || us != at.UnixMicro()) {
				t.Errorf("%s of %q: %d, %v; the time package says %v", format, text, us, ok, at)
			}
			if ok && err == nil && us != at.UnixMicro() {
				t.Errorf("%s of %q: %d; the time package says %v", format, text, us, at)
			}
		}
	})
}
