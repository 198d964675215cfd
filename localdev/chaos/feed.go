package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"

	"batcher/localdev"
)

// feed lets objects arrive in the source, past every proxy.
type feed struct {
	server *localdev.Server
	place  string

	mu      sync.Mutex
	rnd     *rand.Rand
	objects int64
	records int64
	sum     int64 // of the field n over all records
}

// event is one record. Its id says where it was written, not where it was read.
type event struct {
	ID   string `json:"id"`
	N    int64  `json:"n"`
	Text string `json:"text"`
	In   struct {
		Flag bool `json:"flag"`
	} `json:"in"`
}

// arrive puts so many new objects. Their keys come in no order.
func (f *feed) arrive(ctx context.Context, objects int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range objects {
		var body bytes.Buffer
		encoder := json.NewEncoder(&body)
		records, sum := int64(1+f.rnd.IntN(30)), int64(0)
		for r := range records {
			e := event{ID: fmt.Sprintf("%d-%d", f.objects, r), N: f.rnd.Int64N(1_000_000), Text: fmt.Sprintf("%x", f.rnd.Uint64())}
			e.In.Flag = f.rnd.IntN(2) == 0
			sum += e.N
			if err := encoder.Encode(e); err != nil {
				return err
			}
		}
		key := fmt.Sprintf("%s/%02x/%08x-%06d.ndjson", f.place, f.rnd.IntN(256), f.rnd.Uint32(), f.objects)
		if err := f.server.Put(ctx, inputBucket, key, body.Bytes()); err != nil {
			return fmt.Errorf("let an object arrive: %w", err)
		}
		f.objects, f.records, f.sum = f.objects+1, f.records+records, f.sum+sum
	}
	return nil
}
