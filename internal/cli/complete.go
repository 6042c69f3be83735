package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"atenia"
	"atenia/internal/bench/machine"
	"atenia/internal/cli/quila"
	"atenia/place"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completeArguments sets the completions of every command and flag below c.
// Numeric flags, and those of the table that take any text, have none; a flag
// that is not in the table completes to files. It is for a shell that asks: the library
// keeps the completions of flags, and all commands with them, as long as the process.
func completeArguments(c *cobra.Command, table map[string]cobra.CompletionFunc) {
	for _, sub := range c.Commands() {
		if sub.ValidArgsFunction == nil {
			sub.ValidArgsFunction = argumentsOf(sub.Use)
		}
		path := strings.TrimPrefix(sub.CommandPath(), "atenia ")
		sub.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { completeFlag(sub, f, path, table) })
		sub.PersistentFlags().VisitAll(func(f *pflag.Flag) { completeFlag(sub, f, path, table) })
		completeArguments(sub, table)
	}
}

func completeFlag(c *cobra.Command, f *pflag.Flag, path string, table map[string]cobra.CompletionFunc) {
	complete, ok := table[path+" --"+f.Name]
	if !ok {
		complete, ok = table["--"+f.Name]
	}
	switch f.Value.Type() {
	case "bool":
		return
	case "int", "int64", "uint64", "float32", "float64", "duration", "intSlice", "float64Slice":
		if !ok {
			complete, ok = cobra.NoFileCompletions, true
		}
	}
	if ok {
		_ = c.RegisterFlagCompletionFunc(f.Name, complete) // fails for a flag of two commands, which has it already
	}
}

// flagValues maps flags to completions. A key with a command applies to its
// flag alone, one without to all flags of that name.
func flagValues() map[string]cobra.CompletionFunc {
	var mixes, stages, policies []string
	for _, m := range atenia.Mixes() {
		mixes = append(mixes, m.String())
	}
	for _, s := range atenia.DefaultOrder() {
		stages = append(stages, s.String())
	}
	for _, p := range atenia.ReplayPolicies() {
		policies = append(policies, p[0])
	}
	free, files, folders := cobra.CompletionFunc(cobra.NoFileCompletions), anyFile, cobra.CompletionFunc(folder)
	t := map[string]cobra.CompletionFunc{
		"--against":           model,
		"--backend":           among("cpu", "graph", "graph,cpu"),
		"--bits":              among("8", "16", "24", "32", "64"),
		"--budget":            parts("ram=", "vram=", "ssd=", "kv=", "act=", "runtime="),
		"--config-file":       extension("json"),
		"--diff":              model,
		"--format":            parts(machine.Formats()...),
		"transcribe --format": among("times", "text", "srt", "vtt"),
		"--language":          free,
		"transcribe --prompt": free,
		"--gpu":               among("auto", "true", "false"),
		"--gptq-zeros":        among("v1", "v2"),
		"--gpu-available":     among("true", "false"),
		"--kv-type":           among("f32", "f16", "q8_0"),
		"--loss":              among("sum", "energy", "mse"),
		"--max-tier":          among("vram", "ram", "ssd"),
		"--mode":              among("prefill", "decode"),
		"--model":             among("llama", "mag"),
		"--pack":              among("auto", "off", "memory", "disk"),
		"--codec":             among("auto", "off", "planehuff", "planezstd"),
		"--pooling":           among("mean", "cls", "last", "none"),
		"--pattern":           among("llama3", "gpt2"),
		"--plan":              extension("json"),
		"--profile":           among(quila.Profiles()...),
		"--probe":             among("model", "none"),
		"--ram-band":          among("0", "1", "2", "3"),
		"--require":           among("gpu"),
		"--reserve":           parts("kv=", "act=", "runtime="),
		"--samplers":          parts(stages...),
		"--scan":              among("sinks", "off", "all"),
		"--speculate":         among("auto", "lookup", "draft", "off"),
		"--draft":             model,
		"--type":              among(mixes...),
		"--vram-band":         among("0", "1", "2", "3"),

		"finetune --lora":        parts("r=", "alpha=", "dropout=", "rslora", "targets="),
		"flow bench --only":      parts("chains", "backward", "deadlines", "oscillator"),
		"flow grad --npy":        folders,
		"flow run --change":      free,
		"flow run --fade":        free,
		"flow run --events":      files,
		"flow run --events-out":  files,
		"flow run --midi":        extension("mid", "midi"),
		"flow run --midi-in":     files,
		"flow run --policy":      among("stop", "mute", "bypass"),
		"flow run --save-state":  free,
		"flow play --events":     files,
		"flow play --events-out": files,
		"flow play --midi":       extension("mid", "midi"),
		"flow play --midi-in":    files,
		"flow play --record":     files,
		"flow play --resume":     files,
		"flow play --snapshot":   files,
		"flow play --policy":     among("stop", "mute", "bypass"),
		"serve --alias":          free, "verify --request": extension("json"),
		"verify --endpoint":      among("/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat", "/v1/completions", "/completion"),
		"hw --probe":             among("none", "quick", "full"),
		"replay --policy":        among(policies...),
		"finetune --out":         folders,
		"train --out":            folders,
		"bench kernels --only":   free,
		"bench serve --api-key":  free,
		"bench serve --model":    free,
		"serve --host":           free,
		"serve --api-key":        free,
		"serve --api-key-file":   files,
		"serve --allow-host":     free,
		"serve --cors":           free,
		"serve --max-body":       free,
		"serve --cache-size":     free,
		"serve --config":         extension("toml"),
		"eval --text":            files,
		"imatrix --text":         files,
		"serve --adapter":        free,
		"serve --adapter-dir":    folders,
		"serve --cache-dir":      folders,
		"serve --cache-disk":     free,
		"serve --slot-save-path": folders,
		"serve --store":          folders,
		"serve --mcp-approve":    parts("request", "always", "never"),
		"serve --mcp-result":     free,
		"plan --adapter":         free,

		"--config":             extension("json"),
		"--schema":             extension("json"),
		"--grammar":            extension("gbnf"),
		"--image":              extension("png", "jpg", "jpeg", "gif", "webp"),
		"--video":              extension("gif"),
		"--mcp":                extension("json"),
		"--mmproj":             extension("gguf"),
		"--link":               among("nvlink", "pcie"),
		"quila coders --out":   extension("sxlm"),
		"quila train --out":    extension("sxlm"),
		"quila train --stages": among("b", "c"),
		"quila train --with":   parts("gru", "gru320", "gru+reader", "transformer", "counts"),
	}
	for _, name := range []string{"cache", "cases", "cache-dir", "checkpoint", "dir", "keep", "lora", "nodes", "trust"} {
		t["--"+name] = folders
	}
	for _, name := range []string{"check", "choices", "compare", "decisions", "file", "in", "learning", "log", "markdown", "memory", "out", "outputs", "prometheus", "eval", "imatrix", "target", "timeline", "trace", "vs", "wav", "lineage"} {
		t["--"+name] = files
	}
	for _, name := range []string{"bos", "devices", "dry-breaker", "flops", "logit-bias", "metrics", "offload", "param", "pin", "prompt-name", "quota", "ram", "ram-rate", "section", "set", "special", "ssd-rate", "stop", "system", "text", "tokens", "vram", "why"} {
		t["--"+name] = free
	}
	return t
}

// among completes to one of a few words.
func among(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		var all []string
		for _, w := range words {
			if strings.HasPrefix(w, typed) {
				all = append(all, w)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

// parts completes the last part of a list with commas.
func parts(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		done := typed[:1+strings.LastIndexByte(typed, ',')]
		var all []string
		for _, w := range words {
			if s := done + w; strings.HasPrefix(s, typed) && !slices.Contains(strings.Split(done, ","), w) {
				all = append(all, s)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// extension completes to files whose names end with one of the given words, and
// to the folders on the way to them.
func extension(ext ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(ext, cobra.ShellCompDirectiveFilterFileExt)
}

func folder(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func anyFile(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// model completes to the embedded model, model files, and folders. If the typed
// text is not a prefix of the embedded model's name, the shell completes paths,
// because it knows its own quoting and "~".
func model(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	kinds := []string{"gguf", "safetensors"}
	if !strings.HasPrefix(place.Embedded, typed) {
		return kinds, cobra.ShellCompDirectiveFilterFileExt
	}
	all := []string{cobra.CompletionWithDesc(place.Embedded, "the embedded model")}
	directive := cobra.ShellCompDirectiveNoFileComp
	here, _ := os.ReadDir(".") // without one there is nothing to offer
	for _, e := range here {
		switch name := e.Name(); {
		case strings.HasPrefix(name, ".") || !strings.HasPrefix(name, typed):
		case e.IsDir():
			all, directive = append(all, name+"/"), directive|cobra.ShellCompDirectiveNoSpace
		case slices.Contains(kinds, strings.TrimPrefix(strings.ToLower(filepath.Ext(name)), ".")):
			all = append(all, name)
		}
	}
	return all, directive
}

// argumentsOf completes arguments by their names in a command's line of use.
func argumentsOf(use string) cobra.CompletionFunc {
	of := map[string]cobra.CompletionFunc{
		"MODEL": model, "IN": model, "FILE": model,
		"OUT": extension("gguf"), "GRAPH": extension("json"), "LOG": extension("jsonl"), "CONFIG.toml": extension("toml"), "SCHEMA": extension("json"),
		"DIR": folder, "OTHER": folder, "DATA": anyFile, "FILE...": anyFile,
	}
	var kinds []cobra.CompletionFunc
	for _, word := range strings.Fields(use)[1:] {
		if strings.HasPrefix(word, "-") {
			break
		}
		word = strings.Trim(word, "[]")
		complete, ok := of[word]
		if !ok {
			complete = of[strings.NewReplacer("...", "", "]", "").Replace(word)]
		}
		if complete == nil {
			complete = cobra.NoFileCompletions
		}
		kinds = append(kinds, complete)
		if strings.HasSuffix(word, "...") {
			for range 32 { // more files of one command are not completed
				kinds = append(kinds, complete)
			}
		}
	}
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(kinds) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return kinds[len(args)](c, args, typed)
	}
}

// commandNames completes "help" to the commands below those that are given.
func commandNames(root *cobra.Command) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		c, rest, err := root.Find(args)
		var all []string
		if err == nil && len(rest) == 0 {
			for _, sub := range c.Commands() {
				if !sub.Hidden && strings.HasPrefix(sub.Name(), typed) {
					all = append(all, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}
