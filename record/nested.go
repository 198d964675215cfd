package record

import "batcher/column"

// list reads an array into a column of lists.
func (s *scanner) list(d []byte, i int, n *node, rep uint8) int {
	if n.depth >= s.maxDepth {
		return s.tooDeep(i)
	}
	if i = space(d, i+1); i < len(d) && d[i] == ']' {
		nulls(n.leaves, s.row, rep, n.def)
		return i + 1
	}
	for n.index = 0; ; n.index++ {
		if i = s.value(d, i, n.elem, rep, n.def+1); i < 0 {
			return i
		}
		rep = n.rep
		if i = space(d, i); i >= len(d) {
			return s.syntax(i)
		}
		if d[i] == ']' {
			return i + 1
		}
		if d[i] != ',' {
			return s.syntax(i)
		}
		i = space(d, i+1)
	}
}

// mapping reads an object into a declared map.
func (s *scanner) mapping(d []byte, i int, n *node, rep uint8) int {
	if n.depth >= s.maxDepth {
		return s.tooDeep(i)
	}
	if i = space(d, i+1); i < len(d) && d[i] == '}' {
		nulls(n.leaves, s.row, rep, n.def)
		return i + 1
	}
	n.mapKeys = emptied(n.mapKeys)
	for {
		if i = s.mapKey(d, i, n, rep); i < 0 {
			return i
		}
		if i = s.value(d, i, n.elem, rep, n.def+1); i < 0 {
			return i
		}
		rep = n.rep
		if i = space(d, i); i >= len(d) {
			return s.syntax(i)
		}
		if d[i] == '}' {
			return i + 1
		}
		if d[i] != ',' {
			return s.syntax(i)
		}
		i = space(d, i+1)
	}
}

func (s *scanner) mapKey(d []byte, i int, n *node, rep uint8) int {
	if i >= len(d) || d[i] != '"' {
		return s.syntax(i)
	}
	end, _ := stringEnd(d, i+1)
	if end < 0 {
		return s.syntax(^end)
	}
	key := s.unescaped(d, i+1, end)
	if key == nil {
		return failed
	}
	if _, twice := n.mapKeys[string(key)]; twice {
		return s.fail(duplicateKey, i)
	}
	n.key = string(key)
	n.mapKeys[n.key] = struct{}{}
	n.leaf.Bytes(s.row, rep, key)
	if i = space(d, end+1); i >= len(d) || d[i] != ':' {
		return s.syntax(i)
	}
	return space(d, i+1)
}

func nulls(leaves []*column.Filler, row int, rep, def uint8) {
	for _, c := range leaves {
		c.Null(row, rep, def)
	}
}
