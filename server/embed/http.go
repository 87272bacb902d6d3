// This file owns the conversation with an embedding service. It must not know
// what the vectors are for.

package embed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reminis/engine/vector"
)

// ErrRefused is answered when the service does not take a text: it is too long,
// or not to its liking.
var ErrRefused = errors.New("embedding service refused a text")

// HTTPOptions say which service to ask, and how.
type HTTPOptions struct {
	// URL is the service's; without a path, /v1/embeddings is meant.
	URL string
	// Model is the model's name, if the service has several.
	Model string
	// Key is sent as a bearer token, if there is one.
	Key string
	// Dimensions is how many numbers a vector must have, 0: any.
	Dimensions int
}

// HTTP asks a service that speaks OpenAI's /v1/embeddings.
type HTTP struct {
	options HTTPOptions
	url     string
	client  *http.Client
	pause   func(ctx context.Context, d time.Duration) error
	random  func() float64 // in [0, 1)
}

// NewHTTP answers a client of the service, or why options cannot be right. It
// does not connect.
func NewHTTP(options HTTPOptions) (*HTTP, error) {
	u, err := url.Parse(options.URL)
	if err != nil {
		return nil, fmt.Errorf("embedding service's URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("embedding service's URL %q is not http:// or https:// and a host", u.Redacted())
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/embeddings"
	}
	return &HTTP{
		options: options,
		url:     u.String(),
		client: &http.Client{
			Timeout: attemptTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			},
		},
		pause:  pause,
		random: rand.Float64,
	}, nil
}

// pause waits for d, or until ctx ends, whose error it then answers.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Embed answers a vector per text, nil for a blank one. Its error is ErrRefused if
// the service does not take one of the texts, ctx's, or what the last attempt
// met.
func (h *HTTP) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	var places []int // of the texts that are not blank
	for i, text := range texts {
		if strings.TrimSpace(text) != "" {
			places = append(places, i)
		}
	}
	for len(places) > 0 {
		n := min(len(places), batchTexts)
		batch := make([]string, n)
		for i, place := range places[:n] {
			batch[i] = cut(texts[place])
		}
		answer, err := h.insist(ctx, batch)
		if err != nil {
			return nil, err
		}
		for i, place := range places[:n] {
			vectors[place] = answer[i]
		}
		places = places[n:]
	}
	return vectors, nil
}

// cut answers what of a text is sent.
func cut(text string) string {
	if len(text) <= TextBytesMax {
		return text
	}
	end := TextBytesMax
	for end > TextBytesMax-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// insist asks until there is an answer, a failure that will stay, or enough.
func (h *HTTP) insist(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(request{Model: h.options.Model, Input: texts})
	if err != nil {
		return nil, fmt.Errorf("embedding request: %w", err)
	}
	for attempt := 1; ; attempt++ {
		vectors, failed := h.ask(ctx, body, len(texts))
		switch {
		case failed == nil:
			return vectors, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !failed.passes || attempt == attemptsMax:
			return nil, failed.err
		}
		if err := h.pause(ctx, h.pauseAfter(attempt, failed.wish)); err != nil {
			return nil, err
		}
	}
}

// pauseAfter is how long to wait after an attempt that failed: what the service
// wished, or between half and all of a time that doubles.
func (h *HTTP) pauseAfter(attempt int, wish time.Duration) time.Duration {
	if wish > 0 {
		return wish
	}
	whole := min(pauseFirst<<(attempt-1), pauseMax)
	return whole/2 + time.Duration(h.random()*float64(whole/2))
}

type request struct {
	Model string   `json:"model,omitempty"`
	Input []string `json:"input"`
}

type answer struct {
	Data []struct {
		Index     *int    `json:"index"`
		Embedding numbers `json:"embedding"`
	} `json:"data"`
}

// numbers is a vector in JSON. Some services write null for what is no number,
// which the decoder would take for zero.
type numbers []float32

func (n *numbers) UnmarshalJSON(raw []byte) error {
	list, ok := bytes.CutPrefix(raw, []byte("["))
	list, ends := bytes.CutSuffix(list, []byte("]"))
	if !ok || !ends {
		return errors.New("a vector that is no array")
	}
	if len(bytes.TrimSpace(list)) == 0 {
		return nil
	}
	*n = make([]float32, 0, bytes.Count(list, []byte(","))+1)
	for text := range bytes.SplitSeq(list, []byte(",")) {
		number, err := strconv.ParseFloat(string(bytes.TrimSpace(text)), 32)
		if err != nil {
			return fmt.Errorf("a vector's number %.20q", text)
		}
		*n = append(*n, float32(number))
	}
	return nil
}

// failure is why there is no answer.
type failure struct {
	err    error
	passes bool          // it may be otherwise in a moment
	wish   time.Duration // how long the service wants not to be asked
}

// ask makes one request.
func (h *HTTP) ask(ctx context.Context, body []byte, texts int) ([][]float32, *failure) {
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return nil, &failure{err: fmt.Errorf("embedding request: %w", err)}
	}
	post.Header.Set("Content-Type", "application/json")
	if h.options.Key != "" {
		post.Header.Set("Authorization", "Bearer "+h.options.Key)
	}
	response, err := h.client.Do(post)
	if err != nil {
		return nil, &failure{err: fmt.Errorf("embedding service: %w", err), passes: true}
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, failureOf(response)
	}
	bound := int64(answerBytes + texts*vector.DimensionsMax*numberBytes)
	limited := io.LimitedReader{R: response.Body, N: bound + 1}
	raw, err := io.ReadAll(&limited)
	if err != nil {
		return nil, &failure{err: fmt.Errorf("embedding service: %w", err), passes: true}
	}
	if limited.N <= 0 {
		return nil, &failure{err: fmt.Errorf("embedding service: an answer of more than %d bytes", bound)}
	}
	vectors, err := h.check(raw, texts)
	if err != nil {
		return nil, &failure{err: fmt.Errorf("embedding service: %w", err)}
	}
	return vectors, nil
}

// failureOf says what a status other than 200 means.
func failureOf(response *http.Response) *failure {
	text, _ := io.ReadAll(io.LimitReader(response.Body, errorBytes)) // what there is will do
	status := response.StatusCode
	f := &failure{err: fmt.Errorf("embedding service: status %d: %q", status, text)}
	switch {
	case status >= http.StatusInternalServerError, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // a date is not waited for
		f.passes, f.wish = true, time.Duration(min(max(seconds, 0), int(pauseMax/time.Second)))*time.Second
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge, status == http.StatusUnprocessableEntity:
		f.err = fmt.Errorf("%w: status %d: %q", ErrRefused, status, text)
	}
	return f
}

// check answers the vectors of an answer in the order of their texts.
func (h *HTTP) check(raw []byte, texts int) ([][]float32, error) {
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, err
	}
	if len(a.Data) != texts {
		return nil, fmt.Errorf("%d vectors for %d texts", len(a.Data), texts)
	}
	vectors := make([][]float32, texts)
	dimensions := h.options.Dimensions
	for place, item := range a.Data {
		if item.Index != nil {
			place = *item.Index
		}
		if place < 0 || place >= texts || vectors[place] != nil {
			return nil, fmt.Errorf("a vector for text %d of %d, or a second one", place, texts)
		}
		n := len(item.Embedding)
		if dimensions == 0 {
			dimensions = n
		}
		switch {
		case n == 0 || n > vector.DimensionsMax:
			return nil, fmt.Errorf("a vector of %d dimensions", n)
		case n != dimensions:
			return nil, fmt.Errorf("a vector of %d dimensions instead of %d", n, dimensions)
		case !vector.Finite(item.Embedding):
			return nil, errors.New("a vector that is not finite")
		}
		vectors[place] = item.Embedding
	}
	return vectors, nil
}
