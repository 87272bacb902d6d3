// This file owns the log: where it goes, which levels it shows, and the form of
// its lines, which is Redis's, since operators' tools read that. It must not know
// who writes it.

package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// LevelVerbose is Redis's level between debug and notice.
const LevelVerbose = slog.LevelDebug + 2

// logTime is the time in a line.
const logTime = "02 Jan 2006 15:04:05.000"

// A Log is where the process writes: standard output or logfile.
type Log struct {
	*slog.Logger
	level slog.LevelVar
	// to is logfile, or standard output, which is not closed.
	to     *os.File
	isFile bool
}

// OpenLog opens the log that the configuration asks for; CONFIG SET loglevel
// changes it from then on. A daemon without a logfile writes nowhere.
func OpenLog(c *Config) (*Log, error) {
	settings := c.Settings()
	l := &Log{to: os.Stdout}
	if settings.LogFile != "" {
		file, err := os.OpenFile(settings.LogFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		if err != nil {
			return nil, configText("Can't open the log file: " + reason(err))
		}
		l.to, l.isFile = file, true
	}
	l.setLevel(settings.LogLevel)
	l.Logger = slog.New(newLineHandler(l.to, &l.level))
	c.OnChange(func(next *Settings) error {
		l.setLevel(next.LogLevel)
		return nil
	}, "loglevel")
	return l, nil
}

// setLevel takes one of Redis's levels; "verbose" lies between debug and info.
func (l *Log) setLevel(name string) {
	switch name {
	case "debug":
		l.level.Set(slog.LevelDebug)
	case "verbose":
		l.level.Set(LevelVerbose)
	case "warning":
		l.level.Set(slog.LevelWarn)
	default:
		l.level.Set(slog.LevelInfo)
	}
}

// Close closes the logfile.
func (l *Log) Close() error {
	if !l.isFile {
		return nil
	}
	return l.to.Close()
}

// reason is the system's word for an error, without what was attempted.
func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

// lineHandler writes lines as serverLogRaw of Redis's server.c does: process, role,
// time, a sign for the level, text. What a record says beside its text follows as
// name=value.
type lineHandler struct {
	level slog.Leveler
	mu    *sync.Mutex // shared by all handlers that write to the same place
	to    io.Writer
	// group is what the names of attributes begin with, attributes what With gave.
	group, attributes string
}

func newLineHandler(to io.Writer, level slog.Leveler) *lineHandler {
	return &lineHandler{level: level, mu: new(sync.Mutex), to: to}
}

func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	// 'M' is the role of a server that is no replica.
	line := strconv.AppendInt(make([]byte, 0, 256), int64(os.Getpid()), 10)
	line = append(line, ":M "...)
	when := r.Time
	if when.IsZero() {
		when = time.Now()
	}
	line = when.AppendFormat(line, logTime)
	line = append(line, ' ', levelSign(r.Level), ' ')
	line = append(line, strings.TrimRight(r.Message, "\n")...)
	line = append(line, h.attributes...)
	r.Attrs(func(a slog.Attr) bool {
		line = appendAttribute(line, h.group, a)
		return true
	})
	line = append(line, '\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.to.Write(line)
	return err
}

func (h *lineHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	next, buf := *h, []byte(h.attributes)
	for _, a := range attributes {
		buf = appendAttribute(buf, h.group, a)
	}
	next.attributes = string(buf)
	return &next
}

func (h *lineHandler) WithGroup(name string) slog.Handler {
	next := *h
	if name != "" {
		next.group += name + "."
	}
	return &next
}

// levelSign is the character of a level in Redis's lines.
func levelSign(level slog.Level) byte {
	switch {
	case level >= slog.LevelWarn:
		return '#'
	case level >= slog.LevelInfo:
		return '*'
	case level >= LevelVerbose:
		return '-'
	}
	return '.'
}

// appendAttribute writes a name and a value; a value of several words is quoted.
func appendAttribute(dst []byte, group string, a slog.Attr) []byte {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range value.Group() {
			dst = appendAttribute(dst, group, inner)
		}
		return dst
	}
	if a.Equal(slog.Attr{}) {
		return dst
	}
	dst = append(append(append(dst, ' '), group...), a.Key...)
	dst = append(dst, '=')
	text := value.String()
	if text == "" || strings.ContainsAny(text, " \"\\\t\r\n=") {
		return strconv.AppendQuote(dst, text)
	}
	return append(dst, text...)
}
