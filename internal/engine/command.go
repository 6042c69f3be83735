package engine

// Commands that are advised.

import (
	"fmt"
	"path/filepath"
	"strings"

	"atenia/internal/memory/pack"
	"atenia/internal/sched"
	"atenia/internal/spelling"
	"atenia/tensor"
)

// usualSteps is the number of tokens of a step by default.
const usualSteps = 512

// FileFlags returns the flags of all commands that say how the model's files are read, each
// after a space. file is that of the configuration in a folder; "" = the usual one.
func (c *Config) FileFlags(file string) string {
	if file == "config.json" {
		file = ""
	}
	return flags([]flag{{"config-file", file}, {"gptq-zeros", c.GPTQZeros}})
}

// Flags returns the flags of "atenia run" that results, memory and speed follow from
// besides those and the budget.
func (c *Config) Flags() string {
	number := func(n, usual int) string {
		if n == usual {
			return ""
		}
		return fmt.Sprint(n)
	}
	draft, cache, speculate := c.Draft, "", ""
	if c.Early {
		if draft = EarlyLayers; c.EarlyLayers > 0 {
			draft = fmt.Sprintf("%s:%d", EarlyLayers, c.EarlyLayers)
		}
	}
	if c.Compile.KVType != tensor.Invalid {
		cache = strings.ToLower(c.Compile.KVType.String())
	}
	if c.Speculate != sched.SpeculateAuto {
		speculate = c.Speculate.String()
	}
	threads, packed, codec := "", "", c.Codec
	if c.AllThreads {
		threads = fmt.Sprint(c.Threads)
	}
	if c.Pack != pack.Auto {
		packed = c.Pack.String()
	}
	if codec == Codecs[0] {
		codec = ""
	}
	all := flags([]flag{{"kv-type", cache}, {"ctx", number(c.Context, 0)}, {"batch-tokens", number(c.BatchTokens, usualSteps)}, {"threads", threads},
		{"pack", packed}, {"codec", codec}, {"draft", draft}, {"speculate", speculate}, {"lora", c.Lora}, {"mmproj", c.Tower}})
	if c.Precise {
		all += " --precise"
	}
	if c.Compile.NoFuse {
		all += " --no-fuse"
	}
	return all
}

// A flag is the name of one, and its value.
type flag struct{ name, value string }

// flags writes those that have a value.
func flags(all []flag) string {
	var b strings.Builder
	for _, f := range all {
		if f.value != "" {
			fmt.Fprintf(&b, " --%s %s", f.name, spelling.Shell(f.value))
		}
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
