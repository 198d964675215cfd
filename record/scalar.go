package record

import "batcher/schema"

func (s *scanner) text(d []byte, i int, n *node, rep, def uint8) int {
	switch d[i] {
	case '"':
		end, escaped := stringEnd(d, i+1)
		if end < 0 {
			return s.syntax(^end)
		}
		content := d[i+1 : end]
		if escaped {
			if content = s.unescaped(d, i+1, end); content == nil {
				return failed
			}
		}
		if s.invalid > 0 && n.kind == schema.Bytes {
			s.invalid -= invalidBytes(d[i+1 : end])
		}
		n.leaf.Bytes(s.row, rep, content)
		return end + 1
	case '{', '[':
		return s.misfit(d, i, n, rep, def)
	}
	end := s.skip(d, i, n.depth)
	if end >= 0 {
		n.leaf.Bytes(s.row, rep, d[i:end])
	}
	return end
}

func (s *scanner) integer(d []byte, i int, n *node, rep, def uint8) int {
	j := i
	neg := d[i] == '-'
	if neg {
		j++
	}
	start := j
	var v int64
	for j < len(d) && d[j]-'0' <= 9 && j-start < 19 {
		v = v*10 + int64(d[j]-'0')
		j++
	}
	size := j - start
	if size == 0 || size > 18 || neg && v == 0 || (size > 1 && d[start] == '0') || (j < len(d) && (d[j] == '.' || d[j]|0x20 == 'e')) {
		var ok bool
		if v, j, ok = s.longInteger(d, i); !ok {
			return s.misfit(d, i, n, rep, def)
		}
	} else if neg {
		v = -v
	}
	if n.kind == schema.Int32 {
		if !inInt32(v) {
			return s.misfit(d, i, n, rep, def)
		}
		n.leaf.Int32(s.row, rep, int32(v))
		return j
	}
	if uint64(v+exact) > 2*exact && !n.wide {
		s.widen(n)
	}
	n.leaf.Int64(s.row, rep, v)
	return j
}

// longInteger reads whole numbers that the fast path refuses.
func (s *scanner) longInteger(d []byte, i int) (v int64, end int, ok bool) {
	end, isWhole := number(d, i)
	if end < 0 || !isWhole {
		return 0, i, false
	}
	v, ok = whole(d[i:end])
	return v, end, ok
}

func (s *scanner) number(d []byte, i int, n *node, rep, def uint8) int {
	if n.kind == schema.Float64 {
		if v, end, ok := shortFloat(d, i); ok && end-i <= surelyKept {
			n.leaf.Float64(s.row, rep, v)
			return end
		}
	}
	end, isWhole := number(d, i)
	if end < 0 {
		return s.misfit(d, i, n, rep, def)
	}
	if n.kind == schema.Decimal {
		v, ok := decimal(d[i:end], n.precision, n.scale)
		if !ok || !n.fixed && n.changes(classOfNumber(d[i:end])) {
			return s.misfit(d, i, n, rep, def)
		}
		n.leaf.Decimal(s.row, rep, v)
		return end
	}
	v, kept, ok := double(d[i:end])
	if !ok || (isWhole && (v > exact || v < -exact || (v == exact || v == -exact) && !isExact(d[i:end]))) {
		return s.misfit(d, i, n, rep, def)
	}
	n.leaf.Float64(s.row, rep, v)
	if !kept {
		s.path = n.appendPath(s.path[:0])
		s.rescue(misfit{at: n, reason: precision}, d[i:end])
	}
	return end
}

// isExact says whether a whole number whose double is ±2^53 is that number.
func isExact(b []byte) bool {
	v, ok := whole(b)
	return ok && v >= -exact && v <= exact
}

func (s *scanner) boolean(d []byte, i int, n *node, rep, def uint8) int {
	if end := literal(d, i, "true"); end >= 0 {
		n.leaf.Bool(s.row, rep, 1)
		return end
	}
	if end := literal(d, i, "false"); end >= 0 {
		n.leaf.Bool(s.row, rep, 0)
		return end
	}
	return s.misfit(d, i, n, rep, def)
}

// time reads dates and timestamps. A string with escapes is never one.
func (s *scanner) time(d []byte, i int, n *node, rep, def uint8) int {
	if d[i] != '"' {
		if end, _ := number(d, i); end > 0 && n.unit != schema.ISO {
			return s.instant(d, i, end, n, rep, def)
		}
		return s.misfit(d, i, n, rep, def)
	}
	end, escaped := stringEnd(d, i+1)
	if end < 0 {
		return s.syntax(^end)
	}
	content := d[i+1 : end]
	if escaped {
		return s.misfit(d, i, n, rep, def)
	}
	if n.kind == schema.Date {
		days, ok := date(content)
		if !ok || n.reads.format != nil {
			return s.misfit(d, i, n, rep, def)
		}
		n.leaf.Int32(s.row, rep, days)
		return end + 1
	}
	return s.instant(d, i, end+1, n, rep, def)
}

// instant reads the timestamp d[i:end], a string or a number.
func (s *scanner) instant(d []byte, i, end int, n *node, rep, def uint8) int {
	content := d[i:end]
	if d[i] == '"' {
		content = d[i+1 : end-1]
	}
	us, cut, _, ok := n.instant(content)
	if !ok {
		return s.misfit(d, i, n, rep, def)
	}
	n.leaf.Int64(s.row, rep, us)
	if n.offset != nil {
		s.keepOffset(n, content, us)
	}
	if cut {
		s.path = n.appendPath(s.path[:0])
		s.rescue(misfit{at: n, reason: precision}, d[i:end])
	}
	return end
}
