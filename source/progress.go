package source

import (
	"time"

	"batcher/segment"
)

// Progress is how far the source is consumed: the state after a manifest. A
// pipeline has one source, so at most one member is set.
type Progress struct {
	Files *FilesProgress `json:"files,omitempty"`
}

// FilesProgress is the set of consumed objects of a files source. It never
// forgets an object. Entries have the binary form of package source/files
// (EntrySize bytes each) and stand in segments, oldest first, and in Recent,
// which is newer than any segment. Where two entries have one key the newer one
// holds.
type FilesProgress struct {
	Start    time.Time                 `json:"start,omitzero"`  // objects modified before are not part of the source
	Count    int64                     `json:"count"`           // consumed objects
	Sum      Hash                      `json:"sum"`             // sum of their identity hashes modulo 2^128
	Newest   time.Time                 `json:"newest,omitzero"` // newest modification time consumed
	Segments segment.List[ConsumedRef] `json:"segments"`
	Recent   []byte                    `json:"recent,omitempty"`  // base64 in JSON
	Open     []OpenObject              `json:"open,omitempty"`    // objects consumed in part, by key
	Relisted time.Time                 `json:"relisted,omitzero"` // when a run with time_path last listed everything

	// TimePath is the time path that gave every entry its day. It is "" when
	// days are those of modification times or of more than one time path: then
	// the day of an entry does not follow from its key.
	TimePath string `json:"time_path,omitempty"`
}

// ConsumedRef names a segment of consumed objects.
type ConsumedRef struct {
	segment.Ref
	Count   int64 `json:"count"`
	FromDay int32 `json:"from_day"` // first UTC day of its entries, in days since 1970-01-01
	ToDay   int32 `json:"to_day"`   // first day after them
}

// OpenObject is an object larger than a batch that is being consumed in ranges.
type OpenObject struct {
	Key      string    `json:"key"`
	ETag     string    `json:"etag,omitempty"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	Was      Hash      `json:"was,omitzero"`     // identity of the entry that the object's will replace
	Next     Position  `json:"next"`             // first position not consumed
	Header   string    `json:"header,omitempty"` // as in Range, of the part that was consumed
}
