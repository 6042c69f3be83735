// Package complete, with two adapters in each other's place.
package complete

var (
	norm      NormAdapter
	attention AttentionAdapter
)

var table = NewAdapterTable(
	attention,
	norm,
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
