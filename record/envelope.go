package record

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"batcher/schema"
)

// Envelope is a list inside of JSON values that seems to hold the records: most
// of the text of the values is in it.
type Envelope struct {
	Place    schema.Place // keys that lead to the list, as source.files.unnest takes them
	Lists    int64        // lists seen there
	Elements int64        // objects in them
	Bytes    int64        // of text in them
	Of       int64        // bytes of text looked at
	Known    bool         // a service is known to write envelopes with such a list
}

// knownEnvelopes are lists in which services and their interfaces put records:
// CloudTrail, CloudWatch and S3 events, Event Hubs, Firehose, and what web APIs
// with pages call theirs.
var knownEnvelopes = []string{"Records", "records", "logEvents", "events", "items", "data", "results", "value", "hits", "entries", "rows"}

// FindEnvelope looks for a list of objects that seems to hold the records of
// JSON text, which may be cut off anywhere. A list that is one of several things
// that a record says, like the items of an order, is none.
func FindEnvelope(text []byte) (Envelope, bool) {
	w := &envelopeWalk{found: map[string]*Envelope{}}
	w.dec = json.NewDecoder(bytes.NewReader(text))
	w.dec.UseNumber()
	for w.value(nil) {
	}
	var best Envelope
	for _, e := range w.found {
		if e.Bytes > best.Bytes || e.Bytes == best.Bytes && e.Place.String() < best.Place.String() {
			best = *e
		}
	}
	best.Of = w.dec.InputOffset()
	if best.Elements < 2 || best.Lists == 0 {
		return Envelope{}, false
	}
	best.Known = slices.Contains(knownEnvelopes, best.Place[len(best.Place)-1].Key)
	per := best.Elements / best.Lists
	switch {
	case best.Known && best.Bytes*2 >= best.Of:
	case best.Bytes*10 >= best.Of*9 && (per >= 5 || w.values == 1):
	default:
		return Envelope{}, false
	}
	return best, true
}

// envelopeDepth is how many keys may lead to the list of an envelope.
const envelopeDepth = 4

// envelopeWalk reads the tokens of JSON text up to its first mistake or its end.
type envelopeWalk struct {
	dec    *json.Decoder
	found  map[string]*Envelope
	values int // at the top, elements of arrays there included
}

// value reads one value under keys, and says whether the text goes on.
func (w *envelopeWalk) value(keys []string) bool {
	token, err := w.dec.Token()
	if err != nil {
		return false
	}
	if len(keys) == 0 && token != json.Delim('[') {
		w.values++
	}
	switch token {
	case json.Delim('{'):
		for w.dec.More() {
			key, err := w.dec.Token()
			if err != nil || !w.value(append(keys, key.(string))) {
				return false
			}
		}
	case json.Delim('['):
		if len(keys) > 0 {
			return w.list(keys)
		}
		for w.dec.More() {
			if !w.value(nil) {
				return false
			}
		}
	default:
		return true
	}
	_, err = w.dec.Token()
	return err == nil
}

// list reads a list under keys to its end, and counts the objects in it.
func (w *envelopeWalk) list(keys []string) bool {
	from, e := w.dec.InputOffset(), &Envelope{}
	if len(keys) <= envelopeDepth {
		place := make(schema.Place, len(keys))
		for i, key := range keys {
			place[i] = schema.Step{Key: key}
		}
		name := strings.Join(keys, "\x00")
		if w.found[name] == nil {
			w.found[name] = &Envelope{Place: place}
		}
		e = w.found[name]
	}
	defer func() { e.Bytes += w.dec.InputOffset() - from }()
	e.Lists++
	depth := 1
	for depth > 0 {
		token, err := w.dec.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth == 2 && token == json.Delim('{') {
				e.Elements++
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return true
}
