// Package chat renders chat templates: the Jinja programs inside model files
// that turn a conversation into the text of a prompt.
//
// [Parse] reads a template once; [Template.Render] renders it for each
// conversation, a [Context]:
//
//	Parse:   source ─ lexer, parser ─▶ tree ─ Resolve ─▶ Template
//	Render:  Context ─ interp ─▶ Result | RaiseError | RuntimeError
//
// The language is that of the environment that Hugging Face transformers
// renders with: Jinja 3.1, sandboxed and immutable, with trim_blocks,
// lstrip_blocks, break and continue, {% generation %}, raise_exception,
// strftime_now, and a tojson that is Python's json.dumps with nothing escaped
// for HTML.
//
//	tags     if for (else, recursive, filter) set (also blocks) macro call filter
//	         with block (scoped, self) raw print generation break continue
//	         autoescape false
//	filters  all of Jinja's but random, urlize and pprint
//	tests    all of Jinja's
//	methods  of str, bytes, list, tuple, dict, range, int and float
//	globals  range dict namespace cycler joiner raise_exception strftime_now
//
// The tags include, import, from and extends, which need other templates, are
// rejected by name with line and column, as are unknown names. Four differences
// from Python are intended: integers have at most 65,536 bits, lone surrogates
// become U+FFFD, representations omit memory addresses, and there are no complex
// numbers. Of bytes, which encode and to_bytes return, there are the operators,
// decode and hex; their other methods are rejected by name. The tables of testdata/jinja hold Jinja's own
// answers about everything else; TestJinja lists the few templates whose results
// differ, with reasons.
//
// # Reading
//
// The parser follows jinja2.lexer, jinja2.parser, jinja2.idtracking and
// jinja2.compiler. Variables follow Jinja's compile-time scoping, not a search
// at run time (symbols.go). An invalid template is a [SyntaxError] with line,
// column and the construct's name. Sizes and nesting are bounded, so that parsing
// takes linear time and bounded memory.
//
// # Values
//
// A [Value] behaves and prints as in Python: a [Map] keeps the order of its
// keys, and integers are distinct from floats; [DecodeJSON] reads such values. A
// Value is immutable, except for a [namespace].
//
// A template is untrusted code. It can reach nothing but its arguments, and
// [Limits] bound its work, memory, output and recursion: an operation whose cost
// grows with a value is a method of a [Machine], or takes one, which counts the
// cost and fails with a [RuntimeError] of [kindLimit]. The sandbox is that of
// Jinja's ImmutableSandboxedEnvironment: names with a leading underscore and
// methods that change a list or dict give an undefined value whose use is an
// error of kind security.
//
// Filters that are generators in Python are lazy here, too: they fail when they
// are read, not before, and can be read once.
//
// # Where to look
//
//	lexer.go                               source → tokens
//	parser.go, parseexpr.go, parsecall.go  tokens → tree (ast.go)
//	symbols.go, resolve.go                 names → variables; tree → [program]
//	exec.go, eval.go, loop.go              statements and expressions
//	value.go, mapping.go                   values; dict and equal keys
//	number.go, letter.go                   int and float; str by character
//	compare.go, iterate.go                 == is < in; iterators and generators
//	print.go, json.go                      str() and repr(); JSON and Go values
//	args.go, limits.go                     arguments of calls; limits
//	attr.go, operate.go                    x.name x[key] x[a:b], sandboxed; x + y
//	strmethod.go, methods.go               methods of str; of other types
//	translate.go, markup.go                str.translate; methods of Markup
//	strformat.go, percent.go               str.format; str % args
//	filters.go, tests.go                   the tables of filters and of tests
//	filternum.go, filtertext.go            filters of numbers; of text
//	filterseq.go, filterlazy.go            of sequences; map, select, reject
//	wrap.go, dumps.go                      wordwrap; tojson
//	trace.go, control.go                   what the template wrote; control tokens
package chat
