package arena

import (
	"errors"
	"testing"
	"unsafe"
)

func TestBlock(t *testing.T) {
	b, err := New(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Bytes) != 1<<20 || uintptr(unsafe.Pointer(&b.Bytes[0]))%4096 != 0 {
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
	if _, err := New(1 << 60); err == nil {
		t.Fatal("an absurd size was given")
	} else if _, ok := errors.AsType[*MemoryError](err); !ok {
		t.Fatalf("error type %T", err)
	}
}
