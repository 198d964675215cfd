//go:build unix

package filestore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"batcher/object"
	"batcher/object/filestore"
)

// racerDir tells a child process of the tests that it is a racer, and where.
const racerDir = "FILESTORE_TEST_RACER"

const racedKeys = 20

func TestMain(m *testing.M) {
	if dir := os.Getenv(racerDir); dir != "" {
		if err := race(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// race creates every key once standard input ends, and prints those it won.
func race(dir string) error {
	s, err := filestore.New(dir)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	for k := range racedKeys {
		key := fmt.Sprintf("slots/%02d", k)
		switch _, err := s.Put(context.Background(), key, fmt.Append(nil, os.Getpid()), object.IfAbsent); {
		case err == nil:
			fmt.Println(key)
		case !errors.Is(err, object.ErrExists):
			return err
		}
	}
	return nil
}

// TestProcessesRace has sixteen processes create the same keys.
func TestProcessesRace(t *testing.T) {
	const processes = 16
	dir := t.TempDir()
	hold, start, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	commands, outs := make([]*exec.Cmd, processes), make([]bytes.Buffer, processes)
	for i := range commands {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), racerDir+"="+dir)
		c.Stdin, c.Stdout, c.Stderr = hold, &outs[i], os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		commands[i] = c
	}
	start.Close()
	hold.Close()
	winners := make(map[string]int) // process by key
	wins := make(map[int]bool)      // processes that won something
	for i, c := range commands {
		if err := c.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
		for _, key := range strings.Fields(outs[i].String()) {
			if other, twice := winners[key]; twice {
				t.Errorf("%s was won by processes %d and %d", key, other, c.Process.Pid)
			}
			winners[key], wins[c.Process.Pid] = c.Process.Pid, true
		}
	}
	s := open(t, dir)
	for key, pid := range winners {
		got, _, err := object.ReadAll(context.Background(), s, key, object.GetOptions{}, 100)
		if err != nil || string(got) != fmt.Sprint(pid) {
			t.Errorf("%s holds %q, %v; its winner is %d", key, got, err, pid)
		}
	}
	if len(winners) != racedKeys {
		t.Errorf("%d of %d keys have a winner", len(winners), racedKeys)
	}
	t.Logf("%d of %d processes won at least one of %d keys", len(wins), processes, racedKeys)
}
