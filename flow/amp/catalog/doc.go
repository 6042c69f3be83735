// Package catalog adds libraries of C nodes to the shipped types: it scans for
// them, and runs each in this process or in a child, by trust.
//
//	trusted libraries      in this process       a call costs 40 ns; a crash ends the program
//	all others             a separate process    a call costs a few µs; a crash costs a few blocks
//
//	c, err := catalog.Open(ctx, catalog.Config{…})
//	session, err := flow.New[float32](plan, flow.Options{Catalog: append(shipped.Types(), c.Types()...)})
//
// Nothing is loaded or started before the first node of a library is made:
// plans are linked by manifests alone. A library that requests isolation gets a
// process, trusted or not.
package catalog
