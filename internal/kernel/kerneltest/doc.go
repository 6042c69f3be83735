// Package kerneltest is the test suite of the kernels: it runs every function
// of package kernel under every variant the machine has and compares the
// results, bit for bit, with the portable variant, and in value with plain
// float64 arithmetic.
//
//	func TestKernels(t *testing.T) { kerneltest.Run(t) }
//
// Its benchmarks are named by use, matmul/decode/2048x5632/q8_0, and report
// the share of a roofline measured in the same process.
package kerneltest
