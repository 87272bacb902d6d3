// This file owns every limit of the package, each with its reason. It must not
// hold behaviour.

package embed

import "time"

const (
	// TextBytesMax is where a text is cut before it is sent, at the border of a
	// character: some 2,000 tokens, which is as many as most models read.
	TextBytesMax = 8 << 10

	// batchTexts is how many texts go in one request; services take 32 to 2,048.
	batchTexts = 32

	// answerBytes bounds an answer's size beside its vectors, and numberBytes
	// what one number of a vector may take.
	answerBytes = 1 << 20
	numberBytes = 32

	// errorBytes is how much of a service's error is shown.
	errorBytes = 200

	// attemptTimeout bounds one request, answer included; attemptsMax how often
	// one is made; pauseFirst and pauseMax the pauses between, which double.
	attemptTimeout = 30 * time.Second
	attemptsMax    = 4
	pauseFirst     = 500 * time.Millisecond
	pauseMax       = 30 * time.Second

	// QueueJobsMax and QueueBytesMax bound what waits in a queue.
	QueueJobsMax  = 10_000
	QueueBytesMax = 64 << 20

	// batchFailuresMax is after how many failures a batch's texts are tried one
	// by one, and singleFailuresMax how many of them in a row fail if it is the
	// service that fails. pauseDoublings keeps the pause in range.
	batchFailuresMax  = 3
	singleFailuresMax = 4
	pauseDoublings    = 10

	// TableBytesMax is how much memory a table of words may take unless the
	// caller says otherwise: a million words of 200 dimensions.
	TableBytesMax = 1 << 30

	// lineBytesMax bounds one line of a table: 4,096 numbers of 30 characters.
	lineBytesMax = 128 << 10

	// wordBytes is what a word costs beside its characters and its vector.
	wordBytes = 48
)
