package memory

// The table of placement rules. A rule applies when all its conditions hold; a
// decision shows the last condition.

// A placementRule is one row of the table.
type placementRule struct {
	rule   Rule
	to     Tier
	reason string // empty if the reason names the device
	when   []*condition
}

// A condition compares one number of the inputs with its limit. NaN fails
// every comparison.
type condition struct {
	what    string
	holds   func(Inputs) bool
	numbers func(Inputs) (observed, limit float64)
}

// failed returns the first condition that does not hold, with the observed value
// and the limit.
func (r *placementRule) failed(in Inputs) (c *condition, observed, limit float64) {
	for _, c := range r.when {
		if !c.holds(in) {
			observed, limit = c.numbers(in)
			return c, observed, limit
		}
	}
	return nil, 0, 0
}

// placement lists the rules in the order in which they are tried.
// RuleVeryHighRAM must precede RuleHugeToRAM, which would shadow it; the last
// rule always applies.
var placement = [...]placementRule{
	{ruleNoDevice, CPU, "No GPU detected", []*condition{noDevice}},
	{ruleSafeVRAM, VRAM, "", []*condition{notHuge, worthwhile, safeVRAM}},
	{ruleAllCritical, SSD, "VRAM and RAM are under critical pressure; placing huge tensor on SSD as last resort",
		[]*condition{ssdAllowed, huge, criticalVRAM, criticalRAM}},
	{ruleVeryHighRAM, SSD, "RAM pressure is very high and tensor is huge but not compute-heavy; placing tensor on SSD as last resort",
		[]*condition{ssdAllowed, huge, notHeavy, veryHighRAM}},
	{ruleHugeToRAM, RAM, "Tensor is huge and RAM pressure is acceptable; placing tensor in RAM", []*condition{huge, safeRAM}},
	{ruleHighVRAM, RAM, "VRAM pressure is high; placing tensor in RAM", []*condition{safeRAM, highVRAM}},
	// Without this rule the last one would blame a pressure that is low.
	{ruleNoReliability, CPU, "No GPU can be relied on (reliability=0.00); falling back to CPU",
		[]*condition{notHuge, safeVRAM, safeRAM, unreliable}},
	{ruleHighPressure, CPU, "System memory pressure is high; falling back to CPU", []*condition{otherwise}},
}

var (
	noDevice     = &condition{"devices", func(in Inputs) bool { return in.Devices == 0 }, devices}
	huge         = &condition{"bytes", func(in Inputs) bool { return in.Bytes > HugeBytes }, size}
	notHuge      = &condition{"bytes", func(in Inputs) bool { return in.Bytes <= HugeBytes }, size}
	notHeavy     = &condition{"compute cost", func(in Inputs) bool { return !(in.Cost > HeavyCost) }, cost}
	worthwhile   = &condition{"reliability", func(in Inputs) bool { return in.Cost > HeavyCost || in.Reliability > 0 }, reliability}
	unreliable   = &condition{"reliability", func(in Inputs) bool { return !(in.Reliability > 0) }, reliability}
	safeVRAM     = &condition{"vram pressure", func(in Inputs) bool { return in.VRAM < SafeVRAM }, vram(SafeVRAM)}
	highVRAM     = &condition{"vram pressure", func(in Inputs) bool { return in.VRAM >= SafeVRAM }, vram(SafeVRAM)}
	criticalVRAM = &condition{"vram pressure", func(in Inputs) bool { return in.VRAM >= CriticalVRAM }, vram(CriticalVRAM)}
	safeRAM      = &condition{"ram pressure", func(in Inputs) bool { return in.RAM < SafeRAM }, ram(SafeRAM)}
	veryHighRAM  = &condition{"ram pressure", func(in Inputs) bool { return in.RAM > VeryHighRAM }, ram(VeryHighRAM)}
	criticalRAM  = &condition{"ram pressure", func(in Inputs) bool { return in.RAM >= CriticalRAM }, ram(CriticalRAM)}
	ssdAllowed   = &condition{"ssd as last resort", func(in Inputs) bool { return !in.NoSSD }, allowed}
	otherwise    = &condition{"ram pressure", func(Inputs) bool { return true }, ram(SafeRAM)}
)

func devices(in Inputs) (observed, limit float64) { return float64(in.Devices), 0 }
func size(in Inputs) (observed, limit float64)    { return float64(in.Bytes), float64(HugeBytes) }
func allowed(in Inputs) (observed, limit float64) {
	if in.NoSSD {
		return 0, 1
	}
	return 1, 1
}

func cost(in Inputs) (observed, limit float64)        { return float64(in.Cost), float64(HeavyCost) }
func reliability(in Inputs) (observed, limit float64) { return float64(in.Reliability), 0 }

func vram(limit float32) func(Inputs) (float64, float64) {
	return func(in Inputs) (float64, float64) { return float64(in.VRAM), float64(limit) }
}

func ram(limit float32) func(Inputs) (float64, float64) {
	return func(in Inputs) (float64, float64) { return float64(in.RAM), float64(limit) }
}
