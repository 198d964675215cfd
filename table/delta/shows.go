package delta

import (
	"context"
	"errors"
	"fmt"

	"batcher/manifest"
)

// UnshownError says that no version of a table's Delta log shows it as it was after a
// manifest. The live files of the manifest do.
type UnshownError struct {
	Table   string
	Seq     manifest.Seq
	Version Version // that the manifest gives the table
	Reason  string
}

// Error names the manifest and the version.
func (e *UnshownError) Error() string {
	return fmt.Sprintf("no Delta version shows table %s after manifest %d: version %d %s", e.Table, int64(e.Seq), e.Version, e.Reason)
}

// Shows returns the version of the Delta log that shows a table as it was after a
// manifest, having proved that it is there and that the chain made it; -1 if nothing
// was written to the table by then. It fails with *UnshownError where there is none: a
// number of the chain that was never projected belongs to others, who wrote before the
// table was published anew.
func (p *Projector) Shows(ctx context.Context, at manifest.Snapshot, table string) (Version, error) {
	t := p.of(table).stands(at.Manifest)
	if t.version < 0 {
		return -1, nil
	}
	v := t.version
	unshown := &UnshownError{Table: table, Seq: at.Manifest.Seq, Version: v}
	who, there, err := p.author(ctx, table, v)
	if err != nil {
		return -1, err
	}
	if !there {
		unshown.Reason = "is not there: it is not published yet, or no longer kept"
		return -1, unshown
	}
	if who.Ours && who.Seq != t.seq {
		unshown.Reason = fmt.Sprintf("was made from manifest %d", int64(who.Seq))
		return -1, unshown
	}
	err = p.prove(ctx, at, table, v, who)
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		unshown.Reason = "is a foreign commit"
		return -1, unshown
	}
	if err != nil {
		return -1, err
	}
	return v, nil
}
