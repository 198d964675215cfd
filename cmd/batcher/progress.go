package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// How often progress is shown: as a line that is written over on a terminal, as
// log lines elsewhere.
const (
	progressOnTerminal = 200 * time.Millisecond
	progressInLogs     = 30 * time.Second
)

// isTerminal says whether f is a terminal that can move its cursor.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull && os.Getenv("TERM") != "dumb"
}

// progress shows how far a verb is. On a terminal it keeps one line at the
// bottom, which logs push up; elsewhere it logs now and then. It is an
// io.Writer for everything else that goes to the same stream. Safe for
// concurrent use.
type progress struct {
	mu    sync.Mutex
	out   io.Writer
	live  bool // a line that is written over
	now   func() time.Time
	last  time.Time // when progress was shown last
	shown int       // characters of the line on the terminal
}

func newProgress(out io.Writer, live bool, now func() time.Time) *progress {
	return &progress{out: out, live: live, now: now, last: now()}
}

// Update shows text, unless something was shown a moment ago. Where there is no
// terminal it logs the attributes instead.
func (p *progress) Update(log *slog.Logger, text string, attrs ...any) {
	p.mu.Lock()
	now := p.now()
	pause := progressInLogs
	if p.live {
		pause = progressOnTerminal
	}
	if now.Sub(p.last) < pause {
		p.mu.Unlock()
		return
	}
	p.last = now
	if p.live {
		p.draw(text)
	}
	live := p.live
	p.mu.Unlock()
	if !live {
		log.Info("progress", attrs...)
	}
}

// draw writes the line over the one before. The caller holds the lock.
func (p *progress) draw(text string) {
	width := utf8.RuneCountInString(text)
	fmt.Fprintf(p.out, "\r%s%s", text, strings.Repeat(" ", max(0, p.shown-width)))
	p.shown = max(width, p.shown)
}

// Clear takes the line away.
func (p *progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *progress) clear() {
	if p.shown > 0 {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.shown))
		p.shown = 0
	}
}

// Write takes the line away and writes b where it was.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	return p.out.Write(b)
}
