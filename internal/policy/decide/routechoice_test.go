package decide

import (
	"math"
	"reflect"
	"testing"

	"atenia/internal/memory"
)

func withVRAM(p float32) memory.Snapshot { return memory.Snapshot{VRAM: memory.Status{Pressure: &p}} }

// TestPlan is a table of the decisions of each rule.
func TestPlan(t *testing.T) {
	ram, both := []memory.Tier{memory.RAM}, []memory.Tier{memory.RAM, memory.SSD}
	all := []RouteRule{gpuNotAvailable, kernelNotGPUFriendly, tensorOnSSD, highVRAMPressure, gpuPreferred}
	nan := float32(math.NaN())
	for _, c := range []struct {
		name   string
		kind   KernelKind
		tiers  []memory.Tier
		s      memory.Snapshot
		gpu    bool
		target Target
		asked  int
		reason string
	}{
		{"EP-1", computeHeavy, ram, memory.Snapshot{}, false, OnCPUFallback, 1, "GPU not available"},
		{"EP-2", small, nil, memory.Snapshot{}, true, OnCPU, 2, "Kernel not suitable for GPU execution"},
		{"EP-2/serial", serial, nil, memory.Snapshot{}, true, OnCPU, 2, "Kernel not suitable for GPU execution"},
		{"EP-3", computeHeavy, both, memory.Snapshot{}, true, OnCPU, 3, "Tensor resides on SSD"},
		{"EP-4", computeHeavy, ram, withVRAM(.95), true, OnCPUFallback, 4, "VRAM pressure too high"},
		{"EP-4/boundary", computeHeavy, ram, withVRAM(.90), true, OnGPU, 5, "GPU execution preferred"},
		{"EP-4/unknown", computeHeavy, ram, memory.Snapshot{}, true, OnGPU, 5, "GPU execution preferred"},
		{"EP-4/not_a_number", computeHeavy, ram, withVRAM(nan), true, OnGPU, 5, "GPU execution preferred"},
		{"EP-5", memoryBound, nil, withVRAM(.2), true, OnGPU, 5, "GPU execution preferred"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ChooseRoute(Kernel{Name: "k", Kind: c.kind}, c.tiers, c.s, Executors{GPU: c.gpu})
			want := RouteChoice{c.target, c.reason, RouteTrace{"k", all[:c.asked], all[c.asked-1], c.target, c.reason}}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestSpelling reads back what every enum prints.
func TestSpelling(t *testing.T) {
	for r := range gpuPreferred + 1 {
		var back RouteRule
		if b, _ := r.MarshalText(); back.UnmarshalText(b) != nil || back != r {
			t.Errorf("rule %v is read as %v", r, back)
		}
	}
	for v := range OnCPUFallback + 1 {
		var back Target
		if b, _ := v.MarshalText(); back.UnmarshalText(b) != nil || back != v {
			t.Errorf("target %v is read as %v", v, back)
		}
	}
	for o := range failedMove + 1 {
		var back MoveOutcome
		if b, _ := o.MarshalText(); back.UnmarshalText(b) != nil || back != o {
			t.Errorf("outcome %v is read as %v", o, back)
		}
	}
	for k := range serial + 1 {
		var back KernelKind
		if b, _ := k.MarshalText(); back.UnmarshalText(b) != nil || back != k {
			t.Errorf("kind %v is read as %v", k, back)
		}
	}
}

// TestKernelOfProduct checks the counts and the kinds that they lead to.
func TestKernelOfProduct(t *testing.T) {
	m := RouteMachine{FlopsPerSecond: 100e9, BytesPerSecond: 10e9} // 10 operations a byte
	for _, c := range []struct {
		name         string
		p            Product
		flops, bytes uint64
		kind         KernelKind
	}{
		{"one row", Product{1, 4096, 4096, 16, 4}, 2 << 24, 2<<24 + 2*4096*4, memoryBound},
		{"64 rows", Product{64, 4096, 4096, 16, 4}, 64 * 2 << 24, 2<<24 + 64*2*4096*4, computeHeavy},
		{"8.5 bits", Product{1, 32, 32, 8.5, 4}, 2048, 1088 + 64*4, memoryBound},
		{"nothing", Product{}, 0, 0, memoryBound},
		{"too much", Product{math.MaxUint64, 2, 2, 16, 4}, math.MaxUint64, math.MaxUint64, memoryBound},
	} {
		k := c.p.Kernel("mul", m)
		if want := (Kernel{"mul", c.kind, c.flops, c.bytes}); k != want {
			t.Errorf("%s: got %+v, want %+v", c.name, k, want)
		}
	}
	k := Kernel{"k", small, 1000, 1000} // 100 ns by its bytes
	for _, c := range []struct {
		name string
		m    RouteMachine
		kind KernelKind
		want KernelKind
	}{
		{"unknown machine", RouteMachine{}, computeHeavy, memoryBound},
		{"at the ridge", RouteMachine{FlopsPerSecond: 10e9, BytesPerSecond: 10e9}, small, memoryBound},
		{"above the ridge", RouteMachine{FlopsPerSecond: 9e9, BytesPerSecond: 10e9}, small, computeHeavy},
		{"shorter than a launch", RouteMachine{100e9, 10e9, 101}, computeHeavy, small},
		{"as long as a launch", RouteMachine{100e9, 10e9, 100}, computeHeavy, memoryBound},
		{"serial", RouteMachine{9e9, 10e9, 1e9}, serial, serial},
	} {
		k.Kind = c.kind
		if got := c.m.Classify(k).Kind; got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func BenchmarkMakePlan(b *testing.B) {
	k, tiers, s := Kernel{Name: "k"}, []memory.Tier{memory.RAM, memory.VRAM}, withVRAM(.2)
	for b.Loop() {
		ChooseRoute(k, tiers, s, Executors{GPU: true})
	}
}
