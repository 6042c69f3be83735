package arena

import "golang.org/x/sys/unix"

// adviseHuge asks for huge pages. A system that has none ignores it.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
