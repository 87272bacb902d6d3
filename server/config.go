// This file owns the configuration at run time: CONFIG GET, CONFIG SET and the
// published settings. It must not know the directives; they are in the table.

package server

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
)

// A Config is the current value of every directive. All methods may be called
// from any goroutine.
type Config struct {
	// Path is the absolute path of the configuration file; "" without one.
	Path string
	// Users are the accounts that the configuration defines.
	Users []UserLine
	// userLines are the lines of the accounts that there are now; nil where a file
	// of their own has them. It is set before the first Rewrite.
	userLines func() []fileLine
	renames   []rename
	// Notes are what an operator should be told at the start: directives that
	// were given and have no effect here.
	Notes []string

	// input is what was read from standard input; nil when nothing was.
	input    []byte
	byName   map[string]*directive
	mu       sync.Mutex
	values   map[string]value
	derived  map[string]string // defaults that depend on the machine
	hooks    []hook
	settings atomic.Pointer[Settings]
}

// A hook is told of a change before it is published.
type hook struct {
	names []string
	apply func(next *Settings) error
}

// A Setting is a directive's name and value as CONFIG GET answers them.
type Setting struct{ Name, Value string }

// DefaultConfig has every directive at its default.
func DefaultConfig() *Config {
	c := &Config{byName: map[string]*directive{}, values: map[string]value{}, derived: map[string]string{}}
	for i := range directives {
		d := &directives[i]
		c.byName[d.name] = d
		if d.alias != "" {
			c.byName[d.alias] = d
		}
		v, err := d.readKind(d.initialWords(), "")
		if err != nil {
			panic(fmt.Sprintf("server: default of %s: %v", d.name, err))
		}
		v.usual = true
		c.values[d.name] = v
	}
	c.publish()
	return c
}

// Settings are the current typed values. It is cheap enough for every pass.
func (c *Config) Settings() *Settings { return c.settings.Load() }

// Text is the value of one directive by its name or alias, as CONFIG GET
// answers it; false when there is none of that name.
func (c *Config) Text(name string) (string, bool) {
	d := c.byName[strings.ToLower(name)]
	if d == nil {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.values[d.name].text, true
}

// Sensitive reports whether the directive's value is a secret that logs must
// not show.
func (c *Config) Sensitive(name string) bool {
	d := c.byName[strings.ToLower(name)]
	return d != nil && d.is(sensitive)
}

// Late reports whether the directive says where the data is, so that it is not to be
// set while that is being read.
func (c *Config) Late(name string) bool {
	d := c.byName[strings.ToLower(name)]
	return d != nil && d.is(late)
}

// Get answers CONFIG GET: names without wildcards find hidden directives too;
// with wildcards match decides, and aliases are found beside their names. Each
// name is answered once, in the order of the table.
func (c *Config) Get(patterns []string, match func(pattern, name string) bool) []Setting {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := map[string]bool{}
	for _, pattern := range patterns {
		name := strings.ToLower(pattern)
		if !strings.ContainsAny(pattern, "[*?") {
			if c.byName[name] != nil {
				wanted[name] = true
			}
			continue
		}
		for known, d := range c.byName {
			if !d.is(hidden) && match(name, known) {
				wanted[known] = true
			}
		}
	}
	var found []Setting
	for i := range directives {
		d := &directives[i]
		for _, name := range []string{d.name, d.alias} {
			if wanted[name] {
				found = append(found, Setting{name, c.values[d.name].text})
			}
		}
	}
	return found
}

// Set answers CONFIG SET with names and values in turn: all take effect or
// none. local says that the client is on this host. The error's text is what
// follows "ERR " in the reply.
func (c *Config) Set(pairs []string, local bool) error {
	if len(pairs)%2 != 0 {
		return configText("syntax error")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, err := c.settable(pairs, local)
	if err != nil {
		return err
	}
	previous := c.values
	c.values = maps.Clone(previous)
	names := map[string]bool{}
	for i, d := range changed {
		v, err := d.read(setWords(d, pairs[2*i+1]), previous[d.name].text)
		if err != nil {
			c.values = previous
			return setError(d.name, err)
		}
		if v.text != previous[d.name].text {
			if d.is(fixed) {
				c.values = previous
				return setError(d.name, errImmutable)
			}
			names[d.name] = true
		}
		c.values[d.name] = v
	}
	if name, err := c.runHooks(names); err != nil {
		c.values = previous
		return setError(name, err)
	}
	c.publish()
	return nil
}

// settable finds the directives of a CONFIG SET and refuses what may not be set.
func (c *Config) settable(pairs []string, local bool) ([]*directive, error) {
	var (
		found   []*directive
		refusal error
		seen    = map[*directive]bool{}
	)
	for i := 0; i < len(pairs); i += 2 {
		d := c.byName[strings.ToLower(pairs[i])]
		if d == nil && refusal == nil {
			return nil, configText("Unknown option or number of arguments for CONFIG SET - '" + pairs[i] + "'")
		}
		if refusal != nil {
			continue
		}
		switch {
		case d.is(immutable):
			refusal = setError(pairs[i], errImmutable)
		case d.is(protected) && !c.allowed("enable-protected-configs", local):
			refusal = setError(pairs[i], configText("can't set protected config"))
		case seen[d]:
			refusal = setError(pairs[i], configText("duplicate parameter"))
		}
		seen[d] = true
		found = append(found, d)
	}
	return found, refusal
}

// allowed reports whether a yes/no/local directive lets this client.
func (c *Config) allowed(name string, local bool) bool {
	answer := c.values[name].text
	return answer == "yes" || answer == "local" && local
}

// setWords splits a CONFIG SET value.
func setWords(d *directive, given string) []string {
	if !d.is(multi) {
		return []string{given}
	}
	if given == "" {
		return nil
	}
	return strings.Split(given, " ")
}

func setError(name string, err error) error {
	return configText(fmt.Sprintf("CONFIG SET failed (possibly related to argument '%s') - %v", name, err))
}

// OnChange has apply called, before the change is published, whenever CONFIG
// SET changes one of names. An error undoes the whole CONFIG SET; apply is then
// called again with the settings that stay.
func (c *Config) OnChange(apply func(next *Settings) error, names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		if c.byName[name] == nil {
			panic("server: no directive " + name)
		}
	}
	c.hooks = append(c.hooks, hook{names, apply})
}

// runHooks tells everybody of a change. On an error it names the directive.
func (c *Config) runHooks(changed map[string]bool) (string, error) {
	next := c.build()
	for i, h := range c.hooks {
		name := h.concerned(changed)
		if name == "" {
			continue
		}
		err := h.apply(next)
		if err == nil {
			continue
		}
		for _, told := range c.hooks[:i] {
			if told.concerned(changed) != "" {
				err = errors.Join(err, told.apply(c.Settings()))
			}
		}
		return name, err
	}
	return "", nil
}

// concerned names the first of the hook's directives that changed.
func (h hook) concerned(changed map[string]bool) string {
	for _, name := range h.names {
		if changed[name] {
			return name
		}
	}
	return ""
}

// build makes the typed settings of the current values.
func (c *Config) build() *Settings {
	s := &Settings{}
	for i := range directives {
		if d := &directives[i]; d.bind != nil {
			d.bind(s, c.values[d.name])
		}
	}
	s.settle()
	return s
}

func (c *Config) publish() { c.settings.Store(c.build()) }
