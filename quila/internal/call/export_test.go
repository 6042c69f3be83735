package call

// What tests from outside see.

var ErrCall = errCall
