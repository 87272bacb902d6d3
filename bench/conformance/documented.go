package main

// This file owns turning a server's COMMAND DOCS into templates, so that every
// option that the server declares is sent, also one that families.go forgot. It
// must not know replies other than that of COMMAND DOCS.

import (
	"fmt"
	"slices"
	"strings"

	"reminis/bench/resp"
)

// documentedOf names the families whose commands are also drawn from their
// documentation. The others are left out: what their arguments are decides what
// else in a case can be compared.
var documentedOf = [...]string{"strings", "bits", "lcs", "keys", "expire", "hashes", "lists", "sorts", "sets", "sortedsets", "geo", "hyperloglogs", "scan", "object", "dump"}

// argumentValues says which values an argument takes, by "COMMAND argument",
// by argument, and by type.
func argumentValues(command, argument, kind string) string {
	switch command + " " + argument {
	case "SETBIT offset", "GETBIT offset":
		return "bitoffset"
	case "SETBIT value", "BITPOS bit":
		return "bit"
	case "BITFIELD offset", "BITFIELD_RO offset":
		return "bitindex"
	case "PFDEBUG subcommand":
		return "word"
	case "HSCAN count", "SSCAN count", "ZSCAN count", "SCAN count":
		return "scancount"
	case "OBJECT pattern":
		return "word"
	case "SORT pattern", "SORT_RO pattern":
		return "sortpattern"
	case "ZRANGE start", "ZRANGE stop", "ZRANGESTORE min", "ZRANGESTORE max":
		return "end"
	case "ZLEXCOUNT min", "ZLEXCOUNT max", "ZRANGEBYLEX min", "ZRANGEBYLEX max", "ZREVRANGEBYLEX min", "ZREVRANGEBYLEX max", "ZREMRANGEBYLEX min", "ZREMRANGEBYLEX max":
		return "lexend"
	case "ZCOUNT min", "ZCOUNT max", "ZRANGEBYSCORE min", "ZRANGEBYSCORE max", "ZREVRANGEBYSCORE min", "ZREVRANGEBYSCORE max", "ZREMRANGEBYSCORE min", "ZREMRANGEBYSCORE max":
		return "scoreend"
	}
	switch argument {
	case "value", "field", "member", "offset", "encoding", "count", "cursor", "seconds":
		return argument
	case "milliseconds":
		return "ms"
	case "unix-time-seconds":
		return "unix"
	case "unix-time-milliseconds":
		return "unixms"
	case "element", "pivot":
		return "member"
	case "rank", "num-matches":
		return "small"
	case "start", "end", "stop", "index":
		return "index"
	case "score", "increment":
		return "score"
	case "longitude", "latitude", "radius", "width", "height":
		return argument
	case "numkeys":
		return "numkeys"
	case "len", "min-match-len":
		return "minmatch"
	case "destination-db", "db":
		return "db"
	case "serialized-value":
		return "payload"
	case "ttl":
		return "restorettl"
	case "type":
		return "type"
	}
	switch kind {
	case "key", "pattern":
		return kind
	case "integer":
		return "small"
	case "double":
		return "float"
	case "unix-time":
		return "unix"
	}
	return "value"
}

// documented asks a server for its documentation and returns a template for each
// command that the families have and that takes arguments.
func documented(addr string, from []family) ([][]node, error) {
	var wanted []string
	for _, f := range from {
		if !slices.Contains(documentedOf[:], f.name) {
			continue
		}
		for _, template := range f.templates {
			if name := strings.Fields(template)[0]; name == strings.ToUpper(name) && !slices.Contains(wanted, name) {
				wanted = append(wanted, name)
			}
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	client, err := resp.Dial(addr, replyLimit)
	if err != nil {
		return nil, err
	}
	defer client.Close() // it has nothing to lose
	reply, err := client.Do(append([]string{"COMMAND", "DOCS"}, wanted...)...)
	if err != nil {
		return nil, fmt.Errorf("asking %s for its documentation: %w", addr, err)
	}
	if reply.IsError() {
		return nil, fmt.Errorf("%s has no documentation: %s", addr, reply.Text())
	}
	d := documentation{values: templateValues()}
	for i := 0; i+1 < len(reply.Items); i += 2 {
		d.command(strings.ToUpper(reply.Items[i].Text()), nil, reply.Items[i+1])
	}
	// The order of the reply is the server's own; lines follow from their seed.
	slices.SortFunc(d.templates, func(a, b []node) int { return strings.Compare(a[0].word+a[1].word, b[0].word+b[1].word) })
	return d.templates, nil
}

type documentation struct {
	values    map[string]drawer
	templates [][]node
}

// command adds a command's template, or those of its subcommands.
func (d *documentation) command(name string, container []node, docs resp.Reply) {
	if subcommands, ok := entry(docs, "subcommands"); ok {
		for i := 0; i+1 < len(subcommands.Items); i += 2 {
			_, sub, _ := strings.Cut(strings.ToUpper(subcommands.Items[i].Text()), "|")
			d.command(name, []node{{word: name}, {word: sub}}, subcommands.Items[i+1])
		}
		return
	}
	arguments, ok := entry(docs, "arguments")
	if !ok {
		return
	}
	template := container
	if template == nil {
		template = []node{{word: name}}
	}
	for _, argument := range arguments.Items {
		template = append(template, d.argument(name, argument))
	}
	d.templates = append(d.templates, template)
}

// argument turns one argument into a node, with what stands around it.
func (d *documentation) argument(command string, docs resp.Reply) node {
	name, kind := textOf(docs, "name"), textOf(docs, "type")
	var inner []node
	var choices [][]node
	nested, _ := entry(docs, "arguments")
	for _, argument := range nested.Items {
		n := d.argument(command, argument)
		inner = append(inner, n)
		choices = append(choices, []node{n})
	}
	token := textOf(docs, "token")
	var core node
	switch kind {
	case "pure-token":
		core, token = node{word: token}, ""
	case "oneof":
		core = node{choices: choices}
	case "block":
		core = node{choices: [][]node{inner}}
	default:
		core = node{values: d.values[argumentValues(command, name, kind)]}
	}
	flags, _ := entry(docs, "flags")
	has := func(flag string) bool {
		return slices.ContainsFunc(flags.Items, func(item resp.Reply) bool { return item.Text() == flag })
	}
	core.repeated = has("multiple") && !has("multiple_token")
	if token != "" {
		core = node{choices: [][]node{{{word: token}, core}}}
	}
	if has("multiple_token") {
		core.repeated = true
	}
	if has("optional") {
		core = node{choices: [][]node{{core}}, optional: true}
	}
	return core
}

// entry returns what a map holds under a name.
func entry(docs resp.Reply, name string) (resp.Reply, bool) {
	for i := 0; i+1 < len(docs.Items); i += 2 {
		if docs.Items[i].Text() == name {
			return docs.Items[i+1], true
		}
	}
	return resp.Reply{}, false
}

func textOf(docs resp.Reply, name string) string {
	found, _ := entry(docs, name)
	return found.Text()
}
