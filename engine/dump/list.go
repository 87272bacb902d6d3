package dump

// This file owns lists: how they are written, and the forms of all versions of
// Redis in which they are read. It must not know footers.

import (
	"errors"
	"fmt"

	"reminis/engine/listpack"
)

// The types of lists; TypeListNodes is written.
const (
	TypeList         Type = 1  // a count and so many strings
	TypeListZiplist  Type = 10 // a ziplist
	TypeListZiplists Type = 14 // a count and so many ziplists
	TypeListNodes    Type = 18 // a count and so many nodes: a form, and an element or a listpack
)

// The forms of a node.
const (
	nodePlain  = 1 // an element
	nodePacked = 2 // a listpack
)

// NodeLimit says what a node of a list holds at most, as list-max-listpack-size
// does: a number of elements, or, when negative, the place of a size in a list.
type NodeLimit int64

// nodeSizes are the sizes in bytes that -1 to -5 stand for.
var nodeSizes = [...]int{4096, 8192, 16384, 32768, 65536}

const (
	// nodeCountedBytes bounds a node whose elements are counted.
	nodeCountedBytes = 8192
	// nodeElementBytes is what Redis takes an element for beside its text.
	nodeElementBytes = 8
)

// Takes says whether a node of a listpack of so many bytes and elements takes
// another of textBytes (quicklist.c _quicklistNodeAllowInsert).
func (l NodeLimit) Takes(packBytes, count, textBytes int) bool {
	sizeBytes := packBytes + textBytes + nodeElementBytes
	if l < 0 {
		return sizeBytes <= nodeSizes[min(-l, NodeLimit(len(nodeSizes)))-1]
	}
	return sizeBytes <= nodeCountedBytes && count < int(l)
}

// AppendList appends a list with its type, its elements in as few nodes as the
// limit allows. each visits them in order.
func (f Form) AppendList(dst []byte, limit NodeLimit, each func(visit func(x listpack.Element))) []byte {
	var nodes []byte
	var run listpack.Run
	count, total := 0, 0
	end := func() {
		nodes = f.AppendString(append(nodes, nodePacked), listpack.AppendPacked(nil, run, count))
		run, count = run[:0], 0
		total++
	}
	var digits [20]byte
	each(func(x listpack.Element) {
		text := x.Text
		if text == nil {
			text = x.AppendTo(digits[:0])
		}
		if count > 0 && !limit.Takes(listpack.PackedBytes(run), count, len(text)) {
			end()
		}
		run = listpack.AppendElement(run, text)
		count++
	})
	end()
	return append(AppendLength(append(dst, byte(TypeListNodes)), uint64(total)), nodes...)
}

// list reads the elements of a list.
func (r *Reader) list(t Type) ([][]byte, error) {
	switch t {
	case TypeList:
		return notEmpty(r.strings(1))
	case TypeListZiplist:
		return notEmpty(r.packed(ziplistElements))
	}
	count, err := r.Length()
	if err != nil {
		return nil, err
	}
	var elements [][]byte
	for ; count > 0; count-- {
		var more [][]byte
		if t == TypeListZiplists {
			more, err = r.packed(ziplistElements)
		} else {
			more, err = r.node()
		}
		if err != nil {
			return nil, err
		}
		elements = append(elements, more...)
	}
	return notEmpty(elements, nil)
}

func notEmpty(elements [][]byte, err error) ([][]byte, error) {
	if err == nil && len(elements) == 0 {
		err = ErrEmpty
	}
	return elements, err
}

// node reads a node: its form, then an element, which is not empty, or a listpack.
func (r *Reader) node() ([][]byte, error) {
	form, err := r.Length()
	if err != nil {
		return nil, err
	}
	if form != nodePlain && form != nodePacked {
		return nil, fmt.Errorf("dump: %d is no form of a node", form)
	}
	data, err := r.String()
	if err != nil {
		return nil, err
	}
	if form == nodePacked {
		return listpackElements(data)
	}
	if len(data) == 0 {
		return nil, errors.New("dump: a node without an element")
	}
	return [][]byte{data}, nil
}
