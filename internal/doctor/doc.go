// Package doctor examines whether a machine computes well: which kernels it
// uses, how fast memory and arithmetic are, and whether the embedded model gives
// the same logits through different kernels.
package doctor
