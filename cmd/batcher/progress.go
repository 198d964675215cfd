package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// How often progress is shown: as a line that is written over on a terminal, as
// log lines elsewhere.
const (
	progressOnTerminal = 200 * time.Millisecond
	progressInLogs     = 30 * time.Second
)

// isTerminal says whether f is a terminal that can move its cursor.
func isTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// widthOf returns the width of a terminal in characters, as it is at each call; 80 where
// nobody knows.
func widthOf(f *os.File) func() int {
	return func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}
}

// progress shows how far a verb is. On a terminal it keeps one line at the
// bottom, which logs push up; elsewhere it logs now and then. It is an
// io.Writer for everything else that goes to the same stream. Safe for
// concurrent use.
type progress struct {
	mu    sync.Mutex
	out   io.Writer
	width func() int // of the terminal, for a line that is written over; nil: there is none
	now   func() time.Time
	begun time.Time
	last  time.Time // when progress was shown last
	shown int       // characters of the line on the terminal
}

func newProgress(out io.Writer, width func() int, now func() time.Time) *progress {
	return &progress{out: out, width: width, now: now, begun: now(), last: now()}
}

// stage is how far a verb is.
type stage struct {
	what        string // like verify
	done, total int64  // total 0: nobody knows
	unit        string // one of what is counted, like object
	bytes       int64  // that were read
	more        []string
}

// parts are what the line says, the most important first.
func (s stage) parts(elapsed time.Duration) []string {
	var parts []string
	if s.total > 0 {
		done := min(s.done, s.total)
		parts = append(parts, fmt.Sprintf("%d%%", done*100/s.total), fmt.Sprintf("%s of %s", grouped(s.done), many(s.total, s.unit)))
		if done > 0 && elapsed >= time.Second {
			left := time.Duration(float64(elapsed) * float64(s.total-done) / float64(done))
			parts = append(parts, left.Round(time.Second).String()+" left")
		}
	} else if s.unit != "" {
		parts = append(parts, many(s.done, s.unit))
	}
	if seconds := elapsed.Seconds(); s.bytes > 0 && seconds >= 1 {
		parts = append(parts, sized(int64(float64(s.bytes)/seconds))+"/s")
	}
	return append(append(parts, s.more...), "for "+elapsed.Round(time.Second).String())
}

// line is as much of it as fits into a width.
func (s stage) line(elapsed time.Duration, width int) string {
	text := s.what + ":"
	for i, part := range s.parts(elapsed) {
		next := text + " " + part
		if i > 0 {
			next = text + ", " + part
		}
		if len([]rune(next)) > width {
			break
		}
		text = next
	}
	return string([]rune(text)[:min(len([]rune(text)), max(width, 0))])
}

// Begin counts time from now.
func (p *progress) Begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = p.now()
}

// Update shows a stage, unless something was shown a moment ago. Where there is no
// terminal it logs the attributes instead.
func (p *progress) Update(log *slog.Logger, s stage, attrs ...any) {
	p.mu.Lock()
	now := p.now()
	pause := progressInLogs
	if p.width != nil {
		pause = progressOnTerminal
	}
	if now.Sub(p.last) < pause {
		p.mu.Unlock()
		return
	}
	p.last = now
	if p.width != nil {
		p.draw(s, now.Sub(p.begun))
	}
	p.mu.Unlock()
	if p.width == nil {
		log.Info("progress", attrs...)
	}
}

// Watch shows what look says until the returned function is called, for verbs that know
// of no steps. It does nothing where there is no terminal.
func (p *progress) Watch(log *slog.Logger, look func() stage) (stop func()) {
	if p.width == nil {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressOnTerminal)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				p.Update(log, look())
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		p.Clear()
	}
}

// draw writes the line over the one before. It leaves the last place of a row free: some
// terminals begin a new row when it is taken. The caller holds the lock.
func (p *progress) draw(s stage, elapsed time.Duration) {
	text := s.line(elapsed, p.width()-1)
	p.clear()
	fmt.Fprint(p.out, text)
	p.shown = len([]rune(text))
}

// Clear takes the line away.
func (p *progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// clear takes the line away, and the rows that it has in a terminal that has become
// narrower since.
func (p *progress) clear() {
	if p.shown == 0 {
		return
	}
	if up := (p.shown - 1) / max(p.width(), 1); up > 0 {
		fmt.Fprintf(p.out, "\x1b[%dA", up)
	}
	fmt.Fprint(p.out, "\r\x1b[J")
	p.shown = 0
}

// Write takes the line away and writes b where it was.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	return p.out.Write(b)
}

// step shows a stage of a verb that counts something, in words for people and in the log.
func (c *call) step(s stage) {
	c.Progress.Update(c.Logger, s, "verb", s.what, strings.ReplaceAll(s.unit, " ", "_")+"s", s.done, "of", s.total)
}
