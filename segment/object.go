package segment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// EncodeObject gives the bytes of a stored JSON object: one line and a newline.
// Equal values give equal bytes.
func EncodeObject(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// DecodeObject reads what EncodeObject wrote. Unknown fields, missing data and
// anything behind the object are errors: a reader that does not know all of an
// object must not act on it.
func DecodeObject(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("data behind the object at byte %d", d.InputOffset())
	}
	return nil
}
