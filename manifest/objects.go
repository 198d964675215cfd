package manifest

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"batcher/segment"
)

// MaxBytes is the largest manifest that is ever written.
const MaxBytes = 1 << 20

// FormatFile is the object at Layout.Format: written once, if absent.
type FormatFile struct {
	Format   int    `json:"format"`
	Pipeline string `json:"pipeline"` // pipeline id: name, "-", 32 hex digits
}

// ClaimFile is the object at Claim: written once, if absent.
type ClaimFile struct {
	Format   int    `json:"format"`
	Table    string `json:"table"`
	Pipeline string `json:"pipeline"` // pipeline id of the owner
}

// HintFile is the advisory object at Layout.Hint.
type HintFile struct {
	Format int    `json:"format"`
	Seq    Seq    `json:"seq"`
	SHA256 SHA256 `json:"sha256"` // of the manifest's bytes
	// Dropped says that the pipeline is deleted, and that the manifest, which is of kind
	// drop, and all others may be gone.
	Dropped bool `json:"dropped,omitempty"`
}

// EncodeManifest gives the bytes of a slot. It refuses a manifest over MaxBytes
// and text that JSON could not carry unaltered.
func EncodeManifest(m *Manifest) ([]byte, error) {
	if m.Batch != nil {
		for i := range m.Batch.Ranges.Items {
			if key := m.Batch.Ranges.Items[i].Key; !utf8.ValidString(key) {
				return nil, fmt.Errorf("manifest %d: key %q is not valid UTF-8", m.Seq, key)
			}
		}
	}
	b, err := segment.EncodeObject(m)
	if err != nil {
		return nil, fmt.Errorf("manifest %d: %w", m.Seq, err)
	}
	if len(b) > MaxBytes {
		return nil, fmt.Errorf("manifest %d: %d bytes, more than %d", m.Seq, len(b), MaxBytes)
	}
	return b, nil
}

// DecodeManifest reads the bytes of a slot. An unknown format or field is an
// error that says so: a newer batcher wrote it.
func DecodeManifest(b []byte) (*Manifest, error) {
	if err := checkFormat(b); err != nil {
		return nil, err
	}
	var m Manifest
	if err := segment.DecodeObject(b, &m); err != nil {
		return nil, err
	}
	return &m, nil
}

// DecodeFormat reads the object at Layout.Format.
func DecodeFormat(b []byte) (f FormatFile, err error) {
	if err = checkFormat(b); err == nil {
		err = segment.DecodeObject(b, &f)
	}
	return f, err
}

// DecodeClaim reads the object at Claim.
func DecodeClaim(b []byte) (c ClaimFile, err error) {
	if err = checkFormat(b); err == nil {
		err = segment.DecodeObject(b, &c)
	}
	return c, err
}

// DecodeHint reads the object at Layout.Hint.
func DecodeHint(b []byte) (h HintFile, err error) {
	if err = checkFormat(b); err == nil {
		err = segment.DecodeObject(b, &h)
	}
	return h, err
}

func checkFormat(b []byte) error {
	var f struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("not a JSON object: %w", err)
	}
	if f.Format != Format {
		return fmt.Errorf("format %d: this version reads format %d", f.Format, Format)
	}
	return nil
}

// EncodeHint gives the bytes of the hint.
func EncodeHint(h HintFile) ([]byte, error) { return segment.EncodeObject(h) }

// EncodeFormat gives the bytes of the format object.
func EncodeFormat(f FormatFile) ([]byte, error) { return segment.EncodeObject(f) }

// EncodeClaim gives the bytes of a claim.
func EncodeClaim(c ClaimFile) ([]byte, error) { return segment.EncodeObject(c) }

// Sum is the hash of an object's bytes.
func Sum(b []byte) SHA256 { return segment.Sum(b) }
