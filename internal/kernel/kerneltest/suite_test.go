package kerneltest_test

import (
	"testing"

	"atenia/internal/kernel/kerneltest"
)

func TestKernels(t *testing.T) { kerneltest.Run(t) }

func FuzzProducts(f *testing.F)  { kerneltest.FuzzProducts(f) }
func FuzzFloats(f *testing.F)    { kerneltest.FuzzFloats(f) }
func FuzzVectors(f *testing.F)   { kerneltest.FuzzVectors(f) }
func FuzzAttention(f *testing.F) { kerneltest.FuzzAttention(f) }
func FuzzPairs(f *testing.F)     { kerneltest.FuzzPairs(f) }

func BenchmarkKernels(b *testing.B) { kerneltest.Bench(b) }
