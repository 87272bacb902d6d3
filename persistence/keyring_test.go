package persistence

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns the tests of the keys of owners: that they outlive crashes,
// rotation and each other, and that a destroyed one does not.

// ringStore is what of a store a ring needs.
func ringStore(fsys vfs.FS) *Store {
	return &Store{layout: layoutOf(fsys, "data"), storeID: 7, options: Options{}.withDefaults()}
}

// startRing opens a ring that gives keys.
func startRing(t *testing.T, fsys vfs.FS, master [KeyBytes]byte) *Keyring {
	t.Helper()
	k, err := ringStore(fsys).Keyring(master)
	if err == nil {
		err = k.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func closeRing(t *testing.T, k *Keyring) {
	t.Helper()
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
}

// crashableDisk is an empty directory of a store on a disk that forgets.
func crashableDisk(t *testing.T) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	if err := disk.MkdirAll("data", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syncDir(disk, ""); err != nil {
		t.Fatal(err)
	}
	return disk
}

func mustKey(t *testing.T, k *Keyring, number uint64, want [KeyBytes]byte) {
	t.Helper()
	if got, ok, err := k.Key(number); err != nil || !ok || got != want {
		t.Fatalf("key %d: %x %t %v, want %x", number, got, ok, err, want)
	}
}

var masters = [2][KeyBytes]byte{{1}, {2}}

func TestKeysOutliveCrashesAndAreGivenOnce(t *testing.T) {
	disk := crashableDisk(t)
	given := map[uint64][KeyBytes]byte{}
	for round := range 4 {
		k := startRing(t, disk, masters[0])
		for number, key := range given {
			mustKey(t, k, number, key)
		}
		for range 3 {
			number, key := k.Take()
			if _, twice := given[number]; twice {
				t.Fatalf("round %d: key %d was given before", round, number)
			}
			given[number] = key
		}
		crashed := disk.CrashClone(vfs.CrashCloneCfg{})
		if round%2 == 0 {
			disk = crashed // what was not synced is gone
		}
		closeRing(t, k)
	}
	if len(given) != 12 {
		t.Fatalf("%d keys", len(given))
	}
	seen := map[[KeyBytes]byte]bool{}
	for number, key := range given {
		if seen[key] {
			t.Fatalf("key %d equals another", number)
		}
		seen[key] = true
	}
}

func TestClosedRingGoesOnWhereItWas(t *testing.T) {
	disk := crashableDisk(t)
	for want := uint64(1); want < 6; want++ {
		k := startRing(t, disk, masters[0])
		if number, _ := k.Take(); number != want {
			t.Fatalf("key %d, want %d", number, want)
		}
		closeRing(t, k)
	}
}

func TestMoreOwnersThanABlock(t *testing.T) {
	disk := crashableDisk(t)
	k := startRing(t, disk, masters[0])
	for want := uint64(1); want <= 2*blockSlots+5; want++ {
		if number, _ := k.Take(); number != want {
			t.Fatalf("key %d, want %d", number, want)
		}
	}
	number, key := k.Take()
	crashed := disk.CrashClone(vfs.CrashCloneCfg{})
	closeRing(t, k)
	k = startRing(t, crashed, masters[0])
	mustKey(t, k, number, key) // it was durable before it was given
	closeRing(t, k)
}

func TestDestroyedKeyIsGone(t *testing.T) {
	disk := crashableDisk(t)
	k := startRing(t, disk, masters[0])
	first, _ := k.Take()
	second, key := k.Take()
	if err := k.Destroy(first); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, ok, err := k.Key(first); ok || err != nil {
			t.Fatalf("the destroyed key: %t %v", ok, err)
		}
		mustKey(t, k, second, key)
		crashed := disk.CrashClone(vfs.CrashCloneCfg{})
		closeRing(t, k)
		k = startRing(t, crashed, masters[0])
	}
	if number, _ := k.Take(); number == first {
		t.Fatal("its number was given again")
	}
	closeRing(t, k)
}

func TestKeysOfOtherStoresAndMastersAreRefused(t *testing.T) {
	disk := crashableDisk(t)
	k := startRing(t, disk, masters[0])
	k.Take()
	var corrupt *CorruptError
	if _, _, err := k.Key(2); !errors.As(err, &corrupt) {
		t.Fatalf("a key that was never given: %v", err)
	}
	closeRing(t, k)
	if _, err := ringStore(disk).Keyring(masters[1]); !errors.Is(err, ErrMasterKey) {
		t.Fatalf("another master key: %v", err)
	}
	other := ringStore(disk)
	other.storeID++
	if _, err := other.Keyring(masters[0]); !errors.As(err, &corrupt) {
		t.Fatalf("another store: %v", err)
	}
}

func TestDamagedKeysAreNamed(t *testing.T) {
	disk := crashableDisk(t)
	k := startRing(t, disk, masters[0])
	number, _ := k.Take()
	closeRing(t, k)
	path := "data/keys/owners"
	data, err := readSegment(disk, path, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for at := range slotAt(2) {
		if at >= ringCheckAt+28 && at < ringHeaderBytes || at >= 12 && at < 16 || at >= slotAt(1)+wrappedBytes {
			continue // nothing is there
		}
		data[at] ^= 0x80
		if err := writeBytes(disk, path, data); err != nil {
			t.Fatal(err)
		}
		data[at] ^= 0x80
		k, err := ringStore(disk).Keyring(masters[0])
		if err == nil {
			_, _, err = k.Key(number)
			closeRing(t, k)
		}
		if err == nil {
			t.Errorf("byte %d", at)
		}
	}
}

func TestRotationWrapsEveryKeyAgain(t *testing.T) {
	disk := crashableDisk(t)
	l := layoutOf(disk, "data")
	if err := l.writeFormat(7); err != nil {
		t.Fatal(err)
	}
	k := startRing(t, disk, masters[0])
	first, _ := k.Take()
	second, key := k.Take()
	if err := k.Destroy(first); err != nil {
		t.Fatal(err)
	}
	closeRing(t, k)
	if _, err := RotateKeys(disk, "data", masters[1], masters[0]); !errors.Is(err, ErrMasterKey) {
		t.Fatalf("from another master key: %v", err)
	}
	if _, err := RotateKeys(disk, "data", masters[0], masters[1]); err != nil {
		t.Fatal(err)
	}
	crashed := disk.CrashClone(vfs.CrashCloneCfg{})
	if _, err := ringStore(crashed).Keyring(masters[0]); !errors.Is(err, ErrMasterKey) {
		t.Fatalf("the old master key: %v", err)
	}
	k = startRing(t, crashed, masters[1])
	mustKey(t, k, second, key)
	if _, ok, err := k.Key(first); ok || err != nil {
		t.Fatalf("the destroyed key: %t %v", ok, err)
	}
	if number, _ := k.Take(); number != second+1 {
		t.Fatalf("key %d after the rotation", number)
	}
	closeRing(t, k)
}

func TestMasterKeyIsMadeOnce(t *testing.T) {
	disk := crashableDisk(t)
	master, made, err := MasterKey(disk, "data")
	if err != nil || !made {
		t.Fatal(made, err)
	}
	crashed := disk.CrashClone(vfs.CrashCloneCfg{})
	if again, made, err := MasterKey(crashed, "data"); err != nil || made || again != master {
		t.Fatal(made, err)
	}
	k := startRing(t, crashed, master)
	closeRing(t, k)
	if err := crashed.Remove("data/keys/master.key"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := MasterKey(crashed, "data"); !errors.Is(err, ErrNoMasterKey) {
		t.Fatalf("a lost master key: %v", err)
	}
	if _, err := ReadKey(crashed, "data/keys/master.key"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v", err)
	}
}

func TestParseKey(t *testing.T) {
	raw := bytes.Repeat([]byte{0xab}, KeyBytes)
	digits := bytes.Repeat([]byte("ab"), KeyBytes)
	for _, text := range [][]byte{raw, digits, append(digits, '\n'), bytes.ToUpper(digits)} {
		if key, err := ParseKey(text); err != nil || !bytes.Equal(key[:], raw) {
			t.Errorf("%q: %x %v", text, key, err)
		}
	}
	for _, text := range []string{"", "secret", string(digits[2:]), string(digits[1:]) + "g", string(raw) + "\n"} {
		_, err := ParseKey([]byte(text))
		if err == nil || text != "" && bytes.Contains([]byte(err.Error()), []byte(text)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
