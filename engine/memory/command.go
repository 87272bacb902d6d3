package memory

import "strconv"

// This file owns the commands of MEM.APPLY as JSON: their members, and what each
// action needs of them. It must not know what an action does.

// Action is what a command does.
type Action uint8

const (
	Upsert       Action = iota + 1 // write a whole record
	PatchAction                    // change part of one
	AppendAction                   // add to one
	Delete                         // forget one
)

// String is the action as commands name it.
func (a Action) String() string {
	return [...]string{"", "upsert", "patch", "append", "delete"}[a]
}

func parseAction(text []byte) (Action, error) {
	for a := Upsert; a <= Delete; a++ {
		if string(text) == a.String() {
			return a, nil
		}
	}
	return 0, errAction(text)
}

// Command is one command of MEM.APPLY. What is absent is zero.
type Command struct {
	Action     Action
	Key        []byte
	Payload    []byte // JSON, as it was written
	Schema     []byte
	Kind       Kind
	Version    int64 // ifversion
	HasVersion bool
	ID         []byte
	Operator   []byte
	Reason     []byte
	TimeMs     int64
	HasTime    bool
}

// SplitCommands gives the commands of a JSON array, each as JSON. It fails when
// that is no JSON, no array, or one of more commands than allowed.
func SplitCommands(text []byte) ([][]byte, error) {
	if limit := LimitApplyBytes(); len(text) > limit.Default {
		return nil, errTooLarge("commands", len(text), limit)
	}
	// Payloads lie two levels below the array.
	depth := limitValueDepth()
	depth.Default += 2
	if err := CheckJSONDepth("commands", text, depth); err != nil {
		return nil, err
	}
	value := trimSpace(text)
	if value[0] != '[' {
		return nil, errCommands(value)
	}
	var commands [][]byte
	for i := skipSpace(value, 1); value[i] != ']'; {
		if value[i] == ',' {
			i = skipSpace(value, i+1)
		}
		end := skipValue(value, i)
		commands = append(commands, value[i:end:end])
		if limit := LimitApplyCommands(); len(commands) > limit.Default {
			return nil, errTooLarge("commands", len(commands), limit)
		}
		i = skipSpace(value, end)
	}
	return commands, nil
}

// ParseCommand reads one command, which is valid JSON. A member that is null is
// absent, but for payload; of members with the same name the last counts.
func ParseCommand(text []byte) (c Command, err error) {
	n := newNode(text)
	if n.kind() != '{' {
		return c, errCommand(text)
	}
	parts, err := n.open(newWork("commands", LimitApplyBytes()))
	if err != nil {
		return c, err
	}
	for i := range parts.members {
		m := &parts.members[i]
		if err := c.set(m.name, trimSpace(m.value.text)); err != nil {
			return c, err
		}
	}
	return c, c.check()
}

func (c *Command) set(name string, text []byte) error {
	var said []byte // nil: absent
	var err error
	switch name {
	case "payload":
		c.Payload = text
	case "action", "key", "schema", "kind", "command_id", "operator", "reason":
		said, err = memberText(name, text, "a string", isQuoted)
	case "ifversion":
		said, err = memberText(name, text, "a version", isInteger)
	case "timestamp":
		said, err = memberText(name, text, "a time", func(text []byte) bool { return isQuoted(text) || isInteger(text) })
	default:
		err = errCommandMember(name)
	}
	if said == nil || err != nil {
		return err
	}
	switch name {
	case "action":
		c.Action, err = parseAction(said)
	case "key":
		c.Key = said
	case "schema":
		c.Schema, err = said, CheckSchemaName(said)
	case "kind":
		c.Kind, err = ParseKind(said)
	case "command_id":
		c.ID, err = said, CheckText(name, said, LimitName())
	case "operator":
		c.Operator, err = said, CheckText(name, said, LimitName())
	case "reason":
		c.Reason, err = said, CheckText(name, said, LimitNote())
	case "timestamp":
		c.HasTime = true
		c.TimeMs, err = ParseTime(said)
	case "ifversion":
		c.HasVersion = true
		if c.Version, err = strconv.ParseInt(string(said), 10, 64); err != nil || c.Version < 0 {
			err = errCommandType(name, "a version")
		}
	}
	return err
}

// memberText is what a member says, without quotes; nil where it is null. It fails
// where that is not what is wanted.
func memberText(name string, text []byte, want string, form func(text []byte) bool) ([]byte, error) {
	switch {
	case text[0] == 'n':
		return nil, nil
	case !form(text):
		return nil, errCommandType(name, want)
	case isQuoted(text):
		return appendUnquoted([]byte{}, text), nil
	}
	return text, nil
}

func isQuoted(text []byte) bool { return text[0] == '"' }

// check says whether the action has what it needs, and nothing that it does not.
func (c *Command) check() error {
	switch {
	case c.Action == 0:
		return errCommandMissing("action")
	case len(c.Key) == 0:
		return errCommandMissing("key")
	case c.Action != Delete && c.Payload == nil:
		return errCommandMissing("payload")
	case c.Action == Delete && c.Payload != nil && c.Payload[0] != 'n':
		return errCommandUnused("payload", c.Action.String())
	case c.Action == Delete && c.Schema != nil:
		return errCommandUnused("schema", c.Action.String())
	case c.Action == Delete && c.Kind != KindUnset:
		return errCommandUnused("kind", c.Action.String())
	}
	return nil
}

// Items are what a command appends: the elements of a payload that is an array,
// else the payload.
func (c *Command) Items() ([][]byte, error) {
	if c.Payload[0] != '[' {
		return [][]byte{c.Payload}, nil
	}
	items, err := SplitArray(&Record{Value: c.Payload})
	if err == nil && len(items) == 0 {
		err = errEmpty("payload")
	}
	return items, err
}
