package memory

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// This file says how policies read and which of several decides; the second
// against a model that sorts in the plainest way.

func args(line string) [][]byte { return bytes.Fields([]byte(line)) }

func TestParseSettings(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"TTL.session 7200", "TTL.session=7200"},
		{"ttl.SESSION 2h", "TTL.session=7200"},
		{"TTL.working 1500ms", "TTL.working=1500ms"},
		{"TTL.profile none", "TTL.profile=NONE"},
		{"TTL.profile 0", "TTL.profile=NONE"},
		{"HISTORY.semantic 10", "HISTORY.semantic=10"},
		{"HISTORY.semantic 10,30d", "HISTORY.semantic=10,2592000"},
		{"AUDIT all AUDIT none", "AUDIT=NONE"},
		{"SCHEMA user_profile", "SCHEMA=user_profile"},
		{"SCHEMA NONE", "SCHEMA=NONE"},
		{"HALFLIFE.semantic 14d", "HALFLIFE.semantic=1209600"},
		{"MAXRECORDS 1000 MAXBYTES 1mb", "MAXRECORDS=1000 MAXBYTES=1048576"},
		{"MAXBYTES none", "MAXBYTES=NONE"},
		{"CONSENT required", "CONSENT=REQUIRED"},
		{"REDACT $.a hash REDACT $.b LAST4 REDACT $.a DROP", "REDACT $.a=DROP REDACT $.b=LAST4"},
		{"ENCRYPT $.a INDEX $.b INDEX $.c", "ENCRYPT $.a=YES INDEX $.b=YES INDEX $.c=YES"},

		{"COLOUR red", "ERR policy field 'COLOUR' is not one of TTL.kind, HISTORY.kind, AUDIT, SCHEMA, HALFLIFE.kind, MAXRECORDS, MAXBYTES, CONSENT, REDACT, ENCRYPT, INDEX"},
		{"TTL 3", "ERR policy field 'TTL' is not one of TTL.kind, HISTORY.kind, AUDIT, SCHEMA, HALFLIFE.kind, MAXRECORDS, MAXBYTES, CONSENT, REDACT, ENCRYPT, INDEX"},
		{"AUDIT.profile ALL", "ERR policy field 'AUDIT.profile' is not one of TTL.kind, HISTORY.kind, AUDIT, SCHEMA, HALFLIFE.kind, MAXRECORDS, MAXBYTES, CONSENT, REDACT, ENCRYPT, INDEX"},
		{"TTL.dream 3", "ERR kind 'dream' is not one of working, session, profile, semantic"},
		{"TTL.profile", "ERR policy field TTL.profile has no value"},
		{"TTL.profile -3", "ERR TTL.profile '-3' is not NONE or a number of seconds, or one with ms, s, m, h or d"},
		{"TTL.profile 9223372036854775807", "ERR TTL.profile '9223372036854775807' is not NONE or a number of seconds, or one with ms, s, m, h or d"},
		{"TTL.profile 3w", "ERR TTL.profile '3w' is not NONE or a number of seconds, or one with ms, s, m, h or d"},
		{"HISTORY.profile 10,", "ERR HISTORY.profile '10,' is not a number of versions up to 1000000, or one with an age as in 100,30d; limit mem-history-versions"},
		{"HISTORY.profile 2000000", "ERR HISTORY.profile '2000000' is not a number of versions up to 1000000, or one with an age as in 100,30d; limit mem-history-versions"},
		{"AUDIT SOME", "ERR AUDIT 'SOME' is not one of WRITES, ALL, NONE"},
		{"CONSENT maybe", "ERR CONSENT 'maybe' is not one of OPTIONAL, REQUIRED"},
		{"MAXRECORDS 0", "ERR MAXRECORDS '0' is not NONE or a positive number"},
		{"MAXBYTES 1tb", "ERR MAXBYTES '1tb' is not NONE or a positive number of bytes, or one with k, kb, m, mb, g or gb"},
		{"REDACT $.a", "ERR policy field REDACT has no value"},
		{"REDACT $.a BLUR", "ERR REDACT 'BLUR' is not one of HASH, LAST4, DROP, NONE"},
		{"REDACT mail HASH", "ERR path 'mail' is not a JSONPath: unexpected identifier at position 1"},
		{"ENCRYPT", "ERR policy field ENCRYPT has no value"},
		{"SCHEMA a@1", "ERR schema name 'a@1' has an @, which separates a name from its version"},
	} {
		settings, err := ParseSettings(args(test.line))
		got := showSettings(settings)
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.line, got, test.want)
			continue
		}
		var again [][]byte
		for i := range settings {
			again = settings[i].AppendArgs(again)
		}
		if back, err := ParseSettings(again); err != nil || !slices.Equal(back, settings) {
			t.Errorf("%s: written as %s, read back as %v %v", test.line, bytes.Join(again, []byte(" ")), back, err)
		}
	}
}

func showSettings(settings []Setting) string {
	var out []string
	for i := range settings {
		out = append(out, settings[i].Field()+"="+settings[i].Value())
	}
	return strings.Join(out, " ")
}

func policySet(t testing.TB, l Layout, policies ...string) *PolicySet {
	t.Helper()
	var set *PolicySet
	for _, policy := range policies {
		words := args(policy)
		scope, err := l.ParseScope(words[0])
		if err != nil {
			t.Fatal(err)
		}
		settings, err := ParseSettings(words[1:])
		if err != nil {
			t.Fatal(err)
		}
		updated, err := set.Find(words[0]).Updated(scope, settings)
		if err != nil {
			t.Fatal(err)
		}
		set = set.With(updated)
	}
	return set
}

func TestResolve(t *testing.T) {
	set := policySet(t, DefaultLayout(),
		"* AUDIT ALL MAXRECORDS 10",
		"ai TTL.profile 10 REDACT $.mail HASH REDACT $.card LAST4",
		"ai:u1 TTL.profile NONE CONSENT REQUIRED",
		"ai:u1:* TTL.profile 30 HISTORY.profile 5,1d",
		"ai:u1:s:* REDACT $.mail NONE ENCRYPT $.key INDEX $.text",
		"ai:u1:s TTL.profile 40 SCHEMA note",
	)
	for _, test := range []struct{ key, want string }{
		{"ai:u1:s:k", "TTL.profile=40@ai:u1:s HISTORY.profile=5,86400@ai:u1:* AUDIT=ALL@* SCHEMA=note@ai:u1:s MAXRECORDS=10@* CONSENT=REQUIRED@ai:u1 REDACT $.card=LAST4@ai REDACT $.mail=NONE@ai:u1:s:* ENCRYPT $.key=YES@ai:u1:s:* INDEX $.text=YES@ai:u1:s:*"},
		{"ai:u1:t:k", "TTL.profile=30@ai:u1:* HISTORY.profile=5,86400@ai:u1:* AUDIT=ALL@* MAXRECORDS=10@* CONSENT=REQUIRED@ai:u1 REDACT $.card=LAST4@ai REDACT $.mail=HASH@ai"},
		{"ai:u12:s:k", "TTL.profile=10@ai AUDIT=ALL@* MAXRECORDS=10@* REDACT $.card=LAST4@ai REDACT $.mail=HASH@ai"},
		{"bi:u1:s:k", "AUDIT=ALL@* MAXRECORDS=10@*"},
	} {
		var got []string
		p := set.Resolve([]byte(test.key))
		for _, d := range p.Decided {
			got = append(got, d.Field()+"="+d.Value()+"@"+string(d.Scope))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.key, strings.Join(got, " "), test.want)
		}
	}
	p := set.Resolve([]byte("ai:u1:s:k"))
	if rule := p.Rule(Profile); rule.TTLMs != 40_000 || rule.HistoryVersions != 5 || rule.HistoryAgeMs != dayMs {
		t.Errorf("the rule of profile is %+v", rule)
	}
	if p.Rule(Session) != Session.Rule() {
		t.Error("a policy changes a kind that it does not name")
	}
	if required, ok := p.Consent(); !required || !ok || p.Audit() != AuditAll || p.Schema() != "note" {
		t.Error("consent, audit or schema are not what decides")
	}
	if len(p.Redacted()) != 1 || p.Encrypted()[0] != "$.key" || p.Indexed()[0] != "$.text" {
		t.Error("paths are not what decides")
	}
	if err := p.CheckQuota(11, 0); err == nil || err.Error() != "QUOTA the owner would have 11 records, MAXRECORDS of the policy of * is 10" {
		t.Errorf("beyond its quota: %v", err)
	}
	var nobody *Policy
	if nobody.Rule(Working) != Working.Rule() || nobody.Audit() != AuditWrites || nobody.CheckQuota(1e9, 1e9) != nil {
		t.Error("without policies something is not as by default")
	}
}

// resolveModel looks at every policy for every field.
func resolveModel(policies []string, l Layout, key []byte) map[string]string {
	decided, by := map[string]string{}, map[string]Scope{}
	for _, policy := range policies {
		words := args(policy)
		scope, _ := l.ParseScope(words[0])
		if !scope.Contains(key) {
			continue
		}
		settings, _ := ParseSettings(words[1:])
		for _, s := range settings {
			if winner, ok := by[s.Field()]; !ok || wins(scope, winner) {
				decided[s.Field()], by[s.Field()] = s.Value()+"@"+string(words[0]), scope
			}
		}
	}
	return decided
}

func wins(a, b Scope) bool {
	if len(a.Literal()) != len(b.Literal()) {
		return len(a.Literal()) > len(b.Literal())
	}
	if a.IsGlob() != b.IsGlob() {
		return b.IsGlob()
	}
	return string(a.Text()) < string(b.Text())
}

// TestResolveAgainstModel: random policies, set in random order, decide as the
// model says.
func TestResolveAgainstModel(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		pick := func(words ...string) string { return words[random.IntN(len(words))] }
		l := DefaultLayout()
		l.OwnerTag = seed%3 == 0
		owner := func() string {
			name := pick("ai", "bi") + ":" + pick("u1", "u12")
			if l.OwnerTag {
				name = "{" + name + "}"
			}
			return name
		}
		byScope := map[string]string{}
		for range random.IntN(12) {
			scope := pick(pick("ai", "bi"), owner(), owner()+":"+pick("s", "t"), owner()+":"+pick("s", "t")+":k1", "*", owner()+":*", owner()+"*", owner()+":s:k?", "*k[12]")
			byScope[scope] = scope + " " + pick("TTL.profile 1", "TTL.profile 2 AUDIT ALL", "REDACT $.a HASH", "REDACT $.a NONE INDEX $.b", "MAXRECORDS 5 CONSENT REQUIRED")
		}
		var policies []string
		for _, policy := range byScope {
			policies = append(policies, policy)
		}
		set := policySet(t, l, policies...)
		for range 20 {
			key := []byte(owner() + ":" + pick("s", "t") + ":" + pick("k1", "k2", "k12"))
			want := resolveModel(policies, l, key)
			for range 2 { // the second time from the cache
				got := map[string]string{}
				if p := set.Resolve(key); p != nil {
					for _, d := range p.Decided {
						got[d.Field()] = d.Value() + "@" + string(d.Scope)
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("seed %d, %s under %q\n got %v\nwant %v", seed, key, policies, got, want)
				}
			}
		}
	}
}

func TestPolicySetUpdates(t *testing.T) {
	set := policySet(t, DefaultLayout(), "ai TTL.profile 1", "bi AUDIT ALL", "ai AUDIT NONE TTL.profile 2")
	if set.Len() != 2 || showSettings(set.Find([]byte("ai")).Settings) != "TTL.profile=2 AUDIT=NONE" {
		t.Errorf("ai has %s", showSettings(set.Find([]byte("ai")).Settings))
	}
	less := set.Without([]byte("ai"))
	if less.Len() != 1 || less.Find([]byte("ai")) != nil || set.Len() != 2 || less.Resolve([]byte("ai:u:k")) != nil {
		t.Error("a policy that was taken out is still there")
	}
}

// FuzzParseSettings: whatever reads as settings is written so that it reads as
// the same.
func FuzzParseSettings(f *testing.F) {
	f.Add("TTL.profile 7d HISTORY.session 3,1ms AUDIT ALL")
	f.Add("REDACT $.a['b'] HASH ENCRYPT $..c INDEX $.d[0,1] MAXBYTES 1gb")
	f.Fuzz(func(t *testing.T, line string) {
		settings, err := ParseSettings(args(line))
		if err != nil {
			return
		}
		var again [][]byte
		for i := range settings {
			again = settings[i].AppendArgs(again)
		}
		if back, err := ParseSettings(again); err != nil || !slices.Equal(back, settings) {
			t.Errorf("%q is written as %q, which reads as %v, %v", line, again, back, err)
		}
	})
}

// BenchmarkResolve: budget of a write, 100 ns and no allocation with few
// policies, nothing without.
func BenchmarkResolve(b *testing.B) {
	key := []byte("ai:user_123:session_456:preference")
	for _, policies := range [][]string{nil, {"ai TTL.profile 1", "ai:user_123 AUDIT ALL", "bi:* CONSENT REQUIRED"}} {
		set := policySet(b, DefaultLayout(), policies...)
		b.Run(fmt.Sprintf("policies=%d", len(policies)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set.Resolve(key)
			}
		})
	}
}
