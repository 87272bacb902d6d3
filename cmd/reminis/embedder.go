package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"reminis/engine"
	"reminis/server"
	"reminis/server/embed"
)

// This file owns the joint between the engine's records and an embedder.

const (
	// wordsBytesMax bounds the table of mem-embedder-file in memory.
	wordsBytesMax = 1<<31 - 1
	// queryTimeout is how long a recall waits for the vector of its query; it goes
	// on without.
	queryTimeout = 500 * time.Millisecond
	// offerAgain is how often it is looked for records that found no room.
	offerAgain = 10 * time.Second
)

// embedding makes vectors for records in the background.
type embedding struct {
	engine *engine.Engine
	queue  *embed.Queue
	cancel context.CancelFunc
	group  sync.WaitGroup
}

// openEmbedder is the embedder of the settings, nil without one. Its name is another
// where its vectors are.
func openEmbedder(s *server.Settings) (x embed.Embedder, name string, err error) {
	switch {
	case s.MemEmbedderURL != "" && s.MemEmbedderFile != "":
		return nil, "", fmt.Errorf("mem-embedder-url and mem-embedder-file are set; there can be one embedder")
	case s.MemEmbedderURL != "":
		x, err := embed.NewHTTP(embed.HTTPOptions{URL: s.MemEmbedderURL, Model: s.MemEmbedderModel, Key: s.MemEmbedderKey})
		return x, s.MemEmbedderURL + " " + s.MemEmbedderModel, err
	case s.MemEmbedderFile != "":
		file, err := os.Open(s.MemEmbedderFile)
		if err != nil {
			return nil, "", fmt.Errorf("reading mem-embedder-file: %w", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		content := sha256.New()
		x, err := embed.ReadWords(io.TeeReader(file, content), wordsBytesMax)
		return x, hex.EncodeToString(content.Sum(nil)), err
	}
	return nil, "", nil
}

// newEmbedding has the engine tell of records without vectors.
func newEmbedding(e *engine.Engine, embedder embed.Embedder, name string) *embedding {
	m := &embedding{engine: e}
	m.queue = embed.NewQueue(embedder, func(r embed.Result) {
		if r.Err == nil {
			e.Embed(engine.Unembedded{Space: uint32(r.Job.Database), Owner: r.Job.Owner, Doc: r.Job.ID, Text: r.Job.Text}, r.Vector)
		}
	})
	e.UseEmbedder(engine.Embedder{
		Name: name,
		Offer: func(u engine.Unembedded) bool {
			return m.queue.Offer(embed.Job{Database: int(u.Space), Owner: u.Owner, ID: u.Doc, Text: u.Text})
		},
		Query: func(text string) []float32 {
			ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
			defer cancel()
			vectors, err := embedder.Embed(ctx, []string{text})
			if err != nil || len(vectors) != 1 {
				return nil
			}
			return vectors[0]
		},
		Waiting: func(space uint32, owner string) int {
			if owner == "" {
				return m.queue.Waiting()
			}
			return m.queue.WaitingOf(int(space), owner)
		},
	})
	return m
}

// run offers what was recovered, then makes vectors of what is written, until
// stop.
func (m *embedding) run() {
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.group.Go(func() { m.queue.Run(ctx) })
	m.group.Go(func() {
		ticker := time.NewTicker(offerAgain)
		defer ticker.Stop()
		for seen, due := uint64(0), true; ; {
			missed := m.queue.Missed()
			if due = due || missed != seen; due && m.queue.Waiting() == 0 {
				seen = missed
				m.engine.OfferAll()
				due = false
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

func (m *embedding) stop() {
	m.cancel()
	m.group.Wait()
}
