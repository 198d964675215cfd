package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"batcher/object"
)

func listing() []Check {
	return []Check{
		{"list-deep", "planning misses objects, or gc sees what is not there", listDeep},
		{"list-shallow", "folders are walked one by one where a source is large", listShallow},
		{"list-pages", "a listing ends at its first page", listPages},
		{"list-stops", "a consumer that breaks off hangs or gets more", listStops},
		{"odd-keys", "a user's key is listed under another name, or cannot be read under the listed one", oddKeys},
	}
}

// list returns what the store lists, by key without the check's prefix.
func (e Env) list(ctx context.Context, prefix string, depth object.Depth) (map[string]object.Info, error) {
	found := make(map[string]object.Info)
	for info, err := range e.Store.List(ctx, e.Prefix+prefix, depth) {
		if err != nil {
			return nil, err
		}
		if len(info.Key) < len(e.Prefix) || info.Key[:len(e.Prefix)] != e.Prefix {
			return nil, fmt.Errorf("list %q shows %q", e.Prefix+prefix, info.Key)
		}
		name := info.Key[len(e.Prefix):]
		if _, twice := found[name]; twice {
			return nil, fmt.Errorf("list %q shows %q twice", e.Prefix+prefix, info.Key)
		}
		found[name] = info
	}
	return found, nil
}

// lists verifies that a listing shows exactly these names.
func (e Env) lists(ctx context.Context, prefix string, depth object.Depth, want ...string) error {
	found, err := e.list(ctx, prefix, depth)
	if err != nil {
		return err
	}
	got := slices.Sorted(maps.Keys(found))
	if slices.Sort(want); !slices.Equal(got, want) {
		return fmt.Errorf("list %q shows %q, want %q", prefix, got, want)
	}
	return nil
}

// plant writes an object, whose body is its name, for each name.
func (e Env) plant(ctx context.Context, names ...string) error {
	for _, name := range names {
		if _, err := e.put(ctx, name, name, object.IfAbsent); err != nil {
			return err
		}
	}
	return nil
}

func listDeep(ctx context.Context, env Env) error {
	if err := env.plant(ctx, "app/x", "app/y/z", "app/y/w/v", "app-old/x", "apple"); err != nil {
		return err
	}
	put, err := env.put(ctx, "app/known", "four", object.IfAbsent)
	if err != nil {
		return err
	}
	if err := env.lists(ctx, "app/", object.Deep, "app/x", "app/y/z", "app/y/w/v", "app/known"); err != nil {
		return err
	}
	if err := env.lists(ctx, "app/y/", object.Deep, "app/y/z", "app/y/w/v"); err != nil {
		return err
	}
	if err := env.lists(ctx, "no-such-folder/", object.Deep); err != nil {
		return err
	}
	found, err := env.list(ctx, "app/", object.Deep)
	if err != nil {
		return err
	}
	if got := found["app/known"]; got.Size != 4 || got.ETag != put.ETag || got.Modified.IsZero() || got.IsFolder() {
		return fmt.Errorf("listed as %+v, written as %+v", got, put)
	}
	if err := env.Store.Delete(ctx, env.key("app/y/z")); err != nil {
		return err
	}
	return env.lists(ctx, "app/", object.Deep, "app/x", "app/y/w/v", "app/known")
}

func listShallow(ctx context.Context, env Env) error {
	if err := env.plant(ctx, "x", "day=1/a", "day=1/b", "day=2/hour=1/a", "day=2-note"); err != nil {
		return err
	}
	if err := env.lists(ctx, "", object.Shallow, "x", "day=1/", "day=2/", "day=2-note"); err != nil {
		return err
	}
	if err := env.lists(ctx, "day=2/", object.Shallow, "day=2/hour=1/"); err != nil {
		return err
	}
	found, err := env.list(ctx, "", object.Shallow)
	if err != nil {
		return err
	}
	if !found["day=1/"].IsFolder() || found["x"].IsFolder() {
		return fmt.Errorf("folder listed as %+v, object as %+v", found["day=1/"], found["x"])
	}
	return nil
}

func listPages(ctx context.Context, env Env) error {
	var names []string
	for i := range env.Params.ListObjects {
		names = append(names, fmt.Sprintf("many/%d/%05d", i%3, i))
	}
	if err := env.plant(ctx, names...); err != nil {
		return err
	}
	return env.lists(ctx, "many/", object.Deep, names...)
}

func listStops(ctx context.Context, env Env) error {
	if err := env.plant(ctx, "a", "b/c", "d"); err != nil {
		return err
	}
	for _, depth := range []object.Depth{object.Deep, object.Shallow} {
		n := 0
		for _, err := range env.Store.List(ctx, env.Prefix, depth) {
			if err != nil {
				return err
			}
			n++
			break
		}
		if n != 1 {
			return fmt.Errorf("the listing gave %d entries before the break", n)
		}
	}
	return nil
}

// oddNames are legal both in S3 and as files, and have broken encoders before.
var oddNames = []string{
	"with space", " lead", "trail ", "plus+plus", "per%cent", "%2F%00", "a&b=c", "what?", "hash#tag", "semi;colon,comma",
	"quote'\"quote", "<angle>", "{brace}[bracket]", "star*", "tilde~", "colon:colon", "at@$!", "back`tick^", "pipe|",
	".hidden", "..double", "dots...",
	"caf\u00e9", "cafe\u0301", "日本語", "🪣", "\u202ereversed", "nbsp\u00a0", "year=2026/month=11/file.json", "a/b c/d+e%",
	"long-name-0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
}

// controlNames are legal, too, and nobody's but a stranger's.
var controlNames = []string{"tab\there", "line\nfeed", "carriage\rreturn", "bell\aescape\x1bone\x01", "delete\x7f"}

func oddKeys(ctx context.Context, env Env) error { return keepsNames(ctx, env, oddNames) }

func controlKeys(ctx context.Context, env Env) error { return keepsNames(ctx, env, controlNames) }

func keepsNames(ctx context.Context, env Env, names []string) error {
	for _, name := range names {
		if err := env.plant(ctx, name); err != nil {
			return fmt.Errorf("name %q: %w", name, err)
		}
	}
	if err := env.lists(ctx, "", object.Deep, slices.Clone(names)...); err != nil {
		return err
	}
	for _, name := range names {
		if err := env.holds(ctx, name, name); err != nil {
			return fmt.Errorf("name %q: %w", name, err)
		}
		if err := env.Store.Delete(ctx, env.key(name)); err != nil {
			return fmt.Errorf("name %q: %w", name, err)
		}
	}
	return env.lists(ctx, "", object.Deep)
}
