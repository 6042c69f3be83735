package kerneltest

import (
	"fmt"
	"os"
	"testing"

	"atenia/internal/kernel"
)

// envVar is the environment variable that forces a variant on the tests of a
// package whose TestMain is [Main].
const envVar = "ATENIA_KERNEL"

// Main runs a package's tests under the variant named by [envVar], or under the
// best one. The test cache does not record that the variable is read here;
// [Forced] reads it again where it does.
func Main(m *testing.M) {
	if v := os.Getenv(envVar); v != "" {
		if err := kernel.SetVariant(v); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", envVar, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}

// variants returns the variants to test: the forced one, or all but the portable
// one, with which they are compared.
func variants() []string {
	all := kernel.Variants()
	if v := os.Getenv(envVar); v != "" {
		all = []string{"portable", v}
	}
	if all[len(all)-1] == "portable" {
		return nil
	}
	return all[1:]
}

// Forced checks that tests run under the requested variant.
func Forced(t *testing.T) {
	if v := os.Getenv(envVar); v != "" && v != kernel.Variant() {
		t.Errorf("%s is %s, but %s kernels are in use", envVar, v, kernel.Variant())
	}
}
