package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"batcher/object"
)

// meter counts the bytes that go in and out of a store.
type meter struct {
	object.Store
	in, out int64
}

// Requests implements object.Meter.
func (m *meter) Requests() object.Requests { return object.RequestsOf(m.Store) }

// Get counts what is read.
func (m *meter) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	r, info, err := m.Store.Get(ctx, key, o)
	if err != nil {
		return r, info, err
	}
	defer r.Close()
	body, err := io.ReadAll(r)
	m.out += int64(len(body))
	return io.NopCloser(bytes.NewReader(body)), info, err
}

// Put counts what is written.
func (m *meter) Put(ctx context.Context, key string, body []byte, c object.Condition) (object.Info, error) {
	m.in += int64(len(body))
	return m.Store.Put(ctx, key, body, c)
}

// cost is what one action needed.
type cost struct {
	object.Requests
	in, out int64
	took    time.Duration
}

func (c cost) String() string {
	out := fmt.Sprintf("%d GET, %d PUT", c.Get, c.Put)
	if c.List > 0 {
		out += fmt.Sprintf(", %d LIST", c.List)
	}
	if c.Requests.Delete > 0 {
		out += fmt.Sprintf(", %d DELETE", c.Requests.Delete)
	}
	return fmt.Sprintf("%s; %.1f kB; %.1f ms", out, float64(c.in+c.out)/1000, float64(c.took.Microseconds())/1000)
}

// row is what everything costs at one length of history.
type row struct {
	batches int
	costs   []cost // in the order of actions
}

// action is something that is measured, and what makes it worth measuring.
type action struct {
	name    string
	prepare func(*world, context.Context) error
	do      func(*world, context.Context) error
}

// actions in the order in which they are measured.
var actions = []action{
	{"run, nothing to do, source cleaned", nil, (*world).run},
	{"run, nothing to do, source kept", (*world).keepAll, (*world).run},
	{"run, one object, source kept", (*world).next, (*world).run},
	{"list of live files", nil, (*world).list},
	{"status", nil, (*world).look},
	{"verify --since, 100 manifests", nil, (*world).verify},
	{"compact, 100 batches", nil, (*world).compact},
}

// next makes one object ready.
func (w *world) next(ctx context.Context) error {
	w.clock.now = w.clock.now.Add(time.Minute)
	err := w.drop(ctx)
	w.batches++
	return err
}

// measure does each action once.
func (w *world) measure(ctx context.Context) (row, error) {
	r := row{batches: w.batches}
	for _, a := range actions {
		if a.prepare != nil {
			if err := a.prepare(w, ctx); err != nil {
				return r, err
			}
		}
		before, in, out, begun := w.store.Requests(), w.store.in, w.store.out, time.Now()
		if err := a.do(w, ctx); err != nil {
			return r, fmt.Errorf("%s after %d batches: %w", a.name, w.batches, err)
		}
		r.costs = append(r.costs, cost{w.store.Requests().Sub(before), w.store.in - in, w.store.out - out, time.Since(begun)})
	}
	return r, nil
}

// The place in a document where the table stands.
const (
	docBegin = "<!-- growth: begin -->\n"
	docEnd   = "<!-- growth: end -->\n"
)

// publish prints the table, and puts it where the flags say.
func (s *settings) publish(rows []row) error {
	text := markdown(rows)
	fmt.Print(text)
	if s.plot != "" {
		if err := os.WriteFile(s.plot, []byte(svg(rows)), 0o644); err != nil {
			return err
		}
	}
	if s.doc == "" {
		return nil
	}
	body, err := os.ReadFile(s.doc)
	if err != nil {
		return err
	}
	head, rest, begun := strings.Cut(string(body), docBegin)
	_, tail, ended := strings.Cut(rest, docEnd)
	if !begun || !ended {
		return fmt.Errorf("%s has no place between %q and %q", s.doc, docBegin, docEnd)
	}
	return os.WriteFile(s.doc, []byte(head+docBegin+text+docEnd+tail), 0o644)
}

// markdown has a line for each action and a column for each length.
func markdown(rows []row) string {
	var b strings.Builder
	b.WriteString("| after batches |")
	for _, r := range rows {
		fmt.Fprintf(&b, " %d |", r.batches)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(rows)) + "\n")
	for i, a := range actions {
		fmt.Fprintf(&b, "| %s |", a.name)
		for _, r := range rows {
			fmt.Fprintf(&b, " %v |", r.costs[i])
		}
		b.WriteString("\n")
	}
	return b.String()
}
