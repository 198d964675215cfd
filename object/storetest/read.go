package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"batcher/object"
)

func reading() []Check {
	return []Check{
		{"get-range", "footers and blocks of large objects are read by range", getRange},
		{"get-pinned", "a source object that was replaced is read as if it were the planned one", getPinned},
		{"no-torn-read", "a reader sees parts of two versions of an object", noTornRead},
		{"cancelled", "a cancelled run hangs, or takes a lost answer for a failure", cancelled},
	}
}

func getRange(ctx context.Context, env Env) error {
	body := string(pattern(1000))
	if _, err := env.put(ctx, "ranged", body, object.IfAbsent); err != nil {
		return err
	}
	if _, err := env.put(ctx, "empty", "", object.IfAbsent); err != nil {
		return err
	}
	for _, c := range []struct {
		name, want  string
		from, limit int64
	}{
		{"ranged", body[:1], 0, 1},
		{"ranged", body[10:30], 10, 20},
		{"ranged", body[990:], 990, 0},
		{"ranged", body[990:], 990, 500},
		{"ranged", body, 0, 1000},
		{"ranged", "", 1000, 0},
		{"ranged", "", 5000, 10},
		{"empty", "", 0, 0},
		{"empty", "", 0, 10},
		{"empty", "", 10, 0},
	} {
		got, info, err := env.get(ctx, c.name, object.GetOptions{From: c.from, Limit: c.limit})
		if err != nil {
			return fmt.Errorf("get %s from %d limit %d: %w", c.name, c.from, c.limit, err)
		}
		if string(got) != c.want {
			return fmt.Errorf("get %s from %d limit %d: %s, want %s", c.name, c.from, c.limit, brief(got), brief([]byte(c.want)))
		}
		if c.name == "ranged" && info.Size != 1000 || c.name == "empty" && info.Size != 0 {
			return fmt.Errorf("get %s from %d limit %d: info says %d bytes", c.name, c.from, c.limit, info.Size)
		}
	}
	_, _, err := env.get(ctx, "ranged", object.GetOptions{From: -1})
	return wantErr("get from byte -1", err, object.ErrUnsupported)
}

func getPinned(ctx context.Context, env Env) error {
	first, err := env.put(ctx, "pinned", "one", object.IfAbsent)
	if err != nil {
		return err
	}
	if first.ETag == "" {
		return errors.New("put gave no ETag")
	}
	for _, opts := range []object.GetOptions{{ETag: first.ETag}, {ETag: first.ETag, From: 1}, {ETag: first.ETag, From: 3}} {
		got, info, err := env.get(ctx, "pinned", opts)
		if err != nil {
			return err
		}
		if want := "one"[opts.From:]; string(got) != want || info.ETag != first.ETag {
			return fmt.Errorf("pinned get from %d: %q with ETag %s, want %q with %s", opts.From, got, info.ETag, want, first.ETag)
		}
	}
	if _, err := env.put(ctx, "pinned", "two", object.Always); err != nil {
		return err
	}
	for _, opts := range []object.GetOptions{{ETag: first.ETag}, {ETag: first.ETag, From: 1}} {
		_, _, err := env.get(ctx, "pinned", opts)
		if err := wantErr("get pinned to the earlier version", err, object.ErrChanged); err != nil {
			return err
		}
	}
	if err := env.Store.Delete(ctx, env.key("pinned")); err != nil {
		return err
	}
	_, _, err = env.get(ctx, "pinned", object.GetOptions{ETag: first.ETag})
	return wantErr("pinned get of a deleted key", err, object.ErrNotFound)
}

// noTornRead overwrites one key with bodies of one letter while others read it.
func noTornRead(ctx context.Context, env Env) error {
	const versions, readers, size = 20, 4, 300_000
	body := func(v int) []byte {
		return bytes.Repeat([]byte{byte('a' + v)}, size+v)
	}
	key := env.key("busy")
	if _, err := env.Store.Put(ctx, key, body(0), object.Always); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, readers)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for ctx.Err() == nil && errs[i] == nil {
				if err := readUniform(ctx, env.Store, key, size); ctx.Err() == nil {
					errs[i] = err
				}
			}
		})
	}
	var err error
	for v := 1; v < versions && err == nil; v++ {
		_, err = env.Store.Put(ctx, key, body(v), object.Always)
	}
	stop()
	wg.Wait()
	return errors.Join(append(errs, err)...)
}

// readUniform reads a body of noTornRead and verifies that it is one version.
func readUniform(ctx context.Context, s object.Store, key string, size int) error {
	got, _, err := object.ReadAll(ctx, s, key, object.GetOptions{}, 1<<30)
	if errors.Is(err, object.ErrChanged) {
		return nil // refused rather than torn
	}
	if err != nil {
		return err
	}
	v := int(got[0] - 'a')
	if len(got) != size+v {
		return fmt.Errorf("version %d has %d bytes, want %d", v, len(got), size+v)
	}
	if same := bytes.Count(got, got[:1]); same != len(got) {
		return fmt.Errorf("%d of %d bytes are of version %d, the others of another", same, len(got), v)
	}
	return nil
}

func cancelled(ctx context.Context, env Env) error {
	if _, err := env.put(ctx, "held", "x", object.IfAbsent); err != nil {
		return err
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	r, _, err := env.Store.Get(done, env.key("held"), object.GetOptions{})
	if err == nil {
		_, err = io.ReadAll(r)
		r.Close()
	}
	if err := wantCancelled("get", err); err != nil {
		return err
	}
	_, err = env.Store.Put(done, env.key("other"), []byte("x"), object.IfAbsent)
	if err := wantCancelled("put", err); err != nil {
		return err
	}
	if err := wantErr("put under a cancelled context", err, object.ErrUnknown); err != nil {
		return err
	}
	for _, err := range env.Store.List(done, env.Prefix, object.Deep) {
		if err := wantCancelled("list", err); err != nil {
			return err
		}
	}
	return wantCancelled("delete", env.Store.Delete(done, env.key("held")))
}

func wantCancelled(what string, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case err == nil:
		return fmt.Errorf("%s under a cancelled context succeeded", what)
	}
	return fmt.Errorf("%s under a cancelled context: %w", what, err)
}
