package exec

import (
	"bytes"
	"unsafe"
)

// CPU and Graph are the backends by name.
var CPU, Graph = onCPU, onGraph

// GuardWork moves the work arena in front of bytes that no kernel may write and
// returns a check that none has.
func (x *Executor) GuardWork() (intact func() bool) {
	const guard, line = 1 << 16, 64
	n := len(x.work)
	all := make([]byte, n+guard+line)
	all = all[-uintptr(unsafe.Pointer(unsafe.SliceData(all)))%line:]
	for i := range all[n:] {
		all[n+i] = 0xA5
	}
	want := bytes.Clone(all[n:])
	x.work = all[:n:n]
	return func() bool { return bytes.Equal(all[n:], want) }
}
