//go:build (amd64 || arm64) && !static

package amp

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A region is mapped shared memory.
type region struct {
	bytes []byte
	base  unsafe.Pointer
}

// newRegion makes shared memory sealed against truncation: accessing a page
// that was cut off would kill the host.
func newRegion() (region, *os.File, error) {
	fd, err := unix.MemfdCreate("atenia-nodes", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return region{}, nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "atenia-nodes")
	if err = f.Truncate(regionBytes); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	r := region{}
	if err == nil {
		r, err = mapRegion(f)
	}
	if err != nil {
		f.Close()
		return region{}, nil, err
	}
	return r, f, nil
}

func mapRegion(f *os.File) (region, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, regionBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return region{}, os.NewSyscallError("mmap", err)
	}
	return region{b, unsafe.Pointer(&b[0])}, nil
}

func (r *region) unmap() {
	if r.bytes != nil {
		unix.Munmap(r.bytes)
		r.bytes = nil
	}
}

// at returns the value at an offset of a region.
func at[T any](r *region, offset int) *T { return (*T)(unsafe.Add(r.base, offset)) }

// values returns n values from an offset of a region on.
func values[T any](r *region, offset, n int) []T {
	return unsafe.Slice((*T)(unsafe.Add(r.base, offset)), n)
}

func (r *region) word(offset int) *uint32 { return at[uint32](r, offset) }

func (r *region) load(offset int) uint32 { return atomic.LoadUint32(r.word(offset)) }

func (r *region) store(offset int, v uint32) { atomic.StoreUint32(r.word(offset), v) }
