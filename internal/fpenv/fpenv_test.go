package fpenv

import (
	"math"
	"runtime"
	"testing"
)

//go:noinline
func times(a, b float32) float32 { return a * b }

// TestFlushDenormals: with denormals flushed the product of a denormal is
// zero and a product that would be denormal is zero; afterwards both are back.
func TestFlushDenormals(t *testing.T) {
	if Flush == 0 {
		t.Skip("the register of this processor is not known")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	denormal, small := math.Float32frombits(1<<20), math.Float32frombits(1<<23)
	if times(denormal, 2) == 0 || times(small, 0.5) == 0 {
		t.Fatal("denormals are flushed before the test")
	}
	before := FlushDenormals()
	operand, result := times(denormal, 2), times(small, 0.5)
	same := Same(before, Get())
	Set(before)
	if operand != 0 || result != 0 {
		t.Errorf("flushed: %g and %g", operand, result)
	}
	if same {
		t.Error("the environment that flushes is the same as the one that does not")
	}
	if times(denormal, 2) == 0 || times(small, 0.5) == 0 {
		t.Error("denormals are flushed after the test")
	}
	if !Same(before, Get()) {
		t.Errorf("%#x was set back to %#x", before, Get())
	}
}

// TestSame: exceptions that have happened make no difference.
func TestSame(t *testing.T) {
	e := Get()
	if !Same(e, e|status) || (Flush != 0 && Same(e, e^Flush)) {
		t.Errorf("environment %#x", e)
	}
}

// TestNoAllocation: executors call it once a block.
func TestNoAllocation(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Set(Get()) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkCompare(b *testing.B) {
	e := Get()
	for b.Loop() {
		if !Same(e, Get()) {
			Set(e)
		}
	}
}
