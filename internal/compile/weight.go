package compile

import "atenia/internal/compile/recipe"

// How weights are made; see package recipe.
type (
	// A Weight is the recipe for one weight of a plan from tensors of a file.
	Weight = recipe.Weight
	// A Transform is one step from a file's tensor to a weight.
	Transform = recipe.Transform
)

// The transforms.
const (
	SliceRows    = recipe.SliceRows
	PermuteHeads = recipe.PermuteHeads
	AddConst     = recipe.AddConst
	Reshape      = recipe.Reshape
)
