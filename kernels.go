package atenia

import (
	"strings"

	"atenia/internal/kernel"
)

// UseKernels makes all models use the named implementation of the kernels, one
// of those this machine has: "portable", then for example "avx2" and "avx512".
// By default the last of them is used. Results stay the same to the last bit,
// only speed changes, so this is for measurements and for tests.
func UseKernels(variant string) error {
	if kernel.SetVariant(variant) == nil {
		return nil
	}
	return &ConfigError{"Kernels", variant, "one of those this machine has: " + strings.Join(kernel.Variants(), ", ")}
}
