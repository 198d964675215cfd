package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// screen is a terminal: rows of characters that wrap, a cursor, and what the program
// sends to move it.
type screen struct {
	width  int
	rows   [][]rune
	x, y   int
	widest int // longest row that was ever written without a line feed
}

func (s *screen) Write(b []byte) (int, error) {
	text := []rune(string(b))
	for i := 0; i < len(text); i++ {
		for len(s.rows) <= s.y {
			s.rows = append(s.rows, nil)
		}
		switch r := text[i]; r {
		case '\r':
			s.x = 0
		case '\n':
			s.x, s.y = 0, s.y+1
		case '\x1b':
			i += s.escape(string(text[i+2:])) + 1
		default:
			if s.x == s.width {
				s.x, s.y = 0, s.y+1
				s.rows = append(s.rows, nil)
			}
			for len(s.rows[s.y]) <= s.x {
				s.rows[s.y] = append(s.rows[s.y], ' ')
			}
			s.rows[s.y][s.x] = r
			s.x++
			s.widest = max(s.widest, s.x)
		}
	}
	return len(b), nil
}

// escape does what follows ESC [ and returns its length.
func (s *screen) escape(text string) int {
	n := strings.IndexAny(text, "AJ")
	switch text[n] {
	case 'A':
		up, _ := strconv.Atoi(text[:n])
		s.y -= up
	case 'J':
		s.rows[s.y] = s.rows[s.y][:min(s.x, len(s.rows[s.y]))]
		s.rows = s.rows[:s.y+1]
	}
	return n + 1
}

// resize wraps what is on the screen as terminals do.
func (s *screen) resize(width int) {
	var rows [][]rune
	for i, row := range s.rows {
		for len(row) > width {
			rows, row = append(rows, row[:width]), row[width:]
		}
		rows = append(rows, row)
		if i == s.y {
			s.y, s.x = len(rows)-1, len(row)
		}
	}
	s.rows, s.width = rows, width
}

func (s *screen) String() string {
	var b strings.Builder
	for _, row := range s.rows {
		b.WriteString(strings.TrimRight(string(row), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// TestProgressLeavesNothingBehind plays a run on terminals of several widths, one of which
// becomes narrower meanwhile.
func TestProgressLeavesNothingBehind(t *testing.T) {
	for _, widths := range [][]int{{10}, {40}, {60}, {80}, {200}, {120, 40}, {40, 120, 60}} {
		synctest.Test(t, func(t *testing.T) {
			s := &screen{width: widths[0]}
			p := newProgress(s, func() int { return s.width }, time.Now)
			log := newLogger(p, logOptions{Format: "text"})
			for i, width := range widths {
				s.resize(width)
				s.widest = 0
				for n := range 5 {
					time.Sleep(time.Second)
					p.Update(log, stage{"run", int64(20*n + 100*i), 1000, "object", int64(n) << 20, []string{many(1234567, "record"), "3 batches"}})
				}
				if s.widest >= width {
					t.Errorf("%v: %d characters", widths, s.widest)
				}
				if !strings.Contains(s.String(), "%") || len(strings.Split(s.String(), "\n")) != 1+i {
					t.Errorf("%v: the screen shows\n%s", widths, s)
				}
				fmt.Fprintf(p, "m%d\n", i)
			}
			p.Clear()
			want := "m0\nm1\nm2\n"[:3*len(widths)]
			if got := s.String() + "\n"; got != want {
				t.Errorf("%v: left on the screen:\n%s", widths, got)
			}
		})
	}
}

func TestProgressSaysHowLong(t *testing.T) {
	s := stage{"run", 250, 1000, "object", 10 << 20, []string{"9 records"}}
	for width, want := range map[int]string{
		200: "run: 25%, 250 of 1,000 objects, 30s left, 1.0 MiB/s, 9 records, for 10s",
		40:  "run: 25%, 250 of 1,000 objects, 30s left",
		12:  "run: 25%", 2: "ru", 0: "",
	} {
		if got := s.line(10*time.Second, width); got != want {
			t.Errorf("%d: %q, want %q", width, got, want)
		}
	}
	if got := (stage{what: "doctor", done: 7, unit: "request"}).line(3*time.Second, 80); got != "doctor: 7 requests, for 3s" {
		t.Errorf("got %q", got)
	}
}

func TestProgressOfAPipeIsInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out, nil, time.Now)
		log := newLogger(p, logOptions{Format: "json"})
		for range 70 {
			time.Sleep(time.Second)
			p.Update(log, stage{what: "run"}, "objects", 12)
		}
		if got := out.String(); strings.Count(got, "\n") != 2 || strings.Count(got, `"msg":"progress","objects":12}`) != 2 {
			t.Errorf("got %q", got)
		}
	})
}

// TestColors says when an error is red.
func TestColors(t *testing.T) {
	v := verbs{Doctor: func(context.Context, *call, doctorOptions) error {
		return &exitError{exitUsage, errors.New("x"), "y"}
	}}
	for _, c := range []struct {
		terminal bool
		environ  string
		when     string
		want     bool
	}{
		{true, "", "auto", true}, {false, "", "auto", false}, {true, "NO_COLOR=1", "auto", false}, {true, "TERM=dumb", "auto", false},
		{true, "NO_COLOR=", "auto", true}, {false, "NO_COLOR=1", "always", true}, {true, "", "never", false},
	} {
		p := playWith(process{Terminal: c.terminal, Environ: []string{c.environ}}, v, "doctor", "--color", c.when)
		if got := p.stderr == "\x1b[31mbatcher:\x1b[0m x\n\x1b[33mhint:\x1b[0m y\n"; got != c.want || !got && p.stderr != "batcher: x\nhint: y\n" {
			t.Errorf("%+v: %q", c, p.stderr)
		}
	}
}
