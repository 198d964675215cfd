package commit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/memstore"
)

// unwriting is a store that answers every write with an error.
type unwriting struct {
	object.Store
	err error
}

func (u unwriting) Put(context.Context, string, []byte, object.Condition) (object.Info, error) {
	return object.Info{}, u.err
}

// TestWhatIsUnsettledNamesTheCauseFirst has a disk that is full, of which it is known that
// nothing was stored, and answers that are lost, of which nothing is known.
func TestWhatIsUnsettledNamesTheCauseFirst(t *testing.T) {
	for _, c := range []struct {
		kind    error
		outcome string
	}{
		{object.ErrConflict, "nothing was stored in "},
		{object.ErrUnknown, commit.ErrUnresolved.Error() + " in "},
	} {
		store := memstore.New()
		_, head := create(t, store)
		err := fmt.Errorf("the cause (%w)", c.kind)
		_, got := newLog(unwriting{store, err}).Append(t.Context(), commit.Proposal{
			Kind: manifest.Floor, Attempt: manifest.Attempt{9}, Base: head, Repair: commit.Repair{Floor: head.Manifest.Seq + 1}, Config: config,
		})
		if !errors.Is(got, commit.ErrUnresolved) || !errors.Is(got, c.kind) || !strings.Contains(got.Error(), "the cause ("+c.kind.Error()+") (put ") || !strings.Contains(got.Error(), c.outcome) {
			t.Errorf("%v", got)
		}
	}
}
