package interop_test

import (
	"testing"

	"batcher/interop"
	"batcher/localdev"
)

// TestD26_QuickReadersReadWhatWasPublished has the readers that take seconds read
// tables in a folder and on a MinIO. The others are for make interop.
func TestD26_QuickReadersReadWhatWasPublished(t *testing.T) {
	ctx := t.Context()
	for _, r := range interop.Quick() {
		if err := r.Install(ctx); err != nil {
			localdev.Skip(t, "the readers of other people's cannot be installed: "+err.Error())
		}
	}
	dir := t.TempDir()
	program, err := interop.Build(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	server, err := localdev.StartMinIO(ctx, localdev.Options{Buckets: []string{"lake"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, place := range []interop.Place{{Name: "folder", Root: dir + "/lake"}, {Name: "MinIO", Root: "s3://lake/tables", Server: server}} {
		t.Run(place.Name, func(t *testing.T) {
			t.Parallel()
			cases, err := interop.Tell(t.Context(), program, dir+"/"+place.Name, place)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range interop.Quick() {
				t.Run(r.Name, func(t *testing.T) { quick(t, r, place, cases) })
			}
		})
	}
}

// quick wants a reader to read all cases, and notes how much was compared.
func quick(t *testing.T, r interop.Reader, place interop.Place, cases []interop.Case) {
	outcomes, err := interop.Read(t.Context(), r, place, cases)
	if err != nil {
		t.Fatal(err)
	}
	rows, filters := 0, 0
	for _, o := range outcomes {
		if o.Problem != "" {
			t.Errorf("%s: %s", o.Case, o.Problem)
		}
		rows, filters = rows+o.Rows, filters+o.Filters
	}
	if len(outcomes) != len(cases) || rows == 0 || filters == 0 {
		t.Errorf("%d outcomes of %d cases, %d rows, %d filters", len(outcomes), len(cases), rows, filters)
	}
	if place.Server != nil {
		localdev.Figure("rows, filters of "+r.Name+" on a MinIO that equal what was put in", []int{rows, filters})
	}
}
