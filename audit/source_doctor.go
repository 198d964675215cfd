package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"batcher/object"
)

// How far a source is looked at.
const (
	triedObjects = 5       // that are tried until one can be read
	listedAtMost = 1000    // names that are looked at until one is an input
	readAtMost   = 8 << 10 // bytes of an object
)

// DoctorSource makes the probes of what a source needs: to be listed, and its objects to
// be read, in ranges and pinned to their ETags. It writes nothing, and needs no object:
// without one it says what it could not try. wanted says which keys are input.
func DoctorSource(ctx context.Context, store object.Store, wanted func(key string) bool, report func(Finding)) ([]Finding, error) {
	var findings []Finding
	add := func(f Finding) {
		findings = append(findings, f)
		tell(report, f)
	}
	objects, err := someObjects(ctx, store, wanted)
	add(Finding{Name: "list", Why: "nobody can tell what there is to read", Err: err})
	if err != nil {
		return findings, ctx.Err()
	}
	if len(objects) == 0 {
		add(Finding{Name: "read", Note: "there is no object to read yet, so reading, ranges and pinning were not tried"})
		return findings, nil
	}
	read := Finding{Name: "read", Why: "what is listed cannot be read"}
	for _, o := range objects {
		var head []byte
		if head, read.Err = readHead(ctx, store, o); read.Err != nil {
			continue
		}
		if o.Key != objects[0].Key {
			read.Note = fmt.Sprintf("%q can be read, others before it cannot", o.Key)
		}
		add(read)
		add(Finding{Name: "range", Why: "the rest of an object that was read in part cannot be read, nor the columns of Parquet", Err: readRange(ctx, store, o, head)})
		add(Finding{Name: "pinned", Why: "an object that is overwritten while it is read would be mixed with its successor", Err: readPinned(ctx, store, o, head)})
		return findings, ctx.Err()
	}
	add(read)
	return findings, ctx.Err()
}

// someObjects lists until it has found a few that are not empty.
func someObjects(ctx context.Context, store object.Store, wanted func(string) bool) (objects []object.Info, err error) {
	seen := 0
	for info, err := range store.List(ctx, "", object.Deep) {
		if err != nil {
			return nil, err
		}
		if info.Size > 0 && wanted(info.Key) {
			objects = append(objects, info)
		}
		if seen++; len(objects) == triedObjects || seen == listedAtMost {
			break
		}
	}
	return objects, nil
}

// readHead reads the first bytes of an object.
func readHead(ctx context.Context, store object.Store, o object.Info) ([]byte, error) {
	head, info, err := object.ReadAll(ctx, store, o.Key, object.GetOptions{Limit: readAtMost}, readAtMost)
	if err == nil && info.Size != o.Size {
		err = fmt.Errorf("read %s: %d bytes, and %d in the listing: %w", o.Key, info.Size, o.Size, object.ErrChanged)
	}
	return head, err
}

// readRange reads all but the first byte of what was read.
func readRange(ctx context.Context, store object.Store, o object.Info, head []byte) error {
	if len(head) < 2 {
		return nil
	}
	rest, _, err := object.ReadAll(ctx, store, o.Key, object.GetOptions{From: 1, Limit: int64(len(head) - 1)}, readAtMost)
	if err == nil && !bytes.Equal(rest, head[1:]) {
		err = fmt.Errorf("read %s from byte 1: other bytes than when it is read from the beginning: %w", o.Key, object.ErrUnsupported)
	}
	return err
}

// readPinned reads an object under its own ETag, and under one that it never had.
func readPinned(ctx context.Context, store object.Store, o object.Info, head []byte) error {
	if o.ETag == "" {
		return fmt.Errorf("the listing gives %s no ETag: %w", o.Key, object.ErrUnsupported)
	}
	limit := int64(len(head))
	if _, _, err := object.ReadAll(ctx, store, o.Key, object.GetOptions{Limit: limit, ETag: o.ETag}, limit); err != nil {
		return err
	}
	_, _, err := object.ReadAll(ctx, store, o.Key, object.GetOptions{Limit: limit, ETag: "00000000000000000000000000000000"}, limit)
	if err == nil {
		return fmt.Errorf("read %s pinned to another ETag than it has: it was read: %w", o.Key, object.ErrUnsupported)
	}
	if !errors.Is(err, object.ErrChanged) {
		return err
	}
	return nil
}
