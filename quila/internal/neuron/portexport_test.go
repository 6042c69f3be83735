package neuron

// What tests from outside see.

type InputError = inputError

var ErrInput = errInput
