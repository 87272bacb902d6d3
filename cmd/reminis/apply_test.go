package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// This file owns MEM.APPLY in the tests of the whole system: random command
// objects, of which some can never happen, and what is known of the reply of a
// line of them. What they do to records it must not know.

// applyCommand is a command object of MEM.APPLY.
type applyCommand struct {
	Action    string          `json:"action"`
	Key       string          `json:"key"`
	Payload   json.RawMessage `json:"payload,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Schema    string          `json:"schema,omitempty"`
	IfVersion *int            `json:"ifversion,omitempty"`
	ID        string          `json:"command_id,omitempty"`
	Operator  string          `json:"operator,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Timestamp int64           `json:"timestamp,omitempty"`
}

// doomed is the reason of a command that can never happen.
const doomed = "doomed"

// certain says whether a command happens whatever stands, for an owner without
// rules of its own.
func (c *applyCommand) certain() bool {
	return (c.Action == "upsert" || c.Action == "delete") && c.Schema == "" && c.IfVersion == nil
}

// apply is a line of changes of one owner's records that all happen, or none.
func (g *generator) apply() []string {
	owner := pick(g.r, recordOwners()...)
	commands := make([]applyCommand, 1+g.r.IntN(5))
	for i := range commands {
		commands[i] = g.applied(owner, i)
	}
	if g.r.IntN(3) == 0 {
		commands[g.r.IntN(len(commands))] = g.doomed(owner)
	}
	line := append(applyWords(owner, commands), "REASON", fmt.Sprintf("line %d", g.line))
	if g.r.IntN(3) == 0 {
		line = append(line, pick(g.r, "EX", "PX"), fmt.Sprint(1+g.r.IntN(100)))
	}
	if g.r.IntN(2) == 0 && !g.inMulti {
		line = append(line, "ID", fmt.Sprintf("command-%d", g.line))
	}
	return line
}

func applyWords(owner string, commands []applyCommand) []string {
	text, err := json.Marshal(commands)
	if err != nil {
		panic(err)
	}
	return []string{"MEM.APPLY", owner, string(text)}
}

// applied is command i of a line.
func (g *generator) applied(owner string, i int) applyCommand {
	kind := pick(g.r, kindProfile, kindProfile, kindSession, kindSemantic, kindWorking)
	c := applyCommand{Action: "upsert", Key: recordKey(owner, kind, g.r.IntN(3)), Kind: kind,
		Payload: json.RawMessage(fmt.Sprintf(`{"line":%d,"old":"x","text":%q}`, g.line, strings.Repeat("word ", g.r.IntN(20))))}
	switch g.r.IntN(8) {
	case 0:
		c = applyCommand{Action: "delete", Key: c.Key}
	case 1, 2:
		c.Action, c.Payload = "patch", json.RawMessage(fmt.Sprintf(`{"f%d":"line %d"}`, g.r.IntN(5), g.line))
	case 3, 4:
		c.Action, c.Key = "append", fmt.Sprintf("%s:%s:%s", owner, recordSession(kind), listName(kind))
		c.Payload = json.RawMessage(pick(g.r, `["turn",{"a":1}]`, fmt.Sprintf(`{"line":%d}`, g.line)))
	case 5:
		c.Schema = pick(g.r, append(ruleSchemas(), "NONE")...)
	}
	if g.r.IntN(8) == 0 {
		version := g.r.IntN(4)
		c.IfVersion = &version
	}
	if g.r.IntN(3) == 0 && !g.inMulti {
		c.ID = fmt.Sprintf("command-%d-%d", g.line, i)
	}
	if g.r.IntN(4) == 0 {
		c.Operator, c.Reason, c.Timestamp = "agent", fmt.Sprintf("command %d", i), g.clock.NowMs()-g.r.Int64N(1000)
	}
	return c
}

// doomed is a command that can never happen.
func (g *generator) doomed(owner string) applyCommand {
	c := applyCommand{Action: "upsert", Key: recordKey(owner, kindProfile, 0), Payload: json.RawMessage("1"), Reason: doomed}
	switch g.r.IntN(4) {
	case 0:
		c.Schema = "no-such-schema"
	case 1:
		c.Key = recordKey("app:nobody", kindProfile, 0)
	case 2:
		c.Action = "delete" // which has no payload
	default:
		version := 1_000_000
		c.IfVersion = &version
	}
	return c
}

// isApply says whether a line is of this file.
func isApply(words []string) bool { return words[0] == "MEM.APPLY" }

// appliedCommands are the commands of such a line.
func appliedCommands(words []string) (commands []applyCommand) {
	if err := json.Unmarshal([]byte(words[2]), &commands); err != nil {
		panic(err)
	}
	return commands
}

// appliedFirm says whether a line changes what is fsynced before its reply.
func appliedFirm(words []string) bool {
	return slices.ContainsFunc(appliedCommands(words), func(c applyCommand) bool { return firmKey(c.Key) })
}

// judgeApplied holds the reply of a line to what is known of it: which command it
// fails at, or that each has its status.
func judgeApplied(words []string, reply string) error {
	commands := appliedCommands(words)
	doom := slices.IndexFunc(commands, func(c applyCommand) bool { return c.Reason == doomed })
	var at int
	_, failed := fmt.Sscanf(reply, "-APPLYABORT %d ", &at)
	switch {
	case failed == nil && doom < 0:
		return nil // of what can happen, something cannot as things stand
	case failed == nil:
		before := commands[:doom]
		sure := !isUnruly(words[1]) && !slices.ContainsFunc(before, func(c applyCommand) bool { return !c.certain() })
		if at > doom || sure && at != doom {
			return fmt.Errorf("%q: %q: command %d can never happen", words, reply, doom)
		}
		return nil
	case doom >= 0:
		return fmt.Errorf("%q: %q: command %d can never happen", words, reply, doom)
	}
	statuses := statusesOf(reply)
	if len(statuses) != len(commands) {
		return fmt.Errorf("%q: %q: %d commands", words, reply, len(commands))
	}
	for i, s := range statuses {
		if s.key != commands[i].Key || s.status != "ok" && s.status != "unchanged" {
			return fmt.Errorf("%q: %q: status %d", words, reply, i)
		}
	}
	return nil
}

// status is what is replied of one command.
type status struct{ status, key string }

func statusesOf(reply string) (list []status) {
	for rest := items(reply); len(rest) >= 8; rest = rest[8:] {
		list = append(list, status{status: rest[1], key: rest[5]})
	}
	return list
}

// appliedOnce is a line whose repetition must do nothing: the line itself when all
// of it has an ID, else its commands that were carried out under one of their own
// and are kept. It is nil when there are none.
func appliedOnce(words []string, reply string) []string {
	if slices.Contains(words, "ID") {
		return words
	}
	var once []applyCommand
	statuses := statusesOf(reply)
	for i, c := range appliedCommands(words) {
		if c.ID != "" && statuses[i].status == "ok" && recordKind(c.Key) != kindWorking {
			once = append(once, c)
		}
	}
	if once == nil {
		return nil
	}
	return append(applyWords(words[1], once), words[3:]...)
}

// appliedAgain says such a line once more, and then something else under its IDs.
func (r *remembered) appliedAgain(c *testClient) error {
	got := c.do(r.words...)
	if refused(got) || isUnruly(r.about) && strings.HasPrefix(got, "-APPLYABORT ") && strings.Contains(got, " NOCONSENT ") {
		return nil
	}
	statuses := statusesOf(got)
	if len(statuses) == 0 || slices.ContainsFunc(statuses, func(s status) bool { return s.status != "duplicated" }) {
		return fmt.Errorf("batch %d, %q again: %q, want duplicated", r.seq, r.words, got)
	}
	another := append(slices.Clone(r.words), "TRACE", "another")
	if got := c.do(another...); !strings.HasPrefix(got, "-ERR ") && !strings.HasPrefix(got, "-APPLYABORT 0 ") {
		return fmt.Errorf("batch %d, another payload under its IDs, %q: %q", r.seq, another, got)
	}
	return nil
}
