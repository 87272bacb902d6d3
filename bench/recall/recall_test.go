package main

// This file owns the tests: the data's shape with made-up data, the figures, and
// a whole run against a server that answers by counting common words.

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"reminis/bench/resp"
)

const madeUp = `[
 {"sample_id": "talk-1",
  "conversation": {
   "speaker_a": "Ann", "speaker_b": "Bo",
   "session_2_date_time": "9 am on 2 June, 2030", "session_2": [
     {"speaker": "Ann", "dia_id": "D2:1", "text": "my parrot speaks"}],
   "session_1_date_time": "8 am on 1 June, 2030", "session_1": [
     {"speaker": "Ann", "dia_id": "D1:1", "text": "look", "blip_caption": "a green boat", "img_url": ["x"]},
     {"speaker": "Bo", "dia_id": "D1:2", "text": "lovely weather"}],
   "session_3_date_time": "never held"},
  "qa": [
   {"question": "whose boat", "answer": 5, "evidence": ["D1:1"], "category": 4},
   {"question": "parrot weather", "answer": "x", "evidence": ["D2:1", "D9:9"], "category": 1},
   {"question": "nothing", "answer": "x", "evidence": [], "category": 3}],
  "observation": {"session_1_observation": {}}}]`

func TestParseConversations(t *testing.T) {
	conversations, err := parseConversations([]byte(madeUp))
	if err != nil {
		t.Fatal(err)
	}
	if len(conversations) != 1 || conversations[0].name != "talk-1" || len(conversations[0].questions) != 3 {
		t.Fatalf("%+v", conversations)
	}
	want := []string{
		"D1:1 1/1 Ann: look [shared a green boat] (8 am on 1 June, 2030)",
		"D1:2 1/2 Bo: lovely weather (8 am on 1 June, 2030)",
		"D2:1 2/1 Ann: my parrot speaks (9 am on 2 June, 2030)",
	}
	var got []string
	for _, turn := range conversations[0].turns {
		got = append(got, fmt.Sprintf("%s %d/%d %s", turn.id, turn.session, turn.number, turn.anchor()))
	}
	if !slices.Equal(got, want) {
		t.Errorf("turns %q, want %q", got, want)
	}
}

func TestParseRefusesOtherShapes(t *testing.T) {
	for _, data := range []string{
		``, `{}`, `[{"sample_id": "a"}]`,
		`[{"sample_id": "a", "conversation": {"session_1": [{"text": "x"}]}}]`,
		`[{"sample_id": "a", "conversation": {"session_1_date_time": "d", "session_1": "x"}}]`,
		`[{"conversation": {"session_1_date_time": "d", "session_1": [{"text": "x"}]}}]`,
	} {
		if got, err := parseConversations([]byte(data)); err == nil {
			t.Errorf("%q is taken for %+v", data, got)
		}
	}
}

func TestRecallAt(t *testing.T) {
	tables := []struct {
		depth           int
		found, evidence string
		want            float64
	}{
		{5, "a b c", "a", 1},
		{1, "a b c", "b", 0},
		{2, "a b c", "b", 1},
		{5, "a b c", "c x", 0.5},
		{5, "", "a", 0},
		{5, "a", "", 1},
		{5, "a", "a a", 1},
	}
	for _, test := range tables {
		if got := recallAt(test.depth, strings.Fields(test.found), strings.Fields(test.evidence)); got != test.want {
			t.Errorf("recall at %d of %q in %q is %v, want %v", test.depth, test.evidence, test.found, got, test.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	durations := []time.Duration{5, 1, 4, 2, 3}
	for share, want := range map[float64]time.Duration{0: 1, 0.5: 3, 0.8: 4, 0.81: 5, 1: 5} {
		if got := percentile(durations, share); got != want {
			t.Errorf("percentile %v is %d, want %d", share, got, want)
		}
	}
	if got := percentile(nil, 0.5); got != 0 {
		t.Errorf("percentile of nothing is %d", got)
	}
}

func TestUnknownCategory(t *testing.T) {
	var figures tally
	for _, category := range []int{-1, 0, 6} {
		if err := figures.add(question{category: category}, nil); err == nil {
			t.Errorf("category %d is taken", category)
		}
	}
}

// wordServer answers one connection: it keeps anchors and recalls what shares
// words with the query. With broken set, it answers MEM.RECALL with that.
func wordServer(t *testing.T, conn net.Conn, broken string) {
	defer conn.Close()
	anchors := map[string]string{}
	var order []string
	var in []byte
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		in = append(in, buf[:n]...)
		for {
			command, size, err := resp.Next(in)
			if err != nil {
				t.Errorf("the request does not parse: %v", err)
				return
			}
			if size == 0 {
				break
			}
			var args []string
			for _, item := range command.Items {
				args = append(args, item.Text())
			}
			in = in[size:]
			if _, err := conn.Write([]byte(answer(t, args, anchors, &order, broken))); err != nil {
				return
			}
		}
	}
}

func answer(t *testing.T, args []string, anchors map[string]string, order *[]string, broken string) string {
	switch args[0] {
	case "INFO":
		text := fmt.Sprintf("# CPU\r\nused_cpu_sys:%d.5\r\nused_cpu_user:1.25\r\nused_cpu_sys_children:9\r\n", len(*order))
		return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
	case "MEM.SET":
		if len(args) != 7 || args[5] != "ANCHOR" {
			t.Errorf("unexpected %q", args)
		}
		anchors[args[1]] = args[6]
		*order = append(*order, args[1])
		return ":1\r\n"
	case "MEM.RECALL":
		if broken != "" {
			return broken
		}
		var hits []string
		for _, key := range *order {
			for _, word := range strings.Fields(args[3]) {
				if strings.HasPrefix(key, args[1]+":") && strings.Contains(anchors[key], word) {
					hits = append(hits, fmt.Sprintf("*4\r\n$5\r\nscore\r\n$1\r\n1\r\n$3\r\nkey\r\n$%d\r\n%s\r\n", len(key), key))
					break
				}
			}
		}
		return fmt.Sprintf("*%d\r\n%s", len(hits), strings.Join(hits, ""))
	}
	return "-ERR unknown command\r\n"
}

// connect answers a server over a pipe.
func connect(t *testing.T, broken string) *server {
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close() })
	go wordServer(t, far, broken)
	return &server{client: resp.NewClient(near, time.Minute), product: "bench"}
}

func TestRun(t *testing.T) {
	conversations, err := parseConversations([]byte(madeUp))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := measure(&out, connect(t, ""), conversations); err != nil {
		t.Fatal(err)
	}
	// By question: the boat is found; one of two turns is found; none is asked for.
	for _, want := range []string{
		"stored 3 turns of 1 conversations",
		"single-hop      1 questions  R@5 1.000",
		"multi-hop       1 questions  R@5 0.500",
		"\nall             3 questions  R@5 0.833  R@10 0.833  R@25 0.833  R@50 0.833\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}

func TestRunStopsAtBrokenReplies(t *testing.T) {
	conversations, err := parseConversations([]byte(madeUp))
	if err != nil {
		t.Fatal(err)
	}
	for _, broken := range []string{
		"-ERR no such option\r\n",
		"$-1\r\n",
		"*-1\r\n",
		"*1\r\n*2\r\n$5\r\nscore\r\n$1\r\n1\r\n",
		"*1\r\n*2\r\n$3\r\nkey\r\n$5\r\nother\r\n",
	} {
		var out bytes.Buffer
		if err := measure(&out, connect(t, broken), conversations); err == nil {
			t.Errorf("reply %q is taken:\n%s", broken, out.String())
		}
	}
}

// TestRunOfCost: one owner has as many turns as are asked for, others one each.
func TestRunOfCost(t *testing.T) {
	conversations, err := parseConversations([]byte(madeUp))
	if err != nil {
		t.Fatal(err)
	}
	all := joined(conversations, 8)
	var sessions []int
	for _, turn := range all.turns {
		sessions = append(sessions, turn.session)
	}
	if want := []int{1, 1, 2, 3, 3, 4, 5, 5}; !slices.Equal(sessions, want) || len(all.questions) != 3 {
		t.Errorf("%d questions, turns of sessions %v, want %v", len(all.questions), sessions, want)
	}
	var out bytes.Buffer
	if err := measureCost(&out, connect(t, ""), conversations, size{records: 8, owners: 5}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"10 records of 8, one of 5 owners: p50 ", "50 records of 8, one of 5 owners: p50 "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}
