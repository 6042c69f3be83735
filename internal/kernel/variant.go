package kernel

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// Here, since go generate reads no file for another architecture.
//go:generate go run -C ../../tools ./neon -family vector -out ../internal/kernel/zvector_arm64.s -stubs ../internal/kernel/zvector_arm64.go
//go:generate go run -C ../../tools ./neon -family packed -out ../internal/kernel/zpacked_arm64.s -stubs ../internal/kernel/zpacked_arm64.go
//go:generate go run -C ../../tools ./neon -family chain -out ../internal/kernel/zchain_arm64.s -stubs ../internal/kernel/zchain_arm64.go

// level is the index in variants of the implementation in use, by default the
// best. Only tests and the command line change it.
var level atomic.Int32

func init() { level.Store(int32(len(variants) - 1)) }

// Variants lists the implementations this machine can run, slowest first:
// "portable", then "avx2" and "avx512", or "neon" and "dotprod", where they are built in and
// supported.
func Variants() []string { return slices.Clone(variants) }

// Variant names the implementation in use, the last of [Variants] by default.
func Variant() string { return variants[level.Load()] }

// SetVariant selects the implementation of all products, for tests and for the
// command line. It changes speed, not results. Measured choices of another
// implementation are dropped.
func SetVariant(name string) error {
	i := slices.Index(variants, name)
	if i < 0 {
		return fmt.Errorf("kernel variant %q: this machine has %v", name, variants)
	}
	level.Store(int32(i))
	forgetChoices()
	return nil
}
