package delta

import (
	"bytes"
	"encoding/json"

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

// parseAuthor reads the start of a commit file, in which a last line may be torn.
// Anything that is not ours to the letter is foreign.
func parseAuthor(start []byte) author {
	var who author
	var info *commitInfo
	for line := range bytes.Lines(start) {
		var a action
		if json.Unmarshal(line, &a) != nil {
			break
		}
		if a.CommitInfo != nil && info == nil {
			info = a.CommitInfo
			who.Engine = info.Engine
		}
		if a.Txn != nil && who.App == "" {
			who.App = a.Txn.App
		}
		if info != nil && who.App != "" {
			break
		}
	}
	if info == nil || info.Batcher == nil || who.App == "" {
		return who
	}
	who.Ours, who.Seq, who.SHA256 = true, info.Batcher.Seq, info.Batcher.SHA256
	return who
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
