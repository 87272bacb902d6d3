package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"reminis/persistence"
)

// This file owns the test that nobody sees what is another's: many users with
// many sessions write and read at once, every value says whose it is, and every
// reply is searched for the values of others.

// isolationUsers are names that are easily confused: prefixes of each other,
// scripts other than Latin, escapes, and what would be a glob elsewhere.
func isolationUsers(count int) []string {
	users := []string{
		"user_1", "user_12", "user_123", "user", "user_", "USER_1", "User_1",
		"discord%3A1", "discord%3A12", "discord%253A1", "discord", "a%3Ab", "a",
		"üser", "u\u0308ser", "ユーザー", "ユーザ", "用户", "用户1", "пользователь", "مستخدم", "🙂", "🙂🙂",
		"user-1", "user.1", "user 1", "user+1", "0", "00", "-1", "_",
	}
	for i := len(users); i < count; i++ {
		users = append(users, fmt.Sprintf("user_%d", i))
	}
	return users[:count]
}

// isolated is one user at work. Whatever it writes has its mark, which is of no
// other's.
type isolated struct {
	name, owner, mark string
	client            *testClient
	rng               *rand.Rand
	said              map[string]string // by key
	replies           int
}

// mark is a word that stands in every value of user number n.
func markOf(n int) string { return fmt.Sprintf("mark%dq", n) }

// mayBeUser says whether the name can stand in a rule of an ACL as it is.
func (u *isolated) mayBeUser() bool { return !strings.Contains(u.name, " ") }

// become makes a user of the ACL that may read and write what the owner has, and
// nothing else, and has the client be that user.
func (u *isolated) become(w *world) error {
	if !u.mayBeUser() {
		return nil
	}
	admin := w.connect()
	defer admin.session.Close()
	reply := admin.do("ACL", "SETUSER", u.mark, "on", ">secret", "~"+u.owner+":*", "+@memory", "+auth")
	if reply != "+OK\r\n" {
		return fmt.Errorf("%q: %s", u.name, reply)
	}
	if reply = u.client.do("AUTH", u.mark, "secret"); reply != "+OK\r\n" {
		return fmt.Errorf("%q: %s", u.name, reply)
	}
	return nil
}

// pry asks for what another user has, in every way there is. It must be refused:
// an error, or a reply without the other's mark.
func (u *isolated) pry(other *isolated) error {
	record := other.owner + ":s1:fact"
	for _, words := range [][]string{
		{"MEM.RECALL", other.owner, "QUERY", "who likes tea"},
		{"MEM.RECALL", other.owner + ":*"},
		{"MEM.RECALL", "ai:*", "QUERY", "tea", "TOPK", "50"},
		{"MEM.RECALL", "ai", "TOPK", "50"},
		{"MEM.RECALL", "*"},
		{"MEM.RECALL", u.owner, "SHARED", other.owner, "QUERY", "tea", "TOPK", "50"},
		{"MEM.RECALL", u.owner, "SHARED", "ai:*", "QUERY", "tea", "TOPK", "50"},
		{"MEM.LOAD", other.owner, "QUERY", "tea"},
		{"MEM.LOAD", u.owner, "QUERY", "tea", "SHARED", other.owner, "TOPK", "50"},
		{"MEM.NS", "LIST", other.owner}, {"MEM.NS", "LIST", "ai"}, {"MEM.NS", "TREE", "ai"},
		{"MEM.AUDIT", other.owner, "WITHDIFF"}, {"MEM.AUDIT", "*", "WITHDIFF", "COUNT", "1000"},
		{"MEM.GET", record}, {"MEM.MGET", "2", u.owner + ":s1:fact", record}, {"MEM.HISTORY", record},
		{"MEM.DIFF", record, "1", "1"}, {"MEM.EXPORT", other.owner}, {"MEM.DEBUG", other.owner},
		{"MEM.LINKS", record}, {"MEM.STATS", other.owner}, {"MEM.SESSION", "LIST", other.owner},
		{"GET", record}, {"DUMP", record}, {"KEYS", "*"}, {"SCAN", "0"}, {"COPY", record, u.owner + ":s1:stolen"},
		{"MEM.FORGET", "KEYS", "1", record}, {"MEM.FORGET", "SCOPE", other.owner}, {"MEM.ROLLBACK", record, "VERSION", "1"},
		{"MEM.PATCH", record, `{"x":1}`}, {"MEM.LINK", u.owner + ":s1:fact", "implies", record},
		{"MEM.APPLY", other.owner, `[{"action":"delete","key":"` + record + `"}]`}, {"MEM.ERASE", other.owner},
	} {
		if err := u.check(words, u.client.do(words...)); err != nil {
			return err
		}
	}
	return nil
}

// check fails when a reply has the mark of anybody else.
func (u *isolated) check(words []string, reply string) error {
	u.replies++
	for rest := reply; ; {
		_, after, found := strings.Cut(rest, "mark")
		if !found {
			return nil
		}
		number, _, _ := strings.Cut(after, "q")
		if "mark"+number+"q" != u.mark {
			return fmt.Errorf("%q reads %q in %q", u.name, "mark"+number+"q", words)
		}
		rest = after
	}
}

func (u *isolated) do(words ...string) (string, error) {
	reply := u.client.do(words...)
	if strings.HasPrefix(reply, "-") {
		return reply, fmt.Errorf("%q: %q: %s", u.name, words, reply)
	}
	return reply, u.check(words, reply)
}

// session is one session: it says something, reads what it and earlier ones
// said, and recalls.
func (u *isolated) session(n int) error {
	key := fmt.Sprintf("%s:s%d:fact", u.owner, n)
	value := fmt.Sprintf("%s session %d likes tea number %d", u.mark, n, u.rng.IntN(1e9))
	if _, err := u.do("MEM.SET", key, value, "TEXT", "KIND", "semantic", "TAGS", "1", "tea"); err != nil {
		return err
	}
	u.said[key] = value
	name := fmt.Sprintf("%s:profile:name%d", u.owner, n%5)
	if _, err := u.do("MEM.PATCH", name, fmt.Sprintf(`{"who":"%s","n":%d}`, u.mark, n)); err != nil {
		return err
	}
	for _, words := range [][]string{
		{"MEM.RECALL", u.owner, "QUERY", "who likes tea", "TOPK", "20", "EXPLAIN"},
		{"MEM.RECALL", u.owner + ":s" + fmt.Sprint(n), "TOPK", "5", "FORMAT", "JSON"},
		{"MEM.RECALL", u.owner + ":*", "QUERY", "session tea", "BUDGET", "300", "FORMAT", "PROMPT"},
		{"MEM.NS", "LIST", u.owner},
		{"MEM.AUDIT", u.owner, "COUNT", "10", "REV", "WITHDIFF"},
		{"MEM.HISTORY", name, "COUNT", "3", "REV"},
	} {
		if u.rng.IntN(3) > 0 {
			continue
		}
		if _, err := u.do(words...); err != nil {
			return err
		}
	}
	return u.remember(1 + u.rng.IntN(n))
}

// remember reads what an earlier session said, exactly.
func (u *isolated) remember(session int) error {
	key := fmt.Sprintf("%s:s%d:fact", u.owner, session)
	reply, err := u.do("MEM.GET", key)
	if err != nil {
		return err
	}
	if got := items(reply); len(got) != 1 || got[0] != u.said[key] {
		return fmt.Errorf("%q: %s is %q, not %q", u.name, key, got, u.said[key])
	}
	return nil
}

// Without the check of scopes the test above fails: it would see what it looks
// for.
func TestIsolationRestsOnItsCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the server without the check")
	}
	out, err := exec.Command("go", "test", "-count=1", "-tags", "open_scopes", "-run", "^TestIsolation$", ".").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "reads \"mark") {
		t.Fatalf("the check was taken away and nothing was seen: %v\n%s", err, out)
	}
}

// 100 users with 100 sessions each, all at once: no reply has anything of
// another user, and what any session said is read exactly by every later one.
func TestIsolation(t *testing.T) {
	const users, sessions, drivers = 100, 100, 8
	seed := seedOf(t)
	of := newSetting(persistence.Everysec)
	of.SegmentBytes, of.CheckpointBytes = 1<<20, 8<<20 // crashes are not what this is about
	w := mustOpenWorld(t, vfs.NewCrashableMem(), of, clockAt(testStartMs))
	var crowd []*isolated
	for n, name := range isolationUsers(users) {
		u := &isolated{name: name, owner: "ai:" + name, mark: markOf(n), client: w.connect(),
			rng: rand.New(rand.NewPCG(seed, uint64(n))), said: map[string]string{}}
		if err := u.become(w); err != nil {
			t.Fatal(err)
		}
		crowd = append(crowd, u)
	}
	errs := make(chan error, drivers)
	var group sync.WaitGroup
	for d := range drivers {
		group.Go(func() {
			// Each driver has some of the users and goes through their sessions
			// in turn, so that those of all are interleaved.
			for n := 1; n <= sessions; n++ {
				for i := d; i < users; i += drivers {
					if err := crowd[i].session(n); err != nil {
						errs <- err
						return
					}
				}
			}
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		t.Fatal(err)
	}
	// The first names are those that are easily confused.
	for i, u := range crowd[:32] {
		for j, other := range crowd[:32] {
			if i == j || !u.mayBeUser() {
				continue
			}
			if err := u.pry(other); err != nil {
				t.Fatal(err)
			}
		}
	}
	replies := 0
	for _, u := range crowd {
		for n := 1; n <= sessions; n++ {
			if err := u.remember(n); err != nil {
				t.Fatal(err)
			}
		}
		replies += u.replies
		u.client.session.Close()
	}
	t.Logf("%d replies were searched", replies)
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
}
