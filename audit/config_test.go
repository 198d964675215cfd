package audit_test

import (
	"testing"

	"batcher/audit"
	"batcher/record"
)

// TestARangeOfAnotherConfigurationIsNoMismatch changes how records are read between
// two batches: what the first one wrote is no longer what its source gives.
func TestARangeOfAnotherConfigurationIsNoMismatch(t *testing.T) {
	w := newWorld(t)
	w.drop("a", "{\"s\":\"x\"}\n{\"s\":\"\xff\"}\n")
	w.drop("b", "{\"s\":\"y\"}\n")
	w.run()
	if rep := w.verify(audit.Options{Checks: all}); rep.Source != (audit.SourceReport{Verified: 3}) {
		t.Fatalf("%+v", rep.Source)
	}
	w.config, w.format = "c2", record.Format{Invalid: record.Replace}
	w.drop("c", "{\"s\":\"\xff\"}\n")
	w.run()
	if rep := w.verify(audit.Options{Checks: all}); rep.Source != (audit.SourceReport{Verified: 2, Unverifiable: 2, Reconfigured: 2}) {
		t.Errorf("%+v", rep.Source)
	}
	for _, hash := range []string{"c1", ""} { // a's, though it is read otherwise; or not told
		w.config = hash
		if rep := w.verify(audit.Options{Checks: all}, "I14"); rep.Source.Mismatch != 2 {
			t.Errorf("under %q: %+v", hash, rep.Source)
		}
	}
	w.config, w.format = "c2", record.Format{} // c's
	if rep := w.verify(audit.Options{Checks: all}, "I14"); rep.Source != (audit.SourceReport{Verified: 3, Mismatch: 1}) {
		t.Errorf("%+v", rep.Source)
	}
}

// TestAnObjectThatCannotBeReadUnderAnotherConfiguration reads an object of lines
// as what it is not.
func TestAnObjectThatCannotBeReadUnderAnotherConfiguration(t *testing.T) {
	w := newWorld(t)
	w.format = record.Format{Kind: "csv"}
	w.drop("a.csv", "n,s\n1,x\n")
	w.run()
	w.config, w.format = "c2", record.Format{Kind: "parquet"}
	rep := w.verify(audit.Options{Checks: all})
	if rep.Source != (audit.SourceReport{Unverifiable: 1, Reconfigured: 1}) {
		t.Errorf("%+v", rep.Source)
	}
	w.config = "c1"
	w.verify(audit.Options{Checks: all}, "I14")
}
