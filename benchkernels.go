package atenia

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"atenia/internal/cpu"
	"atenia/internal/kernel"
	"atenia/internal/quant"
	"atenia/tensor"
)

// A KernelsConfig says what [BenchKernels] measures. The zero value is all of
// it, in about ten seconds.
type KernelsConfig struct {
	Threads int      // 0 = as for a Config
	Formats []string // nil = all of [KernelFormats]
	// Bytes is how much memory the kernels stream through, all threads
	// together. 0 = twice the last-level cache, within 64 and 512 MiB.
	Bytes int
	// Each bounds one measurement. 0 = 80 ms.
	Each time.Duration
	// Progress, if not nil, is told what is measured next.
	Progress func(name string)
}

// A KernelsReport is how near kernels come to what the machine can do.
type KernelsReport struct {
	Threads   int
	Variant   string
	Bandwidth float64 // bytes a second read from memory
	FLOPS     float64 // float32 operations a second from registers
	Kernels   []KernelRate
}

// A KernelRate is what one kernel does with operands of one shape.
//
//	decode    one row times weights, outputs × columns
//	prefill   rows × outputs × columns
//	scores    query heads × dimension against cached keys of a group
//	weighted  the same with cached values
//	norm, rope, softmax, and prepare, which rounds activations for products
//	          with quantised weights: by width, among those of "f32"
//
// Weights and cached rows come from memory, and so do the rows of norm, rope
// and softmax, so that all have the same roof.
type KernelRate struct {
	Use    string // the first column above
	Format string
	Shape  string
	Bytes  float64 // a second, of operands in memory
	FLOPS  float64 // operations a second in products, 0 elsewhere
	// Share is the part of the roof that is reached, Bytes/Bandwidth or
	// FLOPS/FLOPS, whichever is more, and Bound which one that is: "memory" or
	// "arithmetic". Products of quantised weights multiply 8-bit integers, for
	// which the roof of float32 is low: they may exceed it.
	Share float64
	Bound string
}

// Name returns use, format and shape, as in "decode/q8_0/4096x4096".
func (k *KernelRate) Name() string { return k.Use + "/" + k.Format + "/" + k.Shape }

var kernelFormats = []tensor.DType{
	tensor.F32, tensor.F16, tensor.BF16, tensor.Q8_0,
	tensor.Q4_0, tensor.Q4_1, tensor.Q5_0, tensor.Q5_1,
	tensor.Q2_K, tensor.Q3_K, tensor.Q4_K, tensor.Q5_K, tensor.Q6_K,
	tensor.IQ4_NL, tensor.IQ4_XS, tensor.MXFP4,
}

// KernelFormats returns the element types that [BenchKernels] measures.
func KernelFormats() (names []string) {
	for _, d := range kernelFormats {
		names = append(names, formatName(d))
	}
	return names
}

// formatName is a type's name as it is written on a command line.
func formatName(d tensor.DType) string { return strings.ToLower(d.String()) }

// Sizes of what is measured: those of a model of 8 billion parameters.
const (
	benchWidth  = 4096 // of activations
	benchFFN    = 14336
	benchRows   = 512 // of a prompt
	benchGroup  = 4   // query heads of a key head
	benchKV     = 8   // key heads
	benchDim    = 128 // of a head
	benchTokens = 16  // of a page of the cache
)

// BenchKernels measures kernels without a model.
func BenchKernels(ctx context.Context, c KernelsConfig) (*KernelsReport, error) {
	if c.Threads == 0 {
		c.Threads = cpu.Threads()
	}
	if c.Bytes == 0 {
		c.Bytes = min(max(2*cpu.Detect().L3, 64<<20), 512<<20)
	}
	if c.Each == 0 {
		c.Each = 80 * time.Millisecond
	}
	if c.Threads < 1 || c.Threads > 1024 {
		return nil, &ConfigError{"Threads", c.Threads, "1 to 1024"}
	}
	formats := kernelFormats
	if c.Formats != nil {
		formats = nil
	}
	for _, name := range c.Formats {
		d, err := tensor.ParseDType(name)
		if err != nil || !slices.Contains(kernelFormats, d) {
			return nil, &ConfigError{"Formats", name, "some of " + strings.Join(KernelFormats(), ", ")}
		}
		formats = append(formats, d)
	}
	b := &kernelBench{ctx: ctx, cfg: c}
	b.report = KernelsReport{
		Threads: c.Threads, Variant: kernel.Variant(),
		Bandwidth: kernel.MeasureBandwidth(c.Threads), FLOPS: kernel.MeasureFMA(c.Threads),
	}
	if slices.Contains(formats, tensor.F32) {
		if err := b.rows(); err != nil {
			return nil, err
		}
	}
	for range c.Threads {
		b.memory = append(b.memory, make([]byte, b.share()))
	}
	for _, d := range formats {
		if err := b.format(d); err != nil {
			return nil, err
		}
	}
	return &b.report, nil
}

// A kernelBench measures kernels one after another.
type kernelBench struct {
	ctx    context.Context
	cfg    KernelsConfig
	memory [][]byte // one for each thread
	report KernelsReport
}

// share returns how many bytes of memory are one thread's.
func (b *kernelBench) share() int {
	const least = 8 << 20 // room for any piece of work
	return max(b.cfg.Bytes/b.cfg.Threads, least)
}

// format measures all kernels that read an element type.
func (b *kernelBench) format(d tensor.DType) error {
	if err := b.fill(d); err != nil {
		return err
	}
	err := b.product(d, 1, benchWidth, benchWidth)
	for _, s := range [][3]int{{1, benchWidth, benchFFN}, {benchRows, benchWidth, benchWidth}, {benchRows, benchWidth, benchFFN}} {
		if err == nil {
			err = b.product(d, s[0], s[1], s[2])
		}
	}
	if err == nil && (d == tensor.F32 || d == tensor.F16 || d == tensor.Q8_0) {
		err = b.attention(d)
	}
	return err
}

// fill writes random weights: nothing that is infinite or has so few bits that
// processors slow down.
func (b *kernelBench) fill(d tensor.DType) error {
	rng := rand.New(rand.NewPCG(1, 2))
	values := make([]float32, 1<<14)
	for i := range values {
		values[i] = float32(rng.NormFloat64())
	}
	n, err := d.RowBytes(len(values))
	if err != nil {
		return err
	}
	pattern := make([]byte, n)
	if err := quant.Quantize(pattern, d, values, nil); err != nil {
		return err
	}
	b.together(func(t int) {
		for m := b.memory[t]; len(m) > 0; {
			m = m[copy(m, pattern):]
		}
	})
	return nil
}

func (b *kernelBench) together(f func(thread int)) {
	var wg sync.WaitGroup
	for t := range b.cfg.Threads {
		wg.Go(func() { f(t) })
	}
	wg.Wait()
}

// A work is what one thread does again and again: do(i) is piece i, at least a
// few microseconds, which takes so many bytes from memory and does so many
// operations.
type work struct {
	bytes, flops int
	do           func(i int)
}

// measure lets each thread do its work for a while.
func (b *kernelBench) measure(k KernelRate, worker func(thread int) work) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if b.cfg.Progress != nil {
		b.cfg.Progress(k.Name())
	}
	works, speeds := make([]work, b.cfg.Threads), make([]float64, b.cfg.Threads)
	b.together(func(t int) {
		works[t] = worker(t)
		works[t].do(0)
	})
	b.together(func(t int) {
		start := time.Now()
		for i := 1; ; i++ {
			works[t].do(i)
			if took := time.Since(start); took >= b.cfg.Each {
				speeds[t] = float64(i) / took.Seconds()
				return
			}
		}
	})
	for t, s := range speeds {
		k.Bytes += s * float64(works[t].bytes)
		k.FLOPS += s * float64(works[t].flops)
	}
	memory, arithmetic := k.Bytes/b.report.Bandwidth, k.FLOPS/b.report.FLOPS
	k.Share, k.Bound = memory, "memory"
	if arithmetic > memory {
		k.Share, k.Bound = arithmetic, "arithmetic"
	}
	b.report.Kernels = append(b.report.Kernels, k)
	return nil
}

// part returns piece i of memory that is used round and round.
func part[T any](memory []T, size, i int) []T {
	return memory[i%(len(memory)/size)*size:][:size]
}

// product measures rows times weights [outs, cols].
func (b *kernelBench) product(d tensor.DType, rows, outs, cols int) error {
	k := KernelRate{Use: "prefill", Format: formatName(d), Shape: fmt.Sprintf("%dx%dx%d", rows, outs, cols)}
	piece := 16 // outputs
	if rows == 1 {
		k.Use, k.Shape, piece = "decode", fmt.Sprintf("%dx%d", outs, cols), 64
	}
	size, err := d.RowBytes(piece * cols)
	if err != nil {
		return err
	}
	form := kernel.FormOf(d)
	x := make([]byte, rows*form.RowBytes(cols)) // shared by the threads, as in a model
	row := wave(cols)
	for r := range rows {
		form.Prepare(x[r*form.RowBytes(cols):], row)
	}
	return b.measure(k, func(t int) work {
		dst := make([]float32, rows*outs)
		return work{size, 2 * rows * piece * cols, func(i int) {
			w := kernel.Matrix{DType: d, Rows: piece, Cols: cols, Data: part(b.memory[t], size, i)}
			kernel.MatMulQ(dst[i*piece%outs:], outs, &w, 0, piece, x, rows)
		}}
	})
}

// wave returns n activations.
func wave(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
	}
	return x
}

// attention measures scores and weighted sums over pages that a group of query
// heads reads.
func (b *kernelBench) attention(d tensor.DType) error {
	head, err := d.RowBytes(benchDim)
	if err != nil {
		return err
	}
	const span, queries = kernel.AttentionSpan, benchGroup * benchKV
	size := benchTokens * benchKV * head // of a page
	pieces := func(t int, f func(kv int, rows *kernel.Rows)) work {
		rows := kernel.Rows{DType: d, Pages: make([][]byte, span/benchTokens), PageRows: benchTokens, Dim: benchDim}
		return work{size * len(rows.Pages), 2 * queries * span * benchDim, func(i int) {
			for p := range rows.Pages {
				rows.Pages[p] = part(b.memory[t], size, i*len(rows.Pages)+p)
			}
			for kv := range benchKV {
				rows.Off = kv * benchTokens * head
				f(kv, &rows)
			}
		}}
	}
	shape := fmt.Sprintf("%dx%d", benchGroup, benchDim)
	q, p := wave(queries*benchDim), wave(queries*span)
	scores := func(t int) work {
		dst := make([]float32, queries*span)
		return pieces(t, func(kv int, rows *kernel.Rows) {
			kernel.Scores(dst[kv*benchGroup*span:], q[kv*benchGroup*benchDim:], benchGroup, rows, 0, span, 0.1)
		})
	}
	weighted := func(t int) work {
		dst := make([]float32, queries*benchDim)
		return pieces(t, func(kv int, rows *kernel.Rows) {
			kernel.Weighted(dst[kv*benchGroup*benchDim:], p[kv*benchGroup*span:], benchGroup, rows, 0, span)
		})
	}
	if err := b.measure(KernelRate{Use: "scores", Format: formatName(d), Shape: shape}, scores); err != nil {
		return err
	}
	return b.measure(KernelRate{Use: "weighted", Format: formatName(d), Shape: shape}, weighted)
}

// rows measures what is done to rows of activations.
func (b *kernelBench) rows() error {
	memory := make([][]float32, b.cfg.Threads)
	b.together(func(t int) {
		memory[t] = make([]float32, b.share()/4)
		for pattern, m := wave(1<<14), memory[t]; len(m) > 0; {
			m = m[copy(m, pattern):]
		}
	})
	cos, sin := make([]float32, benchDim/2), make([]float32, benchDim/2)
	kernel.RopeTable(cos, sin, wave(benchDim/2), 7, 1)
	for _, k := range []struct {
		use     string
		format  string
		width   int
		traffic int // how often a row goes from or to memory
		kernel  func() func(row []float32)
	}{
		{"norm", "f32", benchWidth, 1, func() func([]float32) {
			dst := make([]float32, benchWidth)
			return func(row []float32) { kernel.RMSNorm(dst, row, nil, 1e-5, 0) }
		}},
		{"prepare", "q8", benchWidth, 1, func() func([]float32) {
			dst := make([]byte, kernel.FormQ8.RowBytes(benchWidth))
			return func(row []float32) { kernel.FormQ8.Prepare(dst, row) }
		}},
		{"rope", "f32", benchDim, 2, func() func([]float32) { return func(row []float32) { kernel.Rope(row, cos, sin, false) } }},
		{"softmax", "f32", kernel.AttentionSpan, 2, func() func([]float32) {
			return func(row []float32) { kernel.SoftmaxSpan(row, 0, len(row)) }
		}},
	} {
		err := b.measure(KernelRate{Use: k.use, Format: k.format, Shape: fmt.Sprint(k.width)}, func(t int) work {
			const size = 16 * benchWidth
			run := k.kernel()
			return work{k.traffic * 4 * size, 0, func(i int) {
				for x := part(memory[t], size, i); len(x) > 0; x = x[k.width:] {
					run(x[:k.width])
				}
			}}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
