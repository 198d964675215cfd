package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"batcher/manifest"
	"batcher/object"
	"batcher/segment"
)

// maxManifest bounds a manifest that is printed as it is stored.
const maxManifest = 1 << 30

// show is the verb show: a summary of one manifest for people; its stored bytes; or, as
// JSON, all of it with its lists in place, so that its ranges can be handed to run --range.
func show(ctx context.Context, c *call, o showOptions) error {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return err
	}
	s, err := r.at(ctx, &o.Seq)
	if err != nil {
		return err
	}
	if o.Raw {
		text, _, err := object.ReadAll(ctx, r.store, r.log.Layout().Manifest(s.Manifest.Seq), object.GetOptions{}, maxManifest)
		if err != nil {
			return err
		}
		return printTo(c.Stdout, string(text))
	}
	m := *s.Manifest
	if err := r.log.LoadLists(ctx, &m); err != nil {
		return err
	}
	inPlace(&m)
	if c.Output == outputJSON {
		return printJSON(c, &m)
	}
	added, err := r.addedIn(ctx, &m)
	if err != nil {
		return err
	}
	return printTo(c.Stdout, summary(&m, added))
}

// addedIn lists the columns that a manifest has and the one before has not, as far as
// that one is retained.
func (r *rooms) addedIn(ctx context.Context, m *manifest.Manifest) ([]string, error) {
	if m.Seq == 0 || m.Seq <= m.RetainFrom {
		return nil, nil
	}
	before, err := r.log.Slot(ctx, m.Seq-1)
	if err != nil {
		return nil, err
	}
	return r.appeared(ctx, before.Manifest, m)
}

// inPlace puts the loaded lists of a manifest in place. Those of the state that it
// carries on, consumed objects and live files, stay where they are.
func inPlace(m *manifest.Manifest) {
	for name, t := range m.Tables {
		t.Add, t.Remove = segment.Of(t.Add.Items), segment.Of(t.Remove.Items)
		m.Tables[name] = t
	}
	if b := m.Batch; b != nil {
		b.Ranges, b.Touched, b.Replaced = segment.Of(b.Ranges.Items), segment.Of(b.Touched.Items), segment.Of(b.Replaced.Items)
	}
}

// maxRangesShown bounds the objects that a summary names.
const maxRangesShown = 10

// summary is a manifest for people.
func summary(m *manifest.Manifest, added []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "manifest %d   %s, committed %s by %s (batcher %s, attempt %s)\n", m.Seq, m.Kind, m.CreatedAt.UTC().Format(time.RFC3339),
		printable(m.Writer.Host), printable(m.Writer.Version), m.Attempt)
	fmt.Fprintf(&b, "pipeline     %s, generation %d; snapshots are retained from manifest %d\n", m.Pipeline, m.Generation, m.RetainFrom)
	if m.RewindTo != nil {
		fmt.Fprintf(&b, "restores     what was there after manifest %d\n", *m.RewindTo)
	}
	if l := m.Letters; l != nil {
		fmt.Fprintf(&b, "letters      %s, %s discarded\n", many(l.Replayed, "row")+" of dead letters", grouped(l.Discarded))
	}
	if batch := m.Batch; batch != nil {
		summarizeBatch(&b, batch)
	}
	for _, name := range sortedKeys(m.Tables) {
		t := m.Tables[name]
		fmt.Fprintf(&b, "table        %s: %s in %s, %s", name, many(t.Live.Rows, "row"), many(t.Live.Files, "file"), sized(t.Live.Bytes))
		if t.Add.Count+t.Remove.Count > 0 {
			fmt.Fprintf(&b, "; this manifest added %s and removed %s", many(t.Add.Count, "file"), grouped(t.Remove.Count))
		}
		b.WriteString("\n")
	}
	if len(added) > 0 {
		fmt.Fprintf(&b, "new columns  %s\n", fewOf(added))
	}
	for _, g := range m.Gaps {
		fmt.Fprintf(&b, "gap          %s\n", printable(fmt.Sprintf("%+v", g)))
	}
	return b.String()
}

// summarizeBatch says what was read, and what became of it.
func summarizeBatch(b *strings.Builder, batch *manifest.Batch) {
	fmt.Fprintf(b, "batch        %s\n", batch.ID)
	fmt.Fprintf(b, "read         %s of %s, %s decoded", many(batch.Rows.Read, "record"), many(batch.Objects, "object"), sized(batch.Bytes))
	if batch.Late > 0 {
		fmt.Fprintf(b, ", %s late", many(batch.Late, "object"))
	}
	fmt.Fprintf(b, "\nwrote        %s, %s\n", many(batch.Rows.Written, "row"), many(batch.Rows.Dead, "dead letter"))
	for i, x := range batch.Ranges.Items {
		if i == maxRangesShown {
			fmt.Fprintf(b, "  … and %s (-o json has all)\n", many(len(batch.Ranges.Items)-i, "more range"))
			return
		}
		end := "whole"
		switch {
		case x.Broken != "":
			end = "quarantined: " + printable(x.Broken)
		case x.From > 0 || !x.Last:
			end = fmt.Sprintf("from %d to %d", x.From, x.To)
		}
		fmt.Fprintf(b, "  %s: %s, %s\n", printable(x.Key), many(x.Records, "record"), end)
	}
}

// briefType is a type without the fields of its structs, which have lines of their own.
func briefType(text string) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(text); i++ {
		opens := strings.HasPrefix(text[i:], "struct<")
		switch {
		case depth == 0 && opens:
			b.WriteString("struct")
			depth, i = 1, i+len("struct<")-1
		case depth == 0:
			b.WriteByte(text[i])
		case text[i] == '<':
			depth++
		case text[i] == '>':
			depth--
		}
	}
	return b.String()
}
