package place_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"atenia/place"
)

const gib = 1 << 30

// planted returns a run of 10 steps of 100 ms each on two threads, which nothing
// bounds that was measured, with changes.
func planted(change func(r *place.LastRun)) *place.LastRun {
	r := &place.LastRun{Model: "m.gguf", Form: "packed", Threads: 2, Decode: place.StepTotals{Steps: 10, Tokens: 10, Seconds: 1}}
	r.RunCost = place.RunCost{
		Computing: 0.1, Told: true, WeightBytes: 1 * gib, Operations: 1e9, WeightType: "F16", WeightBits: 16,
		CacheBytes: 32 << 20, Cores: 2, Need: 2 * gib, Room: 20 * gib,
	}
	change(r)
	return r
}

// waits lets a token wait for a part of its time, and others have a part of that.
func waits(r *place.LastRun, part, neighbours float64) {
	r.Waiting, r.Computing, r.Neighbours = 0.1*part, 0.1*(1-part), 0.1*part*neighbours
}

// paged is a mapped run whose pages were read from the disk.
func paged(r *place.LastRun, again float64) {
	waits(r, 0.6, 0.1)
	r.Form, r.ReadBytes, r.Faults, r.Again = "mapped", 512<<20, 40, again*512*(1<<20)
}

// learnt is a run that has learned how long a token takes with one and two threads, and with
// weights that are packed or not.
func learnt(r *place.LastRun, class, option string, one, two, packed float64) {
	r.Learned = &place.RunLearned{Knobs: []place.LearnedKnob{
		{Class: class, Knob: "threads", Option: option, Options: []place.LearnedOption{{"1", one, 1}, {"2", two, 1}}},
		{Class: "decode", Knob: "weights", Option: map[bool]string{true: "mapped", false: "packed"}[packed > 0.1], Options: []place.LearnedOption{{"packed", packed, 1}, {"mapped", 0.1, 1}}},
	}}
}

// had lets a run have had flags "NAME=VALUE", or the name of a switch.
func had(r *place.LastRun, all ...string) {
	for _, s := range all {
		name, value, ok := strings.Cut(s, "=")
		r.Flags = append(r.Flags, place.RunFlag{Name: name, Value: value, Switch: !ok})
	}
}

// tight is a paged run that needs more than it may have, and may be streamed in so much.
func tight(r *place.LastRun, streams int64) {
	paged(r, 0.9)
	r.Need, r.Streams = 24*gib, streams
}

// unpacked is a run whose weights could be packed.
func unpacked(r *place.LastRun, need int64, fits bool) {
	r.Form, r.Pack, r.PackNeed, r.PackAuto = "mapped", gib, need, fits
}

// cameBack is a run whose weights were streamed until there was memory again.
func cameBack(r *place.LastRun) {
	r.Form, r.Mostly, r.ReadBytes, r.Reading, r.Waiting, r.Again = "mapped", "streamed", 200e6, 0.08, 0.07, 200e6
}

// larger is a larger budget.
func larger(more string, ram, read int64) place.RunLess {
	return place.RunLess{What: "a larger budget, " + more, RAM: ram, Read: read}
}

// roofs are those of a machine.
var roofs = place.RunRoofs{Memory: 16e9, Float: 200e9, Integer: 800e9}

// judged are accounts, each with what is said of it.
var judged = []struct {
	name       string
	change     func(r *place.LastRun)
	roofs      place.RunRoofs
	bound, why string
	advice     string
}{
	{"no token", func(r *place.LastRun) { r.Decode = place.StepTotals{} }, roofs, "none", "no token was decoded", "nothing: no resource is known to bound a token"},
	{"disk", func(r *place.LastRun) {
		r.Form, r.ReadBytes, r.Reading, r.Waiting = "streamed", 200e6, 0.08, 0.07
		r.Fewer = []place.RunLess{larger("+30 GiB", 32*gib, 0), larger("+2 GiB", 4*gib, 0), larger("+1 GiB", 3*gib, 1e8)}
	}, roofs, "disk", "190.73 MiB are read for each token, at 2.50 GB/s; computing waited 70 % of the time", "a larger budget, +2 GiB: 0 B are read for each token, in place of 190.73 MiB|atenia run m.gguf --budget ram=4294967296"},
	{"disk, until memory was there again", cameBack, roofs, "disk", "190.73 MiB are read for each token, at 2.50 GB/s; computing waited 70 % of the time", "end programs that use memory: weights are streamed only while it is short, and the process needs 2 GiB and may have 20 GiB|"},
	{"disk, until the budget had room again", func(r *place.LastRun) { cameBack(r); had(r, "budget=ram=1GiB") }, roofs, "disk", "", "a larger budget: weights were streamed while it was short, and the process needs 2 GiB|atenia run m.gguf --budget ram=2147483648"},
	{"disk, at a mark", func(r *place.LastRun) {
		cameBack(r)
		r.Form = "streamed"
		had(r, "offload=high=0.5,low=0.4", "budget=ram=3GiB")
	}, roofs, "disk", "", "leave --offload out: weights left memory at its mark, and the process needs 2 GiB, for which there is room|atenia run m.gguf --budget ram=3GiB"},
	{"disk, at a mark in a budget that is too small", func(r *place.LastRun) {
		cameBack(r)
		r.Form = "streamed"
		had(r, "offload=high=0.5,low=0.4", "budget=ram=1GiB")
	}, roofs, "disk", "", "nothing that is known but more memory"},
	{"arithmetic, before weights were streamed", func(r *place.LastRun) { r.Form, r.Mostly, r.Operations = "streamed", "mapped", 19e9 }, roofs, "arithmetic", "products compute", ""},
	{"disk, no memory", func(r *place.LastRun) {
		r.Form, r.ReadBytes, r.Reading, r.Waiting = "streamed", 200e6, 0.08, 0.07
		r.Fewer = []place.RunLess{larger("+30 GiB", 32*gib, 0), {What: "weights of type q8_0", Type: "q8_0"}}
	}, roofs, "disk", "computing waited 70 % of the time", "weights of type q8_0: 0 B are read for each token, in place of 190.73 MiB|atenia quantize m.gguf smaller.gguf --type q8_0"},
	{"disk, and nothing helps", func(r *place.LastRun) {
		r.Form, r.ReadBytes, r.Reading, r.Waiting = "streamed", 200e6, 0.08, 0.07
		r.Fewer = []place.RunLess{larger("+30 GiB", 32*gib, 0), {What: "keys and values in q8_0", Read: 190e6}}
	}, roofs, "disk", "", "nothing that is known but more memory: what a token reads from the disk has no room|"},
	{"streamed, a quota", func(r *place.LastRun) { waits(r, 0.8, 0.7); r.Form, r.Reading, r.ReadBytes = "streamed", 0.07, 200e6 }, roofs, "neighbours", "for 56 % of the time", "end programs"},
	{"streamed, and neighbours", func(r *place.LastRun) { waits(r, 0.8, 0.4); r.Form, r.Reading, r.ReadBytes = "streamed", 0.07, 200e6 }, roofs, "disk", "computing waited 48 % of the time", "nothing that is known but more memory"},
	{"streamed, the disk keeps up", func(r *place.LastRun) { r.Form, r.Waiting, r.ReadBytes = "streamed", 0.01, 200e6 }, roofs, "memory", "1 GiB of weights for each token are read at 10.74 GB/s, of 16.00 GB/s that this machine reads with 2 threads", "weights of type q8_0"},
	{"paging", func(r *place.LastRun) { tight(r, gib); had(r, "no-stream", "ctx=64") }, roofs, "paging", "weights do not stay in memory: 512 MiB are read from the disk again for each token, and 40.0 page faults wait for them, 60 % of the time", "stream what does not fit instead of mapping it: the process needs 24 GiB, 1 GiB to be streamed, and may have 20 GiB|atenia run m.gguf --ctx 64 --budget ram=auto"},
	{"paging while memory was short", func(r *place.LastRun) { paged(r, 0.9); r.Pressure = []place.RunEvent{{What: "left memory"}} }, roofs, "paging", "weights do not stay in memory", "end programs that use memory: the process needs 2 GiB, might have 20 GiB, and had to give some back|"},
	{"paging of what fits", func(r *place.LastRun) { paged(r, 0.9) }, roofs, "paging", "weights do not stay in memory", "hold the weights in memory instead of mapping them: the process needs 2 GiB and may have 20 GiB|atenia run m.gguf --no-mmap"},
	{"cold cache", func(r *place.LastRun) { paged(r, 0); r.Model = "a b" }, roofs, "cold cache", "weights were read from the disk for the first time: 512 MiB for each token, and 40.0 page faults waited for them, 60 % of the time", "run it again: what was read stays in memory, as the process needs 2 GiB and may have 20 GiB|atenia run 'a b'"},
	{"cold cache of what does not fit", func(r *place.LastRun) { paged(r, 0); r.Need, r.Streams = 24*gib, gib; had(r, "no-stream") }, roofs, "cold cache", "for the first time", "stream what does not fit"},
	{"a read that is on its way", func(r *place.LastRun) { waits(r, 0.9, 0.1); r.Form, r.ReadBytes, r.Faults = "mapped", 32<<20, 0.3 }, roofs, "cold cache", "32 MiB for each token", "run it again"},
	{"one of two threads has no processor", func(r *place.LastRun) { waits(r, 0.7, 0.3) }, roofs, "neighbours", "for 42 % of the time", "end programs"},
	{"flags of the run", func(r *place.LastRun) {
		waits(r, 0.5, 0.8)
		had(r, "ctx=64")
		learnt(r, "decode packed", "1", 0.05, 0.1, 0)
	}, roofs, "neighbours", "", "end programs that use the processors, or compute with 1 of 2 threads, which were faster|atenia run m.gguf --ctx 64 --threads 1"},
	{"packed, reads without a fault", func(r *place.LastRun) { waits(r, 0.6, 0.9); r.ReadBytes, r.Again = 512<<20, 512<<20 }, roofs, "neighbours", "threads had no processor, or waited for one that had none, for 60 % of the time: other programs or a quota take it", "end programs that use the processors, or allow more of them"},
	{"neighbours", func(r *place.LastRun) { waits(r, 0.5, 0.8); learnt(r, "decode packed", "1", 0.05, 0.1, 0) }, roofs, "neighbours", "for 50 % of the time", "end programs that use the processors, or compute with 1 of 2 threads, which were faster|atenia run m.gguf --threads 1"},
	{"threads wait", func(r *place.LastRun) { waits(r, 0.5, 0.1); r.Faults, r.ReadBytes, r.Again = 1, 4096, 4096 }, roofs, "none", "threads waited 40 % of the time for one another, and 10 % for a processor that other programs had; the disk explains neither", "nothing: "},
	{"not told", func(r *place.LastRun) { waits(r, 0.5, 0); r.Told = false }, roofs, "none", "threads waited 50 % of the time, and for what is not known", "nothing: "},
	{"memory, q8_0", func(r *place.LastRun) { r.WeightType, r.WeightBits = "Q8_0", 8.5 }, roofs, "memory", "10.74 GB/s", "weights of type q4_k_m are 1.8 times smaller than Q8_0, and a token is about as much faster|atenia quantize m.gguf smaller.gguf --type q4_k_m"},
	{"memory, an adapter", func(r *place.LastRun) { had(r, "lora=a b") }, roofs, "memory", "", "weights of type q8_0 are 1.9 times smaller than F16, and a token is about as much faster|atenia quantize m.gguf smaller.gguf --type q8_0 --lora 'a b'"},
	{"memory, q4_k", func(r *place.LastRun) { r.WeightType = "Q4_K" }, roofs, "memory", "10.74 GB/s", "nothing but smaller weights, which answer worse: they are Q4_K already, and a token takes what reading them takes|"},
	{"arithmetic", func(r *place.LastRun) { r.Operations = 15e9 }, roofs, "arithmetic", "products compute 150.00 GFLOP/s, of 200.00 GFLOP/s that this machine computes with 2 threads", "nothing: 2 threads compute as fast as this machine does"},
	{"arithmetic in the cache, one thread", func(r *place.LastRun) { r.Operations, r.WeightBytes, r.Threads = 15e9, 1<<20, 1 }, roofs, "arithmetic", "150.00 GFLOP/s", "compute with 2 threads in place of 1|atenia run m.gguf --threads 2"},
	{"arithmetic of integers", func(r *place.LastRun) { r.Operations, r.Integer = 15e9, true }, roofs, "memory", "10.74 GB/s", "weights of type"},
	{"in the cache", func(r *place.LastRun) { r.WeightBytes = 3.6 * (1 << 20) }, place.RunRoofs{Memory: 1e6, Float: 200e9}, "none", "3.6 MiB of weights for each token stay in the processor's cache of 32 MiB, and products compute 10.00 of 200.00 GFLOP/s", "nothing: "},
	{"a mixture, a token of which would be in the cache", func(r *place.LastRun) { r.WeightBytes, r.AnyBytes, r.Decode.Seconds = 27<<20, 164<<20, 0.01 }, place.RunRoofs{Memory: 55e9, Float: 2e13}, "memory", "27 MiB of weights for each token are read at 28.31 GB/s, of 55.00 GB/s", "weights of type q8_0"},
	{"a mixture in the cache", func(r *place.LastRun) { r.WeightBytes, r.AnyBytes = 2<<20, 16<<20 }, place.RunRoofs{Memory: 1e6, Float: 200e9}, "none", "2 MiB of weights for each token stay in the processor's cache of 32 MiB", "nothing: "},
	{"nothing is used up", func(*place.LastRun) {}, place.RunRoofs{Memory: 50e9, Float: 200e9}, "none", "1 GiB of weights for each token are read at 10.74 of 50.00 GB/s, and products compute 10.00 of 200.00 GFLOP/s: nothing is used up", "nothing: "},
	// F5: a thread that waited for a page and then for its turn was bound by the disk.
	{"paging beside neighbours", func(r *place.LastRun) { tight(r, 0); waits(r, 0.8, 0.45) }, roofs, "paging", "40.0 page faults wait for them, 80 % of the time", "more memory: the process needs 24 GiB and may have 20 GiB, and its weights cannot be streamed|atenia doctor m.gguf"},
	{"paging ahead beside neighbours", func(r *place.LastRun) { tight(r, 0); waits(r, 0.8, 0.9); r.Faults = 0.1 }, roofs, "paging", "80 % of the time", "more memory"},
	{"reads few pages beside neighbours", func(r *place.LastRun) {
		tight(r, 0)
		waits(r, 0.8, 0.45)
		r.Faults, r.ReadBytes, r.Again = 0.1, 64<<20, 64<<20
	}, roofs, "paging", "44 % of the time", ""},
	{"neighbours, and few reads", func(r *place.LastRun) { paged(r, 0); waits(r, 0.6, 0.9); r.Faults, r.ReadBytes = 0.1, 32<<20 }, roofs, "neighbours", "for 60 % of the time", "end programs"},
	// F4: what is advised is possible, and was not just done.
	{"cannot be streamed", func(r *place.LastRun) { tight(r, 21*gib) }, roofs, "paging", "", "more memory, unless doctor finds less: the process needs 24 GiB, 21 GiB to be streamed, and may have 20 GiB|atenia doctor m.gguf"},
	{"was mapped where streaming was tried", func(r *place.LastRun) { tight(r, gib); had(r, "budget=ram=auto") }, roofs, "paging", "", "more memory, unless doctor finds less"},
	{"can be streamed with less", func(r *place.LastRun) {
		tight(r, 21*gib)
		r.Lesser = &place.RunLess{What: "a context of 64 tokens in place of 128", Flags: []place.RunFlag{{Name: "ctx", Value: "64"}}, RAM: 2 * gib}
	}, roofs, "paging", "", "a context of 64 tokens in place of 128, with which it is streamed in 2 GiB: the process needs 24 GiB and may have 20 GiB|atenia run m.gguf --ctx 64 --budget ram=auto"},
	{"packed, and given back", func(r *place.LastRun) { paged(r, 0.9); r.Form = "packed" }, roofs, "paging", "", "end programs that use memory: the process needs 2 GiB, might have 20 GiB, and had to give some back|"},
	// F11: threads first.
	{"memory, one thread", func(r *place.LastRun) { r.Threads = 1 }, roofs, "memory", "reads with 1 thread", "compute with 2 threads in place of 1|atenia run m.gguf --threads 2"},
	// F16: what was learned of weights that lay otherwise is not this run's, nor what was not measured.
	{"neighbours, learned of another form", func(r *place.LastRun) { waits(r, 0.5, 0.8); learnt(r, "decode mapped", "1", 0.05, 0.1, 0) }, roofs, "neighbours", "", "end programs that use the processors, or allow more of them"},
	{"neighbours, slower with one", func(r *place.LastRun) { waits(r, 0.5, 0.8); learnt(r, "decode packed", "1", 0.2, 0.1, 0) }, roofs, "neighbours", "", "end programs that use the processors, or allow more of them"},
	{"neighbours, the run's own", func(r *place.LastRun) { waits(r, 0.5, 0.8); learnt(r, "decode packed", "2", 0.2, 0.1, 0) }, roofs, "neighbours", "", "end programs that use the processors, or allow more of them"},
	// F13: keys and values.
	{"keys and values", func(r *place.LastRun) {
		r.WeightBytes, r.KVBytes, r.KVType, r.KVTimes = gib/8, gib, "q8_0", 1.88
		had(r, "budget=ram=9", "strict")
	}, roofs, "memory", "128 MiB of weights and 1 GiB of keys and values for each token are read at 12.08 GB/s", "keys and values in q8_0 are 1.9 times smaller, and 89 % of what a token reads is keys and values|atenia run m.gguf --budget ram=9 --strict --kv-type q8_0"},
	{"a half of keys and values, weights of the smallest type", func(r *place.LastRun) {
		r.WeightType, r.KVBytes, r.KVType, r.KVTimes = "Q4_K", gib, "f16", 2
	}, roofs, "memory", "", "keys and values in f16 are 2.0 times smaller, and 50 % of what a token reads is keys and values|atenia run m.gguf --kv-type f16"},
	{"few keys and values, weights of the smallest type", func(r *place.LastRun) {
		r.WeightType, r.KVBytes, r.KVType, r.KVTimes = "Q4_K", gib/4, "f16", 2
	}, roofs, "memory", "", "nothing but smaller weights"},
	// F15: packing.
	{"pack off", func(r *place.LastRun) { unpacked(r, 3*gib, true); had(r, "pack=off", "ctx=64") }, place.RunRoofs{Memory: 50e9, Float: 200e9}, "none", "nothing is used up", "pack the weights, for which products are faster: 1 GiB more, for which there is memory|atenia run m.gguf --ctx 64"},
	{"no room to pack in the budget", func(r *place.LastRun) { unpacked(r, 3*gib, false); had(r, "budget=ram=2147483648,ssd=7") }, roofs, "memory", "", "pack the weights, for which products are faster: 1 GiB more, in a budget of 3 GiB|atenia run m.gguf --budget ram=3221225472,ssd=7"},
	{"no room to pack in a plan", func(r *place.LastRun) { unpacked(r, 3*gib, false); had(r, "plan=p.json", "ctx=64") }, roofs, "memory", "", "pack the weights, for which products are faster: 1 GiB more, in a budget of 3 GiB|atenia run m.gguf --ctx 64 --budget ram=3221225472"},
	{"paging in a plan", func(r *place.LastRun) { paged(r, 0.9); had(r, "plan=p.json") }, roofs, "paging", "", "end programs that use memory: the process needs 2 GiB, might have 20 GiB, and had to give some back|"},
	{"streams in the last sixteenth", func(r *place.LastRun) { tight(r, 19*gib); had(r, "no-stream") }, roofs, "paging", "", "more memory, unless doctor finds less: the process needs 24 GiB, 19 GiB to be streamed, and may have 20 GiB|atenia doctor m.gguf"},
	{"no room to pack", func(r *place.LastRun) { unpacked(r, 30*gib, false) }, roofs, "memory", "", "pack the weights, for which products are faster: 1 GiB more, with which the process needs 30 GiB, and may have 20 GiB|"},
	{"packing keeps more free than that", func(r *place.LastRun) { unpacked(r, 3*gib, false) }, roofs, "memory", "", "pack the weights, for which products are faster: 1 GiB more, with which the process needs 3 GiB and may have 20 GiB|atenia run m.gguf --pack memory"},
	{"packing was not tried", func(r *place.LastRun) { unpacked(r, 3*gib, false); learnt(r, "decode mapped", "2", 0, 0, 0) }, roofs, "memory", "", "pack the weights"},
	{"nothing is used up, one thread", func(r *place.LastRun) { r.Threads = 1 }, place.RunRoofs{Memory: 50e9, Float: 200e9}, "none", "nothing is used up", "compute with 2 threads in place of 1"},
	{"packing is slower", func(r *place.LastRun) { unpacked(r, 3*gib, true); learnt(r, "decode mapped", "2", 0, 0, 0.2) }, roofs, "memory", "", "nothing: weights that are packed were measured to be no faster"},
	// F1, F20: steps of several tokens.
	{"drafting", func(r *place.LastRun) { r.Decode.Tokens, r.Drafts = 30, place.RunDrafts{"d.gguf", 30, 20, 0.6} }, roofs, "drafting", "the draft model takes 60 % of a step", "nothing: a token takes 33.33 ms, less than a step without drafting"},
	{"drafting that does not pay", func(r *place.LastRun) {
		r.Decode.Tokens, r.Drafts = 11, place.RunDrafts{"d.gguf", 30, 1, 0.6}
		had(r, "draft=d.gguf", "ctx=64")
	}, roofs, "drafting", "", "draft nothing: a token takes 90.91 ms, and a step without drafting 40.00 ms at most|atenia run m.gguf --ctx 64 --speculate off"},
	{"steps of several tokens", func(r *place.LastRun) { r.Decode.Tokens, r.Drafts.Drafted = 20, 20 }, roofs, "memory", "1 GiB of weights for each step are read at 10.74 GB/s", "weights of type q8_0 are 1.9 times smaller than F16, and a step is about as much faster"},
	{"a draft model beside", func(r *place.LastRun) { r.Decode.Tokens, r.Drafts = 20, place.RunDrafts{"d.gguf", 20, 10, 0.2} }, roofs, "memory", "read at 13.42 GB/s", "weights"},
	// F9: a busy machine does less than it did.
	{"more than the machine reads now", func(*place.LastRun) {}, place.RunRoofs{Memory: 5e9, Float: 200e9}, "memory", "read at 10.74 GB/s, of 10.74 GB/s that this machine reads with 2 threads, and now no more than 5.00 GB/s", "weights of type q8_0"},
	{"memory is read as fast as it can be, not packed", func(r *place.LastRun) { unpacked(r, 3*gib, false) }, place.RunRoofs{Memory: 11e9, Float: 200e9}, "memory", "", "weights of type q8_0"},
	{"weights are packed as they are used first", func(r *place.LastRun) { r.FirstUse = 0.06 }, roofs, "packing", "weights that were used for the first time were packed, for 60 % of the time: a token without takes no more than 40.00 ms", "nothing: what is packed stays packed, and later tokens take less"},
	{"as much as the machine reads", func(*place.LastRun) {}, place.RunRoofs{Memory: 10.5e9, Float: 200e9}, "memory", "read at 10.74 GB/s, of 10.74 GB/s", "weights"},
	{"disk, q8_0 is read, too", func(r *place.LastRun) {
		r.Form, r.ReadBytes, r.Reading, r.Waiting = "streamed", 600<<20, 0.08, 0.07
		r.Fewer = []place.RunLess{{What: "keys and values in q8_0", Read: 500 << 20}, {What: "weights of type q8_0", Type: "q8_0", Read: 300 << 20}, {What: "weights of type q4_k_m", Type: "q4_k_m"}}
	}, roofs, "disk", "", "weights of type q4_k_m: 0 B are read for each token, in place of 600 MiB|atenia quantize m.gguf smaller.gguf --type q4_k_m"},
	{"disk, experts that are chosen first", func(r *place.LastRun) {
		r.Form, r.ReadBytes, r.Reading, r.Waiting, r.AnyBytes, r.Steady = "streamed", 16<<20, 0.08, 0.07, 2*r.WeightBytes, 6<<20
		r.Fewer = []place.RunLess{{What: "keys and values in q8_0"}}
	}, roofs, "disk", "", "nothing: experts were read when tokens chose them first, and most stay in memory, so that later tokens read less|"},
	{"disk, of which a part is read once", func(r *place.LastRun) {
		r.Form, r.ReadBytes, r.Reading, r.Waiting, r.AnyBytes, r.Steady = "streamed", 16<<20, 0.08, 0.07, 2*r.WeightBytes, 9<<20
		r.Fewer = []place.RunLess{{What: "keys and values in q8_0", Read: 9 << 20}, {What: "weights of type q8_0", Type: "q8_0", Read: 7 << 20}}
	}, roofs, "disk", "", "weights of type q8_0: 7 MiB are read for each token, in place of 9 MiB, once experts were read that tokens choose first"},
	{"disk, by a pin", func(r *place.LastRun) {
		r.Form, r.ReadBytes, r.Reading, r.Waiting = "streamed", 600<<20, 0.08, 0.07
		r.Fewer = []place.RunLess{{What: "no --pin", Flags: []place.RunFlag{{Name: "ctx", Value: "64"}}}, {What: "weights of type q8_0", Type: "q8_0"}}
		had(r, "pin=blk.1=ssd", "ctx=64")
	}, roofs, "disk", "", "no --pin: 0 B are read for each token, in place of 600 MiB|atenia run m.gguf --ctx 64"},
	{"memory, and a pin", func(r *place.LastRun) {
		r.Form, r.ReadBytes, r.Reading, r.Waiting = "streamed", 20<<20, 0.01, 0.01
		r.Fewer = []place.RunLess{{What: "no --pin"}}
		had(r, "pin=a=ssd")
	}, roofs, "memory", "", "no --pin: 0 B are read for each token, in place of 20 MiB|atenia run m.gguf"},
	{"memory, and a pin that waits for nothing", func(r *place.LastRun) {
		r.Form, r.ReadBytes, r.Reading, r.Waiting = "streamed", 20<<20, 0.01, 0.001
		r.Fewer = []place.RunLess{{What: "no --pin"}}
	}, roofs, "memory", "", "weights of type q8_0"},
	{"packed where they are", func(r *place.LastRun) {
		unpacked(r, 3*gib, false)
		r.PackHere = true
		had(r, "pack=off", "budget=ram=9")
	}, roofs, "memory", "", "pack the weights where they are, for which products are faster|atenia run m.gguf --budget ram=9"},
	{"disk, fewer weights are streamed", func(r *place.LastRun) {
		r.Form, r.ReadBytes, r.Reading, r.Waiting = "streamed", 600<<20, 0.08, 0.07
		r.Fewer = []place.RunLess{{What: "keys and values in f16", Flags: []place.RunFlag{{Name: "kv-type", Value: "f16"}}, Read: 300 << 20}, {What: "weights of type q8_0", Type: "q8_0", Read: 210 << 20}}
		had(r, "budget=ram=9", "kv-type=f32", "learning=off")
	}, roofs, "disk", "", "keys and values in f16: 300 MiB are read for each token, in place of 600 MiB|atenia run m.gguf --kv-type f16 --budget ram=9 --learning off"},
	{"memory, and a little of the disk", func(r *place.LastRun) {
		r.Form, r.ReadBytes, r.Reading, r.Waiting, r.WeightType = "streamed", 60<<20, 0.08, 0.015, "Q4_K"
		r.Fewer = []place.RunLess{larger("+1 GiB", 2*gib, 0)}
	}, roofs, "memory", "", "a larger budget, +1 GiB: 0 B are read for each token, in place of 60 MiB|atenia run m.gguf --budget ram=2147483648"},
	{"not measured", func(*place.LastRun) {}, place.RunRoofs{}, "none", "1 GiB of weights for each token are 10.74 GB/s, and products 10.00 GFLOP/s: what this machine can was not measured", "nothing: "},
	{"packing is faster, and was not done", func(r *place.LastRun) {
		unpacked(r, 3*gib, false)
		learnt(r, "decode mapped", "2", 0, 0, 0.05)
		r.Learned.Knobs[1].Option = "mapped"
	}, roofs, "memory", "", "pack the weights"},
	{"one thread is the fastest", func(r *place.LastRun) { r.Threads = 1; learnt(r, "decode packed", "1", 0.1, 0.2, 0) }, place.RunRoofs{Memory: 50e9, Float: 200e9}, "none", "nothing is used up", "nothing: "},
	{"drafts that are not taken", func(r *place.LastRun) { r.Drafts = place.RunDrafts{"d.gguf", 4, 0, 0.3} }, place.RunRoofs{Memory: 50e9, Float: 200e9}, "none", "nothing is used up", "draft nothing: a token takes 100.00 ms, and a step without drafting 70.00 ms at most|atenia run m.gguf --speculate off"},
	{"streamed while memory was short", func(r *place.LastRun) {
		paged(r, 0.9)
		r.Ahead, r.Faults, r.Pressure = 400<<20, 0, []place.RunEvent{{What: "left memory"}}
	}, roofs, "paging", "weights did not stay in memory, and were streamed for a part of the time: 512 MiB were read for each token, and computing waited 60 % of the time", "end programs that use memory"},
	{"one thread, streamed, beside neighbours", func(r *place.LastRun) { r.Form, r.Threads, r.Others = "streamed", 1, 0.15 }, roofs, "neighbours", "other programs had 1.5 of 2 processors, and so a part of the one thread's", "end programs that use the processors"},
	{"one thread, streamed, a neighbour on the other processor", func(r *place.LastRun) { r.Form, r.Threads, r.Others = "streamed", 1, 0.1 }, roofs, "memory", "10.74 GB/s", "weights of type q8_0"},
}

// TestJudge: what bounds a token, and what would help, follows from the account of
// a run, with the figures of it; and each sentence is said of an account below.
func TestJudge(t *testing.T) {
	var said strings.Builder
	for _, c := range judged {
		r := planted(c.change)
		r.Judge(c.roofs)
		advice := r.Advice.What + "|" + r.Advice.Command
		base := planted(c.change)
		if same := r.Advice.Command != "" && r.Advice.Command == runAgain(base); same && r.Bound != "cold cache" {
			t.Errorf("%s: the command that was just run is advised: %s", c.name, r.Advice.Command)
		}
		if r.Bound != c.bound || !strings.Contains(r.BoundWhy, c.why) || !strings.HasPrefix(advice, c.advice) {
			t.Errorf("%s: bound by %s: %s\n%s\nwant %s: %s\n%s", c.name, r.Bound, r.BoundWhy, advice, c.bound, c.why, c.advice)
		}
		if err := r.WriteText(&said); err != nil {
			t.Fatal(err)
		}
		said.WriteString(r.Bound + "\n")
	}
	eachSaid(t, said.String())
}

// eachSaid reports the sentences of a judgement or an advice that no account is told with.
func eachSaid(t *testing.T, said string) {
	t.Helper()
	for _, format := range append(sentences(t, "bound.go"), sentences(t, "advice.go")...) {
		format = strings.ReplaceAll(format, " --type %s%s", "")
		words := regexp.MustCompile(`%(%|[-+.0-9]*[a-z])`).Split(format, -1)
		for i := range words {
			words[i] = regexp.QuoteMeta(words[i])
		}
		if !regexp.MustCompile(strings.Join(words, ".*")).MatchString(said) {
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
	if len(out) < 15 {
		t.Fatalf("%s has only %q", name, out)
	}
	return out
}

// runAgain is the command of a run as it was.
func runAgain(r *place.LastRun) string {
	s := "atenia run " + r.Model
	for _, f := range r.Flags {
		if s += " --" + f.Name; f.Value != "" {
			s += " " + f.Value
		}
	}
	return s
}

// TestWriteTime: the mean and the slowest are of steps, tokens a second are told apart, and
// the prediction is compared with steps of the model alone.
func TestWriteTime(t *testing.T) {
	r := planted(func(r *place.LastRun) {
		r.Decode = place.StepTotals{Steps: 8, Tokens: 19, Seconds: 1, Slowest: 0.2, At: 5}
		r.Drafts, r.Predicted = place.RunDrafts{"d.gguf", 20, 11, 0.2}, 0.08
	})
	r.Judge(place.RunRoofs{})
	var w strings.Builder
	if err := r.WriteText(&w); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"why a step took 125.00 ms\n  19 tokens in 8 steps, 19.00 tokens a second, the slowest step 200.00 ms (step 5)\n",
		", of which drafting 25.00 ms\n", "  predicted were 80.00 ms: +25 %\n",
	} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("no %q in\n%s", want, &w)
		}
	}
}

// TestSeenFromElsewhere: files of a run lead to the same files from another folder, those of
// what is advised, too.
func TestSeenFromElsewhere(t *testing.T) {
	at := filepath.Join(t.TempDir(), "a")
	r := &place.LastRun{Model: "m.gguf", Folder: at, Flags: []place.RunFlag{{Name: "lora", Value: "l", Path: true}, {Name: "ctx", Value: "64"}}}
	r.Lesser = &place.RunLess{Flags: []place.RunFlag{{Name: "plan", Value: "p.json", Path: true}, {Name: "kv-type", Value: "f16"}}}
	r.Fewer = []place.RunLess{{}, {Flags: []place.RunFlag{{Name: "draft", Value: "d", Path: true}}}}
	r.SeenFrom(filepath.Dir(at))
	for got, want := range map[string]string{r.Model: "m.gguf", r.Flags[0].Value: "l", r.Lesser.Flags[0].Value: "p.json", r.Fewer[1].Flags[0].Value: "d"} {
		if got != filepath.Join(at, want) {
			t.Errorf("%q, want %q in %s", got, want, at)
		}
	}
	if len(r.Flags) != 2 || r.Flags[1].Value != "64" || len(r.Lesser.Flags) != 2 || r.Lesser.Flags[1].Value != "f16" {
		t.Errorf("%+v, %+v", r.Flags, r.Lesser.Flags)
	}
}
