// Package complete says something about every opcode.
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
	nil,
)
