package main

// This file owns the data file's shape. It must not know the server.

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// conversation is what is stored of a sample, and what is asked about it.
type conversation struct {
	name      string
	turns     []turn
	questions []question
}

// turn is one utterance.
type turn struct {
	id      string // as evidence names it
	session int
	number  int // within its session, from 1
	date    string
	speaker string
	text    string
	caption string // of a picture that was shared, or empty
}

type question struct {
	text     string
	category int
	evidence []string // ids of turns; some match no turn
}

// anchor is the text that a turn is to be found by.
func (t turn) anchor() string {
	text := t.speaker + ": " + t.text
	if t.caption != "" {
		text += " [shared " + t.caption + "]"
	}
	return text + " (" + t.date + ")"
}

// readConversations reads a data file.
func readConversations(path string) ([]conversation, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the conversations: %w", err)
	}
	return parseConversations(data)
}

// parseConversations reads the samples of a data file, an error if a part that
// is needed has another shape.
func parseConversations(data []byte) ([]conversation, error) {
	var samples []struct {
		Name    string                     `json:"sample_id"`
		Content map[string]json.RawMessage `json:"conversation"`
		QA      []struct {
			Question string   `json:"question"`
			Category int      `json:"category"`
			Evidence []string `json:"evidence"`
		} `json:"qa"`
	}
	if err := json.Unmarshal(data, &samples); err != nil {
		return nil, fmt.Errorf("parsing the conversations: %w", err)
	}
	conversations := make([]conversation, 0, len(samples))
	for _, sample := range samples {
		c := conversation{name: sample.Name}
		for _, session := range sessionNumbers(sample.Content) {
			turns, err := parseSession(sample.Content, session)
			if err != nil {
				return nil, fmt.Errorf("parsing %s: %w", sample.Name, err)
			}
			c.turns = append(c.turns, turns...)
		}
		for _, qa := range sample.QA {
			c.questions = append(c.questions, question{text: qa.Question, category: qa.Category, evidence: qa.Evidence})
		}
		if c.name == "" || len(c.turns) == 0 {
			return nil, fmt.Errorf("parsing the conversations: sample %d has no name or no turns", len(conversations))
		}
		conversations = append(conversations, c)
	}
	return conversations, nil
}

// sessionNumbers answers the n of all keys session_n, ascending.
func sessionNumbers(content map[string]json.RawMessage) []int {
	var numbers []int
	for key := range content {
		digits, ok := strings.CutPrefix(key, "session_")
		if n, err := strconv.Atoi(digits); ok && err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

func parseSession(content map[string]json.RawMessage, session int) ([]turn, error) {
	key := fmt.Sprintf("session_%d", session)
	var date string
	if err := json.Unmarshal(content[key+"_date_time"], &date); err != nil {
		return nil, fmt.Errorf("the date of %s: %w", key, err)
	}
	var parsed []struct {
		Speaker string `json:"speaker"`
		ID      string `json:"dia_id"`
		Text    string `json:"text"`
		Caption string `json:"blip_caption"`
	}
	if err := json.Unmarshal(content[key], &parsed); err != nil {
		return nil, fmt.Errorf("the turns of %s: %w", key, err)
	}
	turns := make([]turn, len(parsed))
	for i, p := range parsed {
		turns[i] = turn{
			id: p.ID, session: session, number: i + 1, date: date,
			speaker: p.Speaker, text: p.Text, caption: p.Caption,
		}
	}
	return turns, nil
}
