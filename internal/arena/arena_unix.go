//go:build unix

package arena

import "golang.org/x/sys/unix"

// A Block is memory from the system. The zero Block is empty.
type Block struct{ Bytes []byte }

// New returns a block of n bytes, or a [*MemoryError].
func New(n int) (Block, error) {
	if n == 0 {
		return Block{}, nil
	}
	if n < 0 {
		return Block{}, &MemoryError{n, unix.EINVAL}
	}
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return Block{}, &MemoryError{n, err}
	}
	return Block{b}, nil
}

// Release gives the block back. Its bytes must not be used afterwards.
func (b *Block) Release() {
	if b.Bytes != nil {
		_ = unix.Munmap(b.Bytes) // fails only for a slice that Mmap did not return
		b.Bytes = nil
	}
}
