package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"reminis/persistence"
)

// This file owns the test that what MEM.IMPORT brought back is kept: over a
// checkpoint and a crash. What a line means it must not know.

var seqMember = regexp.MustCompile(`"seq":\d+,`)

// exportText is all that a world says of an owner, but for the numbers of batches.
func exportText(c *testClient, owner string) (lines []string, text string) {
	lines = items(c.do("MEM.EXPORT", owner, "WITHHISTORY", "COUNT", "1000"))[1:]
	return lines, seqMember.ReplaceAllString(strings.Join(lines, "\n"), "")
}

func TestImportSurvives(t *testing.T) {
	open := func() (*testDisk, *world, *testClient) {
		disk := newTestDisk()
		w := mustOpenWorld(t, disk, newSetting(persistence.Everysec), clockAt(testStartMs))
		return disk, w, w.connect()
	}
	_, from, c := open()
	story(t, from, c)
	for n := range 40 {
		c.do("MEM.APPEND", "app:u1:s1:turns", "KIND", "session", "MAXLEN", "5", "ITEMS", "1", fmt.Sprint(n))
		c.do("MEM.SET", fmt.Sprint("app:u1:s1:semantic", n%4), fmt.Sprint("text ", n), "TEXT", "KIND", "semantic")
		if n%7 == 0 {
			c.do("MEM.FORGET", "KEYS", "1", fmt.Sprint("app:u1:s1:semantic", n%4))
		}
	}
	lines, want := exportText(c, "app:u1")
	if err := from.close(); err != nil {
		t.Fatal(err)
	}
	disk, to, c := open()
	before := to.appended()
	if got := c.do(append([]string{"MEM.IMPORT"}, lines...)...); !strings.Contains(got, "failed\r\n:0") {
		t.Fatal(got)
	}
	if made := to.appended() - before; made != 1 {
		t.Errorf("%d batches", made)
	}
	check := func(when string) {
		t.Helper()
		if _, got := exportText(c, "app:u1"); got != want {
			t.Errorf("%s: %s", when, difference(got, want))
		}
		if got := c.do("MEM.AUDIT", "app:u1", "VERIFY"); !strings.Contains(got, "$2\r\nok\r\n:1\r\n") {
			t.Errorf("%s: the chain: %q", when, got)
		}
	}
	check("imported")
	if err := to.store.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	check("after a checkpoint")
	if err := to.store.Sync(); err != nil {
		t.Fatal(err)
	}
	left := disk.afterCrash(0, nil)
	if err := to.close(); err != nil {
		t.Fatal(err)
	}
	to = mustOpenWorld(t, left, newSetting(persistence.Everysec), clockAt(testStartMs))
	c = to.connect()
	check("after a crash")
	if got := c.do(append([]string{"MEM.IMPORT"}, lines...)...); !strings.Contains(got, fmt.Sprintf("skipped\r\n:%d", len(lines))) {
		t.Errorf("once more: %q", got)
	}
	if err := to.close(); err != nil {
		t.Fatal(err)
	}
}
