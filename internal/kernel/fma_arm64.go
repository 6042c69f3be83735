package kernel

// FMA returns a·b+c rounded once: on this architecture the compiler fuses the
// two. If c is itself a product after inlining, the conversion keeps the
// compiler from fusing that one instead.
func FMA(a, b, c float32) float32 { return a*b + float32(c) }
