package cpu

import (
	"fmt"
	"math"
	"runtime"

	"github.com/klauspost/cpuid/v2"
)

// Info describes the processor and this process's share of it.
type Info struct {
	Name     string
	Arch     string   // as in GOARCH
	Features []string // instruction sets the kernels care about, "AVX2"

	AVX2, AVX512 bool // all that the kernels of that name need

	Logical  int // processors the system has
	Physical int // cores the system has
	Allowed  int // processors this process may run on (affinity mask)
	Cores    int // physical cores among those

	Quota float64 // processors' worth of time allowed, 0 without a limit

	L1, L2, L3 int // data cache bytes of one core, one core, all that share; 0 if unknown
}

// features are those listed in Info.Features.
var features = []cpuid.FeatureID{
	cpuid.SSE42, cpuid.AVX, cpuid.AVX2, cpuid.FMA3, cpuid.F16C,
	cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX512VNNI,
	cpuid.AVX512VBMI, cpuid.AVX512BF16, cpuid.AVX512FP16, cpuid.AVXVNNI, cpuid.AMXINT8,
	cpuid.ASIMD, cpuid.ASIMDDP,
}

// Detect looks at the machine. It reads a few files and takes well under a
// millisecond; callers keep the result.
func Detect() Info {
	c := &cpuid.CPU
	i := Info{
		Name:     c.BrandName,
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
	i.Allowed = runtime.NumCPU() // counts the affinity mask where there is one
	if i.Physical <= 0 {
		i.Physical = i.Logical
	}
	i.Cores = min(i.Physical, i.Allowed)
	i.system()
	return i
}

// HasAVX2 reports whether the processor and the system support AVX2, FMA and
// half conversion.
func HasAVX2() bool { return cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.F16C) }

// HasAVX512 reports AVX-512 F, BW, DQ, VL and VNNI, and AVX2.
func HasAVX512() bool {
	return HasAVX2() && cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ,
		cpuid.AVX512VL, cpuid.AVX512VNNI)
}

// Threads returns how many threads compute fastest: one for each physical core
// the process may run on, no more than the quota pays for, at least one. Where
// the quota is no whole number the nearest one counts: one thread more makes
// up for being stopped in a part of each period if that part is at most half
// of a thread (docs/decisions/0005-threads.md).
func (i *Info) Threads() int {
	n := i.Cores
	if i.Quota > 0 {
		n = min(n, int(math.Round(i.Quota)))
	}
	return max(1, n)
}

// String prints one line: name, cores, share and caches.
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
