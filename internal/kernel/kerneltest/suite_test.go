package kerneltest_test

import (
	"flag"
	"testing"

	"atenia/internal/kernel"
	"atenia/internal/kernel/kerneltest"
)

func TestKernels(t *testing.T) { kerneltest.Run(t) }

func FuzzProducts(f *testing.F)  { kerneltest.FuzzProducts(f) }
func FuzzVectors(f *testing.F)   { kerneltest.FuzzVectors(f) }
func FuzzAttention(f *testing.F) { kerneltest.FuzzAttention(f) }

var variant = flag.String("variant", kernel.Variant(), "what BenchmarkKernels measures")

func BenchmarkKernels(b *testing.B) {
	if err := kernel.SetVariant(*variant); err != nil {
		b.Fatal(err)
	}
	kerneltest.Bench(b)
}
