package main

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"syscall"
	"time"

	"atenia/internal/fault"
)

// mostTime is what a case may take, of processor time and of the clock.
const mostTime = 5 * time.Second

// A verdict says how a case ended.
type verdict struct {
	Index    uint64
	Format   string
	Accepted bool
	Nanos    int64
	Input    int64
	Bytes    int64  // allocated in all; what was alive at once if Exact
	Exact    bool   // the memory was sampled in a second run
	Fault    string // "", "panic", "time" or "memory"
	Text     string // of the fault or the refusal
}

// limit is the memory that a case may have alive.
func (d *damaged) limit() int64 {
	most := d.format.memory
	if most == 0 {
		most = usualMemory
	}
	return most + 2*int64(d.files.bytes())
}

// judge runs a case under its budget. Alone in its process, it knows what the
// case allocates; with other readers only time and panics are judged.
func judge(x *scratch, d *damaged, alone bool) verdict {
	v := verdict{Index: d.index, Format: d.format.name, Input: int64(d.files.bytes())}
	before, start, cpu := allocated(), time.Now(), processorTime()
	err := d.use(x)
	v.Nanos, v.Bytes = int64(time.Since(start)), int64(allocated()-before)
	v.Accepted = err == nil
	if err != nil {
		v.Text = first(err.Error(), 200)
	}
	var p *fault.Panic
	var c *crash
	switch {
	case errors.As(err, &p):
		v.Fault, v.Text = "panic", fmt.Sprintf("%s\n%s", p.Error(), p.Stack)
	case errors.As(err, &c):
		v.Fault, v.Text = "panic", c.text
	case !alone: // the others take time, and memory
		if v.Bytes = 0; time.Duration(v.Nanos) > 12*mostTime {
			v.Fault = "time"
		}
	case time.Duration(v.Nanos) > mostTime && processorTime()-cpu > mostTime:
		v.Fault = "time"
	case v.Bytes > d.limit(): // an upper bound: what was alive at once is less
		v.Bytes, v.Exact = peak(func() { _ = d.use(x) }), true
		if v.Bytes > d.limit() {
			v.Fault = "memory"
		}
	}
	return v
}

// use reads the case's files; a panic is an error.
func (d *damaged) use(x *scratch) error {
	return errors.Join(x.reset(), fault.Call(func() error { return d.format.read(x, d.files) }))
}

func first(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return s
}

// allocated is what this process has allocated since it began.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// processorTime is that of the whole process.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak returns the most bytes of live objects while f runs, by sampling, with a
// garbage collection after every few per cent.
func peak(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	runtime.GC() // pools keep what they have for one more
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	base := s[0].Value.Uint64()
	var most uint64
	var stop atomic.Bool
	done := make(chan bool)
	go func() {
		defer close(done)
		for !stop.Load() {
			metrics.Read(s)
			most = max(most, s[0].Value.Uint64())
			time.Sleep(200 * time.Microsecond)
		}
	}()
	f()
	stop.Store(true)
	<-done
	metrics.Read(s) // a short peak is not collected yet
	most = max(most, s[0].Value.Uint64())
	return int64(most) - int64(min(base, most))
}
