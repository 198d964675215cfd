package record_test

import (
	"strings"
	"testing"

	"batcher/record"
)

func TestFindEnvelope(t *testing.T) {
	many := func(n int, one string) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	event := `{"eventName":"A","eventTime":"2024-01-01T00:00:00Z","user":{"name":"x","groups":[{"id":1},{"id":2}]}}`
	for name, c := range map[string]struct{ text, want string }{
		"CloudTrail":             {`{"Records": [` + many(2, event) + `]}`, "Records"},
		"cut off":                {(`{"Records": [` + many(2000, event) + `]}`)[:64<<10], "Records"},
		"CloudWatch, by lines":   {strings.Repeat(`{"messageType":"DATA_MESSAGE","owner":"1","logGroup":"g","logEvents":[`+many(3, event)+"]}\n", 5), "logEvents"},
		"EventBridge":            {`{"detail":{"events":[` + many(9, event) + `]}}`, "detail.events"},
		"in an array":            {`[{"Records":[` + many(2, event) + `]},{"Records":[` + many(3, event) + `]}]`, "Records"},
		"a page of a web API":    {`{"next":null,"orders":[` + many(30, event) + `]}`, "orders"},
		"key with a dot":         {`{"a.b":[` + many(30, event) + `]}`, `"a.b"`},
		"orders with items":      {strings.Repeat(`{"order":7,"customer":"a name","address":"a street in a town","items":[{"sku":1,"n":2},{"sku":2,"n":1}]}`+"\n", 50), ""},
		"lists of numbers":       {`{"data":[1,2,3,4,5,6,7,8,9,10,11,12,13,14]}`, ""},
		"an array of records":    {`[` + many(50, event) + `]`, ""},
		"lines":                  {strings.Repeat(event+"\n", 50), ""},
		"empty envelope":         {`{"Records":[]}`, ""},
		"no JSON":                {`a,b` + "\n1,2\n", ""},
		"nothing":                {``, ""},
		"few elements of a name": {strings.Repeat(`{"parts":[{"a":1},{"a":2}]}`+"\n", 9), ""},
	} {
		got := ""
		if e, ok := record.FindEnvelope([]byte(c.text)); ok {
			got = e.Place.String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func FuzzFindEnvelope(f *testing.F) {
	f.Add([]byte(`{"Records":[{"a":1},{"b":[{}]}]}`))
	f.Add([]byte(`[[[{"a":[{},{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, ok := record.FindEnvelope(text)
		if ok && (e.Bytes > e.Of || e.Of > int64(len(text)) || len(e.Place) == 0 || e.Elements < 2) {
			t.Errorf("%+v", e)
		}
	})
}

// TestAnEnvelopeThatNobodyDeclaredIsNoted reads envelopes as if they were records.
func TestAnEnvelopeThatNobodyDeclaredIsNoted(t *testing.T) {
	element := `{"eventName":"A","eventTime":"2024-01-01T00:00:00Z"},`
	for name, c := range map[string]struct {
		elements int
		want     string
	}{"large": {1000, "Records"}, "too long": {200_000, "Records"}, "small": {10, ""}} {
		text := `{"Records":[` + strings.TrimSuffix(strings.Repeat(element, c.elements), ",") + `]}`
		out := decode(t, record.Options{Format: record.Format{Kind: record.JSON}}, input{"o.json", text})
		got := ""
		if e := out.notes.Envelope; e != nil {
			got = e.Place.String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
