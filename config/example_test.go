package config_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"batcher/config"
)

// TestReferenceFileSaysTheDefaults reads docs/pipeline.yaml, which shows every
// key with its default.
func TestReferenceFileSaysTheDefaults(t *testing.T) {
	text, err := os.ReadFile("../docs/pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.Parse("/etc/batcher/pipeline.yaml", text, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := parse(t, minimal, config.Options{}); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestExamplesParse reads every pipeline file of the documentation and the
// examples.
func TestExamplesParse(t *testing.T) {
	read := 0
	for _, root := range []string{"../docs", "../examples"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(text, []byte("\npipeline:")) && !bytes.HasPrefix(text, []byte("pipeline:")) {
				return err
			}
			read++
			if _, err := config.Parse(path, text, config.Options{Environ: examplesEnvironment(text)}); err != nil {
				t.Error(err)
			}
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if read == 0 {
		t.Error("no pipeline file found")
	}
}

// examplesEnvironment sets each variable that an example refers to.
func examplesEnvironment(text []byte) []string {
	var environ []string
	for _, part := range strings.Split(string(text), "{env: ")[1:] {
		name, _, _ := strings.Cut(part, "}")
		environ = append(environ, name+"=set")
	}
	return environ
}
