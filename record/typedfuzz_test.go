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
	f.Fuzz(func(t *testing.T, body string) {
		opt := small()
		opt.Format.Kind = record.Avro
		out, err := try(t, opt, input{"o", body})
		var broken *record.BrokenError
		if err != nil && !errors.As(err, &broken) {
			t.Fatal(err)
		}
		if err == nil && int64(len(out.rows)+len(out.dead)) != out.results[0].Records {
			t.Fatalf("%d rows and %d dead letters of %d records", len(out.rows), len(out.dead), out.results[0].Records)
		}
	})
}
