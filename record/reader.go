package record

// record is one record as it was cut.
type record struct {
	source []byte
	pos    int64 // its place in the object
	next   int64 // the first position behind it
	raw    []byte
	length int64  // true length in bytes
	valid  bool   // raw is valid UTF-8
	turned bool   // raw was turned into UTF-8: what is invalid in it was another byte
	bad    code   // what cutting it found wrong, or fine
	by     parser // understands raw
}

// tooLong says whether the record is longer than max bytes. The first half of a
// CRLF, which stands in the text of a line, does not count.
func (r *record) tooLong(max int) bool {
	if _, typed := r.by.(*typedParser); typed || r.length != int64(max)+1 {
		return r.length > int64(max)
	}
	return !fits(r.raw, max)
}

// fits says whether a line is at most max bytes long, but for the first half of a
// CRLF.
func fits(line []byte, max int) bool {
	return len(line) <= max || len(line) == max+1 && line[max] == '\r'
}

// head is as much of a record as a dead letter keeps.
func (r *record) head() (head []byte, length int64) {
	return r.raw[:min(len(r.raw), KeptBytes)], r.length
}

// reader cuts the records of one object of one format. Its positions count
// decoded bytes of the object, or records where the format has no bytes to
// speak of. Whatever cannot be cut any further is a BrokenError.
type reader interface {
	// seek gives up all records before a position and says whether the object
	// reaches it. It comes once, before the first record.
	seek(to int64) (bool, error)
	// next cuts the next record, or gives io.EOF. The record's bytes are valid
	// until the next call.
	next(*record) error
	// more says whether anything follows what was cut.
	more() (bool, error)
	// at is the position behind everything that was looked at.
	at() int64
	// verify reads to the end, so that it is known whether all of the object
	// can be cut.
	verify() error
}

// parser understands the records of one format, one at a time.
type parser interface {
	// scan reads a record as the next row. If it returns false, the fault says
	// why, the columns hold a part of the row and drop must follow.
	scan(*record) bool
	// valid says whether the record can become a row at all; if not, the fault
	// says why.
	valid(*record) bool
	// teaches says whether a record that is valid may be a row as far as that
	// shows before its types are known.
	teaches(*record, when) bool
	// observe learns the types of a record that is valid and teaches something.
	observe(*record, when)
	// show returns the record as a dead letter keeps it, at most KeptBytes, and how
	// long all of it is in that form.
	show(*record) (head []byte, length int64)
}
