package interop_test

import (
	"testing"

	"batcher/interop"
	"batcher/localdev"
)

// TestD26_QuickReadersReadWhatWasPublished has the readers that take seconds read
// tables in a folder and on a MinIO.
func TestD26_QuickReadersReadWhatWasPublished(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	program, err := interop.Build(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	server, err := localdev.StartMinIO(ctx, localdev.Options{Buckets: []string{"lake"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	for _, place := range []interop.Place{{Name: "folder", Root: dir + "/lake"}, {Name: "MinIO", Root: "s3://lake/tables", Server: server}} {
		cases, err := interop.Tell(ctx, program, dir+"/"+place.Name, place)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range interop.Quick() {
			outcomes, err := interop.Read(ctx, r, place, cases)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range outcomes {
				if o.Problem != "" {
					t.Errorf("%s %s at %s, %s: %s", o.Reader, o.Version, o.Place, o.Case, o.Problem)
				}
			}
		}
	}
}
