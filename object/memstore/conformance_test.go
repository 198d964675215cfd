package memstore_test

import (
	"context"
	"testing"

	"batcher/object/memstore"
	"batcher/object/storetest"
)

func TestConformance(t *testing.T) {
	for name, opts := range map[string][]memstore.Option{
		"sorted":   nil,
		"shuffled": {memstore.WithShuffle(1)},
	} {
		env := storetest.Env{
			Store:  memstore.New(opts...),
			Params: storetest.Params{ListObjects: 2500},
		}
		storetest.Run(context.Background(), env, storetest.All(), func(r storetest.Result) {
			if r.Err != nil || r.CleanUp != nil {
				t.Errorf("%s: %s: %v; clean-up: %v", name, r.Check.Name, r.Err, r.CleanUp)
			}
		})
		if held := len(env.Store.(*memstore.Store).Objects()); held != 0 {
			t.Errorf("%s: %d objects left", name, held)
		}
	}
}
