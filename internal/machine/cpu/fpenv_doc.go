package cpu

// A FloatEnv is the value of the floating-point control register.
type FloatEnv uint64

// SameFloatEnv reports whether two environments compute alike, ignoring sticky exception
// flags.
func SameFloatEnv(a, b FloatEnv) bool { return (a^b)&^status == 0 }

// FlushDenormals makes this thread flush denormals to zero and returns the
// previous environment.
func FlushDenormals() (before FloatEnv) {
	before = GetFloatEnv()
	SetFloatEnv(before | FlushToZero)
	return before
}

// SetFloatEnv makes e this thread's environment.
func SetFloatEnv(e FloatEnv) { set(e) }

// GetFloatEnv returns this thread's environment.
func GetFloatEnv() FloatEnv { return get() }
