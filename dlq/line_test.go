package dlq_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"batcher/dlq"
	"batcher/record"
)

// TestALineGivesBackTheLetterThatItWasMadeOf whatever its bytes.
func TestALineGivesBackTheLetterThatItWasMadeOf(t *testing.T) {
	for _, raw := range []string{"", `{"a":1`, "\xff\x00", "ü<>&\u2028\"\\\x7f", "\ufffd", "😀"} {
		l := record.DeadLetter{Source: "d/ü:1.ndjson", Offset: 1 << 40, Raw: []byte(raw), Length: int64(len(raw)) + 1, Stage: "syntax", Code: "syntax", Message: "m"}
		line, err := dlq.AppendLine([]byte("\n"), &l)
		if err != nil {
			t.Fatal(err)
		}
		edits, err := dlq.ReadEdits(bytes.NewReader(line))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		id := dlq.ID{Source: l.Source, Offset: l.Offset}
		e := edits[id]
		if len(edits) != 1 || !bytes.Equal(e.Text, l.Raw) || e.JSON || e.Line != 2 {
			t.Errorf("%q gives %+v", line, edits)
		}
		if back, err := dlq.ParseID(id.String()); err != nil || back != id {
			t.Errorf("%s: %v, %v", id, back, err)
		}
		if !strings.Contains(string(line), `"cut":true`) {
			t.Errorf("%q does not say that it is cut", line)
		}
	}
}

func TestLinesThatAreNoLettersAreRefusedByNumber(t *testing.T) {
	const good = `{"_source":"s","_offset":1,"raw":"\ud83d\ude00 \\ud800"}` + "\n"
	for _, bad := range []string{
		`x`, `[]`, `{}`, `{"_source":"s"}`, `{"_offset":1}`, `{"_source":"s","_offset":"1"}`, `{"_source":"s","_offset":1}`,
		`{"_source":"s","_offset":2,"rec":{}}`, `{"_source":"s","_offset":2,"record":[1]}`, `{"_source":"s","_offset":2,"record":"x"}`,
		`{"_source":"s","_offset":2,"raw":5}`, `{"_source":"s","_offset":2,"raw":"%","base64":true}`, `{"_source":"s","_offset":2,"raw":"` + "\xff" + `"}`,
		`{"_source":"s","_offset":2,"raw":"\ud800"}`, `{"_source":"s","_offset":2,"raw":"\ud800x"}`, `{"_source":"s","_offset":2,"raw":"\udc00"}`,
		`{"_source":"s","_offset":2,"raw":"\ud800\ud800\udc00"}`, `{"_source":"s","_offset":2} {}`,
	} {
		_, err := dlq.ReadEdits(strings.NewReader(good + "\n \n" + bad + "\n"))
		var line *dlq.LineError
		if !errors.As(err, &line) || line.Line != 4 {
			t.Errorf("%s: %v", bad, err)
		}
	}
	edits, err := dlq.ReadEdits(strings.NewReader(good + `{"_source":"s","_offset":2}`))
	if err != nil || len(edits) != 2 || string(edits[dlq.ID{Source: "s", Offset: 1}].Text) != "😀 \\ud800" || edits[dlq.ID{Source: "s", Offset: 2}].Text != nil {
		t.Errorf("%+v, %v", edits, err)
	}
	for _, text := range []string{"", "s", "s:", "s:x", ":1", "s:-1", "s:1:"} {
		if id, err := dlq.ParseID(text); err == nil {
			t.Errorf("%q is taken for %+v", text, id)
		}
	}
}

func FuzzReadEdits(f *testing.F) {
	f.Add([]byte(`{"_source":"s","_offset":1,"raw":"\ud83d\ude00"}` + "\n" + `{"_source":"s","_offset":2,"record":{"a":1}}`))
	f.Add([]byte(`{"_source":"s","_offset":1,"raw":"_w==","base64":true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		edits, err := dlq.ReadEdits(bytes.NewReader(text))
		if err != nil {
			return
		}
		for id, e := range edits {
			if e.JSON || e.Text == nil {
				continue
			}
			line, err := dlq.AppendLine(nil, &record.DeadLetter{Source: id.Source, Offset: id.Offset, Raw: e.Text})
			if err != nil {
				t.Fatal(err)
			}
			again, err := dlq.ReadEdits(bytes.NewReader(line))
			if err != nil || !bytes.Equal(again[id].Text, e.Text) {
				t.Fatalf("%q becomes %q: %v", text, line, err)
			}
		}
	})
}
