package embed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

// service is an embedding service that plays a script: an answer per request,
// the last one again and again. An empty one answers well.
type service struct {
	script []func(w http.ResponseWriter, texts []string)

	mu       sync.Mutex
	requests []request
	keys     []string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, q)
	s.keys = append(s.keys, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
	s.mu.Unlock()
	reply := well
	if len(s.script) > 0 {
		reply = s.script[min(n, len(s.script)-1)]
	}
	reply(w, q.Input)
}

// well answers the length of each text and 1, the last text first.
func well(w http.ResponseWriter, texts []string) {
	var data []string
	for i := len(texts) - 1; i >= 0; i-- {
		data = append(data, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%d, 1.0]}`, i, len(texts[i])))
	}
	_, _ = fmt.Fprintf(w, `{"object":"list","data":[%s],"model":"m","usage":{"total_tokens":7}}`, strings.Join(data, ","))
}

func status(code int, header ...string) func(http.ResponseWriter, []string) {
	return func(w http.ResponseWriter, _ []string) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		http.Error(w, "no", code)
	}
}

func body(text string) func(http.ResponseWriter, []string) {
	return func(w http.ResponseWriter, _ []string) { _, _ = io.WriteString(w, text) }
}

func hangUp(http.ResponseWriter, []string) { panic(http.ErrAbortHandler) }

// ask answers a client of s, which notes its pauses instead of making them.
func (s *service) ask(t *testing.T, options HTTPOptions) (*HTTP, *[]time.Duration) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	options.URL = server.URL + options.URL
	h, err := NewHTTP(options)
	if err != nil {
		t.Fatal(err)
	}
	var pauses []time.Duration
	h.pause = func(ctx context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return ctx.Err()
	}
	h.random = func() float64 { return 0.5 }
	return h, &pauses
}

func TestHTTP(t *testing.T) {
	s := &service{}
	h, pauses := s.ask(t, HTTPOptions{Model: "small", Key: "secret"})
	got, err := h.Embed(t.Context(), []string{"one", "", "three", " \n"})
	want := [][]float32{{3, 1}, nil, {5, 1}, nil}
	if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if !slices.Equal(s.keys, []string{"POST /v1/embeddings Bearer secret"}) || len(*pauses) > 0 {
		t.Errorf("asked by %q after %v", s.keys, *pauses)
	}
	if q := s.requests[0]; q.Model != "small" || !slices.Equal(q.Input, []string{"one", "three"}) {
		t.Errorf("asked for %+v", q)
	}
}

func TestHTTPWithoutKeyAndWithPath(t *testing.T) {
	s := &service{}
	h, _ := s.ask(t, HTTPOptions{URL: "/api/embed?version=2"})
	if _, err := h.Embed(t.Context(), []string{"x"}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.keys, []string{"POST /api/embed "}) {
		t.Errorf("asked by %q", s.keys)
	}
}

// TestHTTPBatches checks how many texts, and how much of each, a request has.
func TestHTTPBatches(t *testing.T) {
	s := &service{}
	h, _ := s.ask(t, HTTPOptions{})
	texts := make([]string, 2*batchTexts+1)
	for i := range texts {
		texts[i] = strings.Repeat("x", i+1)
	}
	texts[5] = strings.Repeat("é", TextBytesMax)
	texts[6] = "x" + texts[5]
	got, err := h.Embed(t.Context(), texts)
	if err != nil || len(s.requests) != 3 {
		t.Fatalf("%d requests, %v", len(s.requests), err)
	}
	for i, v := range got {
		want := min(len(texts[i]), TextBytesMax)
		if i == 6 {
			want-- // to the border of a character
		}
		if len(v) != 2 || int(v[0]) != want {
			t.Errorf("text %d: %v, want %d", i, v, want)
		}
	}
	if sent := s.requests[0].Input[6]; !utf8.ValidString(sent) {
		t.Error("a character was cut in two")
	}
}

func TestHTTPTriesAgain(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name   string
		script []func(http.ResponseWriter, []string)
		pauses []time.Duration
		ok     bool
	}{
		{"once busy", []func(http.ResponseWriter, []string){status(429), well}, []time.Duration{375 * ms}, true},
		{"thrice down", []func(http.ResponseWriter, []string){status(500), status(503), hangUp, well}, []time.Duration{375 * ms, 750 * ms, 1500 * ms}, true},
		{"always down", []func(http.ResponseWriter, []string){status(502)}, []time.Duration{375 * ms, 750 * ms, 1500 * ms}, false},
		{"slow", []func(http.ResponseWriter, []string){status(408), well}, []time.Duration{375 * ms}, true},
		{"says when", []func(http.ResponseWriter, []string){status(429, "Retry-After", "7"), well}, []time.Duration{7000 * ms}, true},
		{"says much later", []func(http.ResponseWriter, []string){status(503, "Retry-After", "99999999999"), well}, []time.Duration{pauseMax}, true},
		{"says nonsense", []func(http.ResponseWriter, []string){status(503, "Retry-After", "-3"), well}, []time.Duration{375 * ms}, true},
	} {
		s := &service{script: c.script}
		h, pauses := s.ask(t, HTTPOptions{})
		got, err := h.Embed(t.Context(), []string{"abc"})
		if c.ok != (err == nil) || c.ok && !slices.Equal(got[0], []float32{3, 1}) || errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
		if !slices.Equal(*pauses, c.pauses) {
			t.Errorf("%s: paused %v, want %v", c.name, *pauses, c.pauses)
		}
	}
}

// TestHTTPGivesUp has answers that trying again would not mend.
func TestHTTPGivesUp(t *testing.T) {
	for _, c := range []struct {
		name    string
		reply   func(http.ResponseWriter, []string)
		refused bool
		says    string
	}{
		{"a text not taken", status(400), true, `status 400: "no\n"`},
		{"a text too long", status(413), true, "413"},
		{"a text not understood", status(422), true, "422"},
		{"a wrong key", status(401), false, "401"},
		{"a wrong model", status(404), false, "404"},
		{"elsewhere", status(308, "Location", "https://example.org/"), false, "308"},
		{"no JSON", body("<html>"), false, "invalid character"},
		{"nothing", body(""), false, "unexpected end"},
		{"another form", body(`{"embeddings":[[1,2]]}`), false, "0 vectors for 2 texts"},
		{"one too few", body(`{"data":[{"index":0,"embedding":[1]}]}`), false, "1 vectors for 2 texts"},
		{"one twice", body(`{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`), false, "text 1 of 2"},
		{"one beyond", body(`{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`), false, "text 2 of 2"},
		{"one before", body(`{"data":[{"index":-1,"embedding":[1]},{"index":0,"embedding":[1]}]}`), false, "text -1 of 2"},
		{"an empty vector", body(`{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`), false, "0 dimensions"},
		{"no vector", body(`{"data":[{"index":0},{"index":1}]}`), false, "0 dimensions"},
		{"other dimensions", body(`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1]}]}`), false, "1 dimensions instead of 2"},
		{"null for a number", body(`{"data":[{"index":0,"embedding":[1,null]},{"index":1,"embedding":[1,2]}]}`), false, `"null"`},
		{"too large a number", body(`{"data":[{"index":0,"embedding":[1e39]},{"index":1,"embedding":[1]}]}`), false, "1e39"},
		{"too many numbers", body(`{"data":[{"embedding":[` + strings.Repeat("1,", 4096) + `1]},{"embedding":[1]}]}`), false, "4097 dimensions"},
		{"base64", body(`{"data":[{"index":0,"embedding":"AACAPw=="},{"index":1,"embedding":"AACAPw=="}]}`), false, "no array"},
	} {
		s := &service{script: []func(http.ResponseWriter, []string){c.reply}}
		h, pauses := s.ask(t, HTTPOptions{Key: "secret"})
		got, err := h.Embed(t.Context(), []string{"a", "b"})
		if err == nil || got != nil || errors.Is(err, ErrRefused) != c.refused || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v; want an error with %q", c.name, got, err, c.says)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the key is in %q", c.name, err)
		}
		if len(s.requests) != 1 || len(*pauses) > 0 {
			t.Errorf("%s: asked %d times", c.name, len(s.requests))
		}
	}
}

// TestHTTPOrderWithoutIndex takes an answer whose vectors do not say whose they
// are in order.
func TestHTTPOrderWithoutIndex(t *testing.T) {
	s := &service{script: []func(http.ResponseWriter, []string){body(`{"data":[{"embedding":[1]},{"embedding":[ 2e0 ]}]}`)}}
	h, _ := s.ask(t, HTTPOptions{Dimensions: 1})
	got, err := h.Embed(t.Context(), []string{"a", "b"})
	if err != nil || !slices.EqualFunc(got, [][]float32{{1}, {2}}, slices.Equal) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestHTTPDimensions(t *testing.T) {
	s := &service{}
	h, _ := s.ask(t, HTTPOptions{Dimensions: 3})
	if _, err := h.Embed(t.Context(), []string{"a"}); err == nil || !strings.Contains(err.Error(), "2 dimensions instead of 3") {
		t.Errorf("other dimensions than wanted: %v", err)
	}
}

// TestHTTPSizeBound stops reading an answer that does not end.
func TestHTTPSizeBound(t *testing.T) {
	s := &service{script: []func(http.ResponseWriter, []string){func(w http.ResponseWriter, _ []string) {
		spaces := []byte(strings.Repeat(" ", 1<<16))
		for {
			if _, err := w.Write(spaces); err != nil {
				return
			}
		}
	}}}
	h, _ := s.ask(t, HTTPOptions{})
	if _, err := h.Embed(t.Context(), []string{"a"}); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("an answer without end: %v", err)
	}
}

// TestHTTPRedirect keeps the key from where a service points.
func TestHTTPRedirect(t *testing.T) {
	other := &service{}
	elsewhere := httptest.NewServer(other)
	t.Cleanup(elsewhere.Close)
	s := &service{script: []func(http.ResponseWriter, []string){status(307, "Location", elsewhere.URL+"/v1/embeddings")}}
	h, _ := s.ask(t, HTTPOptions{Key: "secret"})
	if _, err := h.Embed(t.Context(), []string{"a"}); err == nil || len(other.requests) > 0 {
		t.Errorf("%v, and the other was asked %d times", err, len(other.requests))
	}
}

func TestHTTPContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &service{script: []func(http.ResponseWriter, []string){status(503)}}
	h, _ := s.ask(t, HTTPOptions{})
	h.pause = func(ctx context.Context, _ time.Duration) error {
		cancel()
		return ctx.Err()
	}
	if _, err := h.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended while pausing: %v", err)
	}
	if _, err := h.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended before: %v", err)
	}
	if len(s.requests) != 1 {
		t.Errorf("asked %d times", len(s.requests))
	}
}

func TestHTTPURL(t *testing.T) {
	for url, ok := range map[string]bool{
		"http://localhost:11434": true, "https://example.org/v1/embeddings": true, "http://[::1]:80/": true,
		"": false, "localhost:80": false, "ftp://example.org": false, "http://": false, "http://a b": false, "unix:/x": false,
	} {
		if _, err := NewHTTP(HTTPOptions{URL: url}); (err == nil) != ok {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestPauseEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := pause(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := pause(t.Context(), 0); err != nil {
		t.Error(err)
	}
}
