package ledger

import (
	"os"
	"testing"
)

// TestThreads: the threads of the process are those that the system lists.
func TestThreads(t *testing.T) {
	count := func() int64 {
		all, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Skip(err)
		}
		return int64(len(all))
	}
	var l limits
	l.open()
	if l.statm == nil || l.stack <= 0 {
		t.Fatalf("%+v", l)
	}
	before := count()
	n := l.threads()
	if after := count(); n < min(before, after) || n > max(before, after) { // the runtime may have made some
		t.Errorf("%d threads, the system lists %d, then %d", n, before, after)
	}
}

// TestHugeBlockIsTrimmed: of a block that is aligned to huge pages nothing is mapped beside it.
func TestHugeBlockIsTrimmed(t *testing.T) {
	for _, n := range []int{1, 1 << 20, HugePage + 1} {
		b, err := NewHugeBlock(Process, Scratch, n)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(b.mapped); got < n || got >= n+os.Getpagesize() {
			t.Errorf("%d bytes are mapped for %d", got, n)
		}
		b.Release()
	}
}
