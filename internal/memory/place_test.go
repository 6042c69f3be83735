package memory_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/machine/hw"
	"atenia/internal/memory"
)

func ptr[T any](v T) *T { return &v }

// machine returns a snapshot with pressures, NaN being unknown.
func machine(vram, ram float32, gpus ...hw.GPU) hw.Snapshot {
	s := hw.Snapshot{GPUs: gpus, Reliability: map[string]hw.Reliability{}}
	if vram == vram {
		s.Pressure.VRAM = &vram
	}
	if ram == ram {
		s.Pressure.RAM = &ram
	}
	return s
}

// TestSnapshot checks that the zero snapshot is a machine without a GPU.
func TestSnapshot(t *testing.T) {
	t.Run("HW-1", func(t *testing.T) {
		for _, p := range []memory.TensorProfile{{}, {Elements: math.MaxUint64, ElementBytes: 8}, {Elements: 1, ElementBytes: 1, Cost: ptr(float32(200))}} {
			if d := memory.Decide(p, hw.Snapshot{}, false); d.To != memory.CPU || d.Reason != "No GPU detected" || d.Device != "" {
				t.Errorf("%+v: %+v", p, d)
			}
		}
	})
}

func TestPlacement(t *testing.T) {
	unknown := float32(math.NaN())
	const mib = 1 << 20
	gpu := func(id string) hw.GPU { return hw.GPU{ID: id} }
	scored := func(id string, s float32) hw.GPU { return hw.GPU{ID: id, ComputeScore: &s} }
	small, huge := memory.TensorProfile{Elements: 1000, ElementBytes: 4}, memory.TensorProfile{Elements: 600 * mib, ElementBytes: 1}
	heavy := func(p memory.TensorProfile, cost float32) memory.TensorProfile { p.Cost = &cost; return p }
	safe := func(id, r string) string {
		return "Selected GPU " + id + " (reliability=" + r + ") and VRAM pressure is safe"
	}
	rel := func(ok, fail uint64) hw.Reliability { return hw.Reliability{OK: ok, Fail: fail} }
	failed := hw.Reliability{OK: 9, Fail: 1, LastErrorEpochMS: ptr(uint64(5))}
	const (
		toRAM = "VRAM pressure is high; placing tensor in RAM"
		toCPU = "System memory pressure is high; falling back to CPU"
		toSSD = "placing tensor on SSD as last resort"
	)
	for _, c := range []struct {
		id          string
		snapshot    hw.Snapshot
		reliability map[string]hw.Reliability
		tensor      memory.TensorProfile
		to          memory.Tier
		device      string
		reason      string
		rule        memory.Rule
	}{
		{"PL-1", machine(.1, .1), nil, small, memory.CPU, "", "No GPU detected", memory.RuleNoDevice},
		{"PL-2", machine(.3, .1, gpu("gpu0")), nil, small, memory.VRAM, "gpu0", safe("gpu0", "1.00"), memory.RuleSafeVRAM},
		{"PL-3", machine(.2, .2, gpu("gpu0"), gpu("gpu1")), map[string]hw.Reliability{"gpu0": rel(5, 5), "gpu1": rel(9, 1)},
			small, memory.VRAM, "gpu1", safe("gpu1", "0.90"), memory.RuleSafeVRAM},
		{"PL-4", machine(.2, .2, scored("gpu0", 10), scored("gpu1", 20)), nil, small, memory.VRAM, "gpu1", safe("gpu1", "1.00"), memory.RuleSafeVRAM},
		{"PL-5", machine(.2, .2, gpu("gpuB"), gpu("gpuA")), nil, small, memory.VRAM, "gpuA", safe("gpuA", "1.00"), memory.RuleSafeVRAM},
		{"PL-6", machine(.2, .2, gpu("gpu0")), nil, huge, memory.RAM, "", "Tensor is huge and RAM pressure is acceptable; placing tensor in RAM", memory.RuleHugeToRAM},
		{"PL-7", machine(.2, .2, gpu("gpu0")), nil, memory.TensorProfile{Elements: 512 * mib, ElementBytes: 1}, memory.VRAM, "gpu0", safe("gpu0", "1.00"), memory.RuleSafeVRAM},
		{"PL-8", machine(.80, .2, gpu("gpu0")), nil, small, memory.RAM, "", toRAM, memory.RuleHighVRAM},
		{"PL-9", machine(.95, .85, gpu("gpu0")), nil, heavy(small, 200), memory.CPU, "", toCPU, memory.RuleHighPressure},
		{"PL-10", machine(.98, .97, gpu("gpu0")), nil, huge, memory.SSD, "", "VRAM and RAM are under critical pressure; placing huge tensor on SSD as last resort", memory.RuleAllCritical},
		{"PL-11", machine(.98, .97, gpu("gpu0")), nil, small, memory.CPU, "", toCPU, memory.RuleHighPressure},
		{"PL-12", machine(.5, .92, gpu("gpu0")), nil, huge, memory.SSD, "", "RAM pressure is very high and tensor is huge but not compute-heavy; " + toSSD, memory.RuleVeryHighRAM},
		{"PL-13", machine(.5, .92, gpu("gpu0")), nil, heavy(huge, 150), memory.CPU, "", toCPU, memory.RuleHighPressure},
		{"PL-14", machine(.3, .9, gpu("gpu0")), nil, heavy(small, 200), memory.VRAM, "gpu0", safe("gpu0", "1.00"), memory.RuleSafeVRAM},
		{"PL-15", machine(unknown, unknown, gpu("gpu0")), nil, small, memory.RAM, "", toRAM, memory.RuleHighVRAM},
		{"PL-16", machine(.3, .1, gpu("gpu0")), map[string]hw.Reliability{"gpu0": failed}, small, memory.VRAM, "gpu0", safe("gpu0", "0.76"), memory.RuleSafeVRAM},
		{"counts saturate", machine(.2, .2, gpu("gpu0")), map[string]hw.Reliability{"gpu0": rel(1<<63, 1<<63)},
			small, memory.VRAM, "gpu0", safe("gpu0", "0.50"), memory.RuleSafeVRAM},
		{"without reliability", machine(.3, .1, gpu("gpu0")), map[string]hw.Reliability{"gpu0": rel(0, 9)}, small,
			memory.CPU, "", "No GPU can be relied on (reliability=0.00); falling back to CPU", memory.RuleNoReliability},
		{"the size saturates", machine(.2, .2, gpu("gpu0")), nil, memory.TensorProfile{Elements: math.MaxUint64, ElementBytes: 2},
			memory.RAM, "", "Tensor is huge and RAM pressure is acceptable; placing tensor in RAM", memory.RuleHugeToRAM},
	} {
		t.Run(c.id, func(t *testing.T) {
			c.snapshot.Reliability = c.reliability
			d := memory.Decide(c.tensor, c.snapshot, false)
			if d.To != c.to || d.Device != c.device || d.Reason != c.reason || d.Because.Rule != c.rule {
				t.Errorf("got %+v", d)
			}
		})
	}
}

// TestDecisionText checks the text of decisions.
func TestDecisionText(t *testing.T) {
	p := memory.TensorProfile{Name: "w", Elements: 600 << 20, ElementBytes: 1}
	d := memory.Decide(p, machine(.5, .75, hw.GPU{ID: "gpu0"}), false)
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"what":"w","to":"Ram","reason":"Tensor is huge and RAM pressure is acceptable; placing tensor in RAM",` +
		`"because":{"rule":"HugeToRam","what":"ram pressure","observed":0.75,"limit":0.8500000238418579},` +
		`"inputs":{"devices":1,"best":"gpu0","reliability":1,"bytes":629145600,"cost":0,"vram":0.5,"ram":0.75}}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
	const rejected = "[NoDevice: devices 1, limit 0 SafeVram: bytes 629145600, limit 536870912 " +
		"AllCritical: vram pressure 0.5, limit 0.95 VeryHighRam: ram pressure 0.75, limit 0.9]"
	if got := fmt.Sprint(d.Rejected()); got != rejected {
		t.Errorf("got  %s\nwant %s", got, rejected)
	}
}

// TestDecideAllocates pins the allocations of a decision: only a reason that
// names a device allocates.
func TestDecideAllocates(t *testing.T) {
	p, s := memory.TensorProfile{Name: "w", Elements: 1000, ElementBytes: 4}, machine(.2, .2, hw.GPU{ID: "gpu0"})
	if n := await.Allocs(100, func() { memory.Decide(p, s, false) }); n > 1 {
		t.Errorf("%v allocations for a device, want 1", n)
	}
	s = machine(.9, .2, hw.GPU{ID: "gpu0"})
	if n := await.Allocs(100, func() { memory.Decide(p, s, false) }); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkDecide(b *testing.B) {
	p := memory.TensorProfile{Name: "w", Elements: 1000, ElementBytes: 4}
	four := []hw.GPU{{ID: "gpu0"}, {ID: "gpu1"}, {ID: "gpu2"}, {ID: "gpu3"}}
	for _, c := range []struct {
		name string
		at   hw.Snapshot
	}{{"device", machine(.2, .2, four...)}, {"last rule", machine(.98, .97, four...)}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				memory.Decide(p, c.at, false)
			}
		})
	}
}
