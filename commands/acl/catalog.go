package acl

// This file owns the commands that rules may name, and sets of them. It must not
// know what a command does.

import (
	"math/bits"
	"strings"

	"reminis/commands/quoting"
)

// Entry is a command or subcommand.
type Entry struct {
	// Name is the full name in lower case: "get", "config|get".
	Name string
	// Categories are the names of the command's categories.
	Categories []string
	// Sub says that the entry is a subcommand of the last one that is not.
	Sub bool
}

// Catalog is all commands by position. It never changes.
type Catalog struct {
	categories []string
	entries    []Entry
	at         map[string]int
	until      []int // behind the last subcommand of the entry
	members    []set // by category: the commands that carry it
	reach      []set // by category: these, and all subcommands of them
}

// NewCatalog makes a catalog of entries, each container before its
// subcommands, whose categories are among those given.
func NewCatalog(categories []string, entries []Entry) *Catalog {
	c := &Catalog{categories: categories, entries: entries, at: map[string]int{}, until: make([]int, len(entries))}
	parent := 0
	for i := range entries {
		c.at[entries[i].Name] = i
		c.until[i] = i + 1
		if entries[i].Sub {
			c.until[parent] = i + 1
		} else {
			parent = i
		}
	}
	for _, name := range categories {
		members, reach := c.emptySet(), c.emptySet()
		for i := range entries {
			if !contains(entries[i].Categories, name) {
				continue
			}
			members.put(i, true)
			for j := i; j < c.until[i]; j++ {
				reach.put(j, true)
			}
		}
		c.members, c.reach = append(c.members, members), append(c.reach, reach)
	}
	return c
}

func contains(list []string, word string) bool {
	for _, each := range list {
		if each == word {
			return true
		}
	}
	return false
}

// find is the position of a command by its full name in any case.
func (c *Catalog) find(name string) (int, bool) {
	i, ok := c.at[lowered(name)]
	return i, ok
}

// category is the position of a category by its name in any case.
func (c *Catalog) category(name string) (int, bool) {
	for i, each := range c.categories {
		if quoting.EqualFold(name, each) {
			return i, true
		}
	}
	return 0, false
}

// container says whether the command has subcommands.
func (c *Catalog) container(i int) bool { return c.until[i] > i+1 }

// set is commands by position.
type set []uint64

func (c *Catalog) emptySet() set { return make(set, (len(c.entries)+63)/64) }

func (s set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s set) put(i int, on bool) {
	if on {
		s[i/64] |= 1 << (i % 64)
	} else {
		s[i/64] &^= 1 << (i % 64)
	}
}

// putAll puts every member of other.
func (s set) putAll(other set, on bool) {
	for i := range s {
		if on {
			s[i] |= other[i]
		} else {
			s[i] &^= other[i]
		}
	}
}

// split counts the members of other that s has, and those that it has not.
func (s set) split(other set) (on, off int) {
	for i := range s {
		on += bits.OnesCount64(s[i] & other[i])
		off += bits.OnesCount64(^s[i] & other[i])
	}
	return on, off
}

// The comparisons of C strings, which end at the first NUL and know the case of
// ASCII alone.

func cText(text string) string {
	text, _, _ = strings.Cut(text, "\x00")
	return text
}

func lowered(text string) string {
	lower := []byte(text)
	for i, b := range lower {
		lower[i] = quoting.Lower(b)
	}
	return string(lower)
}
