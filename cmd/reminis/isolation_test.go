package main

import (
	"fmt"
	"math/rand/v2"
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

// 100 users with 100 sessions each, all at once: no reply has anything of
// another user, and what any session said is read exactly by every later one.
func TestIsolation(t *testing.T) {
	const users, sessions, drivers = 100, 100, 8
	seed := seedOf(t)
	of := newSetting(persistence.Everysec)
	of.SegmentBytes, of.CheckpointBytes = 1<<20, 8<<20 // crashes are not what this is about
	w := mustOpenWorld(t, vfs.NewCrashableMem(), of, clockAt(testStartMs))
	work := make(chan *isolated, users)
	for n, name := range isolationUsers(users) {
		work <- &isolated{name: name, owner: "ai:" + name, mark: markOf(n), client: w.connect(),
			rng: rand.New(rand.NewPCG(seed, uint64(n))), said: map[string]string{}}
	}
	close(work)
	var crowd []*isolated
	for u := range work {
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
