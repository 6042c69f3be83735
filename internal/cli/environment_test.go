package cli

import (
	"bytes"
	"strings"
	"testing"

	"atenia/internal/cli/command"
	"atenia/internal/kernel"
)

// TestKernelVariable: commands run with the kernels that the environment names.
func TestKernelVariable(t *testing.T) {
	defer func(v string) { _ = kernel.SetVariant(v) }(kernel.Variant())
	t.Setenv(kernelVar, "portable")
	cliCall(t, "tokenize", "--text", "a")
	if v := kernel.Variant(); v != "portable" {
		t.Errorf("%s kernels are in use", v)
	}
	t.Setenv(kernelVar, "abacus")
	var out, errw bytes.Buffer
	code := Main([]string{"tokenize", "--text", "a"}, strings.NewReader(""), &out, &errw)
	if want := "ATENIA_KERNEL: config: Kernels is \"abacus\", want one of those this machine has: portable"; code != command.BadUsage || !strings.Contains(errw.String(), want) {
		t.Errorf("exit %d: %s", code, &errw)
	}
}
