package exact

// FMA returns a·b+c rounded once: on this architecture the compiler fuses.
// The conversion keeps it from fusing a product that c is, inlined, instead.
func FMA(a, b, c float32) float32 { return a*b + float32(c) }
