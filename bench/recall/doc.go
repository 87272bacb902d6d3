// Command recall measures through the socket how much of what was said a server
// finds again: it stores the turns of long conversations as records and asks
// questions about them.
//
//	go run ./bench/recall -addr 127.0.0.1:6379 -data PATH/locomo10.json
//
// # Protocol
//
// The file has the shape of LoCoMo (Maharana et al., ACL 2024; CC BY-NC, not part
// of this project): conversations of several dated sessions, and questions that
// name the turns holding the evidence. Each conversation is an owner, each turn
// one record whose anchor is speaker, text, caption of a shared picture and the
// session's date. Each question is one MEM.RECALL over its conversation. The
// recall at k of a question is the share of its evidence turns among the first k
// records; a question without evidence counts 1; the figure is the mean over all
// questions. Evidence, answers, observations and summaries are never sent: the
// server sees turns and questions only.
//
// Every second conversation is held out and shown apart: weights are chosen by the
// others alone, so that these figures are what a stranger's conversations would see.
//
// # Decisions
//
// The kind is semantic: it never expires, so that the age of the conversations
// does not matter, and it is durable, so that storing is measured honestly too.
// All turns are stored within moments of each other: recency tells none from the
// others, and text alone decides.
//
// Questions are asked one at a time. Latency is what the client sees of that;
// the server's processor time comes from its INFO and is the figure to compare,
// because the machine's other work does not disturb it.
//
// With -records, what is measured is not quality but what a recall costs the server:
// all conversations, and as many copies as it takes, are one owner, and all questions
// are asked of it, once for ten records and once for fifty. Of the other -owners each
// has one turn.
//
// Rejected: measuring answers of a language model, which measures the model and
// its judge; recall by session instead of by turn, which any system passes.
package main
