package schema

import "fmt"

// CheckGrowth says whether next may follow before without a rewrite: every field
// of before is still there with its id, name, key and type, where structs may
// have got further fields; ids of new fields are above before's LastID and
// LastID never falls.
func CheckGrowth(before, next *Schema) error {
	if next.LastID < before.LastID {
		return fmt.Errorf("last field id falls from %d to %d", before.LastID, next.LastID)
	}
	return checkGrowth("", before.Fields, next.Fields, before.LastID)
}

func checkGrowth(path string, before, next []Field, lastID int32) error {
	byID := make(map[int32]*Field, len(next))
	for i := range next {
		byID[next[i].ID] = &next[i]
	}
	for i := range before {
		old := &before[i]
		now, ok := byID[old.ID]
		if !ok {
			return fmt.Errorf("field %s%s (id %d) is gone", path, old.Name, old.ID)
		}
		delete(byID, old.ID)
		if now.Name != old.Name || now.Key != old.Key {
			return fmt.Errorf("field %s%s (id %d) is now %s", path, old.Name, old.ID, now.Name)
		}
		if now.Type.Kind != old.Type.Kind || now.Type.Precision != old.Type.Precision || now.Type.Scale != old.Type.Scale {
			return fmt.Errorf("field %s%s changes from %s to %s", path, old.Name, old.Type, now.Type)
		}
		if err := checkGrowth(path+old.Name+".", old.Type.Fields, now.Type.Fields, lastID); err != nil {
			return err
		}
	}
	for id, f := range byID {
		if id <= lastID {
			return fmt.Errorf("new field %s%s has id %d, which was given before (last %d)", path, f.Name, id, lastID)
		}
	}
	return nil
}
