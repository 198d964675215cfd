package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const schemaFile = "../docs/pipeline.schema.json"

func compiledSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("pipeline.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("pipeline.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rawSchema is the schema as generic JSON, with a look-up of its references.
type rawSchema struct {
	root map[string]any
}

func readSchema(t testing.TB) rawSchema {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	return rawSchema{root}
}

func (s rawSchema) follow(node map[string]any) map[string]any {
	ref, ok := node["$ref"].(string)
	if !ok {
		return node
	}
	target := s.root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	merged := maps.Clone(target)
	maps.Copy(merged, node)
	return merged
}

// walk calls visit for every key path below node, in the form of keyPaths.
func (s rawSchema) walk(node map[string]any, key string, visit func(path string, node map[string]any)) {
	node = s.follow(node)
	if items, ok := node["items"].(map[string]any); ok {
		s.walk(items, key+"[]", visit)
	}
	properties, _ := node["properties"].(map[string]any)
	for name, child := range properties {
		path := join(key, name)
		visit(path, s.follow(child.(map[string]any)))
		s.walk(child.(map[string]any), path, visit)
	}
}

func TestSchemaAndStructHaveTheSameKeys(t *testing.T) {
	schema := readSchema(t)
	var inSchema []string
	schema.walk(schema.root, "", func(path string, node map[string]any) {
		inSchema = append(inSchema, path)
		if text, _ := node["description"].(string); text == "" {
			t.Errorf("%s has no description in the schema", path)
		}
	})
	inStruct := keyPaths(reflect.TypeFor[Pipeline](), "")
	slices.Sort(inSchema)
	slices.Sort(inStruct)
	for _, path := range inStruct {
		if !slices.Contains(inSchema, path) {
			t.Errorf("%s is a field but not in the schema", path)
		}
	}
	for _, path := range inSchema {
		if !slices.Contains(inStruct, path) {
			t.Errorf("%s is in the schema but no field", path)
		}
	}
	if len(inStruct) < 60 {
		t.Errorf("only %d key paths found: the walk is broken", len(inStruct))
	}
}

// TestReferenceFileNamesEveryKey holds docs/pipeline.yaml, comments included.
func TestReferenceFileNamesEveryKey(t *testing.T) {
	text, err := os.ReadFile("../docs/pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range keyPaths(reflect.TypeFor[Pipeline](), "") {
		if name := path[strings.LastIndexByte(path, '.')+1:]; !strings.Contains(string(text), name+":") {
			t.Errorf("%s is not in docs/pipeline.yaml", path)
		}
	}
}

// choicesOf maps the key path of every choice to its words.
func choicesOf(typ reflect.Type, key string) map[string][]string {
	found := map[string][]string{}
	for i := range typ.NumField() {
		path, ft := join(key, typ.Field(i).Tag.Get("yaml")), typ.Field(i).Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		if ft.Kind() == reflect.Slice {
			path, ft = path+"[]", ft.Elem()
		}
		if c, ok := reflect.Zero(ft).Interface().(choice); ok {
			found[path] = c.words()
		}
		if ft.Kind() == reflect.Struct && !isScalar(reflect.New(ft).Elem()) {
			maps.Copy(found, choicesOf(ft, path))
		}
	}
	return found
}

func TestSchemaAndDecoderHaveTheSameChoices(t *testing.T) {
	schema := readSchema(t)
	inSchema := map[string][]string{}
	collect := func(path string, node map[string]any) {
		candidates := []any{node}
		if any, ok := node["anyOf"].([]any); ok {
			candidates = append(candidates, any...)
		}
		for _, c := range candidates {
			words, ok := c.(map[string]any)["enum"].([]any)
			if !ok {
				continue
			}
			inSchema[path] = []string{}
			for _, w := range words {
				inSchema[path] = append(inSchema[path], w.(string))
			}
		}
	}
	schema.walk(schema.root, "", func(path string, node map[string]any) {
		collect(path, node)
		if items, ok := node["items"].(map[string]any); ok {
			collect(path+"[]", schema.follow(items))
		}
	})
	if inDecoder := choicesOf(reflect.TypeFor[Pipeline](), ""); !reflect.DeepEqual(inSchema, inDecoder) {
		t.Errorf("schema %v\ndecoder %v", inSchema, inDecoder)
	}
}

// minimal is the smallest good file, as nested maps.
func minimal() map[string]any {
	return map[string]any{
		"pipeline": "events",
		"store":    "/lake",
		"source":   map[string]any{"files": map[string]any{"path": "/in"}},
	}
}

// with puts raw YAML at a key path of a minimal file; "[]" in the path stands
// for the only item of a list.
func with(t testing.TB, path, raw string) string {
	t.Helper()
	const mark = "@@here@@"
	root := minimal()
	at := root
	names := strings.Split(path, ".")
	for i, name := range names {
		name, list := strings.CutSuffix(name, "[]")
		var value any = mark
		if i < len(names)-1 {
			next, ok := at[name].(map[string]any)
			if !ok {
				next = map[string]any{}
			}
			value = next
		}
		child := value
		if list {
			value = []any{value}
		}
		at[name] = value
		at, _ = child.(map[string]any)
	}
	text, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(text), `"`+mark+`"`, raw, 1)
}

// generic turns a YAML node into what a JSON Schema validator takes.
func generic(t testing.TB, n *yaml.Node) any {
	switch n.Kind {
	case yaml.DocumentNode:
		return generic(t, n.Content[0])
	case yaml.MappingNode:
		m := map[string]any{}
		for key, value := range pairs(n) {
			m[key.Value] = generic(t, value)
		}
		return m
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, generic(t, item))
		}
		return list
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		return json.Number(n.Value)
	}
	return n.Value
}

func judge(t testing.TB, schema *jsonschema.Schema, text string) (bySchema, byDecoder error) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	_, byDecoder = Parse("/etc/pipeline.yaml", []byte(text), Options{Environ: []string{"SET=x"}})
	return schema.Validate(generic(t, &doc)), byDecoder
}

// TestSchemaAndDecoderJudgeAlike tries every value of a pool at every key.
func TestSchemaAndDecoderJudgeAlike(t *testing.T) {
	schema := compiledSchema(t)
	pool := []string{
		`null`, `true`, `false`, `0`, `1`, `-1`, `0.1`, `1.5`, `7000000`, `9007199254740991`, `9007199254740992`, `""`, `a`, `A`, `a-b_1`, `"1"`, `"0"`, `-`, `"."`, `"\""`,
		`auto`, `ndjson`, `json`, `csv`, `skip`, `fail`, `append`, `replace`, `quarantine`, `position`, `evolve`, `freeze`, `lower`, `snake`, `upper`, `iso`, `zstd`, `snappy`, `none`, `gzip`, `delta`, `utf-8`, `earliest`, `now`,
		`2026-11-01`, `2026-11-01T10:00:00Z`, `2026-11-01T10:00:00+02:00`, `2026-11-01 10:00:00`, `2026-13-01`,
		`1GiB`, `128MiB`, `1 GiB`, `1gib`, `0MiB`, `1.5GiB`, `72h`, `5s`, `1h30m`, `14`, `3d`, `20%`, `0%`, `0.0%`, `100%`, `101%`,
		`./in2`, `/in2`, `~/in2`, `~in`, `s3://bucket`, `s3://bucket/`, `s3://bucket/a/b`, `s3://bucket/a/b/`, `s3://bucket//a`, `s3://bucket/../a`, `s3://b`, `s3a://bucket/x`, `http://minio:9000`, `https://minio`, `https://u:p@minio`, `https://minio/path`,
		`"**"`, `"{yyyy}/{MM}/"`, `"{yy}/"`, `"a/{yyyy}"`, `"{yyyy"`,
		`[]`, `[""]`, `["**"]`, `["/a"]`, `[1]`, `[null]`, `[delta]`, `[[]]`, `{}`, `{a: b}`, `{env: ""}`, `{env: 1}`, `{file: ""}`, `{env: SET, file: x}`, `{day: ts}`, `[{day: ts}]`, `{field: ts}`, `{path: a, type: json}`,
		`[{day: ts, hour: ts}]`, `[{}]`, `[{day: Ts}]`, `lines`, `parquet`, `avro`, `discard_value`, `discard_row`, `bytes`, `latin1`, `UTF-8`, `iso-8859-15`, `windows-1252`, `utf-16`, `shift_jis`,
		`","`, `";"`, `"\t"`, `'\t'`, `"|"`, `"\\"`, `"#"`, `" "`, `"\u0001"`, `"\n"`, `"ab"`, `1000`, `1001`, `Records`, `detail.events`, `a..b`, `.a`, `a.`, `"items[].price"`, `"items[]"`, `"[]"`, `'"a.b".c'`, `'"a'`, `'a"b'`,
		`[{path: a}]`, `[{type: json}]`, `[{path: a, type: jsn}]`, `[{path: "a[].b", type: "decimal(18,2)", default: 1}]`, `[{path: a, type: "decimal(18, 2)", name: b, default: 1.5}]`, `[{path: a, type: "list<map<string,int32>>"}]`,
		`[{path: a, type: "struct<x:int64,y:string>"}]`, `[{path: a, type: string, name: A}]`, `[{path: a, type: string, default: [1]}]`, `[{path: a, type: string, default: true}]`, `[{path: a, type: struct}, {path: a.b, type: date}]`, `{field: ts, unit: ms}`, `{unit: ms}`, `{field: a.b}`,
	}
	tried, accepted := 0, 0
	for _, path := range keyPaths(reflect.TypeFor[Pipeline](), "") {
		for _, raw := range pool {
			text := with(t, path, raw)
			bySchema, byDecoder := judge(t, schema, text)
			tried++
			if byDecoder == nil {
				accepted++
			}
			if (bySchema == nil) == (byDecoder == nil) || crossFieldOnly(byDecoder) {
				continue
			}
			t.Errorf("%s: %s\n  schema:  %v\n  decoder: %v", path, raw, bySchema, byDecoder)
		}
	}
	t.Logf("%d documents, %d accepted", tried, accepted)
	if accepted < 100 || tried-accepted < 1000 {
		t.Errorf("%d of %d accepted: the pool no longer tells good from bad", accepted, tried)
	}
}

// crossFieldOnly says whether a document fails for what no schema can say: two
// keys that do not go together.
func crossFieldOnly(err error) bool {
	var es Errors
	if !errors.As(err, &es) {
		return false
	}
	for _, e := range es {
		if !strings.Contains(e.Msg, "is a directory") && !strings.Contains(e.Msg, "must not") && !strings.Contains(e.Msg, "is the name of the table") && !strings.Contains(e.Msg, "must be declared") {
			return false
		}
		if strings.Contains(e.Msg, "must not be below") || strings.Contains(e.Msg, "must not be above") {
			return false
		}
	}
	return len(es) > 0
}

func TestSchemaAndDecoderJudgeAlike_WholeDocuments(t *testing.T) {
	schema := compiledSchema(t)
	for name, text := range map[string]string{
		"minimal":         with(t, "table", "events"),
		"no pipeline":     `{store: /lake, source: {files: {path: /in}}}`,
		"no store":        `{pipeline: a, source: {files: {path: /in}}}`,
		"no source":       `{pipeline: a, store: /lake}`,
		"no files":        `{pipeline: a, store: /lake, source: {}}`,
		"no path":         `{pipeline: a, store: /lake, source: {files: {}}}`,
		"unknown key":     `{pipeline: a, store: /lake, source: {files: {path: /in}}, tabel: x}`,
		"unknown nested":  `{pipeline: a, store: /lake, source: {files: {path: /in, settel: 1s}}}`,
		"everything else": `{pipeline: a, store: "s3://bucket/lake", s3: {endpoint: "http://minio:9000", region: r, path_style: true, ca_file: ca.pem, profile: p, role_arn: x, sse_kms_key: k}, source: {files: {path: /in, include: [a, b], exclude: [c], time_path: "{yyyy}/", relist: 1h, start: now, format: json, lookback: 1h, settle: 1s, on_change: replace, on_broken: fail, on_unreadable: quarantine, unnest: Records, encoding: utf-16, on_invalid_utf8: bytes}}, event_time: {field: ts, unit: ms}, partition_by: [{day: ts}, {column: country}], table: t, batch: {max_bytes: 1, max_records: 1, max_objects: 1}, record_id: position, schema: {contract: freeze, nested: {max_depth: 1, max_leaves: 1, min_records: 1}, columns: [{path: country, type: string, default: "??"}, {path: "items[].price", type: "decimal(18,2)"}], only_listed: true, names: snake}, dead_letters: {table: d, fail_above: {ratio: 1, min_records: 0}}, parquet: {compression: none, target_file_bytes: 1MB}, compact: {after_run: 0}, publish: [], publish_on_conflict: continue}`,
		"a dialect":       with(t, "source.files.csv", `{delimiter: ";", header: false, quote: "'", escape: "\\", comment: "#", skip_lines: 3, encoding: windows-1252, null: ["", NA], decimal: ","}`),
	} {
		bySchema, byDecoder := judge(t, schema, text)
		good := name == "a dialect" || name == "minimal" || name == "everything else"
		if (bySchema == nil) != good || (byDecoder == nil) != good {
			t.Errorf("%s:\n  schema:  %v\n  decoder: %v", name, bySchema, byDecoder)
		}
	}
}

// TestSchemaDefaultsAreTheDecoders writes every default of the schema into a
// file: it must mean what the file without them means.
func TestSchemaDefaultsAreTheDecoders(t *testing.T) {
	schema := readSchema(t)
	var set []string
	schema.walk(schema.root, "", func(path string, node map[string]any) {
		value, ok := node["default"]
		if !ok || strings.Contains(path, "[]") {
			return
		}
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := value.(string); ok && text != `"` {
			raw = []byte(text)
		}
		set = append(set, path+"="+string(raw))
	})
	text, err := json.Marshal(minimal())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Parse("/etc/pipeline.yaml", text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	explicit, err := Parse("/etc/pipeline.yaml", text, Options{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(plain, explicit) {
		t.Errorf("without: %+v\nwith:    %+v", plain, explicit)
	}
	if len(set) < 30 {
		t.Errorf("only %d defaults in the schema: %s", len(set), fmt.Sprint(set))
	}
}
