package machine

import (
	"context"
	"runtime"
	"slices"
	"time"

	"atenia"
	"atenia/internal/kernel"
	"atenia/internal/kernel/roof"
	"atenia/internal/machine/cpu"
)

// A Health is what [Examine] found.
type Health struct {
	Go, OS, Arch string
	Processor    string
	Features     []string
	Variant      string // kernels in use: "avx512", "avx2" or "portable"
	Cores        int    // physical cores this process may use
	Allowed      int    // processors this process may run on
	Quota        float64
	Threads      int // the threads of a Config with Threads 0
	L1, L2, L3   int // bytes of data cache
	Bandwidth    float64
	FLOPS        float64 // float32 multiply-adds count two
	DotOPS       float64 // int8 multiply-adds, each counted as two operations
	// The time to open the embedded model, and to its first token.
	OpenTime, FirstToken time.Duration
	Checks               []Check
}

// A Check is one thing that is well or not.
type Check struct {
	Name string
	OK   bool
	// Vital is set where a failure means wrong results, not slow ones.
	Vital bool
	Text  string // what was found, and what to do about a fault
}

// Roofs measures what a number of threads can, in bytes that are read and operations of
// float32 and int8 a second, which takes half a second.
func Roofs(threads int) (memory, float, integer float64, err error) {
	r, err := roof.Measure(threads)
	return r.Memory, r.FMA, r.Dot, err
}

// Examine examines the machine and runs the embedded model once.
func Examine(ctx context.Context) (*Health, error) {
	info := cpu.Detect()
	h := &Health{
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Processor: info.Name, Features: info.Features, Variant: kernel.Variant(),
		Cores: info.Cores, Allowed: info.Allowed, Quota: info.Quota, Threads: cpu.Threads(),
		L1: info.L1, L2: info.L2, L3: info.L3,
	}
	roofs, err := roof.Measure(h.Threads)
	if err != nil {
		return nil, err
	}
	h.Bandwidth, h.FLOPS, h.DotOPS = roofs.Memory, roofs.FMA, roofs.Dot
	h.check("assembly kernels", false, h.Variant != "portable", h.Variant+" kernels are in use", "no assembly for this processor: everything works, slowly")
	h.check("processors", false, info.Quota == 0 || info.Quota >= float64(info.Cores),
		"no quota below the number of cores", "a control group limits this process below its cores; threads were reduced to match")
	return h, h.tryModel(ctx)
}

func (h *Health) check(name string, vital, ok bool, good, bad string) {
	c := Check{Name: name, OK: ok, Vital: vital, Text: good}
	if !ok {
		c.Text = bad
	}
	h.Checks = append(h.Checks, c)
}

// tryModel opens the embedded model and generates a few tokens with it.
func (h *Health) tryModel(ctx context.Context) error {
	start := time.Now()
	m, err := atenia.Open(ctx, "", nil)
	if err != nil {
		return err
	}
	defer m.Close()
	h.OpenTime = time.Since(start)
	h.check("packed weights", false, true, m.Packing().String(), "")
	text := ""
	for t, err := range m.Generate(ctx, atenia.Prompt{Text: "Once upon a time", Options: atenia.Options{MaxTokens: 16}}) {
		if err != nil {
			return err
		}
		if text == "" {
			h.FirstToken = time.Since(start)
		}
		text += t.Text
	}
	h.check("embedded model", true, text != "", "continues \"Once upon a time\" with "+text, "the embedded model said nothing")
	same, err := oneByOne(ctx, m)
	h.check("arithmetic", true, same, "a text gives the same logits at once and token by token, bit for bit",
		"a text gives other logits at once than token by token: do not trust this machine's results; please report it with this output")
	return err
}

// oneByOne computes a text at once and token by token, through other kernels,
// and reports whether all logits agree to the last bit.
func oneByOne(ctx context.Context, m *atenia.Model) (bool, error) {
	ids, err := m.Tokenize("Once upon a time, there was a little girl who liked to look at the moon.")
	if err != nil {
		return false, err
	}
	whole, err := m.Logits(ctx, ids, atenia.LogitsOptions{All: true})
	if err != nil {
		return false, err
	}
	single, err := m.Logits(ctx, ids, atenia.LogitsOptions{All: true, Step: 1})
	return slices.EqualFunc(whole, single, slices.Equal), err
}
