package files

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"

	"batcher/source"
)

// index finds the newest entry of a key in an ordered list of runs. It is an
// open-addressing table of 4-byte entry numbers, about 8 bytes an entry, over
// the runs' own bytes. Key hashes are uniform already, so eight of their bytes
// serve as the table's hash.
type index struct {
	runs  []*Run // oldest first
	bases []int  // number of the first entry of each run
	count int    // entries in all runs
	slots []uint32
}

const emptySlot = math.MaxUint32

// extend adds newer runs. It fails when a key occurs twice in one of them.
func (x *index) extend(runs []*Run) error {
	total := x.count
	for _, r := range runs {
		total += r.Len()
	}
	if total >= emptySlot/2 {
		return fmt.Errorf("consumed set: %d entries are more than one process can index", total)
	}
	if total*3 > len(x.slots)*2 {
		runs = append(append([]*Run(nil), x.runs...), runs...)
		*x = index{slots: newSlots(total)}
	}
	for _, r := range runs {
		base := x.count
		x.runs, x.bases, x.count = append(x.runs, r), append(x.bases, base), base+r.Len()
		for i := range r.Len() {
			if err := x.insert(base, base+i); err != nil {
				return err
			}
		}
	}
	return nil
}

func newSlots(entries int) []uint32 {
	size := 16
	for size < 2*entries {
		size *= 2
	}
	slots := make([]uint32, size)
	for i := range slots {
		slots[i] = emptySlot
	}
	return slots
}

// insert makes entry n, of the run that begins at base, the newest of its key.
func (x *index) insert(base, n int) error {
	key := x.rawKey(n)
	for at := slotOf(key, len(x.slots)); ; at = (at + 1) & (len(x.slots) - 1) {
		held := x.slots[at]
		if held != emptySlot && string(x.rawKey(int(held))) != string(key) {
			continue
		}
		if held != emptySlot && int(held) >= base {
			return fmt.Errorf("consumed run: key %x occurs twice", key)
		}
		x.slots[at] = uint32(n)
		return nil
	}
}

// find returns the number of the newest entry of the key.
func (x *index) find(key *source.Hash) (int, bool) {
	if x.count == 0 {
		return 0, false
	}
	for at := slotOf(key[:], len(x.slots)); ; at = (at + 1) & (len(x.slots) - 1) {
		held := x.slots[at]
		if held == emptySlot {
			return 0, false
		}
		if string(x.rawKey(int(held))) == string(key[:]) {
			return int(held), true
		}
	}
}

func slotOf(key []byte, slots int) int {
	return int(binary.LittleEndian.Uint64(key)) & (slots - 1)
}

// place turns an entry's number into its run and its place there.
func (x *index) place(n int) (run, i int) {
	run = sort.Search(len(x.bases), func(r int) bool { return x.bases[r] > n }) - 1
	return run, n - x.bases[run]
}

func (x *index) rawKey(n int) []byte {
	run, i := x.place(n)
	return x.runs[run].rawKey(i)
}

func (x *index) at(n int) Entry {
	run, i := x.place(n)
	return x.runs[run].At(i)
}
