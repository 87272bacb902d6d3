package memory

// This file owns scopes: what a command reads. It decides which keys a scope
// contains and which range of an ordered tree can hold them; it walks nothing.

import "bytes"

// Scope is what a command reads: a namespace (whole leading segments, the node
// and everything under it) or a Redis glob over keys as they are written. Its
// bytes alias those it was parsed from.
type Scope struct {
	text       []byte
	literalLen int
	glob       bool
	ownerLen   int // 0: may span owners
}

// ParseScope checks a scope. Text with one of * ? [ \ is a glob; anything else
// is a namespace and must consist of whole, non-empty segments. In a store with
// owner tags a namespace begins with a whole owner in braces or is shorter
// than an owner and has none.
func (l Layout) ParseScope(text []byte) (Scope, error) {
	if len(text) == 0 {
		return Scope{}, errEmptyScope()
	}
	if size := limitScope(); len(text) > size.Default {
		return Scope{}, errTooLarge("scope", len(text), size)
	}
	literalLen, whole := globLiteral(text)
	if !whole {
		s := Scope{text: text, literalLen: literalLen, glob: true}
		s.ownerLen = l.literalOwner(text[:literalLen])
		return s, nil
	}
	ownerLen, segments, err := l.split("scope", text)
	if err != nil {
		return Scope{}, err
	}
	if limit := limitSegments(); segments > limit.Default {
		return Scope{}, errTooLarge("scope", segments, limit)
	}
	s := Scope{text: text, literalLen: literalLen}
	if segments >= l.OwnerSegments {
		s.ownerLen = ownerLen
	}
	return s, nil
}

// ParseSession checks the name of a session of an owner, one segment, and gives
// the namespace of the session's records.
func (l Layout) ParseSession(owner, session []byte) (Scope, error) {
	if err := l.ParseOwner(owner); err != nil {
		return Scope{}, err
	}
	if len(session) == 0 || bytes.IndexByte(session, ':') >= 0 {
		return Scope{}, errSession(session)
	}
	text := bytes.Join([][]byte{owner, session}, colon)
	if _, _, err := l.split("session", text); err != nil {
		return Scope{}, err
	}
	return Scope{text: text, literalLen: len(text), ownerLen: len(owner)}, nil
}

// literalOwner gives the length of the one owner that every key beginning with
// this literal has, or 0: the owner counts only when its closing border is part
// of the literal, or `ai:bob*` would be read as the owner `ai:bob`.
func (l Layout) literalOwner(literal []byte) int {
	if l.OwnerTag {
		end := bytes.IndexByte(literal, '}')
		if len(literal) > 0 && literal[0] == '{' && end > 0 {
			return end + 1
		}
		return 0
	}
	count, end := leadingSegments(literal, l.OwnerSegments)
	if count == l.OwnerSegments && end < len(literal) {
		return end
	}
	return 0
}

// Text is the scope as it was given.
func (s Scope) Text() []byte { return s.text }

// IsGlob says that the scope is a glob, not a namespace.
func (s Scope) IsGlob() bool { return s.glob }

// Owner is the one owner that holds everything in the scope; false when the
// scope may span several.
func (s Scope) Owner() ([]byte, bool) { return s.text[:s.ownerLen], s.ownerLen > 0 }

// Literal is the prefix that every key of the scope has: the whole namespace,
// or what precedes a glob's first special character. A range scan of keys
// begins there and ends where keys stop having it.
func (s Scope) Literal() []byte { return s.text[:s.literalLen] }

// RestLiteral is Literal without the owner and its colon, for a tree of one
// owner's records ordered by what follows the owner. It means something only
// when Owner is true.
func (s Scope) RestLiteral() []byte {
	if s.literalLen <= s.ownerLen {
		return nil
	}
	return s.text[s.ownerLen+1 : s.literalLen]
}

// Contains says whether the scope holds the key. Namespaces end on segment
// borders: `ai:user_1` never contains a key of `ai:user_12`.
func (s Scope) Contains(key []byte) bool {
	if s.glob {
		return Match(s.text, key, false)
	}
	return containsPath(s.untagged(), key, s.text)
}

// Covers says whether the scope has every key that the owner can have.
func (s Scope) Covers(owner []byte) bool {
	if s.glob {
		literal := s.Literal()
		return len(s.text) == len(literal)+1 && s.text[len(literal)] == '*' &&
			len(literal) <= len(owner)+1 && bytes.HasPrefix(append(bytes.Clone(owner), ':'), literal)
	}
	return s.ownerLen <= len(owner) && len(s.text) <= len(owner) && containsPath(s.untagged(), owner, s.text)
}

// untagged says that the namespace is shorter than an owner, so that in a store
// with owner tags it is written without the brace that keys begin with.
func (s Scope) untagged() bool { return s.ownerLen == 0 }

func containsPath(skipBrace bool, key, namespace []byte) bool {
	if skipBrace && len(key) > 0 && key[0] == '{' {
		key = key[1:]
	}
	return bytes.HasPrefix(key, namespace) &&
		(len(key) == len(namespace) || key[len(namespace)] == ':')
}

// OwnerPrefix is what every owner with a key in the scope begins with, for a
// range scan of owners.
func (s Scope) OwnerPrefix(l Layout) []byte {
	if s.ownerLen > 0 {
		return s.text[:s.ownerLen]
	}
	if l.OwnerTag && !s.glob {
		return append([]byte{'{'}, s.text...)
	}
	return s.Literal()
}
