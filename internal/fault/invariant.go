package fault

// Invariant costs users nothing: built with -tags invariants, checks run and a violation
// panics; otherwise [Invariants] is the constant false and the compiler removes them.
//
//	fault.Invariant(refs > 0, "page released twice")
//	if fault.Invariants {
//		poison(page) // more than a condition
//	}
//
// It panics with a *[Violation] if checks are on and ok is false.
func Invariant(ok bool, msg string) {
	if Invariants && !ok {
		panic(&Violation{Msg: msg})
	}
}

// A Violation is what [Invariant] panics with.
type Violation struct{ Msg string }

func (v *Violation) Error() string { return "invariant violated: " + v.Msg }
