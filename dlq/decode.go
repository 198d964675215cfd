package dlq

import (
	"context"
	"errors"
	"fmt"

	"batcher/column"
	"batcher/object"
	"batcher/record"
	"batcher/schema"
	"batcher/source"
	"batcher/source/files"
)

// maxRestarts is how often a try may widen its types: each time it has learned
// something, so few are ever needed.
const maxRestarts = 1000

// try decodes the letters of an attempt.
type try struct {
	*attempt
	*selection
	decoder *record.Decoder
	learned *schema.Schema
	layouts map[string]*record.Layout // by source; of those that the object's head tells
}

// decode makes rows of the letters, and notes the fate of each. It starts over,
// under wider types, as often as something is learned.
func (t *try) decode(ctx context.Context, mode Mode) error {
	for range maxRestarts {
		err := t.once(ctx, mode)
		if !errors.Is(err, record.ErrRestart) {
			return err
		}
		t.learned = t.decoder.Schema()
		t.main.Drop(ctx)
	}
	return ErrNoProgress
}

// once decodes the letters under what was learned so far.
func (t *try) once(ctx context.Context, mode Mode) error {
	for _, c := range t.list {
		if c.fate == dead {
			c.fate = row
		}
	}
	t.decoder = record.NewDecoder(record.Options{
		Table: t.published, Learned: t.learned, Rules: t.Rules, Limits: t.Record, Format: t.Format,
		Block: func(b *column.Block) (*column.Block, error) {
			if mode == DryRun {
				return b, nil
			}
			return nil, t.main.Write(ctx, b)
		},
		Dead: t.bury,
	})
	if err := t.texts(ctx); err != nil {
		return err
	}
	if err := t.objects(ctx); err != nil {
		return err
	}
	if err := t.decoder.Flush(); err != nil {
		return err
	}
	t.report.Notes = t.decoder.Notes()
	return t.main.Close(ctx)
}

// bury notes that a letter is dead still.
func (t *try) bury(l record.DeadLetter) error {
	c := t.ids[idOf(&l)]
	if c == nil {
		return fmt.Errorf("letter %s was not asked for", idOf(&l))
	}
	c.fate, c.reason = dead, reasonOf(&l)
	return nil
}

// texts decodes the letters whose text is known.
func (t *try) texts(ctx context.Context) error {
	for i := range t.live {
		if !t.touched[i] {
			continue
		}
		for l, err := range t.letters(ctx, &t.live[i]) {
			if err != nil {
				return err
			}
			c := t.ids[idOf(&l)]
			if c == nil || c.fate == refused || c.way == bySource {
				continue
			}
			if err := t.text(ctx, c, &l); err != nil {
				return err
			}
		}
	}
	return nil
}

// text decodes one letter.
func (t *try) text(ctx context.Context, c *chosen, l *record.DeadLetter) error {
	layout := t.layoutOf(l, jsonCodes)
	switch {
	case c.edit.JSON:
		layout = record.JSONLayout()
	case c.way == byLayout:
		var err error
		if layout, err = t.layout(ctx, c); err != nil || layout == nil {
			return err
		}
	}
	text := c.edit.Text
	if text == nil {
		text = l.Raw
	}
	return t.decoder.Again(layout, c.Source, c.Offset, text)
}

// layout looks at the head of a letter's object. Where that tells nothing the
// letter is refused, and the layout nil.
func (t *try) layout(ctx context.Context, c *chosen) (*record.Layout, error) {
	if known := t.layouts[c.Source]; known != nil {
		return known, nil
	}
	body, err := t.Source.Open(ctx, objectOf(c.origin))
	var layout *record.Layout
	if err == nil {
		layout, err = t.decoder.Layout(ctx, record.Object{Source: c.Source, Header: c.origin.Headed()}, body)
		_ = body.Close()
	}
	var broken *record.BrokenError
	switch {
	case err == nil:
		t.layouts[c.Source] = layout
		return layout, nil
	case gone(err):
		c.fate, c.why = refused, "how its text is laid out its object tells, which is gone or has changed: give the record as an object under record"
	case errors.Is(err, record.ErrNoText), errors.As(err, &broken):
		c.fate, c.why = refused, "records of its object are no text: give the record as an object under record"
	default:
		return nil, fmt.Errorf("%s: %w", c.Source, err)
	}
	return nil, nil
}

// objects decodes the letters that are read from their objects, object by object.
func (t *try) objects(ctx context.Context) error {
	var order []string
	parts := map[string][]*chosen{}
	for _, c := range t.list {
		if c.way != bySource || c.fate == refused {
			continue
		}
		if parts[c.Source] == nil {
			order = append(order, c.Source)
		}
		parts[c.Source] = append(parts[c.Source], c)
	}
	for _, name := range order {
		err := t.object(ctx, parts[name])
		if gone(err) {
			for _, c := range parts[name] {
				c.fate, c.why = refused, "the record has to be read from its object, which is gone or has changed: give the record as an object under record"
			}
			return record.ErrRestart // some of them may be rows already
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// object decodes the letters of one object, which are not none.
func (t *try) object(ctx context.Context, letters []*chosen) error {
	wanted := make(map[int64]*chosen, len(letters))
	first, last := letters[0].Offset, letters[0].Offset
	for _, c := range letters {
		wanted[c.Offset] = c
		first, last = min(first, c.Offset), max(last, c.Offset)
	}
	body, err := t.Source.Open(ctx, objectOf(letters[0].origin))
	if err != nil {
		return err
	}
	defer body.Close()
	in := record.Object{Source: letters[0].Source, Header: letters[0].origin.Headed(), From: source.Position(first), To: source.Position(last + 1),
		Wanted: func(pos int64) bool {
			_, ok := wanted[pos]
			delete(wanted, pos)
			return ok
		}}
	if _, err := t.decoder.Decode(ctx, in, body); err != nil {
		return err
	}
	for _, c := range wanted {
		c.fate, c.why = refused, "no record begins there in its object"
	}
	return nil
}

// gone says whether an object is no longer as it was consumed.
func gone(err error) bool {
	var gap *files.GapError
	return errors.Is(err, files.ErrStale) || errors.As(err, &gap) || errors.Is(err, object.ErrNotFound) || errors.Is(err, object.ErrChanged)
}
