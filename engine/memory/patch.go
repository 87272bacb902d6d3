package memory

// This file owns MEM.PATCH's three ways of changing a JSON value. It knows
// neither records nor versions.

import (
	"strings"
)

// PatchMode is how a patch is read.
type PatchMode uint8

const (
	// PatchMerge merges objects deeply and replaces anything else whole. null
	// means "not known": it neither overwrites nor adds anything, except
	// inside an array, which is taken as it is.
	PatchMerge PatchMode = iota
	// PatchRFC7396 is JSON Merge Patch: null deletes.
	PatchRFC7396
	// PatchRFC6902 is JSON Patch: a list of operations, all or none.
	PatchRFC6902
)

// ParsePatchMode reads the name of a mode, in any case.
func ParsePatchMode(text []byte) (PatchMode, error) {
	switch {
	case equalFold(text, "MERGE"):
		return PatchMerge, nil
	case equalFold(text, "RFC7396"):
		return PatchRFC7396, nil
	case equalFold(text, "RFC6902"):
		return PatchRFC6902, nil
	}
	return 0, errPatchMode(text)
}

// Patch changes part of a valid JSON value; a nil value is one that does not
// exist and starts from {}. It gives the new value, and whether it is another
// one: order of members and space do not count. The patch is checked here;
// neither argument is changed, but the result may alias both.
//
// Errors name the patch, or its operation, and mean that nothing is to be
// changed: invalid JSON, nested deeper than 128, a failed test, a missing
// target, too much work, a result beyond the limits of values.
func Patch(mode PatchMode, value, patch []byte) (result []byte, changed bool, err error) {
	if limit := LimitValue(); len(patch) > limit.Default {
		return nil, false, errTooLarge("patch", len(patch), limit)
	}
	if err := checkJSON("patch", patch, limitPatchDepth()); err != nil {
		return nil, false, err
	}
	missing := value == nil
	if missing {
		value = []byte("{}")
	}
	root, change := newNode(value), newNode(patch)
	w := newWork("patch", limitPatchWork())
	if mode == PatchRFC6902 {
		err = applyOperations(&root, &change, w)
	} else {
		err = merge(&root, &change, mode == PatchRFC7396, w)
	}
	if err != nil {
		return nil, false, err
	}
	result = root.append(nil)
	if err := CheckValue(result, false); err != nil {
		return nil, false, err
	}
	if missing {
		return result, true, nil
	}
	same, err := EqualJSON(value, result)
	if err == nil && same {
		return value, false, nil
	}
	return result, true, nil
}

// merge changes target by an object patch; any other patch replaces it. It
// recurses along the patch, whose depth is bounded. Where the target has
// nothing or no object, it starts from {}, so that nulls never arrive in it.
func merge(target, patch *node, nullDeletes bool, w *work) error {
	if patch.kind() != '{' {
		if patch.kind() != 'n' || nullDeletes {
			*target = *patch
		}
		return nil
	}
	changes, err := patch.open(w)
	if err != nil {
		return err
	}
	if target.kind() != '{' {
		*target = node{box: &box{object: true}}
	}
	parts, err := target.open(w)
	if err != nil {
		return err
	}
	for i := range changes.members {
		m := &changes.members[i]
		if m.value.kind() == 'n' {
			if at := parts.find(m.name); nullDeletes && at >= 0 {
				parts.drop(at)
			}
			continue
		}
		slot := parts.slot(m.name, m.text)
		if slot.text == nil && slot.box == nil {
			*slot = node{box: &box{object: true}}
		}
		if err := merge(slot, &m.value, nullDeletes, w); err != nil {
			return err
		}
	}
	return nil
}

// applyOperations runs a JSON Patch.
func applyOperations(root, patch *node, w *work) error {
	if patch.kind() != '[' {
		return userError("patch is not an array of operations")
	}
	list, err := patch.open(w)
	if err != nil {
		return err
	}
	if limit := limitPatchOperations(); len(list.elements) > limit.Default {
		return errTooLarge("patch", len(list.elements), limit)
	}
	for i := range list.elements {
		op, err := readOperation(&list.elements[i], i, w)
		if err != nil {
			return err
		}
		if err := op.apply(root, w); err != nil {
			return err
		}
	}
	return nil
}

// operation is one operation of a JSON Patch, numbered from 0.
type operation struct {
	index int
	name  string
	path  pointer
	from  pointer
	value *node
}

// pointer is an RFC 6901 JSON Pointer, taken apart.
type pointer struct {
	text   string
	tokens []string
}

func readOperation(n *node, index int, w *work) (*operation, error) {
	op := &operation{index: index}
	if n.kind() != '{' {
		return nil, errOperation(index, "it is not an object")
	}
	parts, err := n.open(w)
	if err != nil {
		return nil, err
	}
	if op.name, err = op.stringMember(parts, "op"); err != nil {
		return nil, err
	}
	if op.path, err = op.pointerMember(parts, "path"); err != nil {
		return nil, err
	}
	switch op.name {
	case "add", "replace", "test":
		at := parts.find("value")
		if at < 0 {
			return nil, errOperation(index, "it has no \"value\"")
		}
		op.value = &parts.members[at].value
	case "move", "copy":
		if op.from, err = op.pointerMember(parts, "from"); err != nil {
			return nil, err
		}
	case "remove":
	default:
		return nil, errOperation(index, "\"op\" is not one of add, remove, replace, move, copy, test")
	}
	return op, nil
}

func (op *operation) stringMember(parts *box, name string) (string, error) {
	at := parts.find(name)
	if at < 0 || parts.members[at].value.kind() != '"' {
		return "", errOperation(op.index, "it has no string \"%s\"", name)
	}
	return nameOf(parts.members[at].value.text), nil
}

func (op *operation) pointerMember(parts *box, name string) (pointer, error) {
	text, err := op.stringMember(parts, name)
	if err != nil || text == "" {
		return pointer{}, err
	}
	if text[0] != '/' {
		return pointer{}, errOperation(op.index, "%s '%s' does not begin with /", name, quoteForError([]byte(text)))
	}
	if limit := limitPatchDepth(); strings.Count(text, "/") > limit.Default {
		return pointer{}, errOperation(op.index, "%s has more than %d levels, limit %s", name, limit.Default, limit.Name)
	}
	tokens := strings.Split(text[1:], "/")
	for i, token := range tokens {
		if tokens[i], err = op.unescape(token, name); err != nil {
			return pointer{}, err
		}
	}
	return pointer{text: text, tokens: tokens}, nil
}

// unescape reads ~0 and ~1; any other ~ is an error.
func (op *operation) unescape(token, name string) (string, error) {
	if !strings.Contains(token, "~") {
		return token, nil
	}
	var out strings.Builder
	for i := 0; i < len(token); i++ {
		switch {
		case token[i] != '~':
			out.WriteByte(token[i])
		case strings.HasPrefix(token[i:], "~0"):
			out.WriteByte('~')
			i++
		case strings.HasPrefix(token[i:], "~1"):
			out.WriteByte('/')
			i++
		default:
			return "", errOperation(op.index, "%s has a ~ that is neither ~0 nor ~1", name)
		}
	}
	return out.String(), nil
}

func (op *operation) apply(root *node, w *work) error {
	switch op.name {
	case "add":
		return op.add(root, *op.value, w)
	case "remove":
		_, err := op.remove(root, op.path, w)
		return err
	case "replace":
		target, err := op.resolve(root, op.path, w)
		if err == nil {
			*target = *op.value
		}
		return err
	case "move":
		if strings.HasPrefix(op.path.text, op.from.text+"/") {
			return errOperation(op.index, "a value cannot be moved into itself")
		}
		if op.path.text == op.from.text {
			_, err := op.resolve(root, op.from, w)
			return err
		}
		moved, err := op.remove(root, op.from, w)
		if err != nil {
			return err
		}
		return op.add(root, moved, w)
	case "copy":
		return op.copy(root, w)
	}
	return op.test(root, w)
}

func (op *operation) copy(root *node, w *work) error {
	source, err := op.resolve(root, op.from, w)
	if err != nil {
		return err
	}
	text := source.append(nil)
	if limit := LimitValue(); len(text) > limit.Default {
		return errOperation(op.index, "the copy is larger than %d bytes, limit %s", limit.Default, limit.Name)
	}
	if err := w.spend(len(text)); err != nil {
		return err
	}
	return op.add(root, node{text: text}, w)
}

func (op *operation) test(root *node, w *work) error {
	target, err := op.resolve(root, op.path, w)
	if err != nil {
		return err
	}
	same, err := equalNodes(target, op.value, w)
	if err != nil {
		return err
	}
	if !same {
		return errOperation(op.index, "test failed at '%s'", op.show(op.path))
	}
	return nil
}

// add puts a value at the operation's path.
func (op *operation) add(root *node, value node, w *work) error {
	if len(op.path.tokens) == 0 {
		*root = value
		return nil
	}
	parts, last, err := op.parent(root, op.path, w)
	if err != nil {
		return err
	}
	if parts.object {
		*parts.slot(last, quoteName(last)) = value
		return nil
	}
	at := len(parts.elements)
	if last != "-" {
		if at, err = op.elementIndex(last, len(parts.elements)+1); err != nil {
			return err
		}
	}
	if err := w.spend((len(parts.elements) - at + 1) * nodeCost); err != nil {
		return err
	}
	parts.elements = append(parts.elements, node{})
	copy(parts.elements[at+1:], parts.elements[at:])
	parts.elements[at] = value
	return nil
}

// remove takes the value at a path out and gives it.
func (op *operation) remove(root *node, path pointer, w *work) (node, error) {
	if len(path.tokens) == 0 {
		return node{}, errOperation(op.index, "the whole value cannot be removed")
	}
	parts, last, err := op.parent(root, path, w)
	if err != nil {
		return node{}, err
	}
	at, err := op.place(parts, last, path)
	if err != nil {
		return node{}, err
	}
	if parts.object {
		value := parts.members[at].value
		parts.drop(at)
		return value, nil
	}
	value := parts.elements[at]
	if err := w.spend((len(parts.elements) - at) * nodeCost); err != nil {
		return node{}, err
	}
	parts.elements = append(parts.elements[:at], parts.elements[at+1:]...)
	return value, nil
}

// resolve gives the value at a path, which must exist.
func (op *operation) resolve(root *node, path pointer, w *work) (*node, error) {
	if len(path.tokens) == 0 {
		return root, nil
	}
	parts, last, err := op.parent(root, path, w)
	if err != nil {
		return nil, err
	}
	at, err := op.place(parts, last, path)
	if err != nil {
		return nil, err
	}
	return parts.at(at), nil
}

// parent gives the object or array that holds the last token of a path.
func (op *operation) parent(root *node, path pointer, w *work) (*box, string, error) {
	n := root
	for depth := 0; ; depth++ {
		parts, err := n.open(w)
		if err != nil {
			return nil, "", err
		}
		if err := w.spend(nodeCost); err != nil {
			return nil, "", err
		}
		if parts == nil {
			return nil, "", errOperation(op.index, "'%s' does not exist", op.show(path))
		}
		if depth == len(path.tokens)-1 {
			return parts, path.tokens[depth], nil
		}
		at, err := op.place(parts, path.tokens[depth], path)
		if err != nil {
			return nil, "", err
		}
		n = parts.at(at)
	}
}

// place gives where in an object or array a token leads; it must exist.
func (op *operation) place(parts *box, token string, path pointer) (int, error) {
	if parts.object {
		if at := parts.find(token); at >= 0 {
			return at, nil
		}
		return 0, errOperation(op.index, "'%s' does not exist", op.show(path))
	}
	return op.elementIndex(token, len(parts.elements))
}

// at gives the value at a place.
func (b *box) at(place int) *node {
	if b.object {
		return &b.members[place].value
	}
	return &b.elements[place]
}

// elementIndex reads an array index by RFC 6901: digits without leading zeros.
func (op *operation) elementIndex(token string, size int) (int, error) {
	index := 0
	if !isInteger([]byte(token)) || token[0] == '-' || len(token) > 9 {
		return 0, errOperation(op.index, "'%s' is not an index of an array", quoteForError([]byte(token)))
	}
	for i := range len(token) {
		index = index*10 + int(token[i]-'0')
	}
	if index >= size {
		return 0, errOperation(op.index, "index %d is beyond the end of the array", index)
	}
	return index, nil
}

func (op *operation) show(path pointer) string { return quoteForError([]byte(path.text)) }

// quoteName gives a member's name as JSON. A lone surrogate, which only an
// escape can write, becomes that escape again.
func quoteName(name string) []byte {
	var quoted []byte
	rest := []byte(name)
	for {
		at := loneSurrogate(rest)
		if at < 0 {
			break
		}
		r := rune(rest[at]&0x0F)<<12 | rune(rest[at+1]&0x3F)<<6 | rune(rest[at+2]&0x3F)
		quoted = append(quoted, AppendQuoted(nil, rest[:at])[1:]...)
		quoted = appendEscape(quoted[:len(quoted)-1], r)
		rest = rest[at+3:]
	}
	quoted = append(quoted, AppendQuoted(nil, rest)[1:]...)
	return append([]byte{'"'}, quoted...)
}

// loneSurrogate gives where the three bytes begin that appendUnquoted makes of
// a lone surrogate, -1 if there are none.
func loneSurrogate(text []byte) int {
	for i := 0; i+2 < len(text); i++ {
		if text[i] == 0xED && text[i+1] >= 0xA0 {
			return i
		}
	}
	return -1
}
