package engine

// Commands that are advised.

import (
	"fmt"
	"path/filepath"
	"slices"
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
	return text(c.fileFlags(file))
}

func (c *Config) fileFlags(file string) []Flag {
	return []Flag{{Name: "config-file", Value: file}, {Name: "gptq-zeros", Value: c.GPTQZeros}}
}

// Flags returns the flags of "atenia run", or of "atenia embed", that results, memory and
// speed follow from besides those and the budget.
func (c *Config) Flags() string { return text(c.flags()) }

// RunFlags returns all flags of "atenia run" that a command repeats which is advised after
// a run: those of [Config.FileFlags] and [Config.Flags], and those that say where weights
// come from, are checked and kept. The budget is not among them, which may be changed.
func (c *Config) RunFlags(file string) []Flag {
	if file == "config.json" {
		file = ""
	}
	all := append(append(c.fileFlags(file), c.flags()...), Flag{Name: "plan", Value: c.PlacementFile, Path: true}, Flag{Name: "checkpoint", Value: c.Checkpoint, Path: true})
	for _, pin := range c.Rules.Pins {
		all = append(all, Flag{Name: "pin", Value: pin})
	}
	all = append(all, Flag{Name: "offload", Value: c.Rules.Offload.String()})
	for _, s := range []struct {
		name string
		on   bool
	}{{"no-ssd-last-resort", c.noSSD()}, {"no-stream", c.NoStream}, {"no-mmap", c.NoMap}, {"verify", c.Verify}, {"pack-verify", c.PackVerify}, {"strict", c.Strict}} {
		all = append(all, Flag{Name: s.name, Switch: s.on})
	}
	return slices.DeleteFunc(all, Flag.unset)
}

func (c *Config) flags() []Flag {
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
	return []Flag{
		{Name: "kv-type", Value: cache}, {Name: "ctx", Value: number(c.Context, 0)}, {Name: "batch-tokens", Value: number(c.BatchTokens, usualSteps)}, {Name: "threads", Value: threads},
		{Name: "pack", Value: packed}, {Name: "codec", Value: codec}, {Name: "draft", Value: draft, Path: !c.Early}, {Name: "speculate", Value: speculate},
		{Name: "pooling", Value: c.Compile.Pool}, {Name: "lora", Value: c.Lora, Path: true}, {Name: "mmproj", Value: c.Tower, Path: true}, {Name: "precise", Switch: c.Precise}, {Name: "no-fuse", Switch: c.Compile.NoFuse},
	}
}

// Verb names the command that computes with the model: run, embed, rerank or transcribe.
func (p *Plan) Verb() string {
	c := &p.Model.Config
	switch e := c.Encoder; {
	case e != nil && e.Labels > 0 && e.Pool != "none":
		return "rerank"
	case e != nil:
		return "embed"
	case c.Audio != nil:
		return "transcribe"
	}
	return "run"
}

// A Flag is one of "atenia run", with a value or a switch.
type Flag struct {
	Name, Value string
	Switch      bool // it is on, and has no value
	Path        bool // the value is that of a file or folder
}

// String returns the flag as it is typed, quoted for a shell.
func (f Flag) String() string { return spelling.Flag(f.Name, f.Value, f.Switch) }

// unset reports whether a flag has no value and is no switch that is on.
func (f Flag) unset() bool { return f.Value == "" && !f.Switch }

// text writes those that are set, each after a space.
func text(all []Flag) string {
	var b strings.Builder
	for _, f := range all {
		if !f.unset() {
			b.WriteString(" " + f.String())
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
