package cpu

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ended are the delays of threads that have ended or are about to. The system forgets
// what it counted of a thread together with the thread, and those that compute end
// before their run is told.
var ended struct {
	sync.Mutex
	Delays
	leaving   map[string]bool // ids of threads that still live, and are in the sums already
	computing map[string]bool // those that compute
}

// Delay returns how long this process's threads were ready to run and had no
// processor, and whether the system counts it. Of a thread that ended it knows what
// [EndThread] was told: who takes the difference of two results must expect that it is
// negative, when others have ended.
func Delay() (d Delays, known bool) {
	x := &ended
	x.Lock()
	defer x.Unlock()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return Delays{}, false
	}
	d = x.Delays
	alive := map[string]bool{}
	for _, t := range threads {
		if x.leaving[t.Name()] {
			alive[t.Name()] = true
			continue
		}
		if n, ok := delayOf(t.Name()); ok {
			d.add(n, x.computing[t.Name()])
			known = true
		}
	}
	x.leaving = alive // ids of the others may be given to new threads
	return d, known
}

// BeginThread lets [Delay] count the calling thread among those that compute, until
// [EndThread].
func BeginThread() {
	x := &ended
	x.Lock()
	defer x.Unlock()
	if x.computing == nil {
		x.computing = map[string]bool{}
	}
	x.computing[strconv.Itoa(unix.Gettid())] = true
}

// EndThread lets [Delay] keep what it counted of the calling thread, which computes
// nothing any more. A goroutine calls it that locked its thread and returns without
// unlocking it, with which the thread ends.
func EndThread() {
	x, id := &ended, strconv.Itoa(unix.Gettid())
	x.Lock()
	defer x.Unlock()
	n, ok := delayOf(id)
	if !ok || x.leaving[id] {
		return
	}
	if x.leaving == nil {
		x.leaving = map[string]bool{}
	}
	x.leaving[id] = true
	x.add(n, x.computing[id])
	delete(x.computing, id)
}

// delayOf returns the delay of one thread of this process; false if it is gone or the
// system counts none.
func delayOf(id string) (time.Duration, bool) {
	b, err := os.ReadFile("/proc/self/task/" + id + "/schedstat") // computed, delayed, turns
	f := bytes.Fields(b)
	if err != nil || len(f) < 2 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(f[1]), 10, 64)
	return time.Duration(n), err == nil
}
