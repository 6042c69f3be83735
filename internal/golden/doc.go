// Package golden finds and reads reference cases for tests.
//
// A family of cases is one folder; each case is a file or folder in it.
// Cases come from the compact copy under testdata/golden at the root of the
// repository or, when ATENIA_GOLDEN names a directory, from there, in the same
// form. Only tests import this package; it is the one place that reads that
// variable.
//
//	dir := golden.Family(t, "parity")       // folder, or skip, or fail
//	for _, c := range golden.Dirs(t, dir) { // its cases
//		t.Run(c, func(t *testing.T) { … })
//	}
package golden
