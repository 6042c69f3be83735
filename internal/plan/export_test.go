package plan

// What tests from outside see.

type SyntaxError = syntaxError
