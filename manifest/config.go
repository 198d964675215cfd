package manifest

import "fmt"

// MismatchError says that a pipeline file does not fit the chain that it names: its
// records would get other ids, other rows or another place.
type MismatchError struct {
	Key      string // of the pipeline file
	Was, Now string
}

// Error gives the difference.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s of an existing pipeline changed from %q to %q", e.Key, e.Was, e.Now)
}

// Fresh says whether the pipeline has consumed nothing yet and written nothing: its
// settings bind nobody.
func (s Snapshot) Fresh() bool {
	for _, t := range s.Manifest.Tables {
		if t.Version >= 0 || t.LastSeq > 0 {
			return false
		}
	}
	f := s.Manifest.Progress.Files
	return f == nil || f.Count == 0 && len(f.Open) == 0
}

// Admits holds the settings of a pipeline file against those of the chain, as
// Config.Admits does, unless it is fresh.
func (s Snapshot) Admits(now Config) error {
	if s.Fresh() {
		return nil
	}
	return s.Manifest.Config.Admits(now)
}

// Admits holds the settings of a pipeline file against those of a chain, c, and
// returns a MismatchError for the first that may not change and has. Whatever else
// differs is told by Hash.
func (c Config) Admits(now Config) error {
	for _, f := range []struct{ key, was, now string }{
		{"source.files.path", c.Source, now.Source},
		{"source.files.format", c.Format, now.Format},
		{"record_id", c.RecordID, now.RecordID},
		{"table", c.Table, now.Table},
		{"dead_letters.table", c.Dead, now.Dead},
		{"partition_by", c.Split, now.Split},
	} {
		if f.was != f.now {
			return &MismatchError{f.key, f.was, f.now}
		}
	}
	return nil
}
