// Command zip packs a program as the deployment package of a Lambda function.
//
// Duty: write the archive that provided.al2023 wants, with one executable file,
// "bootstrap".
//
// Invariants: the same program gives the same bytes, whoever packs it, when and
// under which name, so that the hash of a package says whether anything changed;
// the archive stands under its name whole or not at all.
//
// It never adds anything else: configuration reaches a function by its
// environment.
package main

import (
	"archive/zip"
	"compress/flate"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// packed is when every entry was modified: the oldest time that a zip can hold.
var packed = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: zip ARCHIVE PROGRAM")
		os.Exit(64)
	}
	if err := pack(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "zip: %v\n", err)
		os.Exit(1)
	}
}

// pack writes the archive.
func pack(archive, program string) error {
	in, err := os.Open(program)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(archive), ".zip-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(out.Name()) }() // nothing is there after the rename
	if err := write(out, in); err != nil {
		out.Close()
		return fmt.Errorf("pack %s: %w", program, err)
	}
	if err := out.Chmod(0o644); err != nil {
		out.Close()
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(out.Name(), archive)
}

// write writes the archive's bytes.
func write(out io.Writer, program io.Reader) error {
	z := zip.NewWriter(out)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate, Modified: packed}
	header.SetMode(0o755)
	entry, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := io.Copy(entry, program); err != nil {
		return err
	}
	return z.Close()
}
