package atenia_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"atenia"
)

const gib = 1 << 30

// planted returns a run of 10 steps of 100 ms each on two threads, which nothing
// bounds that was measured, with changes.
func planted(change func(r *atenia.LastRun)) *atenia.LastRun {
	r := &atenia.LastRun{Model: "m.gguf", Form: "packed", Threads: 2, Decode: atenia.StepTotals{Steps: 10, Tokens: 10, Seconds: 1}}
	r.RunCost = atenia.RunCost{
		Computing: 0.1, Told: true, WeightBytes: 1 * gib, Operations: 1e9, WeightType: "F16", WeightBits: 16,
		CacheBytes: 32 << 20, Cores: 2, Need: 2 * gib, Room: 20 * gib,
	}
	change(r)
	return r
}

// waits lets a token wait for a part of its time, and others have a part of that.
func waits(r *atenia.LastRun, part, neighbours float64) {
	r.Waiting, r.Computing, r.Neighbours = 0.1*part, 0.1*(1-part), 0.1*part*neighbours
}

// paged is a mapped run whose pages were read from the disk.
func paged(r *atenia.LastRun, again float64) {
	waits(r, 0.6, 0.1)
	r.Form, r.ReadBytes, r.Faults, r.Again = "mapped", 512<<20, 40, again*512*(1<<20)
}

// TestJudge: what bounds a token, and what would help, follows from the account of
// a run, with the figures of it; and each sentence is said of an account below.
func TestJudge(t *testing.T) {
	roofs := atenia.RunRoofs{Memory: 16e9, Float: 200e9, Integer: 800e9}
	cases := []struct {
		name       string
		change     func(r *atenia.LastRun)
		roofs      atenia.RunRoofs
		bound, why string
		advice     string
	}{
		{"no token", func(r *atenia.LastRun) { r.Decode = atenia.StepTotals{} }, roofs, "none", "no token was decoded", "nothing: no resource is known to bound a token"},
		{"disk", func(r *atenia.LastRun) {
			r.Form, r.ReadBytes, r.Reading, r.Waiting = "streamed", 200e6, 0.08, 0.07
			r.Larger = []atenia.RunMore{{"+1 GiB RAM", 3 * gib}, {"+2 GiB RAM", 4 * gib}, {"+30 GiB RAM", 32 * gib}}
		}, roofs, "disk", "190.73 MiB are read for each token, at 2.50 GB/s; computing waited 70 % of the time", "a larger budget, +2 GiB RAM|atenia run m.gguf --budget ram=4294967296"},
		{"disk, no memory", func(r *atenia.LastRun) {
			r.Form, r.ReadBytes, r.Reading, r.Waiting = "streamed", 200e6, 0.08, 0.07
			r.Larger = []atenia.RunMore{{"+30 GiB RAM", 32 * gib}}
		}, roofs, "disk", "computing waited 70 % of the time", "weights of type q8_0 are 1.9 times smaller than F16, and a token is about as much faster|atenia quantize m.gguf smaller.gguf --type q8_0"},
		{"streamed, a quota", func(r *atenia.LastRun) { waits(r, 0.8, 0.7); r.Form, r.Reading, r.ReadBytes = "streamed", 0.07, 200e6 }, roofs, "neighbours", "for 56 % of the time", "end programs"},
		{"streamed, and neighbours", func(r *atenia.LastRun) { waits(r, 0.8, 0.4); r.Form, r.Reading, r.ReadBytes = "streamed", 0.07, 200e6 }, roofs, "disk", "computing waited 48 % of the time", "weights of type q8_0"},
		{"streamed, the disk keeps up", func(r *atenia.LastRun) { r.Form, r.Waiting, r.ReadBytes = "streamed", 0.01, 200e6 }, roofs, "memory", "1 GiB of weights for each token are read at 10.74 GB/s, of 16.00 GB/s that this machine reads", "weights of type q8_0"},
		{"paging", func(r *atenia.LastRun) { paged(r, 0.9); r.Need = 24 * gib }, roofs, "paging", "weights do not stay in memory: 512 MiB are read from the disk again for each token, and 40.0 page faults wait for them, 48 % of the time", "stream what does not fit instead of mapping it: the process needs 24 GiB and may have 20 GiB|atenia run m.gguf --budget ram=auto"},
		{"paging of what fits", func(r *atenia.LastRun) { paged(r, 0.9) }, roofs, "paging", "weights do not stay in memory", "hold the weights in memory instead of mapping them: the process needs 2 GiB and may have 20 GiB|atenia run m.gguf --no-mmap"},
		{"cold cache", func(r *atenia.LastRun) { paged(r, 0); r.Model = "a b" }, roofs, "cold cache", "weights were read from the disk for the first time: 512 MiB for each token, and 40.0 page faults waited for them, 48 % of the time", "run it again: what was read stays in memory, as the process needs 2 GiB and may have 20 GiB|atenia run 'a b'"},
		{"cold cache of what does not fit", func(r *atenia.LastRun) { paged(r, 0); r.Need = 24 * gib }, roofs, "cold cache", "for the first time", "stream what does not fit"},
		{"a read that is on its way", func(r *atenia.LastRun) { waits(r, 0.9, 0.1); r.Form, r.ReadBytes, r.Faults = "mapped", 32<<20, 0.3 }, roofs, "cold cache", "32 MiB for each token", "run it again"},
		{"one of two threads has no processor", func(r *atenia.LastRun) { waits(r, 0.7, 0.3) }, roofs, "neighbours", "for 42 % of the time", "end programs"},
		{"flags of the run", func(r *atenia.LastRun) { waits(r, 0.5, 0.8); r.Quicker, r.Flags = 1, " --ctx 64" }, roofs, "neighbours", "", "end programs that use the processors, or compute with 1 of 2 threads, which were faster|atenia run m.gguf --ctx 64 --threads 1"},
		{"packed, reads without a fault", func(r *atenia.LastRun) { waits(r, 0.6, 0.9); r.ReadBytes, r.Again = 512<<20, 512<<20 }, roofs, "neighbours", "threads had no processor, or waited for one that had none, for 60 % of the time: other programs or a quota take it", "end programs that use the processors, or allow more of them"},
		{"neighbours", func(r *atenia.LastRun) { waits(r, 0.5, 0.8); r.Quicker = 1 }, roofs, "neighbours", "for 50 % of the time", "end programs that use the processors, or compute with 1 of 2 threads, which were faster|atenia run m.gguf --threads 1"},
		{"threads wait", func(r *atenia.LastRun) { waits(r, 0.5, 0.1); r.Faults, r.ReadBytes, r.Again = 1, 4096, 4096 }, roofs, "none", "threads waited 50 % of the time for one another: neither the disk nor other programs explain it", "nothing: "},
		{"not told", func(r *atenia.LastRun) { waits(r, 0.5, 0); r.Told = false }, roofs, "none", "threads waited 50 % of the time, and this system does not count for what", "nothing: "},
		{"memory, q8_0", func(r *atenia.LastRun) { r.WeightType, r.WeightBits = "Q8_0", 8.5 }, roofs, "memory", "10.74 GB/s", "weights of type q4_k_m are 1.8 times smaller than Q8_0, and a token is about as much faster|atenia quantize m.gguf smaller.gguf --type q4_k_m"},
		{"memory, q4_k", func(r *atenia.LastRun) { r.WeightType = "Q4_K" }, roofs, "memory", "10.74 GB/s", "nothing: weights are Q4_K already, and a token takes what reading them takes"},
		{"arithmetic", func(r *atenia.LastRun) { r.Operations = 15e9 }, roofs, "arithmetic", "products compute 150.00 GFLOP/s, of 200.00 GFLOP/s that this machine computes", "nothing: 2 threads compute as fast as this machine does"},
		{"arithmetic in the cache, one thread", func(r *atenia.LastRun) { r.Operations, r.WeightBytes, r.Threads = 15e9, 1<<20, 1 }, roofs, "arithmetic", "150.00 GFLOP/s", "compute with 2 threads in place of 1|atenia run m.gguf --threads 2"},
		{"arithmetic of integers", func(r *atenia.LastRun) { r.Operations, r.Integer = 15e9, true }, roofs, "memory", "10.74 GB/s", "weights of type"},
		{"in the cache", func(r *atenia.LastRun) { r.WeightBytes = 3.6 * (1 << 20) }, atenia.RunRoofs{Memory: 1e6, Float: 200e9}, "none", "the 3.6 MiB of weights for each token stay in the processor's cache of 32 MiB, and products compute 10.00 of 200.00 GFLOP/s", "nothing: "},
		{"nothing is used up", func(*atenia.LastRun) {}, atenia.RunRoofs{Memory: 50e9, Float: 200e9}, "none", "weights are read at 10.74 of 50.00 GB/s, and products compute 10.00 of 200.00 GFLOP/s: nothing is used up", "nothing: "},
		{"not measured", func(*atenia.LastRun) {}, atenia.RunRoofs{}, "none", "1 GiB of weights for each token are 10.74 GB/s, and products 10.00 GFLOP/s: what this machine can was not measured", "nothing: "},
	}
	var said strings.Builder
	for _, c := range cases {
		r := planted(c.change)
		r.Judge(c.roofs)
		advice := r.Advice.What + "|" + r.Advice.Command
		if r.Bound != c.bound || !strings.Contains(r.BoundWhy, c.why) || !strings.HasPrefix(advice, c.advice) {
			t.Errorf("%s: bound by %s: %s\n%s\nwant %s: %s\n%s", c.name, r.Bound, r.BoundWhy, advice, c.bound, c.why, c.advice)
		}
		if err := r.WriteText(&said); err != nil {
			t.Fatal(err)
		}
		said.WriteString(r.Bound + "\n")
	}
	for _, format := range sentences(t, "bound.go") {
		words := regexp.MustCompile(`%(%|[-+.0-9]*[a-z])`).Split(format, -1)
		for i := range words {
			words[i] = regexp.QuoteMeta(words[i])
		}
		if !regexp.MustCompile(strings.Join(words, ".*")).MatchString(said.String()) {
			t.Errorf("no account is told with %q: add one that is", format)
		}
	}
}

// sentences returns the texts of a file that have words, but for tags.
func sentences(t *testing.T, name string) (out []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.Field:
			return false
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && strings.Contains(strings.TrimSpace(s), " ") && n.Kind == token.STRING {
				out = append(out, s)
			}
		}
		return true
	})
	if len(out) < 20 {
		t.Fatalf("%s has only %q", name, out)
	}
	return out
}
