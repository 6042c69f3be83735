package cpu

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestDelayOfEndedThreads: what a thread was delayed stays in the sum when it says
// that it ends, once, whether the system still lists it or not.
func TestDelayOfEndedThreads(t *testing.T) {
	if _, known := Delay(); !known {
		t.Skip("this system does not count delays")
	}
	const threads = 4
	type end struct {
		id    string
		delay time.Duration
	}
	ends, leave := make(chan end), make(chan bool)
	before := ended.All
	for range threads {
		go func() {
			runtime.LockOSThread() // ends with the goroutine
			EndThread()
			id := strconv.Itoa(unix.Gettid())
			n, _ := delayOf(id)
			EndThread()
			ends <- end{id, n}
			<-leave
		}()
	}
	sum, ids := time.Duration(0), []string{}
	for range threads {
		e := <-ends
		sum, ids = sum+e.delay, append(ids, e.id)
	}
	// A thread may be delayed between saying that it ends and being read here.
	kept := ended.All - before
	if kept <= 0 || kept > sum {
		t.Errorf("%v are kept of threads that were delayed for %v", kept, sum)
	}
	while, _ := Delay()
	for _, id := range ids {
		if !ended.leaving[id] {
			t.Errorf("thread %s lives, is in the sum, and would be counted again", id)
		}
	}
	close(leave)
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == strconv.Itoa(os.Getpid()) }) // Go keeps the first thread
	for _, id := range ids {
		for { // until the system has forgotten the thread
			if _, err := os.Stat("/proc/self/task/" + id); err != nil {
				break
			}
			runtime.Gosched()
		}
	}
	if after, _ := Delay(); after.All < while.All {
		t.Errorf("the sum fell from %v to %v when threads ended", while.All, after.All)
	}
	for _, id := range ids {
		if ended.leaving[id] {
			t.Errorf("the id of thread %s, which ended, is kept from the next one", id)
		}
	}
}
