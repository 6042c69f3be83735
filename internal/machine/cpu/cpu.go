package cpu

import (
	"fmt"
	"math"
	"runtime"

	"github.com/klauspost/cpuid/v2"
)

// Info describes the processor and the share of it that this process may use.
type Info struct {
	Name     string
	Arch     string   // as in GOARCH
	Features []string // instruction sets used by kernels, such as "AVX2"

	AVX2, AVX512 bool // all features required by the kernels of that name

	Logical  int // logical processors of the system
	Physical int // physical cores of the system
	Allowed  int // logical processors in the affinity mask
	Cores    int // physical cores among those

	Quota float64 // CPU quota in processors, 0 if unlimited

	L1, L2, L3 int // data cache of one core, of one core, and shared, in bytes; 0 if unknown
}

// features lists the candidates for Info.Features.
var features = []cpuid.FeatureID{
	cpuid.SSE42, cpuid.AVX, cpuid.AVX2, cpuid.FMA3, cpuid.F16C,
	cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX512VNNI,
	cpuid.AVX512VBMI, cpuid.AVX512BF16, cpuid.AVX512FP16, cpuid.AVXVNNI, cpuid.AMXINT8,
	cpuid.ASIMD, cpuid.ASIMDDP,
}

// Detect describes the machine. It reads a few files and takes well under a
// millisecond; callers keep the result.
func Detect() Info {
	c := &cpuid.CPU
	i := Info{
		Name:     Name(),
		Arch:     runtime.GOARCH,
		AVX2:     HasAVX2(),
		AVX512:   HasAVX512(),
		Logical:  runtime.NumCPU(),
		Physical: c.PhysicalCores,
		L1:       max(0, c.Cache.L1D),
		L2:       max(0, c.Cache.L2),
		L3:       max(0, c.Cache.L3),
	}
	for _, f := range features {
		if c.Supports(f) {
			i.Features = append(i.Features, f.String())
		}
	}
	i.Allowed = runtime.NumCPU() // respects the affinity mask, if there is one
	if i.Physical <= 0 {
		i.Physical = i.Logical
	}
	i.Cores = min(i.Physical, i.Allowed)
	i.system()
	return i
}

// Name names the processor.
func Name() string { return cpuid.CPU.BrandName }

// HasAVX2 reports whether the processor and the system support AVX2, FMA and
// half conversion.
func HasAVX2() bool { return cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.F16C) }

// HasAVX512 reports AVX-512 F, BW, DQ, VL and VNNI, and AVX2.
func HasAVX512() bool {
	return HasAVX2() && cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ,
		cpuid.AVX512VL, cpuid.AVX512VNNI)
}

// HasBF16 reports whether AVX-512 multiplies pairs of BF16.
func HasBF16() bool { return cpuid.CPU.Supports(cpuid.AVX512BF16) }

// Threads returns the number of threads that computes fastest: one for each
// physical core in the affinity mask, limited by the quota, at least one. A
// fractional quota is rounded to the nearest integer: an additional thread
// outweighs being throttled for part of each period if that part is at most half
// a thread (docs/decisions/0005-threads.md).
func (i *Info) Threads() int {
	n := i.Cores
	if i.Quota > 0 {
		n = min(n, int(math.Round(i.Quota)))
	}
	return max(1, n)
}

// String returns one line: name, cores, share and caches.
func (i *Info) String() string {
	s := fmt.Sprintf("%s (%s): %d cores, %d processors, %d allowed", i.Name, i.Arch, i.Physical, i.Logical, i.Allowed)
	if i.Quota > 0 {
		s += fmt.Sprintf(", quota %.2f", i.Quota)
	}
	return s + fmt.Sprintf("; L1 %d KiB, L2 %d KiB, L3 %d KiB", i.L1>>10, i.L2>>10, i.L3>>10)
}

// Threads is Detect().Threads().
func Threads() int {
	i := Detect()
	return i.Threads()
}
