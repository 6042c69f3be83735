package network

// What tests from outside see.

type CodesError = codesError
