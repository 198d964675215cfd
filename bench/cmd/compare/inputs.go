package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"batcher/bench"
)

// generate writes an input. The ending of the name says how it is compressed.
func generate(shape bench.Shape, seed uint64, size int64, name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w, err := packed(f, name)
	if err == nil {
		_, err = bench.Write(w, shape, seed, size)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// packed compresses as the ending of a name says.
func packed(w io.Writer, name string) (io.WriteCloser, error) {
	switch filepath.Ext(name) {
	case ".gz":
		return gzip.NewWriter(w), nil
	case ".zst":
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	return unpacked{w}, nil
}

type unpacked struct{ io.Writer }

func (unpacked) Close() error { return nil }

// make writes the input of a workload in a process of its own.
func (w *workload) make(ctx context.Context, name string) error {
	if w.sample != "" {
		return repeat(w.sample, w.size, name)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	_, err = output(exec.CommandContext(ctx, self, "generate", string(w.shape), strconv.FormatUint(w.seed, 10), strconv.FormatInt(w.size, 10), name))
	return err
}

// voices are keys that batcher makes column names of, and others do not: contents
// could not be compared by name.
var voices = strings.NewReplacer(`"+1":`, `"up":`, `"-1":`, `"down":`)

// repeat writes the lines of all files of a folder again and again.
func repeat(folder string, size int64, name string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*json*"))
	if err != nil {
		return err
	}
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	for written := int64(0); written < size; {
		begun := written
		for _, file := range files {
			if strings.HasSuffix(file, "truth.json") {
				continue
			}
			body, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			n, err := io.WriteString(out, strings.TrimRight(voices.Replace(string(body)), "\n")+"\n")
			if err != nil {
				return err
			}
			written += int64(n)
		}
		if written == begun {
			return fmt.Errorf("%s holds nothing", folder)
		}
	}
	return out.Sync()
}
