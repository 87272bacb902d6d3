package memory

// This file owns lists: records whose value is an array of items that are kept
// one by one, so that appending writes only what it adds. It knows the binary
// form of items and how arrays fall apart and come together, not where items are
// kept.
//
//	varint time of the append, ms
//	the item's JSON text

import "encoding/binary"

// Item is one element of a list.
type Item struct {
	TimeMs int64
	Text   []byte // JSON
}

// AppendItem appends an item's binary form.
func AppendItem(dst []byte, item Item) []byte {
	return append(binary.AppendVarint(dst, item.TimeMs), item.Text...)
}

// DecodeItem reads an item, whose text aliases b. It returns a *CorruptError for
// what AppendItem did not write.
func DecodeItem(b []byte) (Item, error) {
	in := reader{all: b, what: "item"}
	item := Item{TimeMs: in.varint()}
	if in.err == nil && in.left() == 0 {
		in.fail()
	}
	item.Text = b[in.pos:]
	return item, in.err
}

// AnchorText appends the text that the item is found by.
func (item *Item) AnchorText(dst []byte) []byte { return appendStringLeaves(dst, item.Text) }

func (r *Record) appendList(dst []byte) []byte {
	for _, n := range []uint64{r.List, r.First, r.Next, r.ItemBytes} {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

func (r *Record) setList(body []byte) bool {
	in := reader{all: body, what: "record"}
	r.List, r.First, r.Next, r.ItemBytes = in.uvarint(), in.uvarint(), in.uvarint(), in.uvarint()
	return in.err == nil && in.left() == 0 && r.List != 0 && r.First != 0 && r.First < r.Next
}

// Whole makes a list a record like any other, with the array as its value.
func (r *Record) Whole(array []byte) {
	r.Value = array
	r.List, r.First, r.Next, r.ItemBytes = 0, 0, 0, 0
}

// ArrayBytes is the size of the array that a list's items make.
func (r *Record) ArrayBytes() int {
	if r.Next == r.First {
		return len("[]")
	}
	return int(r.ItemBytes+r.Next-r.First) + 1
}

// JoinItems appends the array of the texts.
func JoinItems(dst []byte, texts func(yield func(text []byte) bool)) []byte {
	dst = append(dst, '[')
	n := 0
	for text := range texts {
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, text...)
	}
	return append(dst, ']')
}

// SplitArray gives the elements of a record's value, which alias it. It fails
// when the value is no array, or has more elements than a list may.
func SplitArray(r *Record) (texts [][]byte, err error) {
	value := trimSpace(r.Value)
	if r.Text || value[0] != '[' {
		return nil, errNotArray(r)
	}
	for i := skipSpace(value, 1); value[i] != ']'; {
		if value[i] == ',' {
			i = skipSpace(value, i+1)
		}
		end := skipValue(value, i)
		texts = append(texts, value[i:end:end])
		if len(texts) > LimitListItems().Default {
			return nil, errTooLarge("list", len(texts), LimitListItems())
		}
		i = skipSpace(value, end)
	}
	return texts, nil
}

// CheckItems checks items that are to be appended, and takes the space around
// them away: JSON, within the limits of values, in which they lie one level
// deeper.
func CheckItems(texts [][]byte) error {
	if limit := LimitListItems(); len(texts) > limit.Default {
		return errTooLarge("list", len(texts), limit)
	}
	depth := limitValueDepth()
	depth.Default--
	for i, text := range texts {
		if limit := LimitValue(); len(text) > limit.Default {
			return errTooLarge("item", len(text), limit)
		}
		if err := checkJSON("item", text, depth); err != nil {
			return err
		}
		texts[i] = trimSpace(text)
	}
	return nil
}

// CheckList checks a list that is to be.
func CheckList(r *Record) error {
	if limit, count := LimitListItems(), r.Next-r.First; count > uint64(limit.Default) {
		return errTooLarge("list", int(count), limit)
	}
	if limit := LimitValue(); r.ArrayBytes() > limit.Default {
		return errTooLarge("value", r.ArrayBytes(), limit)
	}
	return nil
}
