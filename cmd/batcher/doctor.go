package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"batcher/audit"
	"batcher/config"
	"batcher/object"
	"batcher/object/retry"
)

// reachTime is how long doctor waits for the first answer of a place.
const reachTime = 4 * time.Second

// The verdicts of doctor.
const (
	verdictFit         = "fit"
	verdictUnfit       = "unfit"       // it answers, and some probe failed
	verdictUnreachable = "unreachable" // nobody answers, or it does not exist
)

// diagnosis is what doctor prints: one document.
type diagnosis struct {
	Verdict  string       `json:"verdict"`
	Subjects []subject    `json:"subjects"`
	Error    *reportError `json:"error,omitempty"`
}

// subject is the store or the source.
type subject struct {
	Subject  string          `json:"subject"` // store or source
	Place    string          `json:"place"`
	Verdict  string          `json:"verdict"`
	Findings []audit.Finding `json:"findings"`
}

// admit is the short probe before the first run on a root.
func admit(ctx context.Context, store object.Store) error {
	findings, err := audit.Admit(ctx, store)
	if err != nil {
		return err
	}
	return judge("store", findings)
}

// judge is the error for the probe that failed, with its exit code: of several the first
// that proves a promise broken. A store that cannot be reached, refuses access or
// stumbles once is not one that breaks its promises.
func judge(what string, findings []audit.Finding) error {
	var open error
	for _, f := range findings {
		switch {
		case f.Err == nil:
		case f.Name == reachProbe && errors.Is(f.Err, object.ErrDenied):
			return fmt.Errorf("%w (%s)", f.Err, what)
		case f.Name == reachProbe:
			return &exitError{Code: exitUnavailable, Err: fmt.Errorf("%w (%s)", f.Err, what)}
		case errors.Is(f.Err, object.ErrDenied), errors.Is(f.Err, object.ErrUnknown), errors.Is(f.Err, object.ErrConflict):
			open = cmp.Or(open, fmt.Errorf("%w (%s of the %s)", f.Err, f.Name, what))
		default:
			return &exitError{
				Code: exitUnavailable, Err: fmt.Errorf("the %s cannot be used: %s: %w (%s)", what, f.Name, f.Err, f.Why),
				Hint: "batcher doctor shows every probe; docs/STORES.md lists stores that pass",
			}
		}
	}
	return open
}

// doctor is the verb doctor: it judges the store by what a store needs, and the source by
// what a source needs.
func doctor(ctx context.Context, c *call, _ doctorOptions) error {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return err
	}
	in := r.cfg.Source.Files
	patients := []*patient{
		{
			what: "store", at: r.cfg.Store, s3: r.cfg.S3, store: r.store, must: mayBeAbsent,
			examine: func(report func(audit.Finding)) error {
				_, err := audit.Doctor(ctx, r.store, c.Logger, report)
				return err
			},
		},
		{
			what: "source", at: in.Path, s3: in.S3, store: r.input, must: mustExist,
			examine: func(report func(audit.Finding)) error {
				_, err := audit.DoctorSource(ctx, r.input, r.source.Wants, report)
				return err
			},
		},
	}
	var wg sync.WaitGroup
	for _, p := range patients {
		wg.Go(func() { p.err = p.reach(ctx) })
	}
	wg.Wait()
	defer c.Progress.Watch(c.Logger, func() stage {
		return stage{what: "doctor", done: object.RequestsOf(r.store).Add(object.RequestsOf(r.input)).Sum(), unit: "request"}
	})()
	return c.diagnose(ctx, patients)
}

// diagnose examines what can be reached, and prints.
func (c *call) diagnose(ctx context.Context, patients []*patient) error {
	d := diagnosis{Verdict: verdictFit}
	var failure error
	for _, p := range patients {
		s, err := c.examine(p)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		d.Subjects = append(d.Subjects, s)
		if failed := judge(p.what, s.Findings); failed != nil && failure == nil {
			d.Verdict, failure = s.Verdict, failed
			d.Error = report{}.failed(failed).Error
		}
	}
	if c.Output == outputJSON {
		if err := printJSON(c, d); err != nil {
			return err
		}
	}
	return failure
}

// examine makes the probes of a place, and prints each finding as it comes.
func (c *call) examine(p *patient) (subject, error) {
	s := subject{Subject: p.what, Place: p.store.String(), Verdict: verdictFit}
	if c.Output == outputText {
		if err := printTo(c.Stdout, c.Colors.heading(fmt.Sprintf("%s %s\n", p.what, s.Place))); err != nil {
			return s, err
		}
	}
	var printing error
	report := func(f audit.Finding) {
		s.Findings = append(s.Findings, f)
		if f.Err != nil && s.Verdict == verdictFit {
			s.Verdict = verdictUnfit
		}
		if c.Output == outputText && printing == nil {
			printing = printTo(c.Stdout, c.finding(f))
		}
	}
	report(audit.Finding{Name: reachProbe, Why: "nothing else can be tried", Err: p.err})
	if p.err != nil {
		if !errors.Is(p.err, object.ErrDenied) {
			s.Verdict = verdictUnreachable
		}
		return s, printing
	}
	err := p.examine(report)
	return s, errors.Join(err, printing)
}

// finding is a line for people.
func (c *call) finding(f audit.Finding) string {
	switch {
	case f.Err != nil:
		return fmt.Sprintf("%s  %s: %s\n      %s\n", c.Colors.in(red, "FAIL"), f.Name, printable(f.Err.Error()), f.Why)
	case f.Note != "":
		return fmt.Sprintf("%s  %s: %s\n", c.Colors.in(yellow, "note"), f.Name, printable(f.Note))
	}
	return fmt.Sprintf("%s  %s\n", c.Colors.in(green, "pass"), f.Name)
}

// reachProbe is the name of the probe that comes first.
const reachProbe = "reach"

// patient is a place that doctor examines.
type patient struct {
	what    string
	at      config.Location
	s3      config.S3
	store   object.Store
	must    presence
	examine func(report func(audit.Finding)) error
	err     error // of reach
}

// reach lists the first page of the place, once and within reachTime: who asks whether
// anybody is there wants no patience.
func (p *patient) reach(ctx context.Context) error {
	s, err := openPlace(ctx, p.at, p.s3, retry.Policy{Tries: 1, TryTimeout: reachTime})
	if err != nil {
		return err
	}
	for _, err := range s.List(ctx, "", object.Shallow) {
		if errors.Is(err, object.ErrNotFound) && p.must == mayBeAbsent && !p.at.IsS3() {
			return nil
		}
		return err
	}
	return nil
}
