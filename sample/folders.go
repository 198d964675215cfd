package sample

import (
	"fmt"
	"regexp"
	"strings"
)

// hiveFolder is a folder as Hive and Spark name partitions: dt=2024-01-01.
var hiveFolder = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=`)

// warnOfFolders says that values which stand in the names of folders alone are
// not read.
func (s *Sample) warnOfFolders() {
	var names []string
	seen := map[string]bool{}
	for _, o := range s.picked {
		folders := strings.Split(o.Key, "/")
		for _, folder := range folders[:len(folders)-1] {
			if m := hiveFolder.FindStringSubmatch(folder); m != nil && !seen[m[1]] {
				seen[m[1]] = true
				names = append(names, m[1])
			}
		}
	}
	if len(names) > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("folders are named like partitions (%s=): "+
			"what their names say does not become columns; it stands in _source alone", strings.Join(names, "=, ")))
	}
}
