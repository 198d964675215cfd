package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"batcher/config"
	"batcher/manifest"
	"batcher/schema"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestScriptsOfEngines holds the scripts for the engines to those under testdata/ddl,
// which people have read: of a bucket of AWS, of one of another service, and of a
// directory, as of now and as of an earlier manifest.
func TestScriptsOfEngines(t *testing.T) {
	seven := manifest.Seq(7)
	aws := accessOf(config.S3{Profile: "it's"}, []string{"AWS_REGION=eu-central-1"})
	other := accessOf(config.S3{}, []string{"AWS_ENDPOINT_URL_S3=http://key:secret@minio:9000"})
	bucket, folder := config.Location{Bucket: "lake", Prefix: "shop"}, config.Location{Dir: `/srv/it's\here`}
	for name, c := range map[string]struct {
		engine string
		store  config.Location
		access bucketAccess
		pinned *manifest.Seq
	}{
		"duckdb-aws":           {"duckdb", bucket, aws, nil},
		"duckdb-minio-at":      {"duckdb", bucket, other, &seven},
		"athena":               {"athena", bucket, aws, nil},
		"spark-aws":            {"spark", bucket, aws, nil},
		"spark-minio-at":       {"spark", bucket, other, &seven},
		"spark-folder":         {"spark", folder, other, nil},
		"trino-aws":            {"trino", bucket, aws, nil},
		"trino-minio-at":       {"trino", bucket, other, &seven},
		"clickhouse-aws":       {"clickhouse", bucket, aws, nil},
		"clickhouse-minio-at":  {"clickhouse", bucket, other, &seven},
		"clickhouse-folder-at": {"clickhouse", folder, other, &seven},
	} {
		t.Run(name, func(t *testing.T) {
			s := goldenScript()
			s.store, s.bucket, s.pinned = c.store, c.access, c.pinned
			if err := s.admits(c.engine); err != nil {
				t.Fatal(err)
			}
			got := []byte(writers[c.engine](s))
			path := filepath.Join("testdata", "ddl", name+".sql")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// goldenScript has two tables whose names are one to engines that know no -, a column
// that has the name of ours, and a third table without a Delta log.
func goldenScript() *script {
	text := schema.Type{Kind: schema.String}
	head := schema.Type{Kind: schema.Struct, Fields: []schema.Field{{Name: "at", Type: schema.Type{Kind: schema.Timestamp}}}}
	columns := &schema.Schema{Fields: []schema.Field{{Name: "_source", Type: text}, {Name: "_offset", Type: schema.Type{Kind: schema.Int64}}, {Name: "select", Type: text}, {Name: "_rank", Type: text}, {Name: "head", Type: head}}}
	at := manifest.Snapshot{Manifest: &manifest.Manifest{Seq: 7, CreatedAt: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)}}
	return &script{
		pipeline: "web-shop", at: at, newest: &newest{by: "select", event: []string{"head", "at"}},
		tables: []opened{
			{name: "sold-items", schema: columns, version: 4},
			{name: "sold_items", schema: columns, version: 0, note: "Readers of sold_items\nsee less."},
			{name: "dead", schema: columns, version: -1},
		},
	}
}

// TestNoEngineIsAskedForWhatItCannot holds what cannot be tried without an account.
func TestNoEngineIsAskedForWhatItCannot(t *testing.T) {
	seven := manifest.Seq(7)
	bucket := config.Location{Bucket: "lake", Prefix: "a b"}
	for what, c := range map[string]struct {
		engine string
		script script
		want   string
	}{
		"time travel":     {"athena", script{store: bucket, bucket: accessOf(config.S3{}, nil), pinned: &seven}, "Athena reads a Delta table only as it is now: it has no time travel"},
		"another service": {"athena", script{store: bucket, bucket: accessOf(config.S3{Endpoint: "http://minio:9000"}, nil)}, "Athena reads buckets of AWS, and the store is at http://minio:9000"},
		"no URL":          {"clickhouse", script{store: bucket}, "ClickHouse takes a bucket by its URL, which cannot hold s3://lake/a b"},
	} {
		err := c.script.admits(c.engine)
		if err == nil || err.Error() != c.want || classify(err).Code != exitUsage || classify(err).Hint == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
}
