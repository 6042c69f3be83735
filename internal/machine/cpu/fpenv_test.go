package cpu

import (
	"atenia/internal/golden/await"
	"math"
	"runtime"
	"testing"
)

//go:noinline
func times(a, b float32) float32 { return a * b }

// TestFlushDenormals: with denormals flushed the product of a denormal is
// zero and a product that would be denormal is zero; afterwards both are back.
func TestFlushDenormals(t *testing.T) {
	if FlushToZero == 0 {
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
	same := SameFloatEnv(before, GetFloatEnv())
	SetFloatEnv(before)
	if operand != 0 || result != 0 {
		t.Errorf("flushed: %g and %g", operand, result)
	}
	if same {
		t.Error("the environment that flushes is the same as the one that does not")
	}
	if times(denormal, 2) == 0 || times(small, 0.5) == 0 {
		t.Error("denormals are flushed after the test")
	}
	if !SameFloatEnv(before, GetFloatEnv()) {
		t.Errorf("%#x was set back to %#x", before, GetFloatEnv())
	}
}

// TestSame: exceptions that have happened make no difference.
func TestSame(t *testing.T) {
	e := GetFloatEnv()
	if !SameFloatEnv(e, e|status) || (FlushToZero != 0 && SameFloatEnv(e, e^FlushToZero)) {
		t.Errorf("environment %#x", e)
	}
}

// TestNoAllocation: executors call it once a block.
func TestNoAllocation(t *testing.T) {
	if n := await.Allocs(100, func() { SetFloatEnv(GetFloatEnv()) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkCompare(b *testing.B) {
	e := GetFloatEnv()
	for b.Loop() {
		if !SameFloatEnv(e, GetFloatEnv()) {
			SetFloatEnv(e)
		}
	}
}
