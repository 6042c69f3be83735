package ledger

import (
	"errors"

	"testing"
	"unsafe"
)

func TestBlock(t *testing.T) {
	t.Run("small pages", func(t *testing.T) { testBlock(t, NewBlock, 4096) })
	t.Run("huge pages", func(t *testing.T) { testBlock(t, NewHugeBlock, HugePage) })
}

func testBlock(t *testing.T, get func(*Account, Use, int) (Block, error), align uintptr) {
	b, err := get(Process, Scratch, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Bytes) != 1<<20 || uintptr(unsafe.Pointer(&b.Bytes[0]))%align != 0 {
		t.Fatalf("%d bytes at %p", len(b.Bytes), &b.Bytes[0])
	}
	for i := range b.Bytes {
		if b.Bytes[i] != 0 {
			t.Fatal("not zero")
		}
		b.Bytes[i] = 1
	}
	b.Release()
	b.Release()
	if empty, err := get(Process, Scratch, 0); err != nil || len(empty.Bytes) != 0 {
		t.Fatalf("an empty block: %d bytes, %v", len(empty.Bytes), err)
	}
	if _, err := get(Process, Scratch, 1<<60); err == nil {
		t.Fatal("an absurd size was given")
	} else if _, ok := errors.AsType[*MemoryError](err); !ok {
		t.Fatalf("error type %T", err)
	}
}
