package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"batcher/manifest"
	"batcher/source"
)

// parseSeq reads the number of a manifest.
func parseSeq(what, text string) (manifest.Seq, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, usageError("batcher history lists them", "%s %q: wants the number of a manifest", what, text)
	}
	return manifest.Seq(n), nil
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
	return &cli.StringFlag{Name: "at", Usage: "as the table was after manifest `SEQ` (default: the head)"}
}

func shardIndexFlag() cli.Flag {
	return &cli.StringFlag{Name: "shard", Usage: "plan only part `I/N` of the source; I counts from 0"}
}
