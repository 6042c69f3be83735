// Package chat renders chat templates: the Jinja programs inside model files
// that turn a conversation into the text of a prompt.
//
// A template is parsed once and rendered for each conversation:
//
//	Parse:  source ─ syntax.Parse ─▶ tree ─ syntax.Resolve ─▶ Template
//	Render: Context ─ interp: exec.go, eval.go ─▶ Result | RaiseError | RuntimeError
//
//	chat ─▶ syntax   what templates say: lexer, parser, scopes
//	     ─▶ filter   their filters and tests
//	     ─▶ method   attributes, operators, methods of values
//	     ─▶ object   the values: Python's, as far as text shows them
//
// The language is that of the environment that Hugging Face transformers
// renders with: Jinja 3.1, sandboxed and immutable, with trim_blocks,
// lstrip_blocks, break and continue, {% generation %}, raise_exception,
// strftime_now, and a tojson that is Python's json.dumps. Values behave and
// print as Python's do, so [Map] keeps the order of its keys and integers are
// told from floats; [DecodeJSON] reads such values.
//
//	tags     if for (else, recursive, filter) set (also blocks) macro call filter
//	         with block (scoped, self) raw print generation break continue
//	         autoescape false
//	filters  all of Jinja's (package filter) but random, urlize and pprint
//	tests    all of Jinja's (package filter)
//	methods  of str, list, tuple, dict, range, int and float (package method)
//	globals  range dict namespace cycler joiner raise_exception strftime_now
//
// The tags include, import, from and extends, which need other templates, are
// refused by name with line and column, and so is whatever else is unknown.
// Four things differ from Python on purpose: integers have at most 65,536
// bits, lone surrogates become U+FFFD, what Python prints with a memory address
// prints without, and there are neither bytes nor complex numbers. The tables
// of testdata/jinja have Jinja's own answers about everything else; TestJinja
// lists the few templates that are answered otherwise, with reasons.
//
// Variables follow Jinja's compile-time scoping, not a search at run time:
// see syntax/symbols.go. A template is code from a stranger; [Limits] bound its work,
// memory, output and recursion, and it can reach nothing but its arguments.
package chat
