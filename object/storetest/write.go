package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"batcher/object"
)

func writing() []Check {
	return []Check{
		{"delete", "garbage stays, or a repeated delete fails a run", deletes},
	}
}

func deletes(ctx context.Context, env Env) error {
	if err := env.Store.Delete(ctx, env.key("never/was")); err != nil {
		return fmt.Errorf("delete of an absent key: %w", err)
	}
	if err := env.plant(ctx, "f/a", "f/b"); err != nil {
		return err
	}
	for range 2 {
		if err := env.Store.Delete(ctx, env.key("f/a")); err != nil {
			return err
		}
		_, _, err := env.get(ctx, "f/a", object.GetOptions{})
		if err := wantErr("get of a deleted key", err, object.ErrNotFound); err != nil {
			return err
		}
	}
	if err := env.holds(ctx, "f/b", "f/b"); err != nil {
		return fmt.Errorf("the neighbour of a deleted key: %w", err)
	}
	return nil
}

func createAgain(ctx context.Context, env Env) error {
	if err := env.plant(ctx, "a"); err != nil {
		return err
	}
	if err := env.Store.Delete(ctx, env.key("a")); err != nil {
		return err
	}
	if _, err := env.put(ctx, "a", "again", object.IfAbsent); err != nil {
		return fmt.Errorf("create after delete: %w", err)
	}
	return env.holds(ctx, "a", "again")
}

func uploading() []Check {
	return []Check{
		{"upload", "a data file that was streamed differs from what was written", uploads},
		{"upload-hidden", "a data file is visible before it is complete, or after it was given up", uploadHidden},
	}
}

func uploads(ctx context.Context, env Env) error {
	up, ok := env.Store.(object.Uploader)
	if !ok {
		return fmt.Errorf("upload: %w", ErrNotOffered)
	}
	for _, size := range []int{0, 1, 100_000, env.Params.UploadBytes + 12_345} {
		key := env.key(fmt.Sprintf("size-%d", size))
		u, err := up.Upload(ctx, key)
		if err != nil {
			return err
		}
		body := pattern(size)
		if err := writeUnevenly(u, body); err != nil {
			return errors.Join(err, u.Abort(ctx))
		}
		info, err := u.Complete(ctx)
		if err != nil {
			return err
		}
		if info.Key != key || info.Size != int64(size) {
			return fmt.Errorf("upload of %d bytes answered key %q, %d bytes", size, info.Key, info.Size)
		}
		if err := u.Abort(ctx); err != nil {
			return fmt.Errorf("abort after complete: %w", err)
		}
		if err := sameHash(ctx, env.Store, info, body); err != nil {
			return err
		}
	}
	return nil
}

// writeUnevenly writes body in chunks of growing, odd sizes and scribbles over
// each afterwards, as a caller that reuses its buffer does.
func writeUnevenly(w io.Writer, body []byte) error {
	chunk := make([]byte, 0, 1<<20)
	for n := 1; len(body) > 0; n = min(n*3+1, cap(chunk)) {
		chunk = append(chunk[:0], body[:min(n, len(body))]...)
		body = body[len(chunk):]
		if _, err := w.Write(chunk); err != nil {
			return err
		}
		clear(chunk)
	}
	return nil
}

// sameHash reads an object as a stream, pinned to what the upload answered.
func sameHash(ctx context.Context, s object.Store, info object.Info, body []byte) error {
	r, _, err := s.Get(ctx, info.Key, object.GetOptions{ETag: info.ETag})
	if err != nil {
		return err
	}
	defer r.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return err
	}
	if want := sha256.Sum256(body); string(sum.Sum(nil)) != string(want[:]) {
		return fmt.Errorf("upload of %d bytes reads back with another SHA-256", len(body))
	}
	return nil
}

func uploadHidden(ctx context.Context, env Env) error {
	up, ok := env.Store.(object.Uploader)
	if !ok {
		return fmt.Errorf("upload: %w", ErrNotOffered)
	}
	for _, size := range []int{10, env.Params.UploadBytes} {
		name := fmt.Sprintf("size-%d", size)
		u, err := up.Upload(ctx, env.key(name))
		if err != nil {
			return err
		}
		if err := writeUnevenly(u, pattern(size)); err != nil {
			return errors.Join(err, u.Abort(ctx))
		}
		for _, when := range []string{"before complete", "after abort"} {
			_, _, err := env.get(ctx, name, object.GetOptions{})
			if err := wantErr("get "+when, err, object.ErrNotFound); err != nil {
				return errors.Join(err, u.Abort(ctx))
			}
			if err := env.lists(ctx, "", object.Deep); err != nil {
				return errors.Join(fmt.Errorf("%s: %w", when, err), u.Abort(ctx))
			}
			if err := u.Abort(ctx); err != nil {
				return err
			}
		}
		if _, err := u.Write([]byte("x")); err == nil {
			return errors.New("write after abort succeeded")
		}
	}
	return nil
}
