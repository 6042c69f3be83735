// The Work behind the one that package grad shows its users.

package dense

// inner returns the *Work[F] inside a *grad.Work[F]. Package grad sets it: its
// users cannot name this package, and this package cannot import that one.
var inner func(any) any

// SetOf sets how [Of] looks inside a *grad.Work.
func SetOf(f func(any) any) { inner = f }

// Of returns the Work inside a *grad.Work[F], which offers matrix products only.
func Of[F Float](w any) *Work[F] { return inner(w).(*Work[F]) }
