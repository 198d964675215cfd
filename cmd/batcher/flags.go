package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"batcher/manifest"
	"batcher/source"
)

// seqNames are words for the head.
var seqNames = []string{"head", "latest"}

// parseSeq reads which manifest is meant: its number, head or latest, or a place counted
// from the end. Of the latter two it returns what resolve takes: -1 is the head, -2 the
// one before it.
func parseSeq(what, text string) (manifest.Seq, error) {
	if slices.Contains(seqNames, text) {
		return -1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strings.HasPrefix(text, "+") || text == "-0" {
		return 0, usageError("batcher history lists them", "%s %q: wants the number of a manifest, head, or -2 for the one before the head", what, text)
	}
	return manifest.Seq(n), nil
}

// resolve is the number of the manifest that is meant, on a head.
func resolve(seq manifest.Seq, head manifest.Snapshot) (manifest.Seq, error) {
	last := head.Manifest.Seq
	switch {
	case seq >= 0:
		return seq, nil
	case seq < -last-1:
		return 0, usageError(fmt.Sprintf("manifests 0 to %d are there", last), "manifest %d: there are not so many", seq)
	}
	return last + 1 + seq, nil
}

// atFlag reads --at; nil is the head.
func atFlag(c *cli.Context) (*manifest.Seq, error) {
	if !c.IsSet("at") {
		return nil, nil
	}
	seq, err := parseSeq("--at", c.String("at"))
	return &seq, err
}

// parseShard reads i/n with 0 ≤ i < n, as Kubernetes counts indexed jobs.
func parseShard(text string) (source.Shard, error) {
	bad := usageError("the index counts from 0: 0/4, 1/4, 2/4 and 3/4 are all of four", "--shard %q: wants i/n with 0 ≤ i < n", text)
	first, second, ok := strings.Cut(text, "/")
	index, errIndex := strconv.ParseUint(first, 10, 16)
	count, errCount := strconv.ParseUint(second, 10, 16)
	if !ok || errIndex != nil || errCount != nil || index >= count {
		return source.Shard{}, bad
	}
	shard := source.Shard{Index: int(index), Count: int(count)}
	if shard.Validate() != nil {
		return source.Shard{}, bad
	}
	return shard, nil
}

// shardFlag reads --shard; without it the shard owns everything.
func shardFlag(c *cli.Context) (source.Shard, error) {
	if !c.IsSet("shard") {
		return source.Shard{}, nil
	}
	return parseShard(c.String("shard"))
}

// positiveDuration reads a flag that, if given, is above zero.
func positiveDuration(c *cli.Context, name string) (time.Duration, error) {
	d := c.Duration(name)
	if c.IsSet(name) && d <= 0 {
		return 0, usageError("", "--%s %s: wants a duration above zero, like 14m", name, d)
	}
	return d, nil
}

// atLeast reads a whole number with a lower bound.
func atLeast(c *cli.Context, name string, least int) (int, error) {
	n := c.Int(name)
	if c.IsSet(name) && n < least {
		return 0, usageError("", "%s %d: at least %d", dashed(name), n, least)
	}
	return n, nil
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func tableFlag() cli.Flag {
	return &cli.StringFlag{Name: "table", Usage: "`TABLE` of the pipeline (default: the main table)"}
}

func atSeqFlag() cli.Flag {
	return &cli.StringFlag{Name: "at", Usage: "as the table was after manifest `SEQ`: its number, or -2 for the one before the head (default: head)"}
}

func shardIndexFlag() cli.Flag {
	return &cli.StringFlag{Name: "shard", Usage: "plan only part `I/N` of the source; I counts from 0"}
}
