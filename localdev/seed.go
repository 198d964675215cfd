package localdev

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"batcher/object"
)

// SeedOptions says which sample data Seed writes.
type SeedOptions struct {
	Prefix  string // "" or ends in "/"
	Objects int    // how many objects
	Records int    // how many records in each
	Seed    uint64 // the same seed gives the same bytes
}

// Event is one record of the sample data.
type Event struct {
	ID     string    `json:"id"`
	TS     time.Time `json:"ts"` // RFC 3339, UTC, milliseconds
	User   int64     `json:"user"`
	Price  float64   `json:"price"`
	Tags   []string  `json:"tags"`
	Device Device    `json:"device"`
}

// Device is the nested part of an Event.
type Device struct {
	OS      string `json:"os"`
	Version int    `json:"version"`
}

var (
	seedEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	seedTags  = []string{"new", "sale", "gift", "trial", "returning"}
	seedOS    = []string{"linux", "darwin", "windows", "android", "ios"}
)

// Seed writes objects of newline-delimited JSON, each at most once: an object
// that is there already is an error. It returns the number of records written.
func Seed(ctx context.Context, store object.Store, opts SeedOptions) (records int64, err error) {
	for o := range opts.Objects {
		key, body, err := opts.Object(o)
		if err != nil {
			return records, err
		}
		if _, err := store.Put(ctx, key, body, object.IfAbsent); err != nil {
			return records, fmt.Errorf("seed: %w", err)
		}
		records += int64(opts.Records)
	}
	return records, nil
}

// Object returns key and bytes of object number o, counted from 0. Objects do not
// depend on how many there are.
func (opts SeedOptions) Object(o int) (key string, body []byte, err error) {
	random := rand.New(rand.NewPCG(opts.Seed, uint64(o)))
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for r := range opts.Records {
		event := Event{
			ID:    fmt.Sprintf("%06d-%06d-%08x", o, r, random.Uint32()),
			TS:    seedEpoch.Add(time.Duration(o*opts.Records+r) * 777 * time.Millisecond),
			User:  random.Int64N(1_000_000),
			Price: float64(random.IntN(1_000_000)) / 100,
			Tags:  append([]string{}, seedTags[:random.IntN(len(seedTags))]...),
			Device: Device{
				OS:      seedOS[random.IntN(len(seedOS))],
				Version: random.IntN(20),
			},
		}
		if err := encoder.Encode(event); err != nil {
			return "", nil, fmt.Errorf("seed: %w", err)
		}
	}
	return fmt.Sprintf("%sevents-%06d.ndjson", opts.Prefix, o), text.Bytes(), nil
}
