//go:build !amd64 || noasm

package dsp

// Without assembly each function returns that it processed no frames.

func scale32(_, _ []float32, _ float32) int         { return 0 }
func bindScale32(_, _ []float32, _ *float32) func() { return nil }

func mul32(_, _, _ []float32) int               { return 0 }
func add32(_, _, _ []float32) int               { return 0 }
func addScaled32(_, _ []float32, _ float32) int { return 0 }
func addMul32(_, _, _ []float32) int            { return 0 }
func correlate32(_, _, _ []float32) int         { return 0 }

func addCorrelation32(_ []float64, _, _ []float32) int { return 0 }

func peak32(_ []float32) (int, float32) { return 0, 0 }
func finite32(_ []float32) (int, bool)  { return 0, true }

// These return how many frames are left at the start.
func addDot32(_ *Lanes, a, _ []float32) int { return len(a) }
func addSum32(_ *Lanes, x []float32) int    { return len(x) }

func dot32(a, b []float32) float32 { return dotGeneric(a, b) }

func forward32(_ *group[float32], _, _ *pointers[float32], _, _ int) int { return 0 }

// backwardFrames32 returns how many of n frames backward32 processes.
func backwardFrames32(int) int { return 0 }

func backward32(_ *group[float32], _ *[4]pointers[float32], _ bool, _, _, _ int) {}

func flush32(*group[float32]) bool { return false }

func assembled(_ *stage[float32], _, _, _, _ []float32) bool { return false }

func pairs2rows32(_, _, _ []float32) int            { return 0 }
func rows2pairs32(_, _, _ []float32, _ float32) int { return 0 }
func unpack32(_, _, _, _ []float32, _ int) int      { return 0 }
func pack32(_, _, _, _, _, _ []float32, _ int) int  { return 0 }
