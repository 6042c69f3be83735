package decide

import (
	"math"
	"math/bits"
	"time"

	"atenia/internal/spelling"
)

// A KernelKind is the resource that bounds a kernel's time.
type KernelKind uint8

// The kinds of kernels.
const (
	computeHeavy KernelKind = iota // by operations
	memoryBound                    // by bytes
	small                          // by launch overhead
	serial                         // by one thread
)

var kernelKinds = []string{"ComputeHeavy", "MemoryBound", "Small", "Serial"}

func (k KernelKind) String() string { return spelling.Enum(kernelKinds, "KernelKind", k) }

// MarshalText writes the name of the kind.
func (k KernelKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the name of a kind.
func (k *KernelKind) UnmarshalText(b []byte) error {
	return spelling.ParseEnum(kernelKinds, "kind of kernel", b, k)
}

// A Kernel describes a kernel for planning.
type Kernel struct {
	Name  string     `json:"name"`
	Kind  KernelKind `json:"kind"`
	Flops uint64     `json:"estimated_flops"`
	Bytes uint64     `json:"estimated_bytes"` // read and written
}

// SuitsGPU reports whether a device would run the kernel efficiently.
func (k Kernel) SuitsGPU() bool { return k.Kind == computeHeavy || k.Kind == memoryBound }

// Intensity returns operations per byte; 0 for a kernel that moves no bytes.
func (k Kernel) Intensity() float64 {
	if k.Bytes == 0 {
		return 0
	}
	return float64(k.Flops) / float64(k.Bytes)
}

// A RouteMachine holds the measured speeds of the backend. Fields may be 0, unknown:
// then no kernel is classified as heavy or small.
type RouteMachine struct {
	FlopsPerSecond float64
	BytesPerSecond float64
	Launch         time.Duration // of an empty kernel
}

// Balance returns the intensity, in operations per byte, above which the machine
// is compute-bound: the ridge of its roofline.
func (m RouteMachine) Balance() float64 {
	if m.FlopsPerSecond <= 0 || m.BytesPerSecond <= 0 {
		return math.Inf(1)
	}
	return m.FlopsPerSecond / m.BytesPerSecond
}

// Time returns the roofline estimate of a kernel's time, without the launch; 0
// if the machine's speeds are unknown.
func (m RouteMachine) Time(k Kernel) time.Duration {
	var s float64
	if m.FlopsPerSecond > 0 {
		s = float64(k.Flops) / m.FlopsPerSecond
	}
	if m.BytesPerSecond > 0 {
		s = max(s, float64(k.Bytes)/m.BytesPerSecond)
	}
	return time.Duration(min(s*1e9, math.MaxInt64/2))
}

// Classify returns the kernel with the kind that its operations and bytes imply
// on this machine. Serial stays, because it is a property of the algorithm.
func (m RouteMachine) Classify(k Kernel) Kernel {
	switch {
	case k.Kind == serial:
	case m.Launch > 0 && m.Time(k) < m.Launch:
		k.Kind = small
	case k.Intensity() > m.Balance():
		k.Kind = computeHeavy
	default:
		k.Kind = memoryBound
	}
	return k
}

// A Product is a matrix product: [Rows, Inner] activations times the transpose
// of [Cols, Inner] weights. Weights are counted in bits because quantized
// elements take fractions of bytes, including their scales: 8.5 for blocks of 32
// 8-bit values.
type Product struct {
	Rows, Cols, Inner uint64
	WeightBits        float64 // per element
	ActivationBytes   uint64  // per element, of input and output
}

// Kernel returns the cost of the product: a multiplication and an addition for
// every element of the inner dimension, every operand read once and the result
// written once. Counts saturate.
func (p Product) Kernel(name string, m RouteMachine) Kernel {
	weights := float64(times(p.Cols, p.Inner)) * p.WeightBits / 8
	moved := plus(times(p.Rows, p.Inner), times(p.Rows, p.Cols))
	return m.Classify(Kernel{
		Name:  name,
		Flops: times(2, p.Rows, p.Cols, p.Inner),
		Bytes: plus(whole(math.Ceil(weights)), times(moved, p.ActivationBytes)),
	})
}

// whole converts with saturation; NaN becomes 0.
func whole(f float64) uint64 {
	switch {
	case f >= math.MaxUint64:
		return math.MaxUint64
	case f > 0:
		return uint64(f)
	}
	return 0
}

func times(factors ...uint64) uint64 {
	product := uint64(1)
	for _, f := range factors {
		high, low := bits.Mul64(product, f)
		if high != 0 {
			low = math.MaxUint64
		}
		product = low
	}
	return product
}

func plus(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}
