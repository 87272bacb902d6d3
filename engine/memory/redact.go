package memory

// This file owns what becomes of the parts of a value that a policy protects:
// redacted before they are stored, masked where they would be shown to more
// than those who may read the record. It does not know which parts those are.

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// Redaction is what REDACT makes of what its path selects.
type Redaction uint8

const (
	RedactNone  Redaction = iota // lifts what a shorter scope asks for
	RedactHash                   // a keyed hash: equal values of one owner stay equal
	RedactLast4                  // the last four characters
	RedactDrop                   // nothing
)

func (r Redaction) String() string { return [...]string{"NONE", "HASH", "LAST4", "DROP"}[r] }

// ProtectedPath is a path with what is to be done with what it selects.
type ProtectedPath struct {
	Path string
	How  Redaction
}

// Redact gives a valid JSON value as it is to be stored. It changes nothing that
// it made itself, so a value that was read and is written back stays.
func Redact(value []byte, rules []ProtectedPath, secret *OwnerKey) ([]byte, error) {
	for _, rule := range rules {
		path, err := ParsePath([]byte(rule.Path))
		if err != nil {
			return nil, err
		}
		value, err = Rewrite(value, path, func(text []byte) []byte { return rule.How.apply(text, secret) })
		if err != nil {
			return nil, err
		}
	}
	return value, nil
}

func (r Redaction) apply(text []byte, secret *OwnerKey) []byte {
	if r == RedactDrop {
		return nil
	}
	if r == RedactNone || text[0] == 'n' {
		return text
	}
	plain := ""
	if text[0] == '"' {
		plain = nameOf(text)
	} else {
		plain = string(Compact(nil, text))
	}
	if r == RedactHash {
		return AppendQuoted(nil, []byte(hashed(plain, secret)))
	}
	if text[0] == '{' || text[0] == '[' {
		plain = ""
	}
	return AppendQuoted(nil, []byte(last4(plain)))
}

// hashedPrefix marks what RedactHash made.
const hashedPrefix = "hmac:"

func hashed(plain string, secret *OwnerKey) string {
	if isHashed(plain) {
		return plain
	}
	sum := new(Hasher).redacted(secret, plain)
	return hashedPrefix + hex.EncodeToString(sum[:])
}

func isHashed(plain string) bool {
	digits, ok := strings.CutPrefix(plain, hashedPrefix)
	if !ok || len(digits) != 2*sha256.Size {
		return false
	}
	for i := range len(digits) {
		if c := digits[i]; !isDigit(c) && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// last4 hides all but the last four characters; of a text so short that they
// would say most of it, all.
func last4(plain string) string {
	const hidden, shown = "****", 4
	if utf8.RuneCountInString(plain) < 2*shown {
		return hidden
	}
	cut := len(plain)
	for range shown {
		_, size := utf8.DecodeLastRuneInString(plain[:cut])
		cut -= size
	}
	return hidden + plain[cut:]
}

// MaskedText stands where something is stored that is not shown.
const MaskedText = "[encrypted]"

// Mask gives a valid JSON value with what the paths select replaced by with,
// valid JSON; nil takes it out.
func Mask(value []byte, paths []string, with []byte) ([]byte, error) {
	for _, text := range paths {
		path, err := ParsePath([]byte(text))
		if err != nil {
			return nil, err
		}
		if value, err = Rewrite(value, path, func([]byte) []byte { return with }); err != nil {
			return nil, err
		}
	}
	return value, nil
}
