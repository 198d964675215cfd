package dlq_test

import (
	"errors"
	"testing"

	"batcher/commit"
	"batcher/dlq"
	"batcher/record"
)

// TestReadingLettersBesideASweep has the files of the head that is read merged, and
// deleted, before every call of a reader.
func TestReadingLettersBesideASweep(t *testing.T) {
	for name, read := range map[string]func(q *dlq.Queue) error{
		"letters": func(q *dlq.Queue) error {
			return q.Letters(t.Context(), dlq.Filter{}, func(*record.DeadLetter) error { return nil })
		},
		"list": func(q *dlq.Queue) error {
			_, err := q.List(t.Context(), dlq.Filter{})
			return err
		},
	} {
		overtaken, swept := 0, true
		for n := 1; swept; n++ {
			y := newRivalry(t, 1)
			for _, key := range []string{"a.ndjson", "b.ndjson"} {
				y.put(key, content{"{\n", false})
				y.run()
			}
			hook := &interrupted{Store: y.plain, left: n}
			if swept = false; n > 100 {
				t.Fatal("the reader does not come to an end")
			}
			hook.rival = func() {
				y.store, swept = y.plain, true
				if err := y.sweep(); err != nil {
					t.Fatal(err)
				}
			}
			y.store = hook
			var superseded *commit.SupersededError
			switch err := read(y.queue()); {
			case errors.As(err, &superseded):
				overtaken++
			case err != nil:
				t.Errorf("%s, a sweep before call %d: %v", name, n, err)
			}
		}
		if overtaken == 0 {
			t.Errorf("%s: nothing was missed", name)
		}
	}
}
