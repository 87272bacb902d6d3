package memory

// This file owns the form of keys and owners. It knows neither which owners
// exist nor who may read them.

import (
	"bytes"
	"unicode/utf8"
)

// Layout says how a store spells its keys; it is fixed when the store is
// created. The zero Layout is not usable: OwnerSegments is 1 to 15.
type Layout struct {
	OwnerSegments int  // mem-owner-segments
	OwnerTag      bool // mem-owner-tag: {product:user}:session:name
}

// DefaultLayout is that of a store whose configuration says nothing.
func DefaultLayout() Layout { return Layout{OwnerSegments: 2} }

// Key is the key of a record, checked. Its bytes alias those it was parsed
// from. The owner is a prefix of the key as it is written, braces included, so
// that one number, OwnerLen, carries it everywhere.
type Key struct {
	Text     []byte
	OwnerLen int
	Segments int
}

// Owner is the owner as it is written.
func (k Key) Owner() []byte { return k.Text[:k.OwnerLen] }

// Rest is what follows the owner and its colon.
func (k Key) Rest() []byte { return k.Text[k.OwnerLen+1:] }

// Session is the segment after the owner, the session by convention.
func (k Key) Session() []byte {
	session, _, _ := bytes.Cut(k.Rest(), colon)
	return session
}

var colon = []byte{':'}

// ParseKey checks a key: 3 to 16 segments, at most 1,024 bytes, none empty, no
// braces but those around the owner where the layout has them, no control
// characters, no glob characters inside the owner.
func (l Layout) ParseKey(text []byte) (Key, error) {
	ownerLen, segments, err := l.split("key", text)
	if err != nil {
		return Key{}, err
	}
	if segments < minSegments || segments <= l.OwnerSegments || segments > limitSegments().Default {
		if segments >= minSegments && segments <= l.OwnerSegments {
			return Key{}, userError("key has %d segments, its owner alone has %d", segments, l.OwnerSegments)
		}
		return Key{}, errSegmentCount("key", segments, limitSegments())
	}
	return Key{Text: text, OwnerLen: ownerLen, Segments: segments}, nil
}

// ParseOwner checks the name of an owner.
func (l Layout) ParseOwner(text []byte) error {
	_, segments, err := l.split("owner", text)
	if err != nil {
		return err
	}
	if segments != l.OwnerSegments {
		return errOwnerSegments(segments, l.OwnerSegments)
	}
	return nil
}

// OwnerLen gives the length of the owner that a known good key begins with.
func (l Layout) OwnerLen(key []byte) int {
	if l.OwnerTag {
		return bytes.IndexByte(key, '}') + 1
	}
	_, end := leadingSegments(key, l.OwnerSegments)
	return end
}

// split checks what keys, owners and namespaces have in common and counts
// segments. ownerLen is the length of the text when it is no longer than an
// owner.
func (l Layout) split(what string, text []byte) (ownerLen, segments int, err error) {
	if size := limitKey(); len(text) > size.Default {
		return 0, 0, errTooLarge(what, len(text), size)
	}
	if err := checkPrintable(what, text); err != nil {
		return 0, 0, err
	}
	plain := text
	if len(text) > 0 && text[0] == '{' {
		if !l.OwnerTag {
			return 0, 0, errOwnerTagged(what)
		}
		end := bytes.IndexByte(text, '}')
		if end < 0 || (end+1 < len(text) && text[end+1] != ':') {
			return 0, 0, errOwnerUntagged(what)
		}
		inside := text[1:end]
		if count, _ := leadingSegments(inside, maxInt); count != l.OwnerSegments {
			return 0, 0, errOwnerSegments(count, l.OwnerSegments)
		}
		ownerLen = end + 1
		plain = append(append(make([]byte, 0, len(text)), inside...), text[ownerLen:]...)
	}
	if bytes.ContainsAny(plain, "{}") {
		return 0, 0, errBrace(what)
	}
	segments, _ = leadingSegments(plain, maxInt)
	if index := emptySegment(plain); index > 0 {
		return 0, 0, errEmptySegment(what, index)
	}
	ownerEnd := ownerLen
	if ownerLen == 0 {
		if l.OwnerTag && segments >= l.OwnerSegments {
			return 0, 0, errOwnerUntagged(what)
		}
		_, ownerEnd = leadingSegments(plain, l.OwnerSegments)
	}
	if _, whole := globLiteral(text[:ownerEnd]); !whole {
		return 0, 0, errGlobInOwner(what)
	}
	return ownerEnd, segments, nil
}

const maxInt = int(^uint(0) >> 1)

// leadingSegments counts segments, at most limit, and says where the last one
// counted ends.
func leadingSegments(text []byte, limit int) (count, end int) {
	if len(text) == 0 {
		return 0, 0
	}
	for i, c := range text {
		if c == ':' {
			if count++; count == limit {
				return count, i
			}
		}
	}
	return count + 1, len(text)
}

// emptySegment gives the position, from 1, of the first empty segment, or 0.
func emptySegment(text []byte) int {
	if len(text) == 0 {
		return 1
	}
	position, size := 1, 0
	for _, c := range text {
		if c != ':' {
			size++
			continue
		}
		if size == 0 {
			return position
		}
		position, size = position+1, 0
	}
	if size == 0 {
		return position
	}
	return 0
}

// checkPrintable refuses bytes that could break a line of the timeline or of a
// JSON reply: keys are shown to people everywhere.
func checkPrintable(what string, text []byte) error {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if c < 0x20 || c == 0x7f {
				return errControl(what, i)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return errNotUTF8(what, i)
		}
		if mustEscape(r) {
			return errControl(what, i)
		}
		i += size
	}
	return nil
}
