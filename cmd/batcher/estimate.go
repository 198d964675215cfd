package main

import (
	"context"

	"batcher/manifest"
	"batcher/segment"
	"batcher/source"
)

// density is how many records stood in how many stored bytes of the source.
type density struct{ records, bytes int64 }

// in estimates the records in so many stored bytes; 0 where nothing is known.
func (d density) in(bytes int64) int64 {
	if d.bytes == 0 {
		return 0
	}
	return int64(float64(bytes) * float64(d.records) / float64(d.bytes))
}

// manifestsBack bounds how far density looks for a batch: a run that merges files
// leaves a few manifests behind each.
const manifestsBack = 10

// density is that of the newest batch that read an object as a whole: of a part, the
// stored bytes are not known.
func (r *rooms) density(ctx context.Context, head manifest.Snapshot) (density, error) {
	s := head
	for range manifestsBack {
		if b := s.Manifest.Batch; b != nil {
			if err := r.log.LoadLists(ctx, s.Manifest); err != nil {
				return density{}, err
			}
			if d := densityOf(b.Ranges); d.bytes > 0 {
				return d, nil
			}
		}
		if s.Manifest.Seq == 0 || s.Manifest.Seq <= head.Manifest.RetainFrom {
			break
		}
		before, err := r.log.Slot(ctx, s.Manifest.Seq-1)
		if err != nil {
			return density{}, err
		}
		s = before
	}
	return density{}, nil
}

func densityOf(ranges segment.List[source.Range]) (d density) {
	for i := range ranges.Items {
		x := &ranges.Items[i]
		if x.From == 0 && x.Last && x.Broken == "" {
			d.records += x.Records
			d.bytes += x.Size
		}
	}
	return d
}
