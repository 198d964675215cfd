package audit

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"

	"batcher/object"
	"batcher/object/storetest"
)

// probeRoot is the folder below which stores are probed, each time in a folder of
// its own. Nothing stays there, but for a probe that was killed; see the package
// comment for why that is not swept.
const probeRoot = "_batcher/_probe/"

// Finding is the outcome of one probe.
type Finding struct {
	Name string
	Why  string // what goes wrong on a store that fails
	Err  error  // nil: passed
	Note string // not offered, or something to know
}

// MarshalJSON writes the error as text.
func (f Finding) MarshalJSON() ([]byte, error) {
	out := struct {
		Name   string `json:"name"`
		Passed bool   `json:"passed"`
		Error  string `json:"error,omitempty"`
		Why    string `json:"why"`
		Note   string `json:"note,omitempty"`
	}{Name: f.Name, Passed: f.Err == nil, Why: f.Why, Note: f.Note}
	if f.Err != nil {
		out.Error = f.Err.Error()
	}
	return json.Marshal(out)
}

// Admit makes the probes that decide whether a store may be used, in short.
func Admit(ctx context.Context, store object.Store) ([]Finding, error) {
	return probe(ctx, store, storetest.Admission(), storetest.Params{Racers: 16, RaceKeys: 4})
}

// Doctor makes every probe at full size.
func Doctor(ctx context.Context, store object.Store, log *slog.Logger) ([]Finding, error) {
	findings, err := probe(ctx, store, storetest.All(), storetest.Params{})
	if err != nil {
		return findings, err
	}
	own, err := settleProbe(ctx, store, log)
	return append(findings, own), err
}

func probe(ctx context.Context, store object.Store, checks []storetest.Check, params storetest.Params) ([]Finding, error) {
	prefix, err := probePrefix()
	if err != nil {
		return nil, err
	}
	var findings []Finding
	storetest.Run(ctx, storetest.Env{Store: store, Prefix: prefix, Params: params}, checks, func(r storetest.Result) {
		f := Finding{Name: r.Check.Name, Why: r.Check.Why, Err: r.Err}
		if errors.Is(r.Err, storetest.ErrNotOffered) {
			f.Err, f.Note = nil, "not offered by this store"
		}
		if f.Err == nil && r.CleanUp != nil {
			f.Note = "probe objects could not be removed: " + r.CleanUp.Error()
		}
		findings = append(findings, f)
	})
	return findings, ctx.Err()
}

// probePrefix is a folder that nobody else uses.
func probePrefix() (string, error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	return probeRoot + hex.EncodeToString(random[:]) + "/", nil
}
