package sample

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// hiveFolder is a folder as Hive and Spark name partitions: dt=2024-01-01.
var hiveFolder = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=(.*)$`)

// proposeFolders makes columns of folders that are named like partitions. All
// objects looked at are to have the same ones.
func (s *Sample) proposeFolders() {
	var names []string
	values := map[string][]string{}
	for i, o := range s.picked {
		parts := strings.Split(o.Key, "/")
		folders := parts[:len(parts)-1]
		if i == 0 {
			names = make([]string, len(folders))
		}
		if len(folders) != len(names) {
			return
		}
		for j, folder := range folders {
			m := hiveFolder.FindStringSubmatch(folder)
			if m == nil || i > 0 && names[j] != m[1] {
				return
			}
			names[j] = m[1]
			values[m[1]] = append(values[m[1]], m[2])
		}
	}
	if len(names) == 0 {
		return
	}
	var pattern strings.Builder
	for _, name := range names {
		pattern.WriteString(name + "={" + name + folderType(values[name]) + "}/")
	}
	s.set("source.files.key_columns", yamlText(pattern.String()+"**"), true, "folders are named like partitions")
}

// folderType is the type that all values have, in the form of key_columns; text
// needs none.
func folderType(values []string) string {
	dates, numbers := true, true
	for _, v := range values {
		_, err := time.Parse(time.DateOnly, v)
		dates = dates && err == nil
		n, err := strconv.ParseInt(v, 10, 64)
		numbers = numbers && err == nil && strconv.FormatInt(n, 10) == v
	}
	switch {
	case dates:
		return ":date"
	case numbers:
		return ":int64"
	}
	return ""
}
