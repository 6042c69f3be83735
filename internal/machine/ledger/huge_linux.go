package ledger

import "golang.org/x/sys/unix"

// adviseHuge requests huge pages. Systems without them ignore it.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
