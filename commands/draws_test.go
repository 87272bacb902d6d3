package commands

import (
	"strconv"
	"strings"
	"testing"
)

// This file tests what is drawn at random from collections: every element has its
// share, in each form that the engine has for them.

// drawForm is a collection in one form.
type drawForm struct {
	name string
	size int
	draw string // the command that draws
	add  func(c *testClient, i int)
}

func drawForms() []drawForm {
	hash := func(value string) func(c *testClient, i int) {
		return func(c *testClient, i int) { c.say("HSET", "k", "f"+strconv.Itoa(i), value) }
	}
	set := func(prefix string) func(c *testClient, i int) {
		return func(c *testClient, i int) { c.say("SADD", "k", prefix+strconv.Itoa(i)) }
	}
	return []drawForm{
		{"packed hash", 30, "HRANDFIELD", hash("v")},
		{"packed hash beyond the thresholds", 30, "HRANDFIELD", hash(strings.Repeat("v", 65))},
		{"hash that is a table", 600, "HRANDFIELD", hash("v")},
		{"set of integers", 50, "SRANDMEMBER", set("")},
		{"packed set", 50, "SRANDMEMBER", set("m")},
		{"set that is a table", 600, "SRANDMEMBER", set("m")},
	}
}

func (f drawForm) fill(c *testClient) {
	for i := range f.size {
		f.add(c, i)
	}
}

// drawShare is how often each element is expected to be drawn; the deviation is 14.
// Seven of these are allowed: one of the ten thousand elements of these tests exceeds them
// in less than one run of a million. (Six of twelve would be one of ten thousand.)
const (
	drawShare   = 196
	drawAllowed = 7 * 14
)

func checkShares(t *testing.T, name string, drawn map[string]int, size int) {
	t.Helper()
	if len(drawn) != size {
		t.Errorf("%s: %d elements of %d were drawn", name, len(drawn), size)
	}
	for element, n := range drawn {
		if n < drawShare-drawAllowed || n > drawShare+drawAllowed {
			t.Errorf("%s: %s was drawn %d times, %d are expected", name, element, n, drawShare)
		}
	}
}

func TestDrawsAreFair(t *testing.T) {
	for _, form := range drawForms() {
		for _, way := range []struct {
			name string
			args []string
			each int // elements that one call draws
		}{
			{"one", nil, 1},
			{"one in an array", []string{"1"}, 1},
			{"repeated", []string{"-50"}, 50},
			{"few of many", []string{"5"}, 5},
			{"most", []string{strconv.Itoa(form.size * 2 / 3)}, form.size * 2 / 3},
		} {
			_, c := newTestClient(t)
			form.fill(c)
			drawn := map[string]int{}
			for range drawShare * form.size / way.each {
				list := textsOf(t, []byte(c.say(append([]string{form.draw, "k"}, way.args...)...)))
				if len(list) != way.each {
					t.Fatalf("%s, %s: %d elements, want %d", form.name, way.name, len(list), way.each)
				}
				seen := map[string]bool{}
				for _, element := range list {
					drawn[element]++
					if seen[element] && way.name != "repeated" {
						t.Fatalf("%s, %s: %s comes twice", form.name, way.name, element)
					}
					seen[element] = true
				}
			}
			checkShares(t, form.name+", "+way.name, drawn, form.size)
		}
	}
}

// TestPopsAreFair takes members out of sets, few and nearly all, and puts them back.
func TestPopsAreFair(t *testing.T) {
	for _, form := range drawForms() {
		if form.draw != "SRANDMEMBER" {
			continue
		}
		for _, each := range []int{1, 5, form.size * 2 / 3, form.size - 2} {
			_, c := newTestClient(t)
			form.fill(c)
			drawn := map[string]int{}
			for range drawShare * form.size / each {
				list := textsOf(t, []byte(c.say("SPOP", "k", strconv.Itoa(each))))
				for _, member := range list {
					drawn[member]++
				}
				if back := c.say(append([]string{"SADD", "k"}, list...)...); back != ":"+strconv.Itoa(each)+"\r\n" {
					t.Fatalf("%s: of %d members %q were new", form.name, each, back)
				}
			}
			checkShares(t, form.name+", "+strconv.Itoa(each)+" popped", drawn, form.size)
		}
	}
}

// TestRandomKeyIsFair draws keys of a database.
func TestRandomKeyIsFair(t *testing.T) {
	const keys = 50
	_, c := newTestClient(t)
	for i := range keys {
		c.say("SET", "k"+strconv.Itoa(i), strings.Repeat("v", i%100))
	}
	drawn := map[string]int{}
	for range keys * drawShare {
		drawn[textsOf(t, []byte(c.say("RANDOMKEY")))[0]]++
	}
	checkShares(t, "keys", drawn, keys)
}
