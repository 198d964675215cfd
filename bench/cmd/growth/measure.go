package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"batcher/localdev"
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

// cost is what an action needed, all times that it was done.
type cost struct {
	object.Requests
	in, out int64
	took    time.Duration
	times   int
}

// String is the mean.
func (c cost) String() string {
	mean := func(n int64) float64 { return float64(n) / float64(c.times) }
	out := fmt.Sprintf("%.3g GET, %.3g PUT", mean(c.Get), mean(c.Put))
	if c.List > 0 {
		out += fmt.Sprintf(", %.3g LIST", mean(c.List))
	}
	if c.Delete > 0 {
		out += fmt.Sprintf(", %.3g DELETE", mean(c.Delete))
	}
	return fmt.Sprintf("%s; %.1f kB; %.1f ms", out, mean(c.in+c.out)/1000, mean(c.took.Microseconds())/1000)
}

// requests is the mean of all of them.
func (c cost) requests() float64 {
	return float64(c.Get+c.Put+c.List+c.Delete+c.Head) / float64(c.times)
}

// row is what everything costs at one length of history.
type row struct {
	batches int
	costs   []cost // in the order of actions
}

// action is something that is measured.
type action struct {
	name  string
	ready func(*world, context.Context) error // before each time, not measured; may be nil
	do    func(*world, context.Context) error
	times int // that the mean is taken of
}

// actions in the order in which they are measured.
var actions = []action{
	{"run, nothing to do, source cleaned", nil, (*world).run, 1},
	{"run, nothing to do, source kept", (*world).keepAll, (*world).run, 1},
	{"run, one object, source kept", (*world).next, (*world).run, 20},
	{"list of live files", nil, (*world).list, 1},
	{"open of the Delta table", nil, (*world).open, 1},
	{"status", nil, (*world).look, 1},
	{"verify --since, 100 manifests", nil, (*world).verify, 1},
	{"compact, 100 batches", nil, (*world).compact, 1},
}

// next makes one object ready.
func (w *world) next(ctx context.Context) error {
	w.clock.now = w.clock.now.Add(time.Minute)
	err := w.drop(ctx)
	w.batches++
	return err
}

// measure does each action.
func (w *world) measure(ctx context.Context) (row, error) {
	r := row{batches: w.batches}
	for _, a := range actions {
		c := cost{times: a.times}
		for range a.times {
			if a.ready != nil {
				if err := a.ready(w, ctx); err != nil {
					return r, err
				}
			}
			before, in, out, begun := w.store.Requests(), w.store.in, w.store.out, time.Now()
			if err := a.do(w, ctx); err != nil {
				return r, fmt.Errorf("%s after %d batches: %w", a.name, w.batches, err)
			}
			c.Requests = c.Add(w.store.Requests().Sub(before))
			c.in, c.out, c.took = c.in+w.store.in-in, c.out+w.store.out-out, c.took+time.Since(begun)
		}
		r.costs = append(r.costs, c)
	}
	return r, nil
}

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
	return localdev.PutSection(s.doc, "growth", text)
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
