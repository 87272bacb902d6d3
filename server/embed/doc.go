// Package embed turns texts into vectors: by asking a service (HTTP), or by a
// table of word vectors (Words); and does so for records in the background
// (Queue). It knows no records, keys or rights.
//
// # Embedders
//
// An Embedder answers one vector per text, in order, nil for a text that has
// none: one without words, or without words that the table knows. Both may be
// called from any goroutine.
//
// HTTP speaks OpenAI's POST /v1/embeddings, as vLLM, Ollama, llama.cpp, TEI and
// others do. Texts go in batches, one after the other. What may pass (no answer,
// 408, 429, 5xx) is tried again after a growing and random pause or the one that
// the service asks for. A text that the service does not take (400, 413, 422) is
// ErrRefused; the rest, a wrong key or an answer not as agreed, is another error
// at once. Nothing of an answer is believed: its size, the number of vectors,
// their places, dimensions and numbers are checked. Redirects are not followed,
// since the key would be sent along, and errors do not show the key.
//
// Words is the mean of the vectors of a text's words, scaled to length 1, from a
// table in the text form of GloVe, word2vec and fastText: a pure function of the
// text, without a network. It knows topics, not sentences: "dog bites man" is
// "man bites dog". A word is looked up as written, then in lower case; one with an
// apostrophe or hyphen is split if it is unknown; Han and Kana count character by
// character, as there are no spaces to cut by.
//
// # Queue
//
// Writers offer a record's text and go on; Run has it embedded and calls back.
// The queue is bounded in jobs and bytes. One that does not fit is refused, and
// counted by Missed: who sees that number grow looks, when Waiting is low, for
// records without a vector, and offers them again. While the service is away jobs
// wait where they are, in order. A batch that is refused, or fails again and
// again, is tried text by text: one that fails where others do not is given up,
// so that a bad text neither costs the others theirs nor stops the queue.
//
// # Rejected
//
//   - A model in the process: no runtime for one is pure Go, and a transformer on
//     two cores beside the data costs every client its latency.
//   - Dropping the oldest jobs when full: the newest are offered again by whoever
//     scans from the newest, the oldest would never be.
//   - A client library for OpenAI: one request of one form.
package embed
