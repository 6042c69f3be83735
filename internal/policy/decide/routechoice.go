package decide

import (
	"slices"

	"atenia/internal/memory"
	"atenia/internal/memory/lane"
	"atenia/internal/spelling"
)

// A Target is where a kernel is to run.
type Target uint8

// The targets. OnCPUFallback is the processor, too, where a device was
// preferred.
const (
	OnCPU Target = iota
	OnGPU
	OnCPUFallback
)

var targets = []string{"Cpu", "Gpu", "CpuFallback"}

func (t Target) String() string { return spelling.Enum(targets, "Target", t) }

// MarshalText writes the name of the target.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the name of a target.
func (t *Target) UnmarshalText(b []byte) error { return spelling.ParseEnum(targets, "target", b, t) }

// Queue returns the queue of the kernel's computation.
func (t Target) Queue() lane.Queue {
	if t == OnGPU {
		return lane.GPU
	}
	return lane.CPU
}

// A RouteRule is a reason to run a kernel somewhere.
type RouteRule uint8

// The rules in the order in which they are tried.
const (
	gpuNotAvailable RouteRule = iota
	kernelNotGPUFriendly
	tensorOnSSD
	highVRAMPressure
	gpuPreferred
)

var ruleNames = []string{
	"GpuNotAvailable", "KernelNotGpuFriendly", "TensorOnSsd", "HighVramPressure", "GpuPreferred",
}

func (r RouteRule) String() string { return spelling.Enum(ruleNames, "Rule", r) }

// MarshalText writes the name of the rule.
func (r RouteRule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the name of a rule.
func (r *RouteRule) UnmarshalText(b []byte) error { return spelling.ParseEnum(ruleNames, "rule", b, r) }

// highVRAM is the pressure above which no more work is sent to a device.
const highVRAM float32 = 0.90

// A question holds the inputs of a plan.
type question struct {
	kernel Kernel
	tiers  []memory.Tier
	vram   float32 // unknown counts as 0
	on     Executors
}

// rules holds the condition and the outcome of each Rule, in the order of the
// constants.
var rules = [...]struct {
	holds  func(*question) bool
	target Target
	reason string
}{
	{func(q *question) bool { return !q.on.GPU }, OnCPUFallback, NoGPU},
	{func(q *question) bool { return !q.kernel.SuitsGPU() }, OnCPU, "Kernel not suitable for GPU execution"},
	{func(q *question) bool { return slices.Contains(q.tiers, memory.SSD) }, OnCPU, "Tensor resides on SSD"},
	{func(q *question) bool { return q.vram > highVRAM }, OnCPUFallback, "VRAM pressure too high"},
	{func(*question) bool { return true }, OnGPU, "GPU execution preferred"},
}

// A RouteChoice says where a kernel runs and why.
type RouteChoice struct {
	Target Target     `json:"target"`
	Reason string     `json:"reason"`
	Trace  RouteTrace `json:"trace"`
}

// A RouteTrace records how a plan was made.
type RouteTrace struct {
	Kernel    string      `json:"kernel_name"`
	Evaluated []RouteRule `json:"evaluated_rules"` // up to and including the winner
	Winner    RouteRule   `json:"winning_rule"`
	Target    Target      `json:"target"`
	Reason    string      `json:"reason"`
}

// ChooseRoute tries the rules in order; the first that applies decides. tiers are
// those of the kernel's tensors. Where devices are there and none of them computes,
// the reason names them.
func ChooseRoute(k Kernel, tiers []memory.Tier, s memory.Snapshot, on Executors) RouteChoice {
	q := question{kernel: k, tiers: tiers, vram: pressure(s.VRAM), on: on}
	winner := gpuNotAvailable
	for !rules[winner].holds(&q) { // the last rule always applies
		winner++
	}
	evaluated := make([]RouteRule, winner+1)
	for i := range evaluated {
		evaluated[i] = RouteRule(i)
	}
	target, reason := rules[winner].target, rules[winner].reason
	if winner == gpuNotAvailable && on.Idle != "" {
		reason = on.Idle
	}
	return RouteChoice{
		Target: target, Reason: reason,
		Trace: RouteTrace{Kernel: k.Name, Evaluated: evaluated, Winner: winner, Target: target, Reason: reason},
	}
}

// pressure returns the pressure, 0 if unknown.
func pressure(s memory.Status) float32 {
	if s.Pressure == nil {
		return 0
	}
	return *s.Pressure
}
