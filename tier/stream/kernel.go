package stream

import (
	"math"
	"math/bits"
	"time"

	"atenia/internal/enum"
)

// A KernelKind is what bounds the time of a kernel.
type KernelKind uint8

// The kinds of kernels.
const (
	ComputeHeavy KernelKind = iota // by operations
	MemoryBound                    // by bytes
	Small                          // by the cost of starting it
	Serial                         // by one thread
)

var kernelKinds = []string{"ComputeHeavy", "MemoryBound", "Small", "Serial"}

func (k KernelKind) String() string { return enum.Name(kernelKinds, "KernelKind", k) }

// MarshalText writes the name of the kind.
func (k KernelKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the name of a kind.
func (k *KernelKind) UnmarshalText(b []byte) error {
	return enum.Parse(kernelKinds, "kind of kernel", b, k)
}

// A Kernel is what a plan needs to know of one.
type Kernel struct {
	Name  string     `json:"name"`
	Kind  KernelKind `json:"kind"`
	Flops uint64     `json:"estimated_flops"`
	Bytes uint64     `json:"estimated_bytes"` // read and written
}

// SuitsGPU reports whether a device would run the kernel well.
func (k Kernel) SuitsGPU() bool { return k.Kind == ComputeHeavy || k.Kind == MemoryBound }

// Intensity is operations a byte; 0 for a kernel that moves nothing.
func (k Kernel) Intensity() float64 {
	if k.Bytes == 0 {
		return 0
	}
	return float64(k.Flops) / float64(k.Bytes)
}

// A Machine is the measured speed of what runs kernels. The fields may be 0,
// unknown: then no kernel is found to be heavy, or small.
type Machine struct {
	FlopsPerSecond float64
	BytesPerSecond float64
	Launch         time.Duration // of an empty kernel
}

// Balance is the intensity, in operations a byte, above which the machine is
// bound by operations: the ridge of its roofline.
func (m Machine) Balance() float64 {
	if m.FlopsPerSecond <= 0 || m.BytesPerSecond <= 0 {
		return math.Inf(1)
	}
	return m.FlopsPerSecond / m.BytesPerSecond
}

// Time is the roofline's estimate of a kernel, without its launch; 0 when the
// machine's speeds are unknown.
func (m Machine) Time(k Kernel) time.Duration {
	var s float64
	if m.FlopsPerSecond > 0 {
		s = float64(k.Flops) / m.FlopsPerSecond
	}
	if m.BytesPerSecond > 0 {
		s = max(s, float64(k.Bytes)/m.BytesPerSecond)
	}
	return time.Duration(min(s*1e9, math.MaxInt64/2))
}

// Classify returns the kernel with the kind that its operations and bytes give
// it on this machine. Serial stays: it is a property of the algorithm.
func (m Machine) Classify(k Kernel) Kernel {
	switch {
	case k.Kind == Serial:
	case m.Launch > 0 && m.Time(k) < m.Launch:
		k.Kind = Small
	case k.Intensity() > m.Balance():
		k.Kind = ComputeHeavy
	default:
		k.Kind = MemoryBound
	}
	return k
}

// A Product is a matrix product: [Rows, Inner] activations times the transpose
// of [Cols, Inner] weights. Weights are counted in bits since quantised ones
// take fractions of bytes, with their scales: 8.5 for blocks of 32 of 8 bits.
type Product struct {
	Rows, Cols, Inner uint64
	WeightBits        float64 // an element
	ActivationBytes   uint64  // an element, of input and output
}

// Kernel counts the product: a multiplication and an addition for every
// element of the inner dimension, every operand read once and the result
// written once. Counts saturate.
func (p Product) Kernel(name string, m Machine) Kernel {
	weights := float64(times(p.Cols, p.Inner)) * p.WeightBits / 8
	moved := plus(times(p.Rows, p.Inner), times(p.Rows, p.Cols))
	return m.Classify(Kernel{
		Name:  name,
		Flops: times(2, p.Rows, p.Cols, p.Inner),
		Bytes: plus(whole(math.Ceil(weights)), times(moved, p.ActivationBytes)),
	})
}

// whole converts, saturating; not a number is 0.
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
