package reply

// This file owns the declaration of replies and their check. It must not know
// commands.

import (
	"fmt"
	"strconv"
	"strings"
)

// Shape declares what a command may reply. It is an immutable value; the same
// shape stands for both protocols, as the Writer's methods do.
type Shape struct {
	kind    shapeKind
	words   []string // status: the texts that are allowed, none for any; record: the keys
	members []Shape
}

type shapeKind uint8

const (
	shapeAny shapeKind = iota
	shapeStatus
	shapeError
	shapeInt
	shapeBulk
	shapeNull
	shapeNullArray
	shapeDouble
	shapeBool
	shapeBigNumber
	shapeVerbatim
	shapeArray
	shapeTuple
	shapeSet
	shapeMap
	shapeRecord
	shapePush
	shapeOneOf
	shapePerProto
	shapeSeveral
)

// Any is any one reply, errors too. For commands that run others (EVAL, EXEC).
func Any() Shape { return Shape{kind: shapeAny} }

// OK is the status OK.
func OK() Shape { return Status("OK") }

// Status is a simple string: one of the texts, or any if none is given.
func Status(texts ...string) Shape { return Shape{kind: shapeStatus, words: texts} }

// Err is an error as a member of a reply. As the whole reply an error fits every
// shape.
func Err() Shape { return Shape{kind: shapeError} }

// Int is an integer.
func Int() Shape { return Shape{kind: shapeInt} }

// Bulk is a string.
func Bulk() Shape { return Shape{kind: shapeBulk} }

// Null is what Writer.Null writes.
func Null() Shape { return Shape{kind: shapeNull} }

// NullArray is what Writer.NullArray writes.
func NullArray() Shape { return Shape{kind: shapeNullArray} }

// Double is a double: in RESP2 a string that holds one.
func Double() Shape { return Shape{kind: shapeDouble} }

// Bool is a boolean: in RESP2 the integer 0 or 1.
func Bool() Shape { return Shape{kind: shapeBool} }

// BigNumber is an integer of any size: in RESP2 a string.
func BigNumber() Shape { return Shape{kind: shapeBigNumber} }

// Verbatim is a text with a format: in RESP2 a string.
func Verbatim() Shape { return Shape{kind: shapeVerbatim} }

// ArrayOf is an array of any number of members of one shape.
func ArrayOf(member Shape) Shape { return Shape{kind: shapeArray, members: []Shape{member}} }

// Tuple is an array of exactly these members.
func Tuple(members ...Shape) Shape { return Shape{kind: shapeTuple, members: members} }

// SetOf is a set of members of one shape: in RESP2 an array.
func SetOf(member Shape) Shape { return Shape{kind: shapeSet, members: []Shape{member}} }

// MapOf is a map of any number of pairs: in RESP2 a flat array.
func MapOf(key, value Shape) Shape { return Shape{kind: shapeMap, members: []Shape{key, value}} }

// Field is one pair of a Record.
type Field struct {
	Key   string
	Value Shape
}

// Record is a map of known string keys: in RESP2 a flat array. Every pair has one of
// the keys; not every key needs to be there, none is there twice.
func Record(fields ...Field) Shape {
	s := Shape{kind: shapeRecord}
	for _, field := range fields {
		s.words = append(s.words, field.Key)
		s.members = append(s.members, field.Value)
	}
	return s
}

// PushOf is an out-of-band message of exactly these members: in RESP2 an array.
func PushOf(members ...Shape) Shape { return Shape{kind: shapePush, members: members} }

// OneOf is a reply of any of the shapes.
func OneOf(shapes ...Shape) Shape { return Shape{kind: shapeOneOf, members: shapes} }

// Nullable is the shape or Null.
func Nullable(s Shape) Shape { return OneOf(s, Null()) }

// PerProto is one shape in RESP2 and another in RESP3, where Redis replies with a
// different structure (ZRANGE WITHSCORES).
func PerProto(resp2, resp3 Shape) Shape {
	return Shape{kind: shapePerProto, members: []Shape{resp2, resp3}}
}

// Several is one reply or more of one shape, each a reply of its own, as only the
// commands of pub/sub have it. It is a whole reply, never a part of one.
func Several(s Shape) Shape { return Shape{kind: shapeSeveral, members: []Shape{s}} }

// Check returns nil if data is exactly one reply of this shape in protocol 2 or 3,
// attributes before it aside. An error reply fits every shape.
func (s Shape) Check(data []byte, proto int) error {
	item, rest, err := read(data)
	if err == nil && item.Kind == KindError {
		data = rest
	} else if data, err = s.check(data, proto); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	if len(data) > 0 {
		return fmt.Errorf("reply: %d bytes follow the reply: %.40q", len(data), data)
	}
	return nil
}

// read is Read behind any attributes.
func read(data []byte) (Item, []byte, error) {
	for {
		item, rest, err := Read(data)
		if err != nil || item.Kind != KindAttribute {
			return item, rest, err
		}
		for range item.Count {
			if rest, err = Skip(rest); err != nil {
				return Item{}, data, err
			}
		}
		data = rest
	}
}

// check returns what follows a reply of this shape.
func (s Shape) check(data []byte, proto int) ([]byte, error) {
	switch s.kind {
	case shapeAny:
		return Skip(data)
	case shapeOneOf:
		return s.checkOneOf(data, proto)
	case shapePerProto:
		return s.members[proto-2].check(data, proto)
	case shapeSeveral:
		rest, err := s.members[0].check(data, proto)
		for err == nil && len(rest) > 0 {
			rest, err = s.members[0].check(rest, proto)
		}
		return rest, err
	}
	item, rest, err := read(data)
	if err != nil {
		return data, err
	}
	if !s.fits(item, proto) {
		return data, fmt.Errorf("reply: want %s in RESP%d, have %.40q", s, proto, data)
	}
	switch s.kind {
	case shapeTuple, shapePush:
		return checkMembers(rest, proto, s.members)
	case shapeRecord:
		return s.checkRecord(rest, item.Count, proto)
	case shapeArray, shapeSet, shapeMap:
		for i := range item.Count {
			if rest, err = s.members[i%len(s.members)].check(rest, proto); err != nil {
				return data, fmt.Errorf("%w (member %d of %s)", err, i, s)
			}
		}
	}
	return rest, nil
}

func checkMembers(rest []byte, proto int, members []Shape) ([]byte, error) {
	var err error
	for i := range members {
		if rest, err = members[i].check(rest, proto); err != nil {
			return rest, fmt.Errorf("%w (member %d)", err, i)
		}
	}
	return rest, nil
}

func (s Shape) checkOneOf(data []byte, proto int) ([]byte, error) {
	var reasons []string
	for i := range s.members {
		rest, err := s.members[i].check(data, proto)
		if err == nil {
			return rest, nil
		}
		reasons = append(reasons, err.Error())
	}
	return data, fmt.Errorf("reply: none of %s: %s", s, strings.Join(reasons, "; "))
}

func (s Shape) checkRecord(rest []byte, count, proto int) ([]byte, error) {
	seen := make([]bool, len(s.words))
	for range count / 2 {
		item, value, err := read(rest)
		if err != nil {
			return rest, err
		}
		at := -1
		for i, word := range s.words {
			if word == string(item.Text) {
				at = i
			}
		}
		if at < 0 || seen[at] {
			return rest, fmt.Errorf("reply: unknown or repeated key %q in %s", item.Text, s)
		}
		seen[at] = true
		if rest, err = s.members[at].check(value, proto); err != nil {
			return rest, fmt.Errorf("%w (key %q)", err, s.words[at])
		}
	}
	return rest, nil
}

// fits reports whether an item, without its members, may begin a reply of the shape.
func (s Shape) fits(item Item, proto int) bool {
	if proto == 3 {
		return s.fits3(item)
	}
	switch s.kind {
	case shapeNull:
		return item.NullOf == KindBulk
	case shapeNullArray:
		return item.NullOf == KindArray
	case shapeDouble:
		_, err := strconv.ParseFloat(string(item.Text), 64)
		return item.Kind == KindBulk && err == nil
	case shapeBool:
		return item.Kind == KindInt && (string(item.Text) == "0" || string(item.Text) == "1")
	case shapeBigNumber, shapeVerbatim:
		return item.Kind == KindBulk
	case shapeSet:
		return item.Kind == KindArray
	case shapeMap, shapeRecord:
		return item.Kind == KindArray && item.Count%2 == 0
	case shapePush:
		return item.Kind == KindArray && item.Count == len(s.members)
	}
	return s.fitsBoth(item)
}

func (s Shape) fits3(item Item) bool {
	switch s.kind {
	case shapeNull, shapeNullArray:
		return item.Kind == KindNull && item.NullOf == 0
	case shapeDouble:
		_, err := strconv.ParseFloat(string(item.Text), 64)
		return item.Kind == KindDouble && err == nil
	case shapeBool:
		return item.Kind == KindBool
	case shapeBigNumber:
		return item.Kind == KindBigNumber
	case shapeVerbatim:
		return item.Kind == KindVerbatim
	case shapeSet:
		return item.Kind == KindSet
	case shapeMap, shapeRecord:
		return item.Kind == KindMap
	case shapePush:
		return item.Kind == KindPush && item.Count == len(s.members)
	}
	return s.fitsBoth(item)
}

// fitsBoth is fits for what both protocols write alike.
func (s Shape) fitsBoth(item Item) bool {
	switch s.kind {
	case shapeStatus:
		if item.Kind != KindStatus || len(s.words) == 0 {
			return item.Kind == KindStatus
		}
		for _, word := range s.words {
			if word == string(item.Text) {
				return true
			}
		}
		return false
	case shapeError:
		return item.Kind == KindError
	case shapeInt:
		return item.Kind == KindInt
	case shapeBulk:
		return item.Kind == KindBulk
	case shapeArray:
		return item.Kind == KindArray
	case shapeTuple:
		return item.Kind == KindArray && item.Count == len(s.members)
	}
	return false
}

// String describes the shape for the command reference.
func (s Shape) String() string {
	switch s.kind {
	case shapeStatus:
		if len(s.words) == 0 {
			return "status"
		}
		return strings.Join(s.words, " | ")
	case shapeArray:
		return "array of " + s.members[0].String()
	case shapeTuple:
		return "[" + joined(s.members, ", ") + "]"
	case shapeSet:
		return "set of " + s.members[0].String()
	case shapeMap:
		return "map of " + s.members[0].String() + " to " + s.members[1].String()
	case shapeRecord:
		return "map of {" + strings.Join(s.words, ", ") + "}"
	case shapePush:
		return "push [" + joined(s.members, ", ") + "]"
	case shapeOneOf:
		return joined(s.members, " | ")
	case shapeSeveral:
		return "one or more replies " + s.members[0].String()
	case shapePerProto:
		return "RESP2: " + s.members[0].String() + "; RESP3: " + s.members[1].String()
	}
	return map[shapeKind]string{
		shapeAny: "any", shapeError: "error", shapeInt: "integer", shapeBulk: "string",
		shapeNull: "null", shapeNullArray: "null array", shapeDouble: "double", shapeBool: "boolean",
		shapeBigNumber: "big number", shapeVerbatim: "verbatim text",
	}[s.kind]
}

func joined(shapes []Shape, separator string) string {
	texts := make([]string, len(shapes))
	for i := range shapes {
		texts[i] = shapes[i].String()
	}
	return strings.Join(texts, separator)
}
