// Package complete, one adapter short.
package complete

func unsupported(*Bind) (Kernel, error) { return nil, nil }

var table = NewAdapterTable(
	unsupported,
	nil,
	nil,
	nil,
	nil,
	nil,
	nil,
	nil,
	nil,
	nil,
	nil,
	nil,
	nil,
	nil,
	nil,
	nil,
	nil,
	nil,
	nil,
	nil,
)
