package kernel

// fma32 returns a·b+c rounded once: on this architecture the compiler fuses.
func fma32(a, b, c float32) float32 { return a*b + c }
