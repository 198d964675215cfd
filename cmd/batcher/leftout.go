package main

import (
	"fmt"
	"strings"

	"batcher/object"
	"batcher/source/files"
)

// reportLeftOut are names below the source path that are no input for one reason.
type reportLeftOut struct {
	Why   string   `json:"why"` // hidden, unfinished, folder, globs, folder_link, dead_link, special
	Count int64    `json:"count"`
	First []string `json:"first"` // the first few by name
}

// leftOut is what a plan leaves out, for reports.
func leftOut(all []files.LeftOut) []reportLeftOut {
	out := []reportLeftOut{}
	for _, o := range all {
		out = append(out, reportLeftOut{string(o.Why), o.Count, o.First})
	}
	return out
}

// reasons are what names are left out for, in words.
var reasons = map[string]string{
	string(files.Hidden):          `left out by name: "." or "_" begins it, or a folder above it`,
	string(files.Unfinished):      "left out by name: still being written, or a copy of an editor",
	string(files.Folder):          `left out by name: "/" ends it, as of an empty folder`,
	string(files.Unwanted):        "left out by include or exclude",
	string(object.SkipFolderLink): "left out: a symbolic link to a folder is not followed",
	string(object.SkipDeadLink):   "left out: a symbolic link that leads nowhere",
	string(object.SkipSpecial):    "left out: no file",
}

// String is what was left out, for people.
func (o reportLeftOut) String() string {
	var names strings.Builder
	for i, name := range o.First {
		if i > 0 {
			names.WriteString(", ")
		}
		fmt.Fprintf(&names, "%q", name)
	}
	if o.Count > int64(len(o.First)) {
		names.WriteString(", …")
	}
	return fmt.Sprintf("%s %s (%s)", grouped(o.Count), reasons[o.Why], names.String())
}
