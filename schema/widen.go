package schema

// Restore returns now with the types that its fields had in then: what becomes of
// a schema when the rows of then come back. Fields that were added since stay, and
// LastID does, so that no id is given again. Neither argument is changed.
func Restore(then, now *Schema) *Schema {
	out := now.Clone()
	restoreFields(then.Fields, out.Fields)
	return out
}

// restoreFields gives fields the types of those with the same ids.
func restoreFields(then, now []Field) {
	was := make(map[int32]*Field, len(then))
	for i := range then {
		was[then[i].ID] = &then[i]
	}
	for i := range now {
		if old := was[now[i].ID]; old != nil {
			now[i].Type = restoreType(old.Type, now[i].Type)
		}
	}
}

// restoreType returns now if it only grew out of then, with its parts restored,
// and then if it is another type.
func restoreType(then, now Type) Type {
	same := then.Kind == now.Kind && then.Precision == now.Precision && then.Scale == now.Scale
	if !same || !keepsParts(then.Fields, now.Fields) {
		return Type{Kind: then.Kind, Precision: then.Precision, Scale: then.Scale, Fields: cloneFields(then.Fields)}
	}
	restoreFields(then.Fields, now.Fields)
	return now
}

// keepsParts says whether every part of a type is still there.
func keepsParts(then, now []Field) bool {
	ids := make(map[int32]bool, len(now))
	for i := range now {
		ids[now[i].ID] = true
	}
	for i := range then {
		if !ids[then[i].ID] {
			return false
		}
	}
	return true
}
