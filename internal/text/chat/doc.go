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
//
// # Object
//
// Package object has the values that chat templates compute with: those of
// Python, as far as text shows them.
//
//	value.go    the types          mapping.go  dict, keys that are equal
//	number.go   int and float      letter.go   str, character by character
//	compare.go  == is < in         iterate.go  iterators and generators
//	print.go    str() and repr()   json.go     values from JSON and from Go
//	args.go     calls              limits.go   limits
//
// A [Value] is never changed, but for a [Namespace]. What costs time or memory
// in proportion to a value is a method of a [Machine], which counts it and
// fails with a [RuntimeError] of [KindLimit] when a template wants too much.
//
// # Syntax
//
// Package syntax reads chat templates: source to a tree whose names, filters and
// tests are settled.
//
//	lexer.go                               source → tokens
//	parser.go, parseexpr.go, parsecall.go  tokens → tree (ast.go)
//	symbols.go                             which variable a name means
//	resolve.go                             tree → [Program]
//
// It follows jinja2.lexer, jinja2.parser, jinja2.idtracking and jinja2.compiler
// of Jinja 3.1 with trim_blocks, lstrip_blocks, loop controls and the block
// {% generation %}. What it refuses is an [Error] with line, column and the
// construct's name. Sizes and nesting are bounded, so that no source takes long.
//
// # Method
//
// Package method has what values can be asked for: attributes, items, slices,
// operators, and the methods of str, list, dict and the numbers, formatting
// included.
//
//	attr.go       x.name, x[key], x[a:b], behind the sandbox
//	operate.go    x + y …
//	strmethod.go  methods of str     methods.go  methods of other types
//	translate.go  str.translate      markup.go   methods of Markup
//	strformat.go  str.format         percent.go  str % args
//
// The sandbox is that of Jinja's ImmutableSandboxedEnvironment: names with a
// leading underscore and methods that change a list or dict give an undefined
// value whose use is an error of kind security.
//
// # Filter
//
// Package filter has the filters and tests of Jinja 3.1.
//
//	filters.go     the [Table] of filters and those left out
//	filternum.go   numbers            filtertext.go  text
//	filterseq.go   sequences          filterlazy.go  map, select and their kin
//	wrap.go        wordwrap           dumps.go       tojson
//	tests.go       the [Tests]
//
// Filters that are generators in Python are lazy here too: they fail when they
// are read, not before, and can be read once. The filter tojson is that of
// transformers: Python's json.dumps, with nothing escaped for HTML.
package chat
