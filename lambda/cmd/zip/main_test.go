package main

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPack(t *testing.T) {
	dir := t.TempDir()
	program := bytes.Repeat([]byte("\x7fELF and so on. "), 1000)
	var archives [][]byte
	for _, name := range []string{"bootstrap", "batcher"} {
		path, archive := filepath.Join(dir, name), filepath.Join(dir, name+".zip")
		if err := os.WriteFile(path, program, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Now(), time.Unix(int64(1e9+len(archives)), 0)); err != nil {
			t.Fatal(err)
		}
		if err := pack(archive, path); err != nil {
			t.Fatal(err)
		}
		body, err := os.ReadFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, body)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the same program under another name and time gives other bytes")
	}
	expectOne(t, archives[0], program)
	if left, err := filepath.Glob(filepath.Join(dir, ".zip-*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestPackLeavesNoArchiveBehindAFailure(t *testing.T) {
	dir := t.TempDir()
	if err := pack(filepath.Join(dir, "a.zip"), dir); err == nil {
		t.Error("packed a folder")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func expectOne(t *testing.T, archive, program []byte) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	if len(z.File) != 1 || z.File[0].Name != "bootstrap" {
		t.Fatalf("holds %d files, want bootstrap alone", len(z.File))
	}
	if mode := z.File[0].Mode(); mode != fs.FileMode(0o755) {
		t.Errorf("mode %s, want an executable file", mode)
	}
	r, err := z.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(r); err != nil || !bytes.Equal(body, program) {
		t.Errorf("%d bytes, %v; want the program's %d", len(body), err, len(program))
	}
}
