package library

// A Frame is a call of a C function with up to six integer and pointer arguments, prepared once and made many times.
// What the arguments point to must be kept alive by the caller.
type Frame struct {
	Fn     uintptr
	Args   [6]uintptr
	Result uintptr
}
