// Package invariant checks invariants at no cost to users. Built with -tags
// invariants the checks run and a violation panics; otherwise [Enabled] is the
// constant false and the compiler removes them.
//
//	invariant.Check(refs > 0, "page released twice")
//	if invariant.Enabled {
//		poison(page) // more than a condition
//	}
package invariant

// Check panics with a *[Violation] if checks are on and ok is false.
func Check(ok bool, msg string) {
	if Enabled && !ok {
		panic(&Violation{Msg: msg})
	}
}

// A Violation is what [Check] panics with.
type Violation struct{ Msg string }

func (v *Violation) Error() string { return "invariant violated: " + v.Msg }
