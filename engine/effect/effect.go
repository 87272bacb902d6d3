package effect

// This file owns the list of kinds and the one table that says which fields a
// kind carries. Kind numbers are on disk: they are appended, never reused.

// Kind numbers a kind of change.
type Kind uint8

const (
	// KeyDelete removes Key, whatever its type. Number is the Cause.
	KeyDelete Kind = 1
	// DeadlineSet gives Key the deadline DeadlineMs; 0 removes it.
	DeadlineSet Kind = 2
	// StringSet makes Key the string Value with DeadlineMs, replacing any type.
	StringSet Kind = 3
	// StringSplice writes Value at byte offset Number of the string Key, which
	// it creates or extends with zero bytes as needed; the deadline stays.
	StringSplice Kind = 4
	// HashSet sets Field of the hash Key to Value, creating the hash.
	HashSet Kind = 5
	// HashDelete removes Field of the hash Key. Whoever removes the last field
	// emits KeyDelete after it.
	HashDelete Kind = 6
	// KeyRename moves Key to the key Field of database Number, with its
	// deadline. The target does not exist (KeyDelete precedes if it did).
	KeyRename Kind = 7
	// KeyCopy copies Key to the key Field of database Number, with its
	// deadline. The target does not exist.
	KeyCopy Kind = 8
	// DBFlush removes every key of database DB. History, events and command
	// ids of its records stay.
	DBFlush Kind = 9
	// DBSwap exchanges databases DB and Number, owners included.
	DBSwap Kind = 10
	// SetAdd makes Field a member of the set Key, creating the set.
	SetAdd Kind = 11
	// SetRemove removes the member Field of the set Key. Whoever removes the
	// last element of a collection emits KeyDelete after it.
	SetRemove Kind = 12
	// ScoreSet gives the member Field of the sorted set Key the score whose bits
	// (IEEE 754) are Number, creating member and sorted set.
	ScoreSet Kind = 13
	// ScoreRemove removes the member Field of the sorted set Key.
	ScoreRemove Kind = 14
	// ListSplice replaces Count bytes at offset Number of the block Field of the
	// list Key by Value, creating block and list. Blocks are in the order of
	// their names.
	ListSplice Kind = 15
	// ListDrop removes the block Field of the list Key.
	ListDrop Kind = 16
	// StreamSplice is ListSplice for a block of entries of the stream Key.
	StreamSplice Kind = 17
	// StreamDrop removes the block Field of the stream Key.
	StreamDrop Kind = 18
	// StreamSet attaches Value to the stream Key under the name Field: what it has
	// beside its entries. It creates the stream.
	StreamSet Kind = 19
	// StreamUnset removes what StreamSet attached as Field.
	StreamUnset Kind = 20

	// RecordPut makes Value (an encoded record) version Number of the memory
	// record Key. OwnerLen bytes of Key name its owner. DeadlineMs is its
	// deadline, Event the encoded audit event (empty: none). History keeps Count
	// versions, and any that stood within the last KeepMs.
	RecordPut Kind = 32
	// RecordForget removes the record Key; Number is the version that stood.
	RecordForget Kind = 33
	// RecordDeadline changes the deadline of the record Key to DeadlineMs.
	RecordDeadline Kind = 34
	// EventAppend adds Event to the chain of the owner Key; nothing else
	// changes. An empty Key is the server's own chain, always in database 0.
	EventAppend Kind = 35
	// CommandDone remembers that the owner Key has done the command whose id
	// has the digest Field; Value is its payload's digest and the status to
	// repeat, Number the version it made.
	CommandDone Kind = 36
	// FacetSet attaches Value to the owner Key under the name Field: what is
	// kept beside its records. An empty Value removes it; an empty Key is the
	// server, always in database 0. Event is empty when nobody need be told.
	FacetSet Kind = 37
	// RecordAppend makes Value (an encoded record without its items) version
	// Number of the record Key, as RecordPut does. The record is the list List,
	// which no other list of the key ever was; its items before First go. What is
	// added follows as ItemPut.
	RecordAppend Kind = 38
	// ItemPut makes Value (an encoded item) the item Number of the list List that
	// the record Key is.
	ItemPut Kind = 39
	// Erase destroys what there is, and was, of the record Key, and the bodies of
	// the owner's events that Value names (EventName). A Key that is no longer
	// than its owner is the owner: all of it goes, key and facets too, but the
	// heads of its events and that its commands were done. Erases are the first
	// effects of their batch, which changes no record besides.
	Erase Kind = 40
)

// A Cause says why a KeyDelete happened.
type Cause int64

const (
	Deleted     Cause = 0
	Expired     Cause = 1
	Evicted     Cause = 2
	Overwritten Cause = 3
)

// Effect is one change. Which fields mean something depends on Kind; the
// others are zero. The byte slices belong to whoever made the effect and are
// valid only during the call that passes it.
type Effect struct {
	Kind       Kind
	DB         uint32
	Key        []byte
	Field      []byte
	Value      []byte
	Event      []byte
	Number     int64
	DeadlineMs int64
	Count      int64
	KeepMs     int64
	List       uint64
	First      uint64
	OwnerLen   int
}

// Owner is the owner part of a record's key.
func (e *Effect) Owner() []byte { return e.Key[:e.OwnerLen] }

// fieldSet names the fields that a kind carries, in the order of encoding.
type fieldSet uint16

const (
	hasField fieldSet = 1 << iota
	hasValue
	hasEvent
	hasNumber
	hasDeadline
	hasCount
	hasOwner
	hasKeep
	hasList
	hasFirst
)

// hasPut is what a version of a record carries.
const hasPut = hasValue | hasEvent | hasNumber | hasDeadline | hasCount | hasKeep | hasOwner

// fieldsOf is the shape of each kind; absent kinds are unknown.
func fieldsOf(k Kind) (fieldSet, bool) {
	switch k {
	case KeyDelete:
		return hasNumber, true
	case DeadlineSet:
		return hasDeadline, true
	case StringSet:
		return hasValue | hasDeadline, true
	case StringSplice:
		return hasValue | hasNumber, true
	case HashSet:
		return hasField | hasValue, true
	case HashDelete, SetAdd, SetRemove, ScoreRemove, ListDrop, StreamDrop, StreamUnset:
		return hasField, true
	case ScoreSet:
		return hasField | hasNumber, true
	case ListSplice, StreamSplice:
		return hasField | hasValue | hasNumber | hasCount, true
	case StreamSet:
		return hasField | hasValue, true
	case KeyRename, KeyCopy:
		return hasField | hasNumber, true
	case DBFlush:
		return 0, true
	case DBSwap:
		return hasNumber, true
	case RecordPut:
		return hasPut, true
	case RecordAppend:
		return hasPut | hasList | hasFirst, true
	case ItemPut:
		return hasValue | hasNumber | hasList | hasOwner, true
	case RecordForget:
		return hasEvent | hasNumber | hasOwner, true
	case RecordDeadline:
		return hasEvent | hasDeadline | hasOwner, true
	case EventAppend:
		return hasEvent, true
	case CommandDone:
		return hasField | hasValue | hasNumber, true
	case Erase:
		return hasValue | hasOwner, true
	case FacetSet:
		return hasField | hasValue | hasEvent, true
	}
	return 0, false
}

// MakesVersion says whether the effect makes a version of a record.
func (k Kind) MakesVersion() bool { return k == RecordPut || k == RecordAppend }

// ChangesRecord says whether the effect is a change of a record that its history
// lists.
func (k Kind) ChangesRecord() bool {
	return k.MakesVersion() || k == RecordForget || k == RecordDeadline
}
