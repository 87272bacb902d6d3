package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"

	"reminis/engine"
	"reminis/engine/memory"
	"reminis/persistence"
)

// This file owns `reminis replay`: the state of a data directory at an earlier
// moment, and its digest.

// replayDatabases is more than any server has: the store says which there are.
const replayDatabases = 1 << 10

// replay rebuilds the state after a batch and prints its digest.
func replay(arguments []string) error {
	dir, untilSeq := "", uint64(0)
	var source keySource
	named := map[string]*string{"--mem-master-key-file": &source.file, "--mem-master-key-env": &source.env, "--mem-master-key-command": &source.command}
	for i := 0; i < len(arguments); i++ {
		switch word := arguments[i]; {
		case word == "--until" && i+1 < len(arguments):
			i++
			seq, err := strconv.ParseUint(arguments[i], 10, 64)
			if err != nil || seq == 0 {
				return fmt.Errorf("--until takes the sequence of a batch, not %q", arguments[i])
			}
			untilSeq = seq
		case named[word] != nil && i+1 < len(arguments):
			i++
			*named[word] = arguments[i]
		case dir == "":
			dir = word
		default:
			return errors.New("reminis replay needs one directory, and may have --until seq and the directive of the master key")
		}
	}
	if dir == "" {
		return errors.New("reminis replay needs a directory")
	}
	return replayDir(dir, untilSeq, source)
}

func replayDir(dir string, untilSeq uint64, source keySource) error {
	options := engine.Options{Databases: replayDatabases, Memory: engine.MemoryOptions{Layout: memory.DefaultLayout()}}
	if source == (keySource{}) {
		source.file = ownMasterKey(dir)
	}
	if master, _, err := source.read(dir); err == nil {
		keys, err := persistence.ReadKeyring(persistence.Disk(), dir, master)
		if err != nil {
			return err
		}
		defer keys.Close()
		options.Memory.Keys = keys
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	e := engine.Open(options)
	done, err := persistence.Replay(persistence.Disk(), dir, untilSeq, e)
	if err != nil {
		return err
	}
	digest, records := e.RecordsDigest()
	keys, _ := e.Loaded()
	fmt.Printf("seq %d of %d\nrecords %d\nrecords_digest %s\n", done.Seq, done.EndSeq, records, hex.EncodeToString(digest[:]))
	if done.RecordsOnly {
		fmt.Printf("note: before the last checkpoint only records have a history; other keys are left out\n")
		if done.Incomplete > 0 {
			fmt.Printf("note: the history of %d records no longer reaches back so far; they are left out\n", done.Incomplete)
		}
		return nil
	}
	fmt.Printf("keys %d\n", keys)
	return nil
}
