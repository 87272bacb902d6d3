package commands

import (
	"reminis/commands/reply"
	"reminis/engine/dump"
)

// This file owns DEBUG RELOAD and LOADAOF: the memory made anew from what is kept.

func debugLoadAOF(s *Session, _ [][]byte, w *reply.Writer) error {
	if s.tx != nil {
		// The transaction holds what a reload replaces.
		return ErrNoMulti
	}
	return s.reloadStore(w)
}

func (s *Session) reloadStore(w *reply.Writer) error {
	if s.Core.Store == nil {
		return errNoStore
	}
	if err := s.Core.Store.Reload(); err != nil {
		return Error("ERR " + err.Error())
	}
	w.OK()
	return nil
}

func debugReload(s *Session, args [][]byte, w *reply.Writer) error {
	merge, flush, save := false, true, true
	for _, word := range args {
		switch {
		case equalFold(word, "merge"):
			merge = true
		case equalFold(word, "noflush"):
			flush = false
		case equalFold(word, "nosave"):
			save = false
		default:
			return errReloadOption
		}
	}
	if s.tx != nil {
		return ErrNoMulti
	}
	fromStore := len(args) == 0 && s.Core.Store != nil
	if s.Core.Snapshots == nil && !fromStore {
		return errNoSnapshot
	}
	if save && s.Core.Snapshots != nil {
		x, err := s.Core.beginSave(false)
		if err != nil {
			return err
		}
		if s.Core.runSave(x) != nil {
			return errReloadSave
		}
	}
	if fromStore {
		return s.reloadStore(w)
	}
	if err := s.Core.loadSnapshot(merge, flush); err != nil {
		return err
	}
	w.OK()
	return nil
}

// loadSnapshot takes over what the snapshot has. Nothing is flushed before all of it
// could be read.
func (k *Core) loadSnapshot(merge, flush bool) error {
	if flush {
		if _, records := k.Engine.Loaded(); records > 0 {
			return errReloadRecords
		}
		if err := k.Snapshots.Read(unread{}); err != nil {
			k.Process.LogAt(logWarning, err.Error())
			return errReloadFile
		}
		k.functionSet()
		tx := k.Engine.Begin()
		tx.LockAll()
		for db := range tx.Databases() {
			tx.Flush(db)
		}
		k.changeFunctions(tx, newFunctionSet())
		tx.Commit()
		tx.Done()
	}
	loader := k.NewLoader()
	loader.Merge = merge
	loader.Log = func(text string) { k.Process.LogAt(logNotice, text) }
	err := k.Snapshots.Read(loader)
	loader.Close()
	if err != nil {
		k.Process.LogAt(logWarning, err.Error())
		return errReloadFile
	}
	return nil
}

// unread is a target that keeps nothing.
type unread struct{}

func (unread) Function([]byte) error { return nil }

func (unread) Note([]byte) error { return nil }

func (unread) Key(int, []byte, *dump.Value, int64, int64, int64) error { return nil }
