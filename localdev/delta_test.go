package localdev_test

import (
	"testing"

	"batcher/localdev"
)

// The readers themselves are held to tables in package table/delta.
func TestDeltaReadersTellWhatTheyCannotRead(t *testing.T) {
	d, err := localdev.OpenDeltaReaders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q := localdev.DeltaQuery{Table: t.TempDir(), SQL: []string{"SELECT * FROM t"}}
	if a, err := d.DuckDB(t.Context(), q); err == nil {
		t.Errorf("DuckDB reads %v", a)
	}
	if a, err := d.DeltaRS(t.Context(), q); err == nil {
		t.Errorf("delta-rs reads %v", a)
	}
}
