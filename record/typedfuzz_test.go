package record_test

import (
	"errors"
	"testing"

	"batcher/record"
)

// FuzzTyped decodes any bytes as an Avro container: it is broken, or each of its
// records is one row or one dead letter.
func FuzzTyped(f *testing.F) {
	f.Add(avroFile(`{"name":"a","type":["null","long","double"]},{"name":"b","type":{"type":"map","values":"string"}}`,
		long(1)+long(5)+long(0), long(2)+double(0.5)+long(1)+text("k")+text("\xff")+long(0)))
	f.Add(avroFile(`{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},{"name":"l","type":{"type":"array","items":"bytes"}}`,
		text("\x01\x02")+long(1)+text("x")+long(0)))
	f.Add(avroFile(`{"name":"t","type":{"type":"long","logicalType":"timestamp-nanos"}}`, long(1), long(-1)))
	f.Add(avroFile(`{"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}}`, long(1<<62), long(-1)))
	f.Add(avroContainer(`{"type":"map","values":"long"}`, long(2)+text("\xff")+long(1)+text("\xff")+long(1)+long(0)))
	f.Fuzz(func(t *testing.T, body string) {
		for _, policy := range []record.Policy{record.Reject, record.Replace, record.Keep} {
			opt := small()
			opt.Format = record.Format{Kind: record.Avro, Invalid: policy}
			out, err := try(t, opt, input{"o", body})
			var broken *record.BrokenError
			if err != nil && !errors.As(err, &broken) {
				t.Fatal(err)
			}
			if err == nil && int64(len(out.rows)+len(out.dead)) != out.results[0].Records {
				t.Fatalf("%d rows and %d dead letters of %d records", len(out.rows), len(out.dead), out.results[0].Records)
			}
			if err := out.schema.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
