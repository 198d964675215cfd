package main

import (
	"fmt"
	"strings"
)

// colors of the programs in the plot.
var colors = map[string]string{ours: "#1f6f54", plainDuck: "#d9a400", idDuck: "#a67c00", textDuck: "#f0d070", plainPolar: "#4a7fc1"}

// panel is one half of the plot.
type panel struct {
	title string
	at    int // where it begins
	value func(program) float64
	label string // format of a value
}

// svg draws seconds and memory of every program for every input, as bars from
// zero, each panel on a scale of its own for each input: what is to be compared
// is what stands together.
func (r *results) svg() string {
	const width, bar, gap, left, span = 1000, 14, 16, 190, 290
	panels := []panel{
		{"seconds", left, func(p program) float64 { return median(p.runs, func(u usage) float64 { return u.wall.Seconds() }) }, "%.2f s"},
		{"peak memory", left + span + 120, func(p program) float64 { return median(p.runs, func(u usage) float64 { return u.peak }) }, "%.0f MiB"},
	}
	var b strings.Builder
	y := 60
	for _, w := range r.rows {
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left-10, y+bar, w.name)
		for _, p := range panels {
			largest := 0.0
			for _, x := range w.programs {
				largest = max(largest, p.value(x))
			}
			for k, x := range w.programs {
				v, top := p.value(x), y+k*bar
				size := v / largest * span
				fmt.Fprintf(&b, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>", p.at, top, size, bar-2, colors[x.name])
				fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%d\" class=\"v\">"+p.label+"</text>\n", float64(p.at)+size+4, top+bar-4, v)
			}
		}
		y += len(w.programs)*bar + gap
	}
	var head strings.Builder
	fmt.Fprintf(&head, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", width, y)
	head.WriteString("<style>.v{font-size:10px;fill:#333}</style><rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n")
	for _, p := range panels {
		fmt.Fprintf(&head, "<text x=\"%d\" y=\"46\" font-weight=\"bold\">%s (each input on its own scale)</text>\n", p.at, p.title)
	}
	for i, name := range []string{ours, plainDuck, textDuck, idDuck, plainPolar} {
		x := left + i*150
		fmt.Fprintf(&head, "<rect x=\"%d\" y=\"14\" width=\"10\" height=\"10\" fill=\"%s\"/><text x=\"%d\" y=\"23\">%s</text>\n", x, colors[name], x+14, name)
	}
	return head.String() + b.String() + "</svg>\n"
}
