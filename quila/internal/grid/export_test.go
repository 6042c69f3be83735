package grid

// What tests from outside see.

type CreditSizeError = creditSizeError
type Error = gridError

var ErrGrid = errGrid
