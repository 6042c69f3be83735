package kerneltest_test

import (
	"testing"

	"atenia/internal/kernel/kerneltest"
)

func TestKernels(t *testing.T) { kerneltest.Run(t) }

func BenchmarkKernels(b *testing.B) { kerneltest.Bench(b) }
