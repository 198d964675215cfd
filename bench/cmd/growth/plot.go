package main

import (
	"fmt"
	"math"
	"strings"
)

// svg draws the requests of each action over the length of the history, both on
// logarithmic scales.
func svg(rows []row) string {
	const width, height, left, top, bottom = 760, 380, 60, 20, 50
	colors := []string{"#1b6ca8", "#d1495b", "#3c8d5a", "#8f6bb3", "#e09f3e", "#555555", "#00798c", "#9c6644"}
	x := func(n int) float64 {
		first, last := math.Log10(float64(rows[0].batches)), math.Log10(float64(rows[len(rows)-1].batches))
		return left + (math.Log10(float64(n))-first)/max(last-first, 1e-9)*(width-left-230)
	}
	y := func(n float64) float64 { return height - bottom - math.Log10(max(n, 1))/4*(height-top-bottom) }
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", width, height)
	fmt.Fprintf(&b, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", width, height)
	for _, n := range []float64{1, 10, 100, 1000, 10000} {
		fmt.Fprintf(&b, "<line x1=\"%d\" x2=\"%d\" y1=\"%.0f\" y2=\"%.0f\" stroke=\"#ddd\"/><text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%.0f</text>\n", left, width-220, y(n), y(n), left-6, y(n)+4, n)
	}
	for _, r := range rows {
		fmt.Fprintf(&b, "<text x=\"%.0f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n", x(r.batches), height-bottom+18, r.batches)
	}
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">batches committed</text><text x=\"4\" y=\"%d\">requests</text>\n", left, height-8, top-6)
	for i, a := range actions {
		var line []string
		for _, r := range rows {
			c := r.costs[i]
			line = append(line, fmt.Sprintf("%.1f,%.1f", x(r.batches), y(c.requests())))
		}
		fmt.Fprintf(&b, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", strings.Join(line, " "), colors[i%len(colors)])
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", width-210, top+20+i*18, colors[i%len(colors)], a.name)
	}
	return b.String() + "</svg>\n"
}
