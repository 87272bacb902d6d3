// This file owns the spec of the log's lines.

package server

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"
)

func TestLogLines(t *testing.T) {
	var buf bytes.Buffer
	handler := newLineHandler(&buf, LevelVerbose)
	at := time.Date(2024, time.March, 9, 7, 5, 3, 42_999_999, time.UTC)
	for _, test := range []struct {
		level      slog.Level
		text       string
		attributes []any
		want       string
	}{
		{slog.LevelDebug, "not shown", nil, ""},
		{LevelVerbose, "one client", nil, "- one client"},
		{slog.LevelInfo, "Ready", nil, "* Ready"},
		{slog.LevelWarn, "several\n", nil, "# several"},
		{slog.LevelError, "failed", []any{"error", errors.New("no such file"), "n", 3}, `# failed error="no such file" n=3`},
		{slog.LevelWarn, "odd", []any{"a", "", "b", "x=y", "took", time.Second, slog.Group("g", "c", true)}, `# odd a="" b="x=y" took=1s g.c=true`},
	} {
		buf.Reset()
		if handler.Enabled(t.Context(), test.level) {
			record := slog.NewRecord(at, test.level, test.text, 0)
			record.Add(test.attributes...)
			if err := handler.Handle(t.Context(), record); err != nil {
				t.Fatal(err)
			}
		}
		want := ""
		if test.want != "" {
			want = fmt.Sprintf("%d:M 09 Mar 2024 07:05:03.042 %s\n", os.Getpid(), test.want)
		}
		if got := buf.String(); got != want {
			t.Errorf("%v %q: %q, want %q", test.level, test.text, got, want)
		}
	}
	buf.Reset()
	slog.New(handler).With("a", 1).WithGroup("g").With("b", 2).Info("x", "c", 3)
	if !bytes.HasSuffix(buf.Bytes(), []byte(" * x a=1 g.b=2 g.c=3\n")) {
		t.Errorf("With and WithGroup: %q", buf.String())
	}
}
