package memory

// This file owns what an owner consented to. It knows neither who asks nor where
// it is kept.

// Consent says for which kinds of record an owner gave consent or took it back.
// The zero Consent is that of an owner who was never asked.
type Consent struct{ granted, revoked uint8 }

// ConsentState is what an owner said about one kind.
type ConsentState uint8

const (
	ConsentUnset ConsentState = iota
	ConsentGranted
	ConsentRevoked
)

func (s ConsentState) String() string { return [...]string{"unset", "granted", "revoked"}[s] }

// ConsentKinds are the kinds that consent is asked for: what is kept for long.
func ConsentKinds() []Kind { return []Kind{Profile, Semantic} }

// Of is what was said about a kind.
func (c Consent) Of(k Kind) ConsentState {
	switch bit := uint8(1) << k; {
	case c.granted&bit != 0:
		return ConsentGranted
	case c.revoked&bit != 0:
		return ConsentRevoked
	}
	return ConsentUnset
}

// With gives the consent after a kind was granted or revoked.
func (c Consent) With(k Kind, granted bool) Consent {
	bit := uint8(1) << k
	c.granted, c.revoked = c.granted&^bit, c.revoked|bit
	if granted {
		c.granted, c.revoked = c.granted|bit, c.revoked&^bit
	}
	return c
}

// Allows says whether a record of a kind may be written where consent is, or is
// not, required. What was revoked is refused in any case.
func (c Consent) Allows(k Kind, required bool) bool {
	switch c.Of(k) {
	case ConsentGranted:
		return true
	case ConsentRevoked:
		return false
	}
	return !required || k != Profile && k != Semantic
}

// Hides says whether records of a kind are hidden from reads.
func (c Consent) Hides(k Kind) bool { return c.revoked>>k&1 != 0 }

// HidesAny says whether anything is.
func (c Consent) HidesAny() bool { return c.revoked != 0 }

// Encode gives the consent's binary form.
func (c Consent) Encode() []byte { return []byte{codecVersion, c.granted, c.revoked} }

// DecodeConsent reads what Encode gave; nil is the zero Consent.
func DecodeConsent(encoded []byte) (Consent, error) {
	if len(encoded) == 0 {
		return Consent{}, nil
	}
	if len(encoded) != 3 || encoded[0] != codecVersion {
		return Consent{}, &CorruptError{What: "consent"}
	}
	return Consent{granted: encoded[1], revoked: encoded[2]}, nil
}
