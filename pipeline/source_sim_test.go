package pipeline_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strings"

	"batcher/object"
	"batcher/object/memstore"
)

// simSource is the source of a simulated world: objects that come, grow, change
// and go while others read them. It remembers every version of each.
type simSource struct {
	lots    *rand.Rand
	store   *memstore.Store
	dated   bool // ETags carry the time of the write, as in a directory
	keys    []string
	bodies  map[string]map[string]string // key → ETag → body
	records int                          // drawn so far
}

// view is the store as readers see it.
func (s *simSource) view() object.Store {
	if s.dated {
		return datedTags{s.store}
	}
	return s.store
}

// change does one thing to the source.
func (s *simSource) change(ctx context.Context) error {
	if len(s.keys) == 0 || s.lots.IntN(3) == 0 {
		return s.create(ctx)
	}
	key := s.keys[s.lots.IntN(len(s.keys))]
	old, _, err := object.ReadAll(ctx, s.store, key, object.GetOptions{}, 1<<30)
	switch s.lots.IntN(6) {
	case 0:
		return s.store.Delete(ctx, key)
	case 1:
		return s.put(ctx, key, s.body())
	case 2:
		if err == nil { // touched
			return s.put(ctx, key, string(old))
		}
	case 3:
		if err == nil && bytes.HasSuffix(old, []byte("}\n")) { // grown
			return s.put(ctx, key, string(old)+s.lines(s.lots.IntN(9)))
		}
	case 4:
		if err == nil && bytes.HasPrefix(old, []byte("{")) { // other records in as many bytes
			half := len(old) / 2
			first := half + bytes.IndexByte(old[half:], '\n') + 1
			return s.put(ctx, key, string(old[first:])+string(old[:first]))
		}
	}
	return s.create(ctx)
}

// create adds a new object. Keys come in no order, some in folders of old days.
func (s *simSource) create(ctx context.Context) error {
	n := len(s.keys)
	key := fmt.Sprintf("2026/01/%02d/%c%03d", 1+s.lots.IntN(9), 'a'+rune(s.lots.IntN(26)), n)
	if s.lots.IntN(10) == 0 {
		key = fmt.Sprintf("%c%03d", 'a'+rune(s.lots.IntN(26)), n)
	}
	s.keys = append(s.keys, key)
	return s.put(ctx, key, s.body())
}

func (s *simSource) put(ctx context.Context, key, body string) error {
	if _, err := s.store.Put(ctx, key, []byte(body), object.Always); err != nil {
		return err
	}
	r, info, err := s.view().Get(ctx, key, object.GetOptions{})
	if err != nil {
		return err
	}
	if s.bodies[key] == nil {
		s.bodies[key] = map[string]string{}
	}
	s.bodies[key][info.ETag] = body
	return r.Close()
}

// body draws the content of an object.
func (s *simSource) body() string {
	count := s.lots.IntN(12)
	if s.lots.IntN(8) == 0 {
		count = 30 + s.lots.IntN(60)
	}
	text := s.lines(count)
	if s.lots.IntN(10) == 0 {
		text = "\ufeff" + text
	}
	switch s.lots.IntN(12) {
	case 0, 1:
		return s.gzip(text)
	case 2:
		whole := s.gzip(text)
		return whole[:len(whole)-1-s.lots.IntN(len(whole)/2)]
	case 3:
		return strings.TrimRight(text, "\r\n \t")
	}
	return text
}

// lines draws records, and what may stand between them.
func (s *simSource) lines(count int) string {
	var b strings.Builder
	for range count {
		b.WriteString(s.line())
		b.WriteString([]string{"\n", "\n", "\n", "\r\n", "\n\n", "\n \t\n"}[s.lots.IntN(6)])
	}
	return b.String()
}

// line draws a record, good or bad, that may not fit what came before.
func (s *simSource) line() string {
	s.records++
	n, column := s.records, s.lots.IntN(9)
	switch s.lots.IntN(20) {
	case 0:
		return `{"broken`
	case 1:
		return fmt.Sprintf(`{"n":%d,"s":"`+"\xff"+`"}`, n)
	case 2:
		return fmt.Sprintf(`{"n":"s%d"}`, n)
	case 3, 4:
		return fmt.Sprintf(`{"n":%d,"c%d":%d}`, n, column, n)
	case 5:
		return fmt.Sprintf(`{"n":%d,"c%d":%d.5}`, n, column, n)
	case 6:
		return fmt.Sprintf(`{"n":%d,"c%d":"x"}`, n, column)
	case 7:
		return fmt.Sprintf(`{"n":%d,"o":{"k%d":[%d,null],"p":{"q":%t}}}`, n, s.lots.IntN(3), n, n%2 == 0)
	case 8:
		return fmt.Sprintf(`{"n":%d,"o":[{"deep":%d}]}`, n, n)
	}
	return fmt.Sprintf(`{"n":%d,"user":"u%d"}`, n, n%7)
}

func (s *simSource) gzip(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	cut := s.lots.IntN(len(text) + 1) // two members
	for i, part := range []string{text[:cut], text[cut:]} {
		if i > 0 {
			z.Reset(&b)
		}
		_, _ = io.WriteString(z, part)
		_ = z.Close()
	}
	return b.String()
}

// left are the objects that the source holds now, with their ETags.
func (s *simSource) left() map[string]string {
	tags := map[string]string{}
	for info, err := range s.view().List(context.Background(), "", object.Deep) {
		if err == nil {
			tags[info.Key] = info.ETag
		}
	}
	return tags
}

// datedTags gives ETags that change with every write, as a directory does.
type datedTags struct{ *memstore.Store }

func dated(info object.Info) object.Info {
	if !info.IsFolder() {
		info.ETag = fmt.Sprintf("%d", info.Modified.UnixNano())
	}
	return info
}

// Get implements object.Store.
func (d datedTags) Get(ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	pin := opts.ETag
	opts.ETag = ""
	r, info, err := d.Store.Get(ctx, key, opts)
	if err != nil {
		return nil, info, err
	}
	if info = dated(info); pin != "" && info.ETag != pin {
		r.Close()
		return nil, object.Info{}, fmt.Errorf("get %s pinned to %s: %w", key, pin, object.ErrChanged)
	}
	return r, info, nil
}

// List implements object.Store.
func (d datedTags) List(ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		for info, err := range d.Store.List(ctx, prefix, depth) {
			if !yield(dated(info), err) {
				return
			}
		}
	}
}
