package delta

import "batcher/manifest"

// action is one line of a commit, and one row of a checkpoint, where commitInfo has
// no place. Exactly one member is set. The names are those of the Delta protocol
// (PROTOCOL.md, "Actions").
type action struct {
	CommitInfo *commitInfo `json:"commitInfo,omitempty" parquet:"-"`
	Txn        *txn        `json:"txn,omitempty" parquet:"txn,optional"`
	Add        *add        `json:"add,omitempty" parquet:"add,optional"`
	Remove     *remove     `json:"remove,omitempty" parquet:"remove,optional"`
	MetaData   *metaData   `json:"metaData,omitempty" parquet:"metaData,optional"`
	Protocol   *protocol   `json:"protocol,omitempty" parquet:"protocol,optional"`
}

// commitInfo is free text to Delta. Batcher is what tells our commits.
type commitInfo struct {
	Timestamp  int64             `json:"timestamp"`
	Operation  string            `json:"operation"`
	Parameters map[string]string `json:"operationParameters"`
	Blind      bool              `json:"isBlindAppend"`
	Engine     string            `json:"engineInfo"`
	Batcher    *batcherInfo      `json:"batcher,omitempty"`
}

// batcherInfo names the manifest that a version was made of.
type batcherInfo struct {
	Seq    manifest.Seq    `json:"seq"`
	SHA256 manifest.SHA256 `json:"sha256"`
}

type txn struct {
	App     string `json:"appId" parquet:"appId"`
	Version int64  `json:"version" parquet:"version"`
	Updated int64  `json:"lastUpdated" parquet:"lastUpdated"`
}

type protocol struct {
	MinReader int32 `json:"minReaderVersion" parquet:"minReaderVersion"`
	MinWriter int32 `json:"minWriterVersion" parquet:"minWriterVersion"`
}

type metaData struct {
	ID               string            `json:"id" parquet:"id"`
	Name             string            `json:"name" parquet:"name"`
	Format           fileFormat        `json:"format" parquet:"format"`
	Schema           string            `json:"schemaString" parquet:"schemaString"`
	PartitionColumns []string          `json:"partitionColumns" parquet:"partitionColumns,list"`
	Configuration    map[string]string `json:"configuration" parquet:"configuration"`
	CreatedTime      int64             `json:"createdTime" parquet:"createdTime"`
}

type fileFormat struct {
	Provider string            `json:"provider" parquet:"provider"`
	Options  map[string]string `json:"options" parquet:"options"`
}

type add struct {
	Path       string             `json:"path" parquet:"path"`
	Values     map[string]*string `json:"partitionValues" parquet:"partitionValues"`
	Size       int64              `json:"size" parquet:"size"`
	Modified   int64              `json:"modificationTime" parquet:"modificationTime"`
	DataChange bool               `json:"dataChange" parquet:"dataChange"`
	Stats      *string            `json:"stats,omitempty" parquet:"stats,optional"`
}

type remove struct {
	Path       string             `json:"path" parquet:"path"`
	Deleted    int64              `json:"deletionTimestamp" parquet:"deletionTimestamp"`
	DataChange bool               `json:"dataChange" parquet:"dataChange"`
	Extended   bool               `json:"extendedFileMetadata" parquet:"extendedFileMetadata"` // Values and Size are there
	Values     map[string]*string `json:"partitionValues,omitzero" parquet:"partitionValues"`
	Size       int64              `json:"size,omitzero" parquet:"size"`
}
