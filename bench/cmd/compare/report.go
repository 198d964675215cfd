package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"batcher/localdev"
)

// results are all that was measured.
type results struct {
	*settings
	machine string
	rows    []*row
}

// machine says what it was measured on.
func machine(ctx context.Context) string {
	model := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	kernel, err := output(exec.CommandContext(ctx, "uname", "-sr"))
	if err != nil {
		kernel = []byte(runtime.GOOS)
	}
	return fmt.Sprintf("%d cores of %s, %s, %s, %s; %s", runtime.NumCPU(), model, strings.TrimSpace(string(kernel)),
		runtime.Version(), time.Now().UTC().Format(time.DateOnly), strings.Join(packages, ", "))
}

// publish prints the tables, and puts them where the flags say: in a document into
// the place of a name.
func (r *results) publish(place string) error {
	text := r.markdown()
	fmt.Print(text)
	if r.plot != "" {
		if err := os.WriteFile(r.plot, []byte(r.svg()), 0o644); err != nil {
			return err
		}
	}
	if r.doc == "" {
		return nil
	}
	return localdev.PutSection(r.doc, place, text)
}

// markdown is one table; each line of a rival says how often batcher's figure
// goes into the rival's.
func (r *results) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\nMedians of %d pairs of runs (3 for large inputs); in brackets the median over pairs of the other's figure by batcher's.\n\n", r.machine, r.pairs)
	b.WriteString("| input | program | seconds | CPU seconds | peak MiB | Parquet MB | rows of a row group |\n|---|---|---|---|---|---|---|\n")
	for _, w := range r.rows {
		us := w.programs[0]
		for k, p := range w.programs {
			name := ""
			if k == 0 {
				name = fmt.Sprintf("%s: %.1f MB, %d records", w.name, float64(w.bytes)/1e6, w.records)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %.1f%s | %d |\n", name, p.name,
				cell(us, p, "%.2f", func(u usage) float64 { return u.wall.Seconds() }),
				cell(us, p, "%.2f", func(u usage) float64 { return u.cpu.Seconds() }),
				cell(us, p, "%.0f", func(u usage) float64 { return u.peak }),
				float64(p.size)/1e6, times(k, float64(p.size)/float64(us.size)), p.groups)
		}
	}
	return b.String()
}

// cell is a median and, for a rival, the median ratio.
func cell(us, p program, format string, f func(usage) float64) string {
	text := fmt.Sprintf(format, median(p.runs, f))
	if us.name == p.name {
		return text
	}
	return text + times(1, ratio(us, p, f))
}

// ratio is the median over pairs of what f says of p's run by what it says of
// ours.
func ratio(us, p program, f func(usage) float64) float64 {
	type pair struct{ us, p usage }
	var pairs []pair
	for i := range p.runs {
		pairs = append(pairs, pair{us.runs[i], p.runs[i]})
	}
	return median(pairs, func(x pair) float64 { return f(x.p) / f(x.us) })
}

// times shows a ratio; the first program has none.
func times(k int, ratio float64) string {
	if k == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.2f×)", ratio)
}
