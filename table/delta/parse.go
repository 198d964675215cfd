package delta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"

	"batcher/manifest"
)

// author is what the first lines of a commit file say about who wrote it.
type author struct {
	Ours   bool // it has the marks of batcher, whoever's chain it was
	App    string
	Seq    manifest.Seq
	SHA256 manifest.SHA256
	Engine string // of a foreign commit, as far as it says
}

// line is what is read of a line in a commit file, which others may have written:
// the rest of it has forms of theirs.
type line struct {
	CommitInfo *struct {
		Engine  string       `json:"engineInfo"`
		Batcher *batcherInfo `json:"batcher"`
	} `json:"commitInfo"`
	Txn *struct {
		App string `json:"appId"`
	} `json:"txn"`
	Protocol *protocol `json:"protocol"`
	Add      *struct {
		Path string `json:"path"`
	} `json:"add"`
}

// parseAuthor reads the start of a commit file, in which a last line may be torn.
// Anything that is not ours to the letter is foreign.
func parseAuthor(start []byte) author {
	var who author
	var mark *batcherInfo
	informed := false
	for text := range bytes.Lines(start) {
		var l line
		if json.Unmarshal(text, &l) != nil {
			break
		}
		if l.CommitInfo != nil && !informed {
			who.Engine, mark, informed = l.CommitInfo.Engine, l.CommitInfo.Batcher, true
		}
		if l.Txn != nil && who.App == "" {
			who.App = l.Txn.App
		}
	}
	if mark != nil && who.App != "" {
		who.Ours, who.Seq, who.SHA256 = true, mark.Seq, mark.SHA256
	}
	return who
}

// parseForeign returns the paths that a foreign commit adds, as they stand there, or
// says why the commit cannot be undone: a protocol that demands more of writers may
// give each action a meaning that we do not know.
func parseForeign(body []byte) (paths []string, reason string) {
	for text := range bytes.Lines(body) {
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, "cannot be read"
		}
		if l.Protocol != nil && (l.Protocol.MinReader > 1 || l.Protocol.MinWriter > 2) {
			return nil, fmt.Sprintf("raises the protocol to %d, %d", l.Protocol.MinReader, l.Protocol.MinWriter)
		}
		if l.Add != nil {
			paths = append(paths, l.Add.Path)
		}
	}
	return paths, ""
}

// parseHint reads _last_checkpoint. What others put beside our members is theirs;
// what is no hint at all counts as none, as it does for readers.
func parseHint(b []byte) (Hint, bool) {
	var h Hint
	if json.Unmarshal(b, &h) != nil || h.Version < 0 {
		return Hint{Version: -1}, false
	}
	return h, true
}

// parseActions reads a commit file of ours back.
func parseActions(body []byte) ([]action, error) {
	var out []action
	for text := range bytes.Lines(body) {
		var a action
		if err := json.Unmarshal(text, &a); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// parseCheckpoint reads the adds of a checkpoint of ours back.
func parseCheckpoint(file []byte) ([]action, error) {
	rows, err := parquet.Read[action](bytes.NewReader(file), int64(len(file)))
	return slices.DeleteFunc(rows, func(a action) bool { return a.Add == nil }), err
}
