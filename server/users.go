// This file owns where accounts come from and how they are kept: requirepass,
// `user` lines, the aclfile. It must not know what rules mean.

package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"reminis/commands"
)

// A UserLine is a `user` line of the configuration.
type UserLine struct {
	Name  string
	Rules []string
}

// OpenUsers makes core's users those of the configuration. Call it before
// Listen; on an error the server must not start.
func OpenUsers(config *Config, core *commands.Core) error {
	settings := config.Settings()
	if settings.ACLFile != "" && len(config.Users) > 0 {
		return errors.New("users are defined in the configuration and an aclfile is named: use one of both")
	}
	for _, line := range config.Users {
		if err := core.Users.Define(line.Name, line.Rules); err != nil {
			return err
		}
		if core.Users.Find(line.Name).Rules().Disabled() {
			core.Process.Log("The user '" + line.Name + "' is disabled (there is no 'on' modifier in the user description). Make sure this is not a configuration error.")
		}
	}
	if settings.ACLFile == "" {
		config.userLines = func() (lines []fileLine) {
			for _, user := range core.Users.All() {
				lines = append(lines, fileLine{user.Line(), true})
			}
			return lines
		}
		return nil
	}
	core.UserFile = userFile(settings.ACLFile)
	if _, err := core.LoadUsers(); err != nil {
		return fmt.Errorf("reading the file of users: %w", err)
	}
	return nil
}

// applyUsers keeps what the directives say of users.
func applyUsers(config *Config, core *commands.Core) {
	apply := func(next *Settings) error {
		core.DenialsMax.Store(next.ACLLogMax)
		core.Users.AllChannels.Store(next.ACLAllChannels)
		return nil
	}
	_ = apply(config.Settings())
	config.OnChange(apply, "acllog-max-len", "acl-pubsub-default")
	if password := config.Settings().RequirePass; password != "" {
		core.Users.SetPassword(password)
	}
	config.OnChange(func(next *Settings) error {
		core.Users.SetPassword(next.RequirePass)
		return nil
	}, "requirepass")
}

// userFile is the aclfile, by its path.
type userFile string

// Name implements commands.UserFile.
func (f userFile) Name() string { return string(f) }

// Read implements commands.UserFile with Redis's words for what went wrong.
func (f userFile) Read() (string, error) {
	text, err := os.ReadFile(string(f))
	if err != nil {
		return "", errors.New("Error loading ACLs, opening file '" + string(f) + "': " + systemText(err))
	}
	return string(text), nil
}

// systemText is a system error as C's strerror has it.
func systemText(err error) string {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return err.Error()
	}
	text := number.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// Write implements commands.UserFile: the file is replaced by one that is whole
// and on the disk.
func (f userFile) Write(text string) error {
	return replaceFile(string(f), func(to io.Writer) error {
		_, err := io.WriteString(to, text)
		return err
	})
}
