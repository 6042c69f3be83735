package stream

import (
	"slices"

	"atenia/internal/enum"
	"atenia/tier"
	"atenia/tier/timeline"
)

// A Target is where a kernel is to run.
type Target uint8

// The targets. OnCPUFallback is the processor, too, and says that a device
// would have been better.
const (
	OnCPU Target = iota
	OnGPU
	OnCPUFallback
)

var targets = []string{"Cpu", "Gpu", "CpuFallback"}

func (t Target) String() string { return enum.Name(targets, "Target", t) }

// MarshalText writes the name of the target.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the name of a target.
func (t *Target) UnmarshalText(b []byte) error { return enum.Parse(targets, "target", b, t) }

// Queue is the queue that the kernel's own work joins.
func (t Target) Queue() timeline.Queue {
	if t == OnGPU {
		return timeline.GPU
	}
	return timeline.CPU
}

// A Rule is a reason to run a kernel somewhere.
type Rule uint8

// The rules in the order in which they are asked.
const (
	GPUNotAvailable Rule = iota
	KernelNotGPUFriendly
	TensorOnSSD
	HighVRAMPressure
	GPUPreferred
)

var ruleNames = []string{
	"GpuNotAvailable", "KernelNotGpuFriendly", "TensorOnSsd", "HighVramPressure", "GpuPreferred",
}

func (r Rule) String() string { return enum.Name(ruleNames, "Rule", r) }

// MarshalText writes the name of the rule.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the name of a rule.
func (r *Rule) UnmarshalText(b []byte) error { return enum.Parse(ruleNames, "rule", b, r) }

// highVRAM is the pressure above which nothing more is sent to a device.
const highVRAM float32 = 0.90

// A question is what a plan is made from.
type question struct {
	kernel Kernel
	tiers  []tier.Tier
	vram   float32 // an unknown pressure counts as none
	gpu    bool
}

// rules has what each Rule asks and answers, in the order of the constants.
var rules = [...]struct {
	holds  func(*question) bool
	target Target
	reason string
}{
	{func(q *question) bool { return !q.gpu }, OnCPUFallback, "GPU not available"},
	{func(q *question) bool { return !q.kernel.SuitsGPU() }, OnCPU, "Kernel not suitable for GPU execution"},
	{func(q *question) bool { return slices.Contains(q.tiers, tier.SSD) }, OnCPU, "Tensor resides on SSD"},
	{func(q *question) bool { return q.vram > highVRAM }, OnCPUFallback, "VRAM pressure too high"},
	{func(*question) bool { return true }, OnGPU, "GPU execution preferred"},
}

// A Plan says where a kernel runs and why.
type Plan struct {
	Target Target `json:"target"`
	Reason string `json:"reason"`
	Trace  Trace  `json:"trace"`
}

// A Trace is how a plan came about.
type Trace struct {
	Kernel    string `json:"kernel_name"`
	Evaluated []Rule `json:"evaluated_rules"` // up to and with the winner
	Winner    Rule   `json:"winning_rule"`
	Target    Target `json:"target"`
	Reason    string `json:"reason"`
}

// MakePlan asks the rules in order and takes the first that holds. tiers are
// where the kernel's tensors are.
func MakePlan(k Kernel, tiers []tier.Tier, s tier.Snapshot, gpu bool) Plan {
	q := question{kernel: k, tiers: tiers, vram: pressure(s.VRAM), gpu: gpu}
	winner := Rule(0)
	for !rules[winner].holds(&q) { // the last rule always holds
		winner++
	}
	evaluated := make([]Rule, winner+1)
	for i := range evaluated {
		evaluated[i] = Rule(i)
	}
	r := &rules[winner]
	return Plan{
		Target: r.target, Reason: r.reason,
		Trace: Trace{Kernel: k.Name, Evaluated: evaluated, Winner: winner, Target: r.target, Reason: r.reason},
	}
}

// pressure counts an unknown pressure as none.
func pressure(s tier.Status) float32 {
	if s.Pressure == nil {
		return 0
	}
	return *s.Pressure
}
