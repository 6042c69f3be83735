package engine

// Commands that are advised.

import (
	"fmt"
	"path/filepath"
	"strings"

	"atenia/internal/memory/pack"
	"atenia/internal/spelling"
	"atenia/tensor"
)

// usualSteps is the number of tokens of a step by default.
const usualSteps = 512

// Flags returns the flags of "atenia run" that memory and speed follow from besides the
// budget, each after a space. file is that of the configuration in a folder; "" = the usual
// one.
func (c *Config) Flags(file string) string {
	var b strings.Builder
	add := func(name, value string) { fmt.Fprintf(&b, " --%s %s", name, spelling.Shell(value)) }
	if file != "" && file != "config.json" {
		add("config-file", file)
	}
	if c.GPTQZeros != "" {
		add("gptq-zeros", c.GPTQZeros)
	}
	if c.Compile.KVType != tensor.Invalid {
		add("kv-type", strings.ToLower(c.Compile.KVType.String()))
	}
	if c.Context > 0 {
		add("ctx", fmt.Sprint(c.Context))
	}
	if c.BatchTokens != usualSteps {
		add("batch-tokens", fmt.Sprint(c.BatchTokens))
	}
	if c.Pack != pack.Auto {
		add("pack", c.Pack.String())
	}
	switch {
	case c.Draft != "":
		add("draft", c.Draft)
	case c.Early && c.EarlyLayers > 0:
		add("draft", fmt.Sprintf("%s:%d", EarlyLayers, c.EarlyLayers))
	case c.Early:
		add("draft", EarlyLayers)
	}
	return b.String()
}

// beside returns the path of a file that is made of a model's: it has the name of the file or
// the folder, and lies where that does.
func beside(path, ending string) string {
	path = filepath.Clean(path)
	if base := filepath.Base(path); base == "." || base == ".." {
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
	}
	return strings.TrimSuffix(path, ".gguf") + ending
}
