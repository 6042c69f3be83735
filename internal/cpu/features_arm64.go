package cpu

import "github.com/klauspost/cpuid/v2"

// HasDotProd reports SDOT, for bytes.
func HasDotProd() bool { return cpuid.CPU.Supports(cpuid.ASIMDDP) }
