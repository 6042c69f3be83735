package machine

import (
	"cmp"
	"context"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"atenia"
	"atenia/internal/kernel"
	"atenia/internal/kernel/roof"
	"atenia/internal/machine/cpu"
	"atenia/internal/machine/ledger"
	"atenia/tensor"
)

// A KernelConfig configures [Kernels]. The zero value measures everything, in about twenty
// seconds.
type KernelConfig struct {
	Threads int            // 0 = the default number
	Formats []string       // nil = all of [Formats]
	Only    *regexp.Regexp // nil = all; else those whose [Rate.Name] matches
	// Bytes is the memory that the kernels stream through, for all threads
	// together. 0 = twice the last-level cache, between 64 and 512 MiB, and less
	// where there is not four times as much.
	Bytes int
	// Rounds is how often everything is measured, and Each how long each time. 0 =
	// 3 and 30 ms.
	Rounds int
	Each   time.Duration
	// Progress, if not nil, is called with the name of each measurement before it
	// starts.
	Progress func(name string)
}

// A KernelReport compares kernels with the machine's roofs.
type KernelReport struct {
	Threads int
	Variant string
	Roofs   roof.Roofs // the best of all rounds
	Kernels []Rate
	// Decisions lists the choices that products of the measured formats made at
	// first use.
	Decisions []kernel.Decision
}

// A Rate is the speed of one kernel with operands of one shape.
//
//	decode       one row times weights, outputs × columns
//	batch 8      eight rows
//	prefill 512  rows of a prompt
//	scores       query heads × dimension against cached keys of a group
//	weighted     the same with cached values
//	norm, add, rope, silu, softmax, argmax, and quantize, which rounds
//	             activations for products with quantized weights: by width,
//	             listed under "f32"
//
// Weights and cached rows come from memory, other rows from L2.
type Rate struct {
	Use    string // the first column above
	Format string
	Shape  string
	// Unpacked is set if weights are read in the file's layout although there is a
	// packed form, which models use.
	Unpacked bool
	Bytes    float64 // per second, of operands outside L1
	FLOPS    float64 // operations per second of products, else 0
	// Share is the achieved part of the nearer roof, and Bound that roof: "memory",
	// "cache", "float32" or "int8" arithmetic. Share is the median of the rounds,
	// Min and Max are the extremes.
	Share, Min, Max float64
	Bound           string
}

// Name returns use, format and shape, as in "decode q8_0 5632x2048", with "
// unpacked" appended if that is set.
func (k *Rate) Name() string {
	name := k.Use + " " + k.Format + " " + k.Shape
	if k.Unpacked {
		name += " unpacked"
	}
	return name
}

var formats = []tensor.DType{
	tensor.F32, tensor.F16, tensor.BF16, tensor.Q8_0,
	tensor.Q4_0, tensor.Q4_1, tensor.Q5_0, tensor.Q5_1,
	tensor.Q2_K, tensor.Q3_K, tensor.Q4_K, tensor.Q5_K, tensor.Q6_K,
	tensor.IQ4_NL, tensor.IQ4_XS, tensor.MXFP4,
}

// Formats returns the element types that [Kernels] measures.
func Formats() (names []string) {
	for _, d := range formats {
		names = append(names, formatName(d))
	}
	return names
}

// formatName returns a type's name as spelled on the command line.
func formatName(d tensor.DType) string { return strings.ToLower(d.String()) }

// The sizes measured: those of a model with 1.1 billion parameters.
const (
	benchWidth  = 2048 // of activations
	benchFFN    = 5632
	benchVocab  = 32000
	benchGroup  = 8  // query heads of a key head
	benchKV     = 4  // key heads
	benchDim    = 64 // of a head
	benchTokens = 16 // per page of the cache
)

// Kernels measures kernels without a model.
func Kernels(ctx context.Context, c KernelConfig) (*KernelReport, error) {
	wanted, err := c.complete()
	if err != nil {
		return nil, err
	}
	b := &bench{ctx: ctx, cfg: c, report: KernelReport{Threads: c.Threads, Variant: kernel.Variant()}}
	if b.probe, err = roof.New(c.Threads); err != nil {
		return nil, err
	}
	defer b.probe.Close()
	if slices.Contains(wanted, tensor.F32) {
		b.rows()
		err = b.runAll()
	}
	defer b.release()
	for _, d := range wanted {
		if err == nil {
			err = b.format(d)
		}
		if err == nil {
			err = b.runAll()
		}
	}
	b.computeShares()
	b.report.Decisions = slices.DeleteFunc(kernel.Decisions(), func(d kernel.Decision) bool { // by others
		is := func(t tensor.DType) bool { return strings.EqualFold(t.String(), d.Class) }
		return slices.ContainsFunc(formats, is) && !slices.ContainsFunc(wanted, is)
	})
	return &b.report, err
}

// complete fills in defaults and returns the formats.
func (c *KernelConfig) complete() ([]tensor.DType, error) {
	c.Threads, c.Rounds, c.Each = cmp.Or(c.Threads, cpu.Threads()), cmp.Or(c.Rounds, 3), cmp.Or(c.Each, 30*time.Millisecond)
	c.Bytes = cmp.Or(c.Bytes, min(max(2*cpu.Detect().L3, 64<<20), 512<<20, int(min(ledger.Process.Free()/8, 1<<30))))
	if c.Threads < 1 || c.Threads > 1024 {
		return nil, &atenia.ConfigError{Field: "Threads", Got: c.Threads, Want: "1 to 1024"}
	}
	if c.Rounds < 1 {
		return nil, &atenia.ConfigError{Field: "Rounds", Got: c.Rounds, Want: "1 or more"}
	}
	if c.Formats == nil {
		return formats, nil
	}
	var wanted []tensor.DType
	for _, name := range c.Formats {
		d, err := tensor.ParseDType(name)
		if err != nil || !slices.Contains(formats, d) {
			return nil, &atenia.ConfigError{Field: "Formats", Got: name, Want: "some of " + strings.Join(Formats(), ", ")}
		}
		wanted = append(wanted, d)
	}
	return wanted, nil
}

// A bench measures kernels: cases are added, and then run.
type bench struct {
	ctx    context.Context
	cfg    KernelConfig
	probe  *roof.Probe
	blocks []ledger.Block
	memory [][]byte         // one per thread: rows of the format
	filled tensor.DType     // type of the weights in memory
	tiles  map[int][][]byte // by columns, then by thread: packed matrices
	cases  []kernelCase
	done   []kernelCase
	report KernelReport
}

// A kernelCase is one kernel with its samples: the combined rates of all
// threads.
type kernelCase struct {
	Rate
	works        []work // one per thread
	bytes, flops []float64
}

// A work is the repeated work of one thread: do(i) computes piece i, at least a
// few microseconds, with its bytes from outside L1 and its operations.
type work struct {
	bytes, flops int
	do           func(i int)
}

// share returns one thread's bytes of memory, enough for its part of any matrix.
func (b *bench) share() int {
	const widest = 4 * benchFFN
	return max(b.cfg.Bytes, widest*benchWidth, widest*benchPiece*b.cfg.Threads) / b.cfg.Threads
}

// reserve returns memory for each thread.
func (b *bench) reserve() ([][]byte, error) {
	var all [][]byte
	for range b.cfg.Threads {
		block, err := ledger.NewHugeBlock(ledger.Process, ledger.Samples, b.share())
		if err != nil {
			return nil, err
		}
		b.blocks, all = append(b.blocks, block), append(all, block.Bytes)
	}
	return all, nil
}

func (b *bench) release() {
	for i := range b.blocks {
		b.blocks[i].Release()
	}
}

func (b *bench) together(f func(thread int)) {
	var wg sync.WaitGroup
	for t := range b.cfg.Threads {
		wg.Go(func() { f(t) })
	}
	wg.Wait()
}

// wanted reports whether a kernel is selected.
func (b *bench) wanted(k *Rate) bool {
	return b.cfg.Only == nil || b.cfg.Only.MatchString(k.Name())
}

// measure adds a case.
func (b *bench) measure(k Rate, worker func(thread int) work) {
	works := make([]work, b.cfg.Threads)
	b.together(func(t int) { works[t] = worker(t) })
	b.cases = append(b.cases, kernelCase{Rate: k, works: works})
}

// runAll measures cases and roofs alternately.
func (b *bench) runAll() error {
	for range b.cfg.Rounds {
		if len(b.cases) > 0 {
			b.probe.Round()
		}
		for i := range b.cases {
			if err := b.ctx.Err(); err != nil {
				return err
			}
			k := &b.cases[i]
			if b.cfg.Progress != nil {
				b.cfg.Progress(k.Name())
			}
			b.sample(k)
		}
	}
	b.done, b.cases = append(b.done, b.cases...), nil
	return nil
}

// sample runs each thread's work for a while.
func (b *bench) sample(k *kernelCase) {
	speeds := make([]float64, b.cfg.Threads)
	b.together(func(t int) {
		k.works[t].do(0)
		start := time.Now()
		for i := 1; ; i++ {
			k.works[t].do(i)
			if took := time.Since(start); took >= b.cfg.Each {
				speeds[t] = float64(i) / took.Seconds()
				return
			}
		}
	})
	var bytes, flops float64
	for t, s := range speeds {
		bytes += s * float64(k.works[t].bytes)
		flops += s * float64(k.works[t].flops)
	}
	k.bytes, k.flops = append(k.bytes, bytes), append(k.flops, flops)
}

// computeShares relates the measurements to the roofs.
func (b *bench) computeShares() {
	roofs := b.probe.Best
	b.report.Roofs = roofs
	for _, k := range b.done {
		low, high := 0.0, 0.0
		k.Bytes, low, high = roof.Spread(k.bytes)
		k.FLOPS, _, _ = roof.Spread(k.flops)
		memory, arithmetic, limit := roofs.Memory, "int8", roofs.Dot
		if k.Bound == "" {
			k.Bound = "memory"
		} else {
			memory = roofs.Cache
		}
		if d, err := tensor.ParseDType(k.Format); err != nil || !d.Quantized() || k.Use == "scores" || k.Use == "weighted" {
			arithmetic, limit = "float32", roofs.FMA
		}
		k.Share = k.Bytes / memory
		if a := k.FLOPS / limit; a > k.Share {
			k.Share, k.Bound = a, arithmetic
		}
		k.Min, k.Max = k.Share*(low/k.Bytes), k.Share*(high/k.Bytes)
		b.report.Kernels = append(b.report.Kernels, k.Rate)
	}
}

// part returns piece i of memory that is used cyclically.
func part[T any](memory []T, size, i int) []T {
	return memory[i%(len(memory)/size)*size:][:size]
}

// wave returns n activations.
func wave(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
	}
	return x
}
