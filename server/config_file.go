// This file owns reading a configuration: a file, standard input, command-line
// flags, in this order, later ones winning. It must not know the directives.

package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"reminis/commands"
	"reminis/commands/acl"
	"reminis/commands/quoting"
)

// includeDepthMax bounds how deep files may include files, so that a file that
// includes itself is an error rather than the end of memory.
const includeDepthMax = 16

// A ConfigError says what is wrong in which line. Its text is in the form that
// Redis prints.
type ConfigError struct {
	// Source is a file name, "standard input" or "the command line"; Line
	// counts from 1; Text is the line.
	Source string
	Line   int
	Text   string
	Err    error
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("\n*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***\n"+
		"Reading the configuration file, at line %d\n>>> '%s'\n%v (in %s)", e.Line, e.Text, e.Err, e.Source)
}

func (e *ConfigError) Unwrap() error { return e.Err }

// openError is a file that cannot be read.
type openError struct {
	path string
	err  error
}

func (e openError) Error() string {
	return "Fatal error, can't open config file '" + e.path + "': " + e.err.Error()
}

func (e openError) Unwrap() error { return e.err }

// Load reads the configuration that arguments name: an optional file first, "-"
// for stdin first or last, then `--name value …`. Its errors are ConfigErrors,
// or those of opening a file.
func Load(arguments []string, stdin io.Reader) (*Config, error) {
	l := &loader{config: DefaultConfig(), given: map[string]bool{}}
	options, fromStdin := commandLine(arguments, &l.config.Path)
	if l.config.Path != "" {
		path, err := filepath.Abs(l.config.Path)
		if err != nil {
			return nil, err
		}
		l.config.Path = path
		if err := l.file(path, 0); err != nil {
			return nil, err
		}
	}
	if fromStdin {
		content, err := io.ReadAll(stdin)
		if err != nil {
			return nil, fmt.Errorf("reading the configuration from standard input: %w", err)
		}
		l.config.input = content
		if err := l.lines("standard input", string(content), 0); err != nil {
			return nil, err
		}
	}
	if err := l.lines("the command line", options, 0); err != nil {
		return nil, err
	}
	l.finish()
	return l.config, nil
}

// commandLine turns arguments into the text of a configuration, as Redis does:
// what begins with "--" begins a line, unless the directive before it has no
// value yet.
func commandLine(arguments []string, path *string) (options string, fromStdin bool) {
	var b strings.Builder
	if len(arguments) > 0 && !strings.HasPrefix(arguments[0], "-") {
		*path = arguments[0]
		arguments = arguments[1:]
	} else if len(arguments) > 0 && arguments[0] == "-" {
		fromStdin = true
		arguments = arguments[1:]
	}
	hasValue := true
	for i, argument := range arguments {
		last := i == len(arguments)-1
		switch {
		case argument == "-" && last:
			fromStdin = true
		case hasValue && strings.HasPrefix(argument, "--"):
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(argument[2:])
			b.WriteByte(' ')
			parts, _ := quoting.Split([]byte(argument))
			hasValue = len(parts) > 1
			// `--save` without a value is `--save ""`, as before Redis 7.
			if strings.EqualFold(argument, "--save") && (last || strings.HasPrefix(arguments[i+1], "--")) {
				b.WriteString(`""`)
				hasValue = true
			}
		default:
			b.WriteString(quoting.Quote(argument))
			b.WriteByte(' ')
			hasValue = true
		}
	}
	return b.String(), fromStdin
}

// A loader fills a Config.
type loader struct {
	config *Config
	// given are the directives that were set, by their name.
	given map[string]bool
	at    place
}

// A place is a line of a source.
type place struct {
	source string
	number int
	line   string
}

// failed is an error at a place.
func (p place) failed(err error) error { return &ConfigError{p.source, p.number, p.line, err} }

// A rename is a rename-command line; to is "" for a command that is taken away.
type rename struct {
	from, to string
	at       place
}

// RenameCommands gives commands the names that the configuration says. Its errors
// are ConfigErrors.
func (c *Config) RenameCommands(table *commands.Table) error {
	for _, r := range c.renames {
		if err := table.Rename(r.from, r.to); err != nil {
			return r.at.failed(err)
		}
	}
	return nil
}

// file reads one file, or all that a pattern with wildcards matches.
func (l *loader) file(path string, depth int) error {
	paths := []string{path}
	if strings.ContainsAny(path, "*?[") {
		found, err := filepath.Glob(path)
		if err != nil {
			return openError{path, err}
		}
		paths = found
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return openError{path, err}
		}
		if err := l.lines(path, string(content), depth); err != nil {
			return err
		}
	}
	return nil
}

// lines reads the lines of one source.
func (l *loader) lines(source, content string, depth int) error {
	number := 0
	for line := range strings.Lines(content) {
		number++
		line = strings.Trim(line, " \t\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		at := place{source, number, line}
		l.at = at
		if err := l.line(line, depth); err != nil {
			var inner *ConfigError
			if errors.As(err, &inner) {
				return err
			}
			return at.failed(err)
		}
	}
	return nil
}

func (l *loader) line(line string, depth int) error {
	split, ok := quoting.Split([]byte(line))
	if !ok {
		return configText("Unbalanced quotes in configuration line")
	}
	if len(split) == 0 {
		return nil
	}
	given := make([]string, len(split))
	for i, word := range split {
		given[i] = string(word)
	}
	name := strings.ToLower(given[0])
	if d := l.config.byName[name]; d != nil {
		return l.set(d, given[1:])
	}
	return l.other(name, given[1:], depth)
}

// set gives a directive its value.
func (l *loader) set(d *directive, given []string) error {
	if !d.is(multi) && len(given) != 1 {
		return errWordCount
	}
	if d.is(multi) && len(given) == 1 && given[0] != "" {
		// "--bind '127.0.0.1 ::1'" is one word that holds several.
		split, ok := quoting.Split([]byte(given[0]))
		if !ok {
			return configText("Unbalanced quotes in configuration line")
		}
		given = given[:0:0]
		for _, word := range split {
			given = append(given, string(word))
		}
	}
	current := l.config.values[d.name]
	v, err := d.read(given, current.text)
	if err != nil {
		return err
	}
	if d.name == "save" && l.given[d.name] && len(v.words) > 0 {
		// Save points of several lines add up; `save ""` forgets those before.
		v.words = append(current.words[:len(current.words):len(current.words)], v.words...)
		v.text = strings.Join(v.words, " ")
	}
	l.config.values[d.name] = v
	l.given[d.name] = true
	return nil
}

// other handles what is no directive with a value.
func (l *loader) other(name string, words []string, depth int) error {
	switch {
	case name == "include" && len(words) == 1:
		if depth >= includeDepthMax {
			return fmt.Errorf("files include each other more than %d deep", includeDepthMax)
		}
		return l.file(words[0], depth+1)
	case len(words) == 1 && (name == "list-max-ziplist-entries" || name == "list-max-ziplist-value" || name == "lua-replicate-commands"):
		// Redis 7 ignores these three as well.
		return nil
	case name == "user" && len(words) > 0:
		return l.user(words[0], words[1:])
	case name == "rename-command" && len(words) == 2:
		l.config.renames = append(l.config.renames, rename{words[0], words[1], l.at})
		return nil
	case name == "loadmodule":
		return errRefused
	case name == "sentinel":
		return configText("sentinel directive while not in sentinel mode")
	}
	return configText("Bad directive or wrong number of arguments")
}

// user notes an account. Its rules are read once the commands that they name are
// known.
func (l *loader) user(name string, rules []string) error {
	for _, line := range l.config.Users {
		if line.Name == name {
			return configText("Error in user declaration '" + name + "': " + string(acl.ErrDuplicate))
		}
	}
	l.config.Users = append(l.config.Users, UserLine{name, rules})
	return nil
}

// finish computes defaults that depend on the machine and on what was given,
// and notes what has no effect.
func (l *loader) finish() {
	c := l.config
	if !l.given["io-threads"] {
		// One loop serves two cores; more loops than half the cores would take
		// the processors that workers and the journal need.
		loops := max(1, min(4, runtime.NumCPU()/2))
		c.values["io-threads"] = value{text: fmt.Sprint(loops), number: int64(loops)}
		c.derived["io-threads"] = fmt.Sprint(loops)
	}
	if l.given["dir"] {
		// Redis changes into its directory, so that relative paths mean it.
		for _, name := range []string{"aclfile", "logfile", "pidfile", "unixsocket"} {
			if v := c.values[name]; v.text != "" && !filepath.IsAbs(v.text) {
				v.text = filepath.Join(c.values["dir"].text, v.text)
				c.values[name] = v
			}
		}
	}
	if path, err := filepath.Abs(c.values["dir"].text); err == nil {
		c.values["dir"] = value{text: path}
	}
	for i := range directives {
		d := &directives[i]
		if l.given[d.name] && d.bind == nil && !d.refused && !d.isInitial(c.values[d.name]) {
			c.Notes = append(c.Notes, fmt.Sprintf("'%s %s' has no effect here", d.name, c.values[d.name].text))
		}
	}
	c.publish()
}
