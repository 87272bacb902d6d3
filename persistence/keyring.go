package persistence

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns the keys of owners: drawn ahead, wrapped by the master key,
// destroyed for good. It must not know whose key is whose, nor what they seal.
//
//	keys/owners = header(128 bytes) slot(64 bytes)*
//	header      = "RMNSKEYS" | format u32 | 0 u32 | store id u64 | next u64 | count u64 | crc u32 | check(28) | 0
//	slot        = nonce(12) | key, AES-256-GCM(32+16) | 0(4); all 0: destroyed
//
// A slot's number is its place, from 1; it and the store's id are authenticated
// with the key. check is the wrapping of nothing, which tells a wrong master key
// from damage. count is how many slots are whole. next is the number of the first
// slot that was never given to an owner, written when the store is closed; while
// it is open, and after a crash, it is beyond the last, so that a slot that may
// have been given is never given again.
//
// Slots are drawn and fsynced in blocks before they are needed: an owner gets its
// key without I/O. A slot is destroyed in place, because whatever is renamed or
// appended leaves the old bytes where they were; a disk that moves what is
// overwritten (flash, copy-on-write) may keep them all the same, for which the
// master key's rotation is the remedy.

const (
	ringFile        = "owners"
	ringMagic       = "RMNSKEYS"
	ringFormat      = 1
	ringHeaderBytes = 128
	ringNextAt      = 24
	ringMarksBytes  = 20
	ringCheckAt     = ringNextAt + ringMarksBytes
	slotBytes       = 64
	wrapNonceBytes  = 12
	wrappedBytes    = wrapNonceBytes + KeyBytes + 16
	// blockSlots are drawn at a time, 256 KB; the next block is when half of
	// that is left.
	blockSlots = 4096
	// reserveSlots are left for transactions that run already when the disk
	// fails: Ready refuses others.
	reserveSlots = 1024
)

// ErrMasterKey is returned by Keyring for a key that did not wrap the others.
var ErrMasterKey = errors.New("the master key is not the one that the keys of owners were wrapped by")

// A Keyring holds the keys of a store's owners. It is safe for concurrent use.
type Keyring struct {
	fs      vfs.FS
	dir     string
	path    string
	storeID uint64
	wrap    cipher.AEAD
	logger  Logger

	mu       sync.Mutex
	made     sync.Cond // a block was made, or could not be
	file     vfs.File  // nil until there is one
	next     uint64    // the first slot not given away
	count    uint64    // slots in the file
	ahead    [][KeyBytes]byte
	making   bool
	failure  error
	retryAt  time.Time
	closed   bool
	makers   sync.WaitGroup
	refusing atomic.Bool
}

// Keyring opens the keys of the store's owners. It returns ErrMasterKey, or a
// CorruptError. It gives no new keys until Start.
func (s *Store) Keyring(master [KeyBytes]byte) (*Keyring, error) {
	return openRing(&s.layout, s.storeID, master, s.options.Logger)
}

// ReadKeyring opens the keys of the owners of the store in dir to be read alone.
// It writes nothing, and returns what Keyring does.
func ReadKeyring(fsys vfs.FS, dir string, master [KeyBytes]byte) (*Keyring, error) {
	l := layoutOf(readOnlyFS{fsys}, dir)
	storeID, err := l.readFormat()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNotStore, dir)
	} else if err != nil {
		return nil, err
	}
	return openRing(&l, storeID, master, discard{})
}

func openRing(l *layout, storeID uint64, master [KeyBytes]byte, logger Logger) (*Keyring, error) {
	k := &Keyring{fs: l.fs, dir: l.fs.PathJoin(l.dir, keysDir), storeID: storeID, wrap: wrapping(master), logger: logger, next: 1}
	k.path = k.fs.PathJoin(k.dir, ringFile)
	k.made.L = &k.mu
	var err error
	if k.file, err = k.openFile(); errors.Is(err, fs.ErrNotExist) {
		return k, nil
	} else if err != nil {
		return nil, fmt.Errorf("open the keys of owners: %w", err)
	}
	if err := k.readHeader(); err != nil {
		return nil, errors.Join(err, k.file.Close())
	}
	return k, nil
}

// openFile opens the file that must be there.
func (k *Keyring) openFile() (vfs.File, error) {
	if _, err := k.fs.Stat(k.path); err != nil {
		return nil, err
	}
	if _, only := k.fs.(readOnlyFS); only {
		return k.fs.Open(k.path)
	}
	return k.fs.OpenReadWrite(k.path, vfs.WriteCategoryUnspecified)
}

func wrapping(master [KeyBytes]byte) cipher.AEAD {
	block, err := aes.NewCipher(master[:])
	if err != nil {
		panic("persistence: a key of 32 bytes is none: " + err.Error())
	}
	wrap, err := cipher.NewGCM(block)
	if err != nil {
		panic("persistence: GCM over AES: " + err.Error())
	}
	return wrap
}

func (k *Keyring) readHeader() error {
	var head [ringHeaderBytes]byte
	if n, err := k.file.ReadAt(head[:], 0); n < len(head) {
		return &CorruptError{File: k.path, Offset: int64(n), Reason: fmt.Sprintf("the header is cut off: %v", err)}
	}
	if string(head[:len(ringMagic)]) != ringMagic {
		return &CorruptError{File: k.path, Offset: 0, Reason: fmt.Sprintf("it does not begin with %q", ringMagic)}
	}
	if format := binary.LittleEndian.Uint32(head[8:]); format > ringFormat {
		return fmt.Errorf("%w: %s has format %d, this build reads up to %d", ErrNewerFormat, k.path, format, ringFormat)
	}
	if id := binary.LittleEndian.Uint64(head[16:]); id != k.storeID {
		return &CorruptError{File: k.path, Offset: 16, Reason: "these are the keys of another store"}
	}
	if !k.opens(head[ringCheckAt:ringCheckAt+wrappedBytes-KeyBytes], 0, nil) {
		return fmt.Errorf("%w: %s", ErrMasterKey, k.path)
	}
	marks := head[ringNextAt:ringCheckAt]
	k.next = binary.LittleEndian.Uint64(marks)
	k.count = binary.LittleEndian.Uint64(marks[8:])
	if !bytes.Equal(marks, k.marks(k.next, k.count)) {
		return &CorruptError{File: k.path, Offset: ringNextAt, Reason: "the checksum of the marks does not match"}
	}
	return nil
}

// marks encodes next and count.
func (k *Keyring) marks(next, count uint64) []byte {
	marks := binary.LittleEndian.AppendUint64(nil, next)
	marks = binary.LittleEndian.AppendUint64(marks, count)
	return binary.LittleEndian.AppendUint32(marks, crc32.Update(checksumSeed(k.storeID), crcTable, marks))
}

// about is what a slot's wrapping is bound to; number 0 is the header's check.
func (k *Keyring) about(number uint64) []byte {
	about := binary.BigEndian.AppendUint64(nil, k.storeID)
	return binary.BigEndian.AppendUint64(about, number)
}

// opens unwraps a slot into key, which is as long as what is wrapped.
func (k *Keyring) opens(slot []byte, number uint64, key []byte) bool {
	opened, err := k.wrap.Open(nil, slot[:wrapNonceBytes], slot[wrapNonceBytes:wrapNonceBytes+len(key)+k.wrap.Overhead()], k.about(number))
	return err == nil && copy(key, opened) == len(key)
}

// appendSlot wraps a key.
func (k *Keyring) appendSlot(dst []byte, number uint64, key []byte) ([]byte, error) {
	var nonce [wrapNonceBytes]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return dst, fmt.Errorf("drawing a nonce: %w", err)
	}
	return k.wrap.Seal(append(dst, nonce[:]...), nonce[:], key, k.about(number)), nil
}

// Start makes the ring ready to give keys, after a recovery: nothing is written
// for data that cannot be read.
func (k *Keyring) Start() error {
	if k.file == nil {
		if err := k.create(); err != nil {
			return fmt.Errorf("make the keys of owners: %w", err)
		}
	}
	unused := k.next
	if err := k.writeMarks(k.count+1, k.count); err != nil {
		return err
	}
	for k.next = unused; k.next+uint64(len(k.ahead)) <= k.count; {
		key, ok, err := k.read(k.next + uint64(len(k.ahead)))
		if err != nil {
			return err
		}
		if !ok {
			return &CorruptError{File: k.path, Offset: slotAt(k.next), Reason: "a key that no owner has was destroyed"}
		}
		k.ahead = append(k.ahead, key)
	}
	if len(k.ahead) == 0 {
		return k.makeBlock()
	}
	return nil
}

// create writes a ring without slots.
func (k *Keyring) create() error {
	head := make([]byte, ringHeaderBytes)
	copy(head, ringMagic)
	binary.LittleEndian.PutUint32(head[8:], ringFormat)
	binary.LittleEndian.PutUint64(head[16:], k.storeID)
	copy(head[ringNextAt:], k.marks(1, 0))
	check, err := k.appendSlot(nil, 0, nil)
	if err != nil {
		return err
	}
	copy(head[ringCheckAt:], check)
	if err := k.fs.MkdirAll(k.dir, 0o700); err != nil {
		return err
	}
	if err := syncDir(k.fs, k.fs.PathDir(k.dir)); err != nil {
		return err
	}
	if err := replaceFile(k.fs, k.path, head); err != nil {
		return err
	}
	k.file, err = k.fs.OpenReadWrite(k.path, vfs.WriteCategoryUnspecified)
	return err
}

func (k *Keyring) writeMarks(next, count uint64) error {
	if err := k.overwrite(k.marks(next, count), ringNextAt); err != nil {
		return fmt.Errorf("write the keys of owners: %w", err)
	}
	return nil
}

func (k *Keyring) overwrite(data []byte, at int64) error {
	if _, err := k.file.WriteAt(data, at); err != nil {
		return err
	}
	return k.file.Sync()
}

func slotAt(number uint64) int64 { return ringHeaderBytes + int64(number-1)*slotBytes }

// makeBlock draws keys and writes them durably. One goroutine does.
func (k *Keyring) makeBlock() error {
	first := k.count + 1
	keys := make([][KeyBytes]byte, blockSlots)
	block := make([]byte, 0, blockSlots*slotBytes)
	for i := range keys {
		var err error
		if _, err = rand.Read(keys[i][:]); err == nil {
			block, err = k.appendSlot(block, first+uint64(i), keys[i][:])
		}
		if err != nil {
			return err
		}
		block = append(block, make([]byte, slotBytes-wrappedBytes)...)
	}
	if err := k.overwrite(block, slotAt(first)); err != nil {
		return fmt.Errorf("write keys for owners to come: %w", err)
	}
	if err := k.writeMarks(first+blockSlots, k.count+blockSlots); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.count += blockSlots
	k.ahead = append(k.ahead, keys...)
	return nil
}

// Ready says whether there are keys for owners to come. It is one atomic load
// when all is well.
func (k *Keyring) Ready() error {
	if !k.refusing.Load() {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.makeMore()
	return fmt.Errorf("%w: %w", ErrDiskFailed, k.failure)
}

// Take gives a key that no owner ever had, and its number. It does no I/O, but
// waits for the disk when owners came faster than it writes keys.
func (k *Keyring) Take() (number uint64, key [KeyBytes]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.ahead) == 0 {
		k.makeMore()
		k.made.Wait()
	}
	number, key = k.next, k.ahead[0]
	k.ahead[0] = [KeyBytes]byte{}
	k.ahead = k.ahead[1:]
	k.next++
	if len(k.ahead) < blockSlots/2 {
		k.makeMore()
	}
	return number, key
}

// makeMore has a block made in the background, unless one is or the last attempt
// failed a moment ago. mu must be held.
func (k *Keyring) makeMore() {
	if k.making || k.closed || time.Now().Before(k.retryAt) && len(k.ahead) > 0 {
		return
	}
	k.making = true
	wait := time.Until(k.retryAt)
	k.makers.Go(func() {
		time.Sleep(wait)
		err := k.makeBlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		k.making, k.failure = false, err
		if err != nil {
			k.retryAt = time.Now().Add(retryFirst)
			k.logger.Printf("keys: %v", err)
		}
		k.refusing.Store(err != nil && len(k.ahead) < reserveSlots)
		k.made.Broadcast()
	})
}

// Key gives the key with a number; ok is false when it was destroyed. A number
// that was never given is a CorruptError: these are not the keys that the data
// was written with.
func (k *Keyring) Key(number uint64) (key [KeyBytes]byte, ok bool, err error) {
	k.mu.Lock()
	missing := number == 0 || number >= k.next
	k.mu.Unlock()
	if missing {
		return key, false, &CorruptError{File: k.path, Offset: -1, Reason: fmt.Sprintf(
			"it has no key %d, which the data was written with; put the directory %s that belongs to this data beside it", number, keysDir)}
	}
	return k.read(number)
}

func (k *Keyring) read(number uint64) (key [KeyBytes]byte, ok bool, err error) {
	var slot [slotBytes]byte
	if n, err := k.file.ReadAt(slot[:], slotAt(number)); n < len(slot) {
		return key, false, fmt.Errorf("read the keys of owners: %w", err)
	}
	if allZero(slot[:]) {
		return key, false, nil
	}
	if !k.opens(slot[:], number, key[:]) {
		return key, false, &CorruptError{File: k.path, Offset: slotAt(number), Reason: fmt.Sprintf("key %d does not unwrap", number)}
	}
	return key, true, nil
}

// Destroy overwrites the key with a number; once it returns nil, nothing gives
// it back. After an error the key may or may not be there.
func (k *Keyring) Destroy(number uint64) error {
	if err := k.overwrite(make([]byte, slotBytes), slotAt(number)); err != nil {
		return fmt.Errorf("destroy a key: %w", err)
	}
	return nil
}

// Close notes which keys no owner has, and closes the file. The ring must not be
// used any more.
func (k *Keyring) Close() error {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.makers.Wait()
	if k.file == nil {
		return nil
	}
	var err error
	if k.ahead != nil {
		err = k.writeMarks(k.next, k.count)
	}
	return errors.Join(err, k.file.Close())
}

// RotateKeys wraps the keys of the store's owners in dir, which no process may
// use, by another master key, and says how many there are. A crash leaves the old
// file or the new one. Slots that do not unwrap are refused.
func RotateKeys(fsys vfs.FS, dir string, from, to [KeyBytes]byte) (keys int, err error) {
	l := layoutOf(fsys, dir)
	if _, err := l.readFormat(); errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w in %s", ErrNotStore, dir)
	}
	lock, err := l.lockQuietly()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	old, err := ReadKeyring(fsys, dir, from)
	if err != nil {
		return 0, err
	}
	if old.file == nil {
		return 0, fmt.Errorf("%s: %w", old.path, fs.ErrNotExist)
	}
	data, keys, err := old.rewrapped(to)
	if err = errors.Join(err, old.Close()); err != nil {
		return 0, err
	}
	return keys, replaceFile(fsys, old.path, data)
}

// rewrapped is the whole file under another master key.
func (k *Keyring) rewrapped(to [KeyBytes]byte) (data []byte, keys int, err error) {
	next := Keyring{storeID: k.storeID, wrap: wrapping(to)}
	data = make([]byte, ringHeaderBytes+int(k.count)*slotBytes)
	if _, err := k.file.ReadAt(data[:ringHeaderBytes], 0); err != nil {
		return nil, 0, err
	}
	if _, err := next.appendSlot(data[:ringCheckAt], 0, nil); err != nil {
		return nil, 0, err
	}
	for number := uint64(1); number <= k.count; number++ {
		key, ok, err := k.read(number)
		if err != nil {
			return nil, 0, err
		}
		if !ok {
			continue
		}
		keys++
		if _, err := next.appendSlot(data[:slotAt(number)], number, key[:]); err != nil {
			return nil, 0, err
		}
	}
	return data, keys, nil
}
