package memory

// This file owns the four kinds of record and what each means by default. It
// does not know policies, which may override any of it per scope.

// Kind is the tier of a record. Numbers are on disk: append only.
type Kind uint8

const (
	KindUnset Kind = 0 // no KIND was given; never stored
	Working   Kind = 1 // the step the agent is on
	Session   Kind = 2 // the turns of one conversation
	Profile   Kind = 3 // preferences, addresses, progress
	Semantic  Kind = 4 // facts, notes, summaries, documents
)

// DefaultKind is that of a record written without KIND.
const DefaultKind = Profile

// Durability says when a change of a record may be answered.
type Durability uint8

const (
	DurableNever    Durability = iota // lives in memory only
	DurableInSecond                   // journaled, fsynced within a second
	DurableFirst                      // fsynced before the reply
)

// Rule is what a kind means unless a policy says otherwise.
type Rule struct {
	TTLMs           int64 // default time to live; 0: none
	Slides          bool  // the default TTL begins anew with every write
	HistoryVersions int   // versions kept in memory or reachable; 0: none
	HistoryAgeMs    int64 // how long versions stay on disk at least; 0: by count alone
	Durability      Durability
	Evictable       bool  // maxmemory may take it
	HalfLifeMs      int64 // the age at which recall counts it half as recent
}

const (
	hourMs = 3600 * 1000
	dayMs  = 24 * hourMs
)

// Rule gives the defaults of the kind; of one that is not known, Profile's,
// which loses nothing.
func (k Kind) Rule() Rule {
	switch k {
	case Working:
		return Rule{TTLMs: 24 * hourMs, Durability: DurableNever, Evictable: true, HalfLifeMs: hourMs}
	case Session:
		return Rule{TTLMs: 2 * hourMs, Slides: true, HistoryVersions: 50, HistoryAgeMs: 7 * dayMs,
			Durability: DurableInSecond, Evictable: true, HalfLifeMs: dayMs}
	case Semantic:
		return Rule{HistoryVersions: 100, Durability: DurableFirst, HalfLifeMs: 30 * dayMs}
	default:
		return Rule{HistoryVersions: 1000, Durability: DurableFirst, HalfLifeMs: 365 * dayMs}
	}
}

// Journaled says that changes of the kind are written to the journal.
func (k Kind) Journaled() bool { return k.Rule().Durability != DurableNever }

func (k Kind) String() string { return string(k.text()) }

// text is the kind's name as bytes, which are shared.
func (k Kind) text() []byte {
	if int(k) < len(kindTexts) {
		return kindTexts[k]
	}
	return kindTexts[KindUnset]
}

var kindTexts = [...][]byte{KindUnset: []byte("unset"), Working: []byte("working"), Session: []byte("session"),
	Profile: []byte("profile"), Semantic: []byte("semantic")}

// ParseKind reads a kind's name, in any case.
func ParseKind(text []byte) (Kind, error) {
	for k := Working; k <= Semantic; k++ {
		if equalFold(text, k.String()) {
			return k, nil
		}
	}
	return KindUnset, errKind(text)
}

// equalFold compares ASCII without case.
func equalFold(text []byte, name string) bool {
	if len(text) != len(name) {
		return false
	}
	for i := range text {
		if lower(text[i]) != lower(name[i]) {
			return false
		}
	}
	return true
}
