package commands

import (
	"fmt"
	"strings"
)

// This file owns the command reference, COMMANDS.md, which is written from the
// declarations. It must not know any command by name.

//go:generate go test -run TestReference -rewrite .

// Reference is the text of COMMANDS.md.
func (t *Table) Reference() string {
	var out strings.Builder
	out.WriteString("# Commands\n\n" +
		"Written from the commands' declarations (`go generate ./commands`): do not edit.\n" +
		"\"Since\" is the version of Redis that brought the command.\n")
	for _, family := range t.families() {
		out.WriteString("\n## " + string(family) + "\n")
		for _, c := range t.all {
			if c.Family == family {
				c.reference(&out)
			}
		}
	}
	return out.String()
}

// families are the families of the table's commands, in order of declaration.
func (t *Table) families() []Family {
	var families []Family
	seen := map[Family]bool{}
	for _, c := range t.all {
		if !seen[c.Family] {
			seen[c.Family] = true
			families = append(families, c.Family)
		}
	}
	return families
}

// reference writes the command's entry, or those of its subcommands.
func (c *Command) reference(out *strings.Builder) {
	if c.runs() {
		c.referenceOne(out)
	}
	for _, sub := range c.Subs {
		sub.reference(out)
	}
}

func (c *Command) referenceOne(out *strings.Builder) {
	syntax := strings.TrimSpace(strings.ToUpper(strings.ReplaceAll(c.FullName(), "|", " ")) + " " + c.grammar.Syntax())
	fmt.Fprintf(out, "\n### `%s`\n\n%s\n\n", syntax, sentence(c.Summary))
	if c.Unavailable != "" {
		fmt.Fprintf(out, "- Not available: `%s`\n", c.Unavailable)
	}
	if c.DeprecatedSince != "" {
		fmt.Fprintf(out, "- Deprecated since %s; instead: %s\n", c.DeprecatedSince, c.ReplacedBy)
	}
	if c.Complexity != "" {
		fmt.Fprintf(out, "- Complexity: %s\n", sentence(c.Complexity))
	}
	if c.Unavailable == "" {
		fmt.Fprintf(out, "- Replies: %s\n", c.Reply)
	}
	fmt.Fprintf(out, "- Since %s; flags: %s; categories: %s\n", c.Since, listed(c.flagNames(false)), listed(c.categories()))
}

// sentence ends a text with one full stop.
func sentence(text string) string { return strings.TrimRight(strings.TrimSpace(text), ".") + "." }

func listed(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, " ")
}
