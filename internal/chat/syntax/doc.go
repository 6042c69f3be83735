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
package syntax
