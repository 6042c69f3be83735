package speech

// What tests from outside see.

var NewRunner = newRunner
