package manifest

import (
	"encoding/json"
	"fmt"

	"batcher/schema"
	"batcher/segment"
)

// LiveKind is the kind of run that holds live files.
const LiveKind = "live"

// Append returns the live set after files became live on top of l. items are
// the refs of l.Segments, loaded by the caller where they stand elsewhere. When
// the recent files no longer fit in place they all move into one run of the
// pack: older runs are never read again.
func (l Live) Append(items []segment.Ref, add []File, pack *segment.Pack) (Live, error) {
	if int64(len(items)) != l.Segments.Count {
		return Live{}, fmt.Errorf("live list: %d segments loaded of %d", len(items), l.Segments.Count)
	}
	out := l
	out.Recent = append(append([]File(nil), l.Recent...), add...)
	for i := range add {
		out.Files++
		out.Rows += add[i].Rows
		out.Bytes += add[i].Size
	}
	inline, err := json.Marshal(out.Recent)
	if err != nil || len(inline) <= segment.InlineLimit {
		return out, err
	}
	return out.spill(items, pack)
}

// spill moves the recent files into a run.
func (l Live) spill(items []segment.Ref, pack *segment.Pack) (Live, error) {
	run, err := segment.Encode(LiveKind, l.Recent)
	if err != nil {
		return Live{}, err
	}
	refs := append(append([]segment.Ref(nil), items...), pack.Add(run))
	l.Recent = nil
	l.Segments, err = segment.Externalize(segment.Of(refs), pack)
	return l, err
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
