package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// movedError says that the root is not the directory any more that it was.
type movedError struct{ root string }

func (e *movedError) Error() string {
	return fmt.Sprintf("%s was moved away or deleted while it was in use", e.root)
}

// stays refuses to write into a root that is another directory than before, or none:
// whoever moved the store away does not want a part of it to grow in its place. A root
// that was never there is made by the first write.
func (s *Store) stays() error {
	home := s.home.Load() // before the look at the root, which another writer may be making
	now, err := os.Stat(s.root)
	switch {
	case errors.Is(err, fs.ErrNotExist) && home != nil:
		return &movedError{s.root}
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case home == nil:
		s.home.CompareAndSwap(nil, &now)
	case !os.SameFile(*home, now):
		return &movedError{s.root}
	}
	return nil
}
