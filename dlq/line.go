package dlq

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"batcher/record"
)

// line is a letter as one line of JSON: what Export writes, and what people edit
// and ReadEdits takes.
type line struct {
	ID
	Stage   string  `json:"stage"`
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Raw     *string `json:"raw,omitempty"`    // the record's text, or its bytes in base64
	Base64  bool    `json:"base64,omitempty"` // Raw is base64, as the bytes are no UTF-8
	Length  int64   `json:"raw_length"`       // true length of the record in bytes
	Cut     bool    `json:"cut"`              // Raw is not all of it
	// Record is the record as a JSON object, whatever the format of its object: it
	// takes the place of Raw. Export never writes it.
	Record json.RawMessage `json:"record,omitempty"`
}

// AppendLine appends a letter as one line of JSON.
func AppendLine(dst []byte, l *record.DeadLetter) ([]byte, error) {
	raw := string(l.Raw)
	out := line{ID: idOf(l), Stage: l.Stage, Code: l.Code, Message: l.Message, Raw: &raw, Length: l.Length, Cut: isCut(l)}
	if !utf8.Valid(l.Raw) {
		raw, out.Base64 = base64.StdEncoding.EncodeToString(l.Raw), true
	}
	b := bytes.NewBuffer(dst)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	err := e.Encode(out)
	return b.Bytes(), err
}

// Edit is what is to be tried in the place of a letter's text.
type Edit struct {
	ID
	Text []byte // nil: the letter's own
	JSON bool   // Text is a JSON object, whatever the format of the letter's object
	Line int    // where it stands, from 1
}

// LineError says what is wrong with a line of letters.
type LineError struct {
	Line int
	Err  error
}

// Error names the line.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong.
func (e *LineError) Unwrap() error { return e.Err }

// maxLine bounds a line of letters. A record may be 8 MiB long, and JSON may take
// six bytes for one.
const maxLine = 64 << 20

// ReadEdits reads letters as Export writes them, perhaps edited: each line has
// _source and _offset, and the text to be tried as raw, or as an object under
// record; without either it is the letter's own. It fails with a LineError. All
// edits are in memory.
func ReadEdits(r io.Reader) (map[ID]Edit, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	edits := map[ID]Edit{}
	for n := 1; ; n++ {
		text, err := readLine(in)
		if err != nil && err != io.EOF {
			return nil, &LineError{n, err}
		}
		if len(bytes.TrimSpace(text)) > 0 {
			e, wrong := parseLine(text)
			if before, twice := edits[e.ID]; wrong == nil && twice {
				wrong = fmt.Errorf("letter %s stands on line %d, too", e.ID, before.Line)
			}
			if wrong != nil {
				return nil, &LineError{n, wrong}
			}
			e.Line = n
			edits[e.ID] = e
		}
		if err == io.EOF {
			return edits, nil
		}
	}
}

// readLine reads up to the next newline.
func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case len(text) > maxLine:
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		case !errors.Is(err, bufio.ErrBufferFull):
			return text, err
		}
	}
}

// parseLine reads one line. What encoding/json would alter silently it refuses.
func parseLine(text []byte) (Edit, error) {
	if !utf8.Valid(text) {
		return Edit{}, errors.New("invalid UTF-8; text that is none goes into raw as base64, with \"base64\":true")
	}
	var in struct {
		line
		Source *string         `json:"_source"`
		Offset *int64          `json:"_offset"`
		Raw    json.RawMessage `json:"raw"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return Edit{}, err
	}
	if d.InputOffset() < int64(len(bytes.TrimSpace(text))) {
		return Edit{}, errors.New("something follows the letter")
	}
	if in.Source == nil || in.Offset == nil {
		return Edit{}, errors.New("a letter is known by _source and _offset, and one of the two is missing")
	}
	e := Edit{ID: ID{*in.Source, *in.Offset}}
	switch {
	case len(in.Record) > 0 && !bytes.Equal(in.Record, []byte("null")):
		if in.Record[0] != '{' {
			return Edit{}, errors.New("record is no JSON object")
		}
		e.Text, e.JSON = in.Record, true
		return e, nil
	case len(in.Raw) == 0 || bytes.Equal(in.Raw, []byte("null")):
		return e, nil
	}
	s, err := rawText(in.Raw)
	if e.Text = []byte(s); err == nil && in.Base64 {
		e.Text, err = base64.StdEncoding.DecodeString(s)
	}
	return e, err
}

// rawText returns the text that a JSON string stands for.
func rawText(text json.RawMessage) (s string, err error) {
	if hasLoneSurrogate(text) {
		return "", errors.New("raw has half of a surrogate pair, which is no text")
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return "", fmt.Errorf("raw: %w", err)
	}
	return s, nil
}

// hasLoneSurrogate says whether a valid JSON string has half of a surrogate pair
// in an escape, for which encoding/json would put U+FFFD.
func hasLoneSurrogate(text []byte) bool {
	high := false // the escape before was the first half of a pair
	for i := 0; i < len(text); i++ {
		first, second := false, false
		if text[i] == '\\' {
			if text[i+1] == 'u' {
				hex := strings.ToLower(string(text[i+2 : i+6]))
				first, second = hex >= "d800" && hex < "dc00", hex >= "dc00" && hex < "e000"
				i += 4
			}
			i++
		}
		if high != second {
			return true
		}
		high = first
	}
	return high
}
