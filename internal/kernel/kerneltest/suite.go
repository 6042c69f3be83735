package kerneltest

import "testing"

// Run checks every function of package kernel, under every variant.
func Run(t *testing.T) {
	t.Run("products", Products)
	Variants(t, func(t *testing.T) {
		t.Run("products", Products)
	})
}
