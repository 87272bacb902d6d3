package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"reminis/persistence"
	"reminis/server"
)

// This file owns where the master key comes from. It must not log it, nor any
// part of it.

// keyCommandTimeout is how long a command that asks for the key may take.
const keyCommandTimeout = 30 * time.Second

// keySource is where a master key is: at most one field is set, none means the
// file beside the data.
type keySource struct {
	file, env, command string
}

func keySourceOf(s *server.Settings) keySource {
	return keySource{s.MemMasterKeyFile, s.MemMasterKeyEnv, s.MemMasterKeyCommand}
}

// read gets the key; made says that it was made just now, beside the data in dir.
func (k keySource) read(dir string) (key [persistence.KeyBytes]byte, made bool, err error) {
	set := 0
	for _, source := range []string{k.file, k.env, k.command} {
		if source != "" {
			set++
		}
	}
	switch {
	case set > 1:
		err = errors.New("only one of mem-master-key-file, mem-master-key-env and mem-master-key-command may be given")
	case k.file != "":
		key, err = persistence.ReadKey(persistence.Disk(), k.file)
		err = saying("mem-master-key-file", err)
	case k.env != "":
		key, err = k.readEnv()
		err = saying("mem-master-key-env", err)
	case k.command != "":
		key, err = k.ask()
		err = saying("mem-master-key-command", err)
	default:
		key, made, err = persistence.MasterKey(persistence.Disk(), dir)
	}
	if err != nil {
		return key, false, fmt.Errorf("the master key: %w", err)
	}
	return key, made, nil
}

// ownMasterKey is where a master key lies that no directive names.
func ownMasterKey(dir string) string { return filepath.Join(dir, "keys", "master.key") }

func saying(directive string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", directive, err)
}

// readEnv reads the key from a variable, and removes that from what processes
// that are started later see.
func (k keySource) readEnv() (key [persistence.KeyBytes]byte, err error) {
	text, ok := os.LookupEnv(k.env)
	if !ok {
		return key, fmt.Errorf("the variable %s is not set", k.env)
	}
	if key, err = persistence.ParseKey([]byte(text)); err != nil {
		return key, fmt.Errorf("the variable %s: %w", k.env, err)
	}
	return key, os.Unsetenv(k.env)
}

// ask runs a command, by the shell, that prints the key.
func (k keySource) ask() (key [persistence.KeyBytes]byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), keyCommandTimeout)
	defer cancel()
	var complaint bytes.Buffer
	command := exec.CommandContext(ctx, "/bin/sh", "-c", k.command)
	command.Stderr = &complaint
	text, err := command.Output()
	if err != nil {
		return key, fmt.Errorf("%w: %s", err, strings.TrimSpace(complaint.String()))
	}
	if key, err = persistence.ParseKey(text); err != nil {
		return key, fmt.Errorf("what it prints: %w", err)
	}
	return key, nil
}

// openKeys opens the keys of the store's owners with the key that the settings
// name.
func openKeys(store *persistence.Store, settings *server.Settings, log *slog.Logger) (*persistence.Keyring, error) {
	source := keySourceOf(settings)
	master, made, err := source.read(settings.Dir)
	if err != nil {
		return nil, err
	}
	if made {
		log.Warn("a master key was made: whoever has it and the data reads every memory, and without it nobody does; keep a copy apart from backups, or name a better place with mem-master-key-file, -env or -command",
			"file", ownMasterKey(settings.Dir))
	}
	keys, err := store.Keyring(master)
	if errors.Is(err, persistence.ErrMasterKey) {
		err = fmt.Errorf("%w; start with the key that was in use before (mem-master-key-file, -env or -command), or put back the directory keys that belongs to this data", err)
	}
	return keys, err
}

// rotateKeys wraps the keys of owners by another master key.
func rotateKeys(arguments []string) error {
	var dir string
	var from keySource
	var to string
	named := map[string]*string{"--to-file": &to, "--from-file": &from.file, "--from-env": &from.env, "--from-command": &from.command}
	for i := 0; i < len(arguments); i++ {
		option, ok := named[arguments[i]]
		switch {
		case ok && i+1 < len(arguments):
			i++
			*option = arguments[i]
		case !ok && dir == "" && !strings.HasPrefix(arguments[i], "--"):
			dir = arguments[i]
		default:
			return fmt.Errorf("reminis rotate-key: '%s' is not understood\n%s", arguments[i], usage)
		}
	}
	if dir == "" || to == "" {
		return errors.New("reminis rotate-key needs the data directory, and --to-file with the file of the new key")
	}
	if from == (keySource{}) {
		from.file = ownMasterKey(dir)
	}
	old, _, err := from.read(dir)
	if err != nil {
		return err
	}
	next, err := persistence.ReadKey(persistence.Disk(), to)
	if errors.Is(err, os.ErrNotExist) {
		next, err = persistence.MakeKey(persistence.Disk(), to)
	}
	if err != nil {
		return fmt.Errorf("the new master key: %w", err)
	}
	count, err := persistence.RotateKeys(persistence.Disk(), dir, old, next)
	if err != nil {
		return err
	}
	fmt.Printf("%d keys are wrapped by the key in %s; start the server with --mem-master-key-file %s and remove the old key\n", count, to, to)
	return nil
}
