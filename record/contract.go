package record

import (
	"bytes"
	"fmt"

	"batcher/schema"
)

// ContractError says that a record breaks the contract freeze: nothing of the
// batch may be kept.
type ContractError struct {
	Source string
	Offset int64  // of the record
	Code   string // contract_new_column or contract_type
	Place  string // in the record, as in _rescued
	Reason string
	Cure   string // a command, or what to change in the pipeline file
}

// Error names the record and what is wrong with it.
func (e *ContractError) Error() string {
	return fmt.Sprintf("%s at %d: %s, and schema.contract is freeze: batch not committed", e.Source, e.Offset, e.Reason)
}

// rescue appends a member to what becomes _rescued; s.path is its key. It returns
// false if the contract does not let the record become a row.
func (s *scanner) rescue(m misfit, value []byte) bool {
	if s.settled(&m, value) {
		return s.fault.code == fine
	}
	s.member()
	m.from = len(s.rescued)
	s.rescued = append(s.rescued, value...)
	m.to = len(s.rescued)
	s.misfits = append(s.misfits, m)
	return true
}

// member begins a member of what becomes _rescued; s.path is its key.
func (s *scanner) member() {
	if len(s.rescued) == 0 {
		s.rescued = append(s.rescued, '{')
	} else {
		s.rescued = append(s.rescued, ',')
	}
	s.rescued = appendQuoted(s.rescued, s.path)
	s.rescued = append(s.rescued, ':')
}

// settled decides about a value that has no place, and says whether that is all
// that becomes of it: it is counted and kept nowhere, or the record fails, which
// the fault then says. s.path is its place.
//
// A key that was not asked for, because only pinned columns are, breaks no
// contract. An instant whose fraction was cut, or a number that a double rounds, is
// in its column and does not either; nor does the value of a second place of one.
func (s *scanner) settled(m *misfit, value []byte) bool {
	s.fault.code = fine
	contract := s.contract
	switch {
	case m.reason == precision, m.reason == secondPlace:
		return false
	case m.reason == unknownKey && !m.at.listed:
		contract = schema.DiscardValue
	case m.reason == unknownKey && !s.frozen:
		return false
	}
	switch contract {
	case schema.Evolving:
		return false
	case schema.DiscardValue:
		m.dropped, m.from = true, len(s.dropped)
		s.dropped = append(s.dropped, value[:min(len(value), exampleBytes)]...)
		m.to = len(s.dropped)
		s.misfits = append(s.misfits, *m)
	default:
		s.refuse(*m, value)
	}
	return true
}

// refuse notes that the record breaks the contract.
func (s *scanner) refuse(m misfit, value []byte) {
	example := bytes.ToValidUTF8(value[:min(len(value), exampleBytes)], replacement)
	s.fault = fault{code: newColumn, where: string(s.path), text: fmt.Sprintf("%s has no column", s.path)}
	s.fault.cure = "a pin under schema.columns adds the column, schema.contract: evolve any"
	if m.reason == wrongType {
		s.fault.code = misfitting
		s.fault.text = fmt.Sprintf("%s is %s and does not take %s", s.path, typeName(m.at), example)
		s.fault.cure = cure(Misfit{Column: m.at.column, Reason: reasons[wrongType]}, m.at.kind, m.saw)
	}
}

// broke makes of a fault what the contract freeze makes of it, or nil.
func (d *Decoder) broke(rec *record, f fault) error {
	if d.rules.Contract != schema.Freeze || f.code != newColumn && f.code != misfitting {
		return nil
	}
	return &ContractError{
		Source: string(rec.source), Offset: rec.pos, Code: said[f.code].code, Place: f.where, Reason: f.text, Cure: f.cure,
	}
}

// typeName is the type of a column for people.
func typeName(n *node) string {
	if n.kind.IsNested() {
		return n.kind.String()
	}
	return schema.Type{Kind: n.kind, Precision: int8(n.precision), Scale: int8(n.scale)}.String()
}
