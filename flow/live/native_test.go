package live

import (
	"math"
	"runtime"
	"sync/atomic"
	"testing"
)

// nativeNode represents the code that runs on the thread: calls through an
// interface, floating point, recursion that needs a stack.
type nativeNode interface{ step(x []float64) }

type nativeDecay struct{ state float64 }

func (d *nativeDecay) step(x []float64) {
	for i := range x {
		d.state = d.state*0.9 + math.Sin(x[i])
		x[i] = d.state
	}
}

func deep(n int, x []float64) float64 {
	var pad [64]float64
	pad[n%64] = x[n%len(x)]
	if n == 0 {
		return pad[0]
	}
	return pad[n%64] + deep(n-1, x)
}

func TestRun(t *testing.T) {
	want, got := &nativeDecay{}, &nativeDecay{}
	a, b := make([]float64, 64), make([]float64, 64)
	for i := range a {
		a[i], b[i] = float64(i), float64(i)
	}
	var sumA, sumB float64
	for range 1000 {
		want.step(a)
	}
	sumA = deep(200, a)
	var n nativeNode = got
	run(func() {
		for range 1000 {
			n.step(b)
		}
		sumB = deep(200, b)
	})
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("element %d: %v, elsewhere %v", i, b[i], a[i])
		}
	}
	if sumA != sumB {
		t.Errorf("deep calls: %v, elsewhere %v", sumB, sumA)
	}
}

// TestCollection: collections start and end while the function runs, and it
// returns only after they did.
func TestCollection(t *testing.T) {
	if !supported {
		t.Skip("this build runs the function on a goroutine")
	}
	var started, stop atomic.Bool
	done := make(chan int64)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var turns int64
		run(func() {
			started.Store(true)
			for !stop.Load() {
				turns++
			}
		})
		done <- turns
	}()
	for !started.Load() {
		runtime.Gosched()
	}
	for range 3 {
		runtime.GC() // would never end if it waited for the thread
	}
	stop.Store(true)
	if <-done == 0 {
		t.Error("the function did nothing")
	}
}
