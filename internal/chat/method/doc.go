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
package method
