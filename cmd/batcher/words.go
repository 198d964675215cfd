package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// grouped is a number for people, with a comma before each three digits.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// many is how many there are of a thing: 1 batch, 2 batches, 1,204 rows.
func many[N int | int64](n N, thing string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(thing, "ch"):
		thing += "es"
	default:
		thing += "s"
	}
	return grouped(int64(n)) + " " + thing
}

// sized is a number of bytes for people: 512 B, 22.1 KiB, 1.5 GiB.
func sized(n int64) string {
	const unit = 1 << 10
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, i := float64(n)/unit, 0
	for ; value >= unit-0.05 && i < 4; i++ {
		value /= unit
	}
	return fmt.Sprintf("%.1f %s", value, []string{"KiB", "MiB", "GiB", "TiB", "PiB"}[i])
}

// zeros are what keys have before the number of a manifest, so that they sort.
var zeros = regexp.MustCompile(`/0{8,}([0-9]+)`)

// attempts are the names of folders that one attempt writes to.
var attempts = regexp.MustCompile(`/([0-9a-f]{6})[0-9a-f]{18,}`)

// shortened is an address for people to look at; batcher files prints it whole.
func shortened(uri string) string {
	return attempts.ReplaceAllString(zeros.ReplaceAllString(uri, "/…$1"), "/$1…")
}
