package manifest

import (
	"encoding/json"
	"fmt"
	"slices"

	"batcher/schema"
	"batcher/segment"
)

// LiveKind is the kind of run that holds live files.
const LiveKind = "live"

// Edit is what becomes of a live set in one manifest.
type Edit struct {
	Segments []segment.Ref // the segments of the set, loaded by the caller where they stand elsewhere
	Loaded   [][]File      // files of the last segments: as far back as Remove and Fold reach
	Fold     int           // so many of the last segments become one with the recent files
	Remove   []string      // keys of files that are no longer live
	Add      []File
}

// NotLiveError says that a file which is to be taken away is not live.
type NotLiveError struct{ Key string }

// Error names the file.
func (e *NotLiveError) Error() string { return "file " + e.Key + " is not live" }

// foldMax is the size beyond which a segment is not made larger.
const foldMax = 1 << 20

// Fold says how many of the last segments should become one with the recent files when
// these, with those that are added, move out of the manifest; 0 where they still fit in
// place. They are those that are hardly larger than all behind them together: so of n
// files there are some log n segments, up to foldMax, and a file is written again as often.
func (l Live) Fold(segments []segment.Ref, add []File) (int, error) {
	inline, err := json.Marshal(append(slices.Clone(l.Recent), add...))
	if err != nil || len(inline) <= segment.InlineLimit {
		return 0, err
	}
	size, n := int64(len(inline)), 0
	for _, last := range slices.Backward(segments) {
		if last.Size > size+size/8 || size+last.Size > foldMax {
			break
		}
		size += last.Size
		n++
	}
	return n, nil
}

// Edit returns the live set after e, and the entries of the files that were taken
// away, oldest first. Segments that lose no file and are not folded keep their run;
// what is left of the last ones becomes recent, and of others that stand side by side
// one new run. When the recent files do not fit in place they
// all move into one run of the pack.
func (l Live) Edit(e Edit, pack *segment.Pack) (Live, []File, error) {
	if int64(len(e.Segments)) != l.Segments.Count || len(e.Loaded) > len(e.Segments) || e.Fold > len(e.Loaded) {
		return Live{}, nil, fmt.Errorf("live list: %d segments of %d, %d of them loaded, %d to fold", len(e.Segments), l.Segments.Count, len(e.Loaded), e.Fold)
	}
	c := cut{away: make(map[string]bool, len(e.Remove))}
	for _, key := range e.Remove {
		c.away[key] = true
	}
	segments, left, err := c.segments(e, pack)
	if err != nil {
		return Live{}, nil, err
	}
	out := l
	out.Recent = append(append(left, c.keep(l.Recent)...), e.Add...)
	for key := range c.away {
		return Live{}, nil, &NotLiveError{key}
	}
	for i := range e.Add {
		out.count(&e.Add[i], 1)
	}
	for i := range c.gone {
		out.count(&c.gone[i], -1)
	}
	inline, err := json.Marshal(out.Recent)
	if err != nil {
		return Live{}, nil, err
	}
	if len(inline) > segment.InlineLimit {
		run, err := segment.Encode(LiveKind, out.Recent)
		if err != nil {
			return Live{}, nil, err
		}
		segments, out.Recent = append(segments, pack.Add(run)), nil
	}
	if !slices.Equal(segments, e.Segments) {
		out.Segments, err = segment.Externalize(segment.Of(segments), pack)
	}
	return out, c.gone, err
}

// count adds a file to the totals, or takes it off.
func (l *Live) count(f *File, sign int64) {
	l.Files += sign
	l.Rows += sign * f.Rows
	l.Bytes += sign * f.Size
}

// cut takes files out of lists.
type cut struct {
	away map[string]bool // not found yet
	gone []File
}

// keep returns the files that stay.
func (c *cut) keep(files []File) []File {
	kept := make([]File, 0, len(files))
	for i := range files {
		if c.away[files[i].Key] {
			delete(c.away, files[i].Key)
			c.gone = append(c.gone, files[i])
		} else {
			kept = append(kept, files[i])
		}
	}
	return kept
}

// segments returns the segments that stay or were made anew, and the files behind
// the last of them.
func (c *cut) segments(e Edit, pack *segment.Pack) (out []segment.Ref, left []File, err error) {
	first := len(e.Segments) - len(e.Loaded)
	out = slices.Clone(e.Segments[:first])
	for i, files := range e.Loaded {
		kept := c.keep(files)
		if len(kept) < len(files) || i >= len(e.Loaded)-e.Fold {
			left = append(left, kept...)
			continue
		}
		if len(left) > 0 {
			run, err := segment.Encode(LiveKind, left)
			if err != nil {
				return nil, nil, err
			}
			out, left = append(out, pack.Add(run)), nil
		}
		out = append(out, e.Segments[first+i])
	}
	return out, left, nil
}

// NewSchemaRef holds a schema in place, or moves it into a run of the pack when
// its JSON is long.
func NewSchemaRef(s *schema.Schema, pack *segment.Pack) (SchemaRef, error) {
	b, err := segment.EncodeObject(s)
	if err != nil {
		return SchemaRef{}, err
	}
	ref := SchemaRef{SHA256: segment.Sum(b), LastID: s.LastID}
	if len(b) <= segment.InlineLimit {
		ref.Inline = s
		return ref, nil
	}
	run := pack.Add(b)
	ref.Ref = &run
	return ref, nil
}

// SchemaHash is the hash that NewSchemaRef gives the schema.
func SchemaHash(s *schema.Schema) (SHA256, error) {
	b, err := segment.EncodeObject(s)
	return segment.Sum(b), err
}

// DecodeSchema reads the run that a SchemaRef names.
func DecodeSchema(run []byte) (*schema.Schema, error) {
	var s schema.Schema
	if err := segment.DecodeObject(run, &s); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return &s, nil
}
