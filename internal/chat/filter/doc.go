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
package filter
