package delta

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"batcher/manifest"
	"batcher/schema"
)

// Snapshot is a whole table after one manifest.
type Snapshot struct {
	Table    string
	Manifest *manifest.Manifest // that made the version
	Schema   *schema.Schema
	Live     []manifest.File // every live file of the table
	Origin   Origin
}

// RenderCheckpoint gives the bytes of a checkpoint and its hint. The modification
// time of every file is the manifest's: which manifest added it is known, when that
// was made is not. Tombstones are left out; see the package comment.
func RenderCheckpoint(s Snapshot) ([]byte, Hint, error) {
	view := newView(s.Table, s.Manifest, s.Schema)
	adds := make([]action, len(s.Live))
	for i, f := range sorted(s.Live) {
		a, err := view.add(f)
		if err != nil {
			return nil, Hint{}, err
		}
		adds[i].Add = a
	}
	return view.checkpoint(Version(s.Manifest.Tables[s.Table].Version), s.Origin, adds)
}

// checkpoint gives the bytes of a checkpoint that adds files, and its hint.
func (v view) checkpoint(at Version, o Origin, adds []action) ([]byte, Hint, error) {
	meta, err := v.metaData(o)
	if err != nil {
		return nil, Hint{}, err
	}
	rows := append([]action{{Protocol: &protocol{MinReader: 1, MinWriter: 2}}, {MetaData: meta}, {Txn: v.txn()}}, adds...)
	file, err := writeParquet(rows)
	return file, Hint{at, int64(len(rows)), int64(len(file)), int64(len(adds))}, err
}

// writeParquet writes a checkpoint as old readers like it.
func writeParquet(rows []action) ([]byte, error) {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[action](&b, parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1),
		parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain), parquet.CreatedBy("batcher", "1", "0"))
	if _, err := w.Write(rows); err != nil {
		return nil, fmt.Errorf("write checkpoint: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write checkpoint: %w", err)
	}
	return withoutIndexes(b.Bytes())
}

// withoutIndexes makes the footer silent about column and offset indexes, which the
// library always writes: Trino and Athena failed on checkpoints that have them
// (trino#18760). It may go when parquet-go can leave them out.
func withoutIndexes(file []byte) ([]byte, error) {
	end := len(file) - 8
	start := end - int(binary.LittleEndian.Uint32(file[end:]))
	var protocol thrift.CompactProtocol
	var meta format.FileMetaData
	if err := thrift.Unmarshal(&protocol, file[start:end], &meta); err != nil {
		return nil, fmt.Errorf("read back footer: %w", err)
	}
	for i := range meta.RowGroups {
		for j := range meta.RowGroups[i].Columns {
			c := &meta.RowGroups[i].Columns[j]
			c.ColumnIndexOffset, c.ColumnIndexLength, c.OffsetIndexOffset, c.OffsetIndexLength = 0, 0, 0, 0
		}
	}
	footer, err := thrift.Marshal(&protocol, meta)
	if err != nil {
		return nil, fmt.Errorf("write footer: %w", err)
	}
	out := append(bytes.Clone(file[:start]), footer...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(footer)))
	return append(out, "PAR1"...), nil
}
