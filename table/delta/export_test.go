package delta

import (
	"context"

	"batcher/column"
	"batcher/manifest"
)

// FactsOf gives tests the rows of a manifest whose lists are loaded.
func FactsOf(m *manifest.Manifest, write func(*column.Block) error) error {
	return writeFacts(m, listsOf(context.Background(), nil, m), write)
}

// Folds gives tests what a version folds of files that have the manifests [from, to)
// and so many rows: the ranges of the files.
func Folds(files [][3]int64, v Version) (folded [][2]int64) {
	all := make([]kept, len(files))
	for i, f := range files {
		all[i] = kept{from: manifest.Seq(f[0]), to: manifest.Seq(f[1]), rows: f[2]}
	}
	for _, k := range foldable(all, v) {
		folded = append(folded, [2]int64{int64(k.from), int64(k.to)})
	}
	return folded
}

// FoldRows is how many rows a folded file has at most.
const FoldRows = foldRows
