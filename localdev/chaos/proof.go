package chaos

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"batcher/audit"
	"batcher/localdev"
)

// prove is the proof after the torture. Every part is tried, so that one finding
// does not hide another.
func (w *world) prove(ctx context.Context) error {
	attempts, broken := w.proveChain(ctx)
	var err error
	w.figures.History, err = w.history.check(ctx)
	if broken != nil {
		return errors.Join(broken, err) // what is built on a broken chain says nothing
	}
	return errors.Join(err, w.proveAcknowledged(attempts), w.proveWithVerify(ctx, int64(len(attempts)-1)), w.proveWithDuckDB(ctx))
}

// slot is what this package reads of a manifest, with its own words.
type slot struct {
	Seq     int64  `json:"seq"`
	Attempt string `json:"attempt"`
	Parent  struct {
		Seq     int64  `json:"seq"`
		Attempt string `json:"attempt"`
		SHA256  string `json:"sha256"`
	} `json:"parent"`
}

// maxSlots bounds the walk along the chain.
const maxSlots = 1_000_000

// beyond is how many slots after the head must be empty: a gap would show.
const beyond = 16

// proveChain walks the chain from the first manifest and proves that it has no
// gap and no fork. It returns the attempts by seq.
func (w *world) proveChain(ctx context.Context) ([]string, error) {
	var attempts []string
	var last slot
	var lastSum string
	seq := int64(0)
	for ; seq < maxSlots; seq++ {
		body, err := w.readSlot(ctx, seq)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		var m slot
		if err := json.Unmarshal(body, &m); err != nil {
			return nil, fmt.Errorf("slot %d: %w", seq, err)
		}
		if m.Seq != seq {
			return nil, fmt.Errorf("slot %d holds manifest %d", seq, m.Seq)
		}
		if p := m.Parent; seq > 0 && (p.Seq != seq-1 || p.Attempt != last.Attempt || p.SHA256 != lastSum) {
			return nil, fmt.Errorf("fork: manifest %d names the parent %+v, before it stands %s with hash %s", seq, p, last.Attempt, lastSum)
		}
		attempts = append(attempts, m.Attempt)
		last, lastSum = m, fmt.Sprintf("%x", sha256.Sum256(body))
	}
	for after := seq + 1; after <= seq+beyond; after++ {
		if _, err := w.readSlot(ctx, after); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("gap: slot %d is empty, slot %d is not: %w", seq, after, err)
		}
	}
	return attempts, nil
}

// readSlot reads a slot, which is one more operation of the history.
func (w *world) readSlot(ctx context.Context, seq int64) ([]byte, error) {
	key := fmt.Sprintf("%s/_batcher/chaos/manifests/%020d.json", w.place, seq)
	from := time.Now()
	body, err := w.Server.Get(ctx, lakeBucket, key)
	answered := slotAnswered{http.StatusOK, sha256.Sum256(body)}
	if errors.Is(err, fs.ErrNotExist) {
		answered = slotAnswered{status: http.StatusNotFound}
	}
	if err == nil || answered.status == http.StatusNotFound {
		w.history.add(slotAsked{slot: "/" + lakeBucket + "/" + key}, answered, from, time.Now())
	}
	return body, err
}

// proveAcknowledged holds what processes said against the chain (I6).
func (w *world) proveAcknowledged(attempts []string) error {
	w.figures.Acks = len(w.acks)
	if len(w.acks) == 0 {
		return errors.New("no process acknowledged a batch: the torture shows nothing")
	}
	for _, a := range w.acks {
		there := "nothing"
		if a.Seq >= 0 && a.Seq < int64(len(attempts)) {
			there = attempts[a.Seq]
		}
		if there != a.Attempt {
			return fmt.Errorf("I6: a process said that it committed manifest %d as attempt %s; there stands %s: %s; the slot's history:%s",
				a.Seq, a.Attempt, there, a.Report, w.history.of(fmt.Sprintf("%020d.json", a.Seq)))
		}
	}
	return nil
}

// proveWithVerify lets batcher prove every invariant and read the source again.
func (w *world) proveWithVerify(ctx context.Context, head int64) error {
	out, err := w.undisturbed(ctx, "verify", "--source", "--deep", "-o", "json")
	if err != nil {
		return fmt.Errorf("verify: %w: %s", err, out)
	}
	var r audit.Report
	if err := json.Unmarshal(out, &r); err != nil {
		return fmt.Errorf("verify printed %q: %w", out, err)
	}
	w.figures.Batches, w.figures.Objects, w.figures.Verified = r.Batches, r.Objects, r.Source.Verified
	if len(r.Violations) > 0 || r.Lost+r.Doubled+r.Source.Mismatch+r.Source.Unverifiable != 0 ||
		r.Source.Verified != w.feed.records || r.Objects != w.feed.objects || int64(r.Head) != head {
		return fmt.Errorf("verify: %+v; there are %d objects with %d records, and the head is %d", r, w.feed.objects, w.feed.records, head)
	}
	return nil
}

// undisturbed runs batcher directly on the store.
func (w *world) undisturbed(ctx context.Context, args ...string) ([]byte, error) {
	return w.command(ctx, w.Server.Endpoint, w.Programs.Batcher, args...).Output()
}

// proveWithDuckDB counts with a reader that knows nothing of batcher.
func (w *world) proveWithDuckDB(ctx context.Context) error {
	duck, err := localdev.OpenDuckDB(ctx)
	if err != nil {
		return err
	}
	paths, err := w.download(ctx)
	if err != nil {
		return err
	}
	rows, err := duck.Query(ctx, fmt.Sprintf(
		`SELECT count(*) AS n, count(DISTINCT id) AS d, sum(n)::BIGINT AS s FROM read_parquet([%s], union_by_name = true)`, strings.Join(paths, ",")))
	if err != nil {
		return err
	}
	var got struct{ N, D, S int64 }
	text, err := json.Marshal(rows[0])
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return fmt.Errorf("DuckDB answered %s: %w", text, err)
	}
	w.figures.Records, w.figures.Rows, w.figures.IDs = w.feed.records, got.N, got.D
	if got.N != w.feed.records || got.D != w.feed.records || got.S != w.feed.sum {
		return fmt.Errorf("DuckDB counts %+v, want %d rows and ids with the sum %d", got, w.feed.records, w.feed.sum)
	}
	return nil
}

// download fetches the live files and returns their paths as SQL literals.
func (w *world) download(ctx context.Context) ([]string, error) {
	out, err := w.undisturbed(ctx, "files")
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	dir := filepath.Join(w.Folder, "files")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var paths []string
	for i, uri := range strings.Fields(string(out)) {
		body, err := w.Server.Get(ctx, lakeBucket, strings.TrimPrefix(uri, "s3://"+lakeBucket+"/"))
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.parquet", i))
		if err := os.WriteFile(path, body, 0o644); err != nil {
			return nil, err
		}
		paths = append(paths, "'"+strings.ReplaceAll(path, "'", "''")+"'")
	}
	return paths, nil
}
