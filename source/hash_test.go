package source_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"batcher/source"
)

func TestHashSumsAgreeWithBigIntegers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	modulus := new(big.Int).Lsh(big.NewInt(1), 128)
	for range 1000 {
		a, b := randomHash(rng), randomHash(rng)
		x, y := new(big.Int).SetBytes(a[:]), new(big.Int).SetBytes(b[:])
		if got, want := number(a.Add(b)), new(big.Int).Mod(new(big.Int).Add(x, y), modulus); got.Cmp(want) != 0 {
			t.Fatalf("%s + %s = %s, want %s", a, b, got, want)
		}
		if got, want := number(a.Sub(b)), new(big.Int).Mod(new(big.Int).Sub(x, y), modulus); got.Cmp(want) != 0 {
			t.Fatalf("%s - %s = %s, want %s", a, b, got, want)
		}
	}
}

func TestEveryKeyBelongsToExactlyOneShard(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	for range 1000 {
		key := randomHash(rng)
		for _, count := range []int{0, 1, 2, 3, 7, 100} {
			var owner []int
			for i := range max(count, 1) {
				if (source.Shard{Index: i, Count: count}).Owns(key) {
					owner = append(owner, i)
				}
			}
			want := int64(0)
			if count > 1 {
				want = new(big.Int).Mod(number(key), big.NewInt(int64(count))).Int64()
			}
			if len(owner) != 1 || int64(owner[0]) != want {
				t.Fatalf("key %s of %d shards belongs to %v, want %d", key, count, owner, want)
			}
		}
	}
}

func TestShardRefusesAnIndexOutOfRange(t *testing.T) {
	for _, s := range []source.Shard{{Index: -1}, {Index: 1}, {Index: 2, Count: 2}, {Index: -1, Count: 2}, {Count: -1}} {
		if s.Validate() == nil {
			t.Errorf("shard %+v was accepted", s)
		}
	}
	for _, s := range []source.Shard{{}, {Count: 1}, {Index: 1, Count: 2}} {
		if err := s.Validate(); err != nil {
			t.Errorf("shard %+v: %v", s, err)
		}
	}
}

func randomHash(rng *rand.Rand) (h source.Hash) {
	for i := range h {
		h[i] = byte(rng.Uint32())
	}
	if rng.IntN(4) == 0 {
		for i := range 8 {
			h[8+i] = 0xff
		}
	}
	return h
}

func number(h source.Hash) *big.Int { return new(big.Int).SetBytes(h[:]) }
