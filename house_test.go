// Package batcher_test holds the house rules: what docs/ARCHITECTURE.md says
// about rooms, floors and vendors, read from the source of every package.
//
// Duty: fail when an import runs up a floor, a vendor library leaves its room, a
// pure room touches the world, a package says nothing about itself, or a file
// grows too long.
//
// Invariants: every package of the module is looked at; each rule is shown to
// notice a violation.
//
// It never builds or runs what it reads.
package batcher_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module   = "batcher"
	maxLines = 450 // of a file that is no test
)

// room is what a package may import of ours, and on which floor it stands. An
// import never goes up; on one floor it goes only where may says so.
type room struct {
	floor int
	may   string
}

// rooms are all packages. A package below one that is named here, and not named
// itself, belongs to it.
var rooms = map[string]room{
	"object":            {1, ""},
	"object/s3store":    {1, "object"},
	"object/filestore":  {1, "object"},
	"object/memstore":   {1, "object"},
	"object/retry":      {1, "object"},
	"object/faultstore": {1, "object"},
	"object/storetest":  {1, "object"},
	"schema":            {1, "strptime keypath"},
	"strptime":          {1, ""},
	"keypath":           {1, ""},
	"segment":           {1, ""},
	"thrift":            {1, ""},
	"column":            {1, "schema"},
	"source":            {2, "segment"},
	"source/files":      {2, "source segment object"},
	"source/kafka":      {2, "source segment object"},
	"source/tail":       {2, "source segment object"},
	"record":            {3, "source schema column record/typed record/avro record/parquet strptime"},
	"record/typed":      {3, ""},
	"record/avro":       {3, "record/typed"},
	"record/parquet":    {3, "record/typed thrift"},
	"window":            {3, "source segment column"},
	"dedup":             {3, "source segment column"},
	"manifest":          {3, "schema segment source"},
	"batch":             {4, "source record schema column window dedup manifest"},
	"datafile":          {4, "schema column segment manifest thrift"},
	"commit":            {4, "manifest schema segment source source/files object"},
	"retype":            {4, "record schema column source"},
	"output":            {4, "datafile manifest column schema object"},
	"pipeline":          {5, "batch datafile output commit manifest record window dedup source source/files source/kafka source/tail column schema segment object"},
	"compact":           {5, "commit manifest datafile output retype record source source/files column schema segment object"},
	"dlq":               {5, "commit manifest datafile output batch record source source/files column schema segment object"},
	"table":             {5, "commit manifest datafile source column schema segment object"},
	"outbox":            {5, "commit manifest segment object"},
	"audit":             {5, "commit manifest datafile record source source/files column schema segment object object/storetest"},
	"config":            {5, "schema strptime keypath"},
	"lambda":            {6, "pipeline"},
	"sample":            {6, "record schema column source/files segment object"},
	"cmd":               {7, "*"},
	"localdev":          {8, "*"},
	"sim":               {8, "object"},
	"bench":             {8, "*"},
	"examples":          {8, "*"},
	"interop":           {8, "*"},
	"specs":             {8, "*"},
	"":                  {8, "*"}, // the tests at the root
}

// testOnly are rooms that only tests and their own mains may import.
var testOnly = []string{"localdev", "sim", "bench", "interop", "object/faultstore"}

// vendors says which rooms may import a library outside tests.
var vendors = map[string]string{
	"github.com/aws/aws-sdk-go-v2":  "object/s3store",
	"github.com/aws/smithy-go":      "object/s3store",
	"github.com/aws/aws-lambda-go":  "lambda",
	"github.com/minio/minio-go/v7":  "localdev",
	"github.com/anishathalye/":      "localdev",
	"github.com/parquet-go/":        "datafile record/parquet thrift table",
	"github.com/andybalholm/brotli": "record/parquet",
	"github.com/pierrec/lz4":        "record record/parquet",
	"github.com/twmb/franz-go":      "source/kafka",
	"github.com/urfave/cli/v2":      "cmd",
	"golang.org/x/term":             "cmd",
	"github.com/bmatcuk/doublestar": "source/files",
	"github.com/klauspost/compress": "datafile record record/avro record/parquet source/files bench",
	"github.com/cespare/xxhash":     "datafile record column dedup",
	"github.com/zeebo/xxh3":         "datafile record column dedup",
	"go.yaml.in/yaml/v3":            "config",
	"golang.org/x/sys":              "object/filestore cmd localdev",
	"golang.org/x/sync":             "pipeline compact audit source/files",
	"golang.org/x/text":             "record schema",
}

// pure are the rooms, and the deciding files, that take no store, context,
// clock or randomness and start nothing.
var pure = []string{"schema", "segment", "column", "thrift", "record", "record/typed", "record/avro", "record/parquet", "window", "dedup", "manifest", "commit/decide*.go", "compact/plan*.go", "table/delta/render*.go", "table/delta/parse.go"}

// noRooms are names that say nothing.
var noRooms = []string{"util", "utils", "common", "helper", "helpers", "types", "models", "pkg", "misc", "base"}

// file is one Go file.
type file struct {
	path   string // below the module, with slashes
	syntax *ast.File
	lines  int
}

func (f file) dir() string {
	dir := path.Dir(f.path)
	if dir == "." {
		return ""
	}
	return dir
}

func (f file) test() bool { return strings.HasSuffix(f.path, "_test.go") }

// imports yields the imported paths.
func (f file) imports() []string {
	var paths []string
	for _, spec := range f.syntax.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(err)
		}
		paths = append(paths, p)
	}
	return paths
}

// roomOf returns the room that a directory belongs to.
func roomOf(dir string) (string, bool) {
	for at := dir; at != "." && at != ""; at = path.Dir(at) {
		if _, ok := rooms[at]; ok {
			return at, true
		}
	}
	return "", dir == ""
}

// checkImports says which imports of a file its room does not allow.
func checkImports(f file) []string {
	from, ok := roomOf(f.dir())
	if !ok {
		return []string{fmt.Sprintf("%s: the package is no room of the house; give it a floor", f.path)}
	}
	var bad []string
	for _, p := range f.imports() {
		ours, inside := strings.CutPrefix(p, module+"/")
		switch {
		case inside && !mayImport(from, ours, f):
			bad = append(bad, fmt.Sprintf("%s: %s may not import %s", f.path, from, ours))
		case !inside && isVendor(p) && !f.test() && !slices.Contains(roomsOfVendor(p), from):
			bad = append(bad, fmt.Sprintf("%s: %s is not for room %s", f.path, p, from))
		}
	}
	return bad
}

func mayImport(from, dir string, f file) bool {
	to, ok := roomOf(dir)
	switch {
	case !ok:
		return false
	case to == from:
		return true
	case f.test():
		return true // tests wire what they need; the compiler forbids cycles
	case slices.Contains(testOnly, to):
		return slices.Contains(testOnly, from)
	}
	may := rooms[from].may
	return may == "*" || slices.Contains(strings.Fields(may), to)
}

// isVendor says whether an import path is neither ours nor the standard library's.
func isVendor(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return strings.Contains(first, ".")
}

func roomsOfVendor(p string) []string {
	for library, where := range vendors {
		if strings.HasPrefix(p, library) {
			return strings.Fields(where)
		}
	}
	return nil
}

// isPure says whether a file must not touch the world.
func isPure(f file) bool {
	if f.test() {
		return false
	}
	return slices.ContainsFunc(pure, func(pattern string) bool {
		matched, err := path.Match(pattern, f.path)
		return err == nil && matched || pattern == f.dir()
	})
}

// checkPure says how a file of a pure room touches the world.
func checkPure(f file) []string {
	var bad []string
	complain := func(what string) { bad = append(bad, fmt.Sprintf("%s: a pure room has no %s", f.path, what)) }
	for _, p := range f.imports() {
		switch {
		case p == "context", p == "os", strings.HasPrefix(p, "os/"), p == "syscall", p == "log", strings.HasPrefix(p, "log/"):
			complain(p)
		case p == "net", strings.HasPrefix(p, "net/"), strings.HasPrefix(p, "math/rand"), p == "crypto/rand":
			complain(p)
		case strings.HasPrefix(p, module+"/object"):
			complain("store")
		}
	}
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			complain("go statement")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
				complain("time." + n.Sel.Name)
			}
		}
		return true
	})
	return bad
}

// checkComment says what a package comment lacks.
func checkComment(dir, comment string) []string {
	var bad []string
	for _, word := range []string{"duty", "invariants", "never"} {
		if !strings.Contains(strings.ToLower(comment), word) {
			bad = append(bad, fmt.Sprintf("%s: the package comment does not speak of %q", dir, word))
		}
	}
	return bad
}

// checkShape says whether a file is too long or its package has an empty name.
func checkShape(f file) []string {
	var bad []string
	if !f.test() && f.lines > maxLines {
		bad = append(bad, fmt.Sprintf("%s: %d lines, more than %d: split it by role", f.path, f.lines, maxLines))
	}
	if slices.Contains(noRooms, path.Base(f.dir())) {
		bad = append(bad, fmt.Sprintf("%s: %q is no noun with a duty", f.path, path.Base(f.dir())))
	}
	return bad
}

// readHouse parses every Go file of the module.
func readHouse(t *testing.T) []file {
	t.Helper()
	var files []file
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parseFile(filepath.ToSlash(p), nil)
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// parseFile parses a file, or src in its place.
func parseFile(p string, src any) (file, error) {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return file{}, err
	}
	return file{p, syntax, fset.File(syntax.FileStart).LineCount()}, nil
}

func TestHouse(t *testing.T) {
	comments := map[string]string{}
	seen := map[string]bool{}
	for _, f := range readHouse(t) {
		seen[f.dir()] = true
		findings := append(checkImports(f), checkShape(f)...)
		if isPure(f) {
			findings = append(findings, checkPure(f)...)
		}
		for _, finding := range findings {
			t.Error(finding)
		}
		if _, known := comments[f.dir()]; !known && !f.test() {
			comments[f.dir()] = ""
		}
		if f.syntax.Doc != nil && !f.test() {
			comments[f.dir()] += f.syntax.Doc.Text()
		}
	}
	for dir, comment := range comments {
		for _, finding := range checkComment(dir, comment) {
			t.Error(finding)
		}
	}
	for _, dir := range []string{"object", "schema", "source", "manifest", "commit", "config", "cmd/batcher"} {
		if !seen[dir] {
			t.Errorf("%s was not read: the walk is broken", dir)
		}
	}
}

// TestHouse_FloorsOnlyGoDown holds the table of rooms itself.
func TestHouse_FloorsOnlyGoDown(t *testing.T) {
	doers := []string{"pipeline", "compact", "dlq", "table", "outbox", "audit"}
	for name, r := range rooms {
		for to := range strings.FieldsSeq(r.may) {
			if to == "*" {
				continue
			}
			target, ok := rooms[to]
			if !ok || target.floor > r.floor {
				t.Errorf("%s (floor %d) may import %s (floor %d): that goes up", name, r.floor, to, target.floor)
			}
			if slices.Contains(doers, name) && slices.Contains(doers, to) {
				t.Errorf("doer %s may import doer %s", name, to)
			}
			if target.floor == r.floor && slices.Contains(strings.Fields(target.may), name) {
				t.Errorf("%s and %s may import each other", name, to)
			}
		}
	}
	for library, where := range vendors {
		for name := range strings.FieldsSeq(where) {
			if _, ok := rooms[name]; !ok {
				t.Errorf("%s is for %s, which is no room", library, name)
			}
		}
	}
}

// TestHouse_NoticesViolations shows each rule a file that breaks it, and its
// neighbour that does not.
func TestHouse_NoticesViolations(t *testing.T) {
	for _, c := range []struct{ path, src, want string }{
		{"commit/log.go", `import "batcher/manifest"`, ""},
		{"manifest/a.go", `import "batcher/commit"`, "manifest may not import commit"},
		{"manifest/a_test.go", `import "batcher/commit"`, ""},
		{"pipeline/a.go", `import "batcher/compact"`, "pipeline may not import compact"},
		{"commit/a.go", `import "batcher/object/s3store"`, "commit may not import object/s3store"},
		{"cmd/batcher/a.go", `import "batcher/object/s3store"`, ""},
		{"cmd/batcher/a.go", `import "batcher/localdev"`, "cmd may not import localdev"},
		{"table/delta/a.go", `import "batcher/audit"`, "table may not import audit"},
		{"config/a.go", `import "batcher/object"`, "config may not import object"},
		{"commit/a.go", `import "batcher/nowhere"`, "commit may not import nowhere"},
		{"elsewhere/a.go", ``, "no room of the house"},
		{"object/s3store/a.go", `import "github.com/aws/aws-sdk-go-v2/service/s3"`, ""},
		{"object/a.go", `import "github.com/aws/aws-sdk-go-v2/service/s3"`, "is not for room object"},
		{"commit/a.go", `import "github.com/parquet-go/parquet-go"`, "is not for room commit"},
		{"commit/a.go", `import "github.com/nobody/knows"`, "is not for room commit"},
		{"schema/a.go", `import "os"`, "no os"},
		{"schema/a.go", `import "net/http"`, "no net/http"},
		{"schema/a.go", `import "context"`, "no context"},
		{"record/a.go", `import "math/rand/v2"`, "no math/rand/v2"},
		{"manifest/a.go", "import \"time\"\nvar _ = time.Now()", "no time.Now"},
		{"manifest/a.go", "import \"time\"\nvar _ = time.Unix(0, 0)", ""},
		{"segment/a.go", "func f() { go f() }", "no go statement"},
		{"commit/decide_rebase.go", "func f() { go f() }", "no go statement"},
		{"commit/settle.go", "func f() { go f() }", ""},
		{"schema/a_test.go", `import "os"`, ""},
		{"config/long.go", strings.Repeat("\n", maxLines), "split it by role"},
		{"config/long_test.go", strings.Repeat("\n", maxLines), ""},
		{"object/util/a.go", "", "no noun with a duty"},
	} {
		f, err := parseFile(c.path, "package p\n"+c.src)
		if err != nil {
			t.Fatal(err)
		}
		findings := append(checkImports(f), checkShape(f)...)
		if isPure(f) {
			findings = append(findings, checkPure(f)...)
		}
		got := strings.Join(findings, "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s %q: got %q, want %q", c.path, c.src[:min(60, len(c.src))], got, c.want)
		}
	}
	if got := checkComment("x", "Package x has a duty and invariants."); len(got) != 1 || !strings.Contains(got[0], "never") {
		t.Errorf("comment: %q", got)
	}
}
