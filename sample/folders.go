package sample

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"batcher/schema"
)

// hiveFolder is a folder as Hive and Spark name partitions: dt=2024-01-01.
var hiveFolder = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=(.*)$`)

// wholeNumber is one that no identifier is written as.
var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)

// proposeFolders makes columns of folders named like partitions, where all objects have
// them at the same depth. Of others it says that their values are not read.
func (s *Sample) proposeFolders(opt Options) {
	var parts, columns []string
	last := 0
	for depth := 0; ; depth++ {
		name, values, deep := s.folder(depth)
		if !deep {
			break
		}
		column := opt.Rules.Names.Plain(name)
		if name == "" || !schema.IsName(column) || slices.Contains(columns, column) {
			parts = append(parts, "*")
			continue
		}
		columns = append(columns, column)
		if kind := kindOf(values); kind != schema.String {
			column += ":" + kind.String()
		}
		parts = append(parts, name+"={"+column+"}")
		last = len(parts)
	}
	switch {
	case opt.Rules.Key != nil:
		s.warnOfFolders(opt.Rules.Key.Path.String())
		return
	case last > 0:
		s.set("source.files.key_columns", yamlText(strings.Join(parts[:last], "/")+"/**"), true,
			"folders are named like partitions: "+strings.Join(columns, ", "))
	}
	s.warnOfFolders(strings.Join(parts[:last], "/"))
}

// folder is the name that the folders of all objects at a depth have before "=", or "",
// with the values that follow it; deep says that all objects lie so deep.
func (s *Sample) folder(depth int) (name string, values []string, deep bool) {
	same := true
	for i, o := range s.picked {
		folders := strings.Split(o.Key, "/")
		if depth >= len(folders)-1 {
			return "", nil, false
		}
		m := hiveFolder.FindStringSubmatch(folders[depth])
		if m == nil || i > 0 && m[1] != name {
			same = false
			continue
		}
		name, values = m[1], append(values, m[2])
	}
	if !same {
		name = ""
	}
	return name, values, len(s.picked) > 0
}

// kindOf is the type that all values have, as far as it is certain.
func kindOf(values []string) schema.Kind {
	dates, numbers, said := true, true, false
	for _, v := range values {
		if v == "" || v == "__HIVE_DEFAULT_PARTITION__" {
			continue
		}
		_, err := time.Parse(time.DateOnly, v)
		dates, numbers, said = dates && err == nil, numbers && wholeNumber.MatchString(v), true
	}
	switch {
	case said && dates:
		return schema.Date
	case said && numbers:
		return schema.Int64
	}
	return schema.String
}

// warnOfFolders says that values which the names of folders alone have are not read,
// of folders that a pattern has not.
func (s *Sample) warnOfFolders(pattern string) {
	var names []string
	for _, o := range s.picked {
		folders := strings.Split(o.Key, "/")
		for _, folder := range folders[:len(folders)-1] {
			if m := hiveFolder.FindStringSubmatch(folder); m != nil && !strings.Contains(pattern, m[1]+"={") && !slices.Contains(names, m[1]) {
				names = append(names, m[1])
			}
		}
	}
	if len(names) > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("folders are named like partitions (%s=), not alike in all objects: "+
			"what their names say does not become columns; source.files.key_columns says which do", strings.Join(names, "=, ")))
	}
}
