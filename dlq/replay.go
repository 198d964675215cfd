package dlq

import (
	"cmp"
	"context"
	"slices"

	"batcher/commit"
	"batcher/manifest"
	"batcher/record"
	"batcher/source"
)

// ReplayOptions say which letters are tried again, and with which text.
type ReplayOptions struct {
	Filter Filter
	Edits  map[ID]Edit // if not nil only these letters are tried, with the texts that they have
	Mode   Mode
}

// Mode says whether anything is changed.
type Mode uint8

// The modes.
const (
	DryRun Mode = iota
	Confirm
)

// chosen is a letter that is to be tried again.
type chosen struct {
	ID
	at     int // index of its file
	edit   Edit
	way    way
	origin *source.Range // what of the source it was consumed with, if that was looked for
	fate   fate
	reason reason // of a dead one
	why    string // of a refused one
}

// way is where a letter's text and its layout come from.
type way uint8

const (
	byText   way = iota // both are known
	byLayout            // the text is known, the head of its object says the layout
	bySource            // the record is read from its object once more
)

// fate is what a try makes of a letter.
type fate uint8

const (
	row fate = iota
	dead
	refused
)

// reason is why a letter is dead.
type reason struct{ stage, code, message string }

func reasonOf(l *record.DeadLetter) reason { return reason{l.Stage, l.Code, l.Message} }

// selection are the letters of one attempt.
type selection struct {
	list    []*chosen // in the order of the table
	ids     map[ID]*chosen
	touched map[int]bool // files that have some of them
}

// Replay tries letters again, and makes rows of those that can be read: they leave
// the dead-letter table and enter the main table, in one manifest and with their
// ids. Others stay dead, with the reason of now. What is not dead any more when
// it is tried is counted as such, so that a replay may be repeated at will.
//
// A letter that has no more to tell than its object is read there; the object must
// be as it was consumed, or else the letter is refused, and no other for it.
func (q *Queue) Replay(ctx context.Context, o ReplayOptions) (Report, error) {
	return q.settle(ctx, func(ctx context.Context, a *attempt) error {
		if err := a.head.Manifest.Config.Admits(a.Config); err != nil {
			return err
		}
		s, err := a.choose(ctx, o)
		if err != nil {
			return err
		}
		if err := a.locate(ctx, s.list); err != nil {
			return err
		}
		t := &try{attempt: a, selection: s, layouts: map[string]*record.Layout{}}
		if err := t.decode(ctx, o.Mode); err != nil {
			return err
		}
		a.count(s)
		if o.Mode == DryRun {
			a.report.Outcome = Dry
			return nil
		}
		return a.propose(ctx, t)
	})
}

// choose finds the letters to be tried among those of the head.
func (a *attempt) choose(ctx context.Context, o ReplayOptions) (*selection, error) {
	s := &selection{ids: map[ID]*chosen{}, touched: map[int]bool{}}
	f := o.Filter
	if o.Edits != nil {
		for id := range o.Edits {
			f.IDs = append(f.IDs, id)
		}
		if len(f.IDs) == 0 {
			return s, nil
		}
	}
	if len(f.IDs) == 0 {
		f.without = quarantine // unless one is asked for: they are for Retry
	}
	name := ""
	err := a.visit(ctx, a.live, f, func(at int, l *record.DeadLetter) error {
		if l.Source != name {
			name = l.Source // all letters of a source share one string
		}
		c := &chosen{ID: ID{name, l.Offset}, at: at, edit: o.Edits[idOf(l)]}
		c.way, c.fate, c.why = a.wayOf(l, c.edit)
		if c.way == bySource {
			c.edit.Text = nil
		}
		s.list, s.ids[c.ID], s.touched[at] = append(s.list, c), c, true
		return nil
	})
	a.report.Letters = int64(len(s.list))
	var already []Edit
	for id, e := range o.Edits {
		if s.ids[id] == nil {
			already = append(already, e)
		}
	}
	slices.SortFunc(already, func(x, y Edit) int { return cmp.Compare(x.Line, y.Line) })
	a.report.Already = int64(len(already))
	for _, e := range already {
		a.report.example(Example{ID: e.ID, Fate: NotDead, Reason: "is no dead letter, or not any more"})
	}
	if len(s.list) == 0 && len(already) > 0 {
		a.report.Outcome = Already
	}
	return s, err
}

// count says in the report what became of the letters.
func (a *attempt) count(s *selection) {
	r := &a.report
	for _, c := range s.list {
		switch c.fate {
		case row:
			r.Replayed++
		case dead:
			r.Dead++
			r.example(Example{c.ID, StillDead, c.reason.code, c.reason.message})
		case refused:
			r.Refused++
			r.example(Example{c.ID, Refused, "", c.why})
		}
	}
}

// propose takes the letters that became rows out of their table.
func (a *attempt) propose(ctx context.Context, t *try) error {
	away, err := a.rewrite(ctx, t.touched, t.move)
	if err != nil || len(away) == 0 {
		return err
	}
	tables := map[string]commit.Delta{a.Dead: {Add: a.dead.Done(), Remove: away}}
	if a.report.Replayed > 0 {
		tables[a.Table] = commit.Delta{Schema: t.decoder.Schema(), Add: a.main.Done()}
	}
	a.proposal = &commit.Proposal{
		Kind: manifest.Replay, Attempt: a.id, Base: a.head, Config: a.Config, Tables: tables,
		Letters: &manifest.Letters{Replayed: a.report.Replayed},
	}
	return nil
}

// move says what becomes of a letter in its table, and gives one that stays dead
// the reason of now. Its bytes stay those that were received.
func (s *selection) move(l *record.DeadLetter) move {
	c := s.ids[idOf(l)]
	switch {
	case c == nil || c.fate == refused || c.fate == dead && c.reason == reasonOf(l):
		return stays
	case c.fate == row:
		return leaves
	}
	l.Stage, l.Code, l.Message = c.reason.stage, c.reason.code, c.reason.message
	return alters
}
