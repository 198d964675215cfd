package config

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
)

// Location is a place that holds objects: a local directory, or a bucket with a
// prefix. Exactly one of Dir and Bucket is set.
type Location struct {
	Dir    string // absolute and clean after Parse
	Bucket string
	Prefix string // segments joined by "/", without one at either end; "" is the whole bucket
}

// IsS3 says whether the place is a bucket.
func (l Location) IsS3() bool { return l.Bucket != "" }

// String is the place as people write it: s3://bucket/prefix or a directory.
func (l Location) String() string {
	switch {
	case !l.IsS3():
		return l.Dir
	case l.Prefix == "":
		return "s3://" + l.Bucket
	}
	return "s3://" + l.Bucket + "/" + l.Prefix
}

var (
	bucketPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$`)
	schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)
)

// ParseLocation reads s3://bucket/prefix or the path of a directory, which it
// leaves as it is, also when it is relative. Its errors do not repeat the text.
func ParseLocation(text string) (Location, error) {
	if rest, ok := strings.CutPrefix(text, "s3://"); ok {
		return parseBucket(rest)
	}
	if err := checkLocalPath(text); err != nil {
		return Location{}, err
	}
	return Location{Dir: text}, nil
}

func parseBucket(rest string) (Location, error) {
	bucket, prefix, _ := strings.Cut(rest, "/")
	if !bucketPattern.MatchString(bucket) {
		return Location{}, errors.New("wants s3://bucket/prefix, with a bucket name of 3 to 255 letters, digits, dots, - and _")
	}
	prefix = strings.TrimSuffix(prefix, "/")
	if prefix == "" {
		return Location{Bucket: bucket}, nil
	}
	for segment := range strings.SplitSeq(prefix, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return Location{}, errors.New(`wants s3://bucket/prefix without empty, "." and ".." segments in the prefix`)
		}
	}
	if strings.ContainsFunc(prefix, isControl) {
		return Location{}, errors.New("wants s3://bucket/prefix without control characters")
	}
	return Location{Bucket: bucket, Prefix: prefix}, nil
}

func checkLocalPath(text string) error {
	switch {
	case text == "":
		return errors.New("wants a path, found nothing")
	case schemePattern.MatchString(text):
		return errors.New("wants the path of a directory or s3://bucket/prefix; other schemes are not supported")
	case text == "~" || strings.HasPrefix(text, "~/"):
		return errors.New("~ is not expanded; write the whole path, or leave it to the shell with --set or the environment")
	case strings.ContainsFunc(text, isControl):
		return errors.New("wants a path without control characters")
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func (*Location) wants() string { return "a directory or s3://bucket/prefix" }
func (l *Location) parse(text string) error {
	parsed, err := ParseLocation(text)
	*l = parsed
	return err
}

// overlaps says whether one place contains the other or both are the same.
// Directories are compared by what resolve makes of them.
func (l Location) overlaps(o Location, resolve func(string) string) bool {
	if l.IsS3() != o.IsS3() {
		return false
	}
	if l.IsS3() {
		return l.Bucket == o.Bucket && segmentsNest(l.Prefix, o.Prefix)
	}
	a := strings.Trim(filepath.ToSlash(resolve(l.Dir)), "/")
	b := strings.Trim(filepath.ToSlash(resolve(o.Dir)), "/")
	return segmentsNest(a, b)
}

// segmentsNest says whether one list of segments begins with the other.
func segmentsNest(a, b string) bool {
	if a == "" || b == "" {
		return true
	}
	return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/")
}

// realDir follows the symbolic links of the longest part of an absolute path
// that exists; what lies below that is kept as it is.
func realDir(dir string) string {
	rest := ""
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return filepath.Clean(dir)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
