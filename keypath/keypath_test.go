package keypath_test

import (
	"strings"
	"testing"

	"batcher/keypath"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct{ pattern, key, want string }{
		{"dt={dt}/**", "dt=2024-01-01/a.csv", "2024-01-01"},
		{"dt={dt}/**", "dt=2024-01-01/x/y/a.csv", "2024-01-01"},
		{"dt={dt}/**", "dt=2024-01-01%2000%3A00/a", "2024-01-01 00:00"},
		{"dt={dt}/**", "dt=100%/a", "100%"},
		{"dt={dt}/**", "dt=%zz%4/a", "%zz%4"},
		{"dt={dt}/**", "dt=%ff/a", "no"},
		{"dt={dt}/**", "dt=__HIVE_DEFAULT_PARTITION__/a", "null"},
		{"dt={dt}/**", "dt=/a", "null"},
		{"dt={dt}/**", "dt=a", "no"},
		{"dt={dt}/**", "x/dt=1/a", "no"},
		{"dt={dt}/**", "DT=1/a", "no"},
		{"**/dt={dt}/*", "dt=1/a", "1"},
		{"**/dt={dt}/*", "x/y/dt=1/a", "1"},
		{"**/dt={dt}/*", "x/y/dt=1/a/b", "no"},
		{"**/dt={dt}/*", "xdt=1/a", "no"},
		{"{a}/{b}/*", "50%25/__HIVE_DEFAULT_PARTITION__/x", "50%25|__HIVE_DEFAULT_PARTITION__"},
		{"sales-{region}-{day}.csv", "sales-eu-west-20240131.csv", "eu|west-20240131"},
		{"sales-{region}-{day}.csv", "sales-eu-1.csv.gz", "no"},
		{"sales-{region}.csv*", "sales-eu.csv.gz", "eu"},
		{"{a}.(b)+*", "x.(b)+y", "x"},
		{"{a}.(b)+*", "xy(b)+y", "no"},
		{"{größe}/**", "名前\n/a", "名前\n"},
		{"{a}", "x", "x"},
		{"{a}", "", "null"},
		{"x**y{a}", "xq/q/y1", "1"},
	} {
		p, err := keypath.Compile(c.pattern)
		if err != nil {
			t.Fatalf("%s: %v", c.pattern, err)
		}
		got := "no"
		if values, ok := p.Match(c.key); ok {
			var texts []string
			for _, v := range values {
				if v.Null {
					v.Text = "null"
				}
				texts = append(texts, v.Text)
			}
			got = strings.Join(texts, "|")
		}
		if got != c.want {
			t.Errorf("%s of %q: %s, want %s", c.pattern, c.key, got, c.want)
		}
	}
}

func TestFields(t *testing.T) {
	p, err := keypath.Compile("{a}/{b:date}/{c:timestamp:%H:%M}")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range p.Fields() {
		got = append(got, f.Name+" "+f.Type+" "+f.Format)
	}
	if want := "a  |b date |c timestamp %H:%M"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("dt={dt}/**", "dt=2024-01-01/a.csv")
	f.Add("{a}-{b}*", "x-y-z")
	f.Fuzz(func(t *testing.T, pattern, key string) {
		p, err := keypath.Compile(pattern)
		if err != nil {
			return
		}
		values, ok := p.Match(key)
		if ok && len(values) != len(p.Fields()) {
			t.Errorf("%q of %q: %d values", pattern, key, len(values))
		}
		for _, v := range values {
			if strings.Contains(key, v.Text) == false && !strings.Contains(key, "%") {
				t.Errorf("%q of %q: %q", pattern, key, v.Text)
			}
		}
	})
}
