package exec_test

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/golden/await"
	"atenia/internal/memory/pack"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/plan"
	"atenia/tensor"
)

// Models that together use every path of the executor: grouped heads and scaled rope, windows with
// soft caps, per-head norms, mixtures of experts, quantized weights, selective scans, latent attention, sinks and groups of experts, convolutions, delta rules and gated attention.
var invariant = []string{"parity/llama3", "parity/gemma3", "parity/qwen3", "parity/qwen2_moe",
	"gguf/models/llama-q4_k_m.gguf", "gguf/models/llama-q8_0.gguf", "gguf/models/qwen3moe-q4_k_m.gguf",
	"parity/mamba", "parity/mamba2_groups", "parity/granite_hybrid_rope",
	"parity/deepseek_v3", "parity/gpt_oss", "parity/gpt_oss_mxfp4", "parity/granitemoeshared",
	"parity/lfm2", "parity/qwen3_next", "parity/rwkv7",
	"parity/gpt2", "parity/mpt", "parity/falcon_40b", "parity/cohere_qk_norm", "parity/hunyuan_dense", "parity/olmo3"}

func openCase(t testing.TB, name string, opt compile.Options) *model {
	t.Helper()
	d, err := file.Open(filepath.Join(golden.Root(t), "testdata", "golden", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return load(t, d, opt)
}

func randomTokens(seed uint64, n, vocab int) []int32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = rng.Int32N(int32(vocab))
	}
	return ids
}

func sameRows(t *testing.T, what string, got, want [][]float32) {
	t.Helper()
	for r := range want {
		if !slices.Equal(got[r], want[r]) {
			t.Fatalf("%s: row %d differs", what, r)
		}
	}
}

var small = exec.Config{Threads: 1, MaxLogits: 128, MaxTokens: 128, Context: 256}

// Chunks of any size, threads of any number, and prefill or decode plan give
// the same bytes.
func TestChunksAndThreads(t *testing.T) {
	for _, name := range invariant {
		t.Run(name, func(t *testing.T) {
			m := openCase(t, name, compile.Options{})
			tokens := randomTokens(3, 41, m.Config.Vocab)
			want := m.lane(t, small).all(tokens, len(tokens))
			l := m.lane(t, small)
			for _, chunks := range [][]int{{1}, {40, 1}, {7}, {16}, {3, 17, 5, 1}} {
				sameRows(t, "chunks", l.all(tokens, chunks...), want)
			}
			for _, threads := range []int{2, 4} {
				cfg := small
				cfg.Threads = threads
				sameRows(t, "threads", m.lane(t, cfg).all(tokens, 23, 1), want)
			}
		})
	}
}

// Steps computed with any number of the threads that there are give the same
// bytes.
func TestThreadsPerStep(t *testing.T) {
	for _, name := range invariant {
		t.Run(name, func(t *testing.T) {
			m := openCase(t, name, compile.Options{})
			tokens := randomTokens(3, 24, m.Config.Vocab)
			want := m.lane(t, small).all(tokens, 1)
			cfg := small
			cfg.Threads = 4
			l := m.lane(t, cfg)
			q := l.sequence(len(tokens))
			for i, id := range tokens {
				got := l.run(&exec.Step{Threads: []int{0, 1, 4, 3, 2, 9}[i%6]}, feed{q, []int32{id}})
				sameRows(t, "threads of a step", got, want[i:i+1])
			}
			for _, s := range q.seqs {
				s.Release()
			}
		})
	}
}

// A ragged batch gives each sequence the same results as running it alone.
func TestBatchEqualsSingles(t *testing.T) {
	for _, name := range invariant {
		t.Run(name, func(t *testing.T) {
			m := openCase(t, name, compile.Options{})
			var prompts, want = [][]int32{}, [][][]float32{}
			for i, n := range []int{19, 1, 7, 30} {
				prompts = append(prompts, randomTokens(uint64(i), n+4, m.Config.Vocab))
				want = append(want, m.lane(t, small).all(prompts[i], n, 1))
			}
			cfg := small
			cfg.Threads = 2
			l := m.lane(t, cfg)
			var feeds []feed
			for _, p := range prompts {
				feeds = append(feeds, feed{l.sequence(len(p)), p[:len(p)-4]})
			}
			done := make([]int, len(prompts))
			for step := range 5 {
				rows := l.run(&exec.Step{}, feeds...)
				for i := range feeds {
					n := len(feeds[i].tokens)
					sameRows(t, "batch", rows[:n], want[i][done[i]:done[i]+n])
					rows, done[i] = rows[n:], done[i]+n
					if step < 4 {
						feeds[i].tokens = prompts[i][done[i] : done[i]+1]
					}
				}
			}
		})
	}
}

// The page size does not show in the result, and a cache of halves or of 8-bit
// blocks stays near it.
func TestPagesAndCacheTypes(t *testing.T) {
	for _, name := range invariant[:3] {
		t.Run(name, func(t *testing.T) {
			m := openCase(t, name, compile.Options{})
			tokens := randomTokens(5, 70, m.Config.Vocab)
			want := m.lane(t, small).all(tokens, 50, 1)
			for _, page := range []int{1, 32, 64} {
				got := openCase(t, name, compile.Options{PageTokens: page}).lane(t, small).all(tokens, 50, 1)
				sameRows(t, "page size", got, want)
			}
			half := openCase(t, name, compile.Options{KVType: tensor.F16}).lane(t, small).all(tokens, 50, 1)
			if worst, _ := distance(half, want); worst > 0.05 {
				t.Errorf("f16 cache: off by %g", worst)
			}
		})
	}
}

// Also beyond one span of attention, a row's bytes depend neither on chunks, nor pages, nor on
// whether spans are computed separately, for any type of cache, with windows and without.
func TestLongContext(t *testing.T) {
	cfg := exec.Config{Threads: 1, MaxLogits: 700, MaxTokens: 700, Context: 1024}
	for name, d := range map[string]tensor.DType{"parity/llama3": tensor.F16, "parity/gemma3": tensor.F32, "parity/qwen3": tensor.Q8_0} {
		t.Run(name, func(t *testing.T) {
			m := openCase(t, name, compile.Options{KVType: d})
			tokens := randomTokens(11, 620, m.Config.Vocab)
			want := m.lane(t, cfg).all(tokens, len(tokens))
			for _, threads := range []int{2, 3, 7} { // seven have spare hands for spans
				cfg := cfg
				cfg.Threads = threads
				sameRows(t, "threads", m.lane(t, cfg).all(tokens, 500, 117, 1, 1, 1), want)
			}
			wide := openCase(t, name, compile.Options{KVType: d, PageTokens: 64})
			sameRows(t, "page size", wide.lane(t, cfg).all(tokens, 300, 317, 3), want)
		})
	}
}

// Forked sequences share their cache and then diverge.
func TestForkDiverges(t *testing.T) {
	m := openCase(t, "parity/gemma3", compile.Options{})
	prompt := randomTokens(1, 21, m.Config.Vocab)
	tails := [][]int32{randomTokens(2, 6, m.Config.Vocab), randomTokens(3, 6, m.Config.Vocab)}
	l := m.lane(t, small)
	a := l.sequence(64)
	l.run(&exec.Step{}, feed{a, prompt})
	b := a.fork()
	for i := range 6 {
		rows := l.run(&exec.Step{}, feed{a, tails[0][i : i+1]}, feed{b, tails[1][i : i+1]})
		for k, tail := range tails {
			fresh := m.lane(t, small).all(append(slices.Clone(prompt), tail[:i+1]...), 27)
			sameRows(t, "fork", rows[k:k+1], fresh[len(fresh)-1:])
		}
	}
}

// Fusing instructions changes no bit: fused instructions do the same arithmetic.
func TestFuseOnOff(t *testing.T) {
	for _, name := range invariant {
		t.Run(name, func(t *testing.T) {
			fused, plain := openCase(t, name, compile.Options{}), openCase(t, name, compile.Options{NoFuse: true})
			if a, b := len(fused.Plans.Decode.Plan.Instructions), len(plain.Plans.Decode.Plan.Instructions); a >= b {
				t.Fatalf("%d instructions fused, %d without", a, b)
			}
			tokens := randomTokens(9, 33, fused.Config.Vocab)
			sameRows(t, "fuse", fused.lane(t, small).all(tokens, 30, 1), plain.lane(t, small).all(tokens, 30, 1))
		})
	}
}

// Norms that write what products read change no bit, nor does a feed-forward
// network in one section: a step that is traced, which shows floats, does
// without the former.
func TestTracedEqualsPrepared(t *testing.T) {
	for _, name := range invariant {
		t.Run(name, func(t *testing.T) {
			m := openCase(t, name, compile.Options{})
			tokens := randomTokens(9, 33, m.Config.Vocab)
			for _, threads := range []int{1, 3} {
				cfg := small
				cfg.Threads = threads
				want := m.lane(t, cfg).all(tokens, 30, 1)
				l := m.lane(t, cfg)
				q, seen := l.sequence(64), 0
				trace := func(int, *plan.Instruction, int, []float32, int) { seen++ }
				got := l.run(&exec.Step{Trace: trace}, feed{q, tokens[:30]})
				for i := range tokens[30:] {
					got = append(got, l.run(&exec.Step{Trace: trace}, feed{q, tokens[30+i : 31+i]})...)
				}
				sameRows(t, "traced", got, want)
				if seen == 0 {
					t.Error("nothing was traced")
				}
			}
		})
	}
}

// Packed weights give the same bytes as those of the file, whichever worker packs them, and after
// all are packed the file's pages are released.
func TestPackedEqualsSource(t *testing.T) {
	names := append([]string{"gguf/models/gemma3-q4_0.gguf", "gguf/models/llama-f16.gguf", "gguf/models/llama-iq4_xs.gguf",
		"gguf/models/llama-q3_k_m.gguf", "gguf/models/qwen2-q5_k_m.gguf"}, invariant...)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			m := openCase(t, name, compile.Options{})
			tokens := randomTokens(4, 45, m.Config.Vocab)
			for _, precise := range []bool{false, true} {
				cfg := small
				cfg.Precise, cfg.Pack.Mode = precise, pack.Off
				want := m.lane(t, cfg).all(tokens, 40, 1)
				for i, threads := range []int{1, 4} {
					var released atomic.Int64
					cfg.Threads, cfg.Pack.Mode = threads, pack.InMemory
					cfg.Pack.Release = func(b []byte, _ bool) { released.Add(int64(len(b))) }
					for k, chunks := range [][]int{{40, 1}, {1}} { // a prompt packs, then a token does
						if k != i && precise && !await.Long() { // by as many threads as the other does else
							continue
						}
						released.Store(0)
						l := m.lane(t, cfg)
						sameRows(t, "packed", l.all(tokens, chunks...), want)
						if d := l.x.Packing(); released.Load() != d.Source {
							t.Errorf("%d bytes released; %v", released.Load(), d)
						}
					}
				}
			}
		})
	}
}

// A step dispatches each instruction of its plan once.
func TestDispatchCountEqualsPlan(t *testing.T) {
	m := openCase(t, "parity/llama3", compile.Options{})
	l := m.lane(t, small)
	q := l.sequence(64)
	l.run(&exec.Step{}, feed{q, []int32{1, 2, 3}})
	c := &exec.Counters{}
	l.run(&exec.Step{Counters: c}, feed{q, []int32{4}})
	want := map[plan.Opcode]uint64{}
	for _, ins := range m.Plans.Decode.Plan.Instructions {
		want[ins.Op]++
	}
	for op, n := range want {
		if c.Op(op) != n {
			t.Errorf("%s: %d dispatches, want %d", op, c.Op(op), n)
		}
	}
	if c.Total() != uint64(len(m.Plans.Decode.Plan.Instructions)) {
		t.Errorf("%d dispatches for %d instructions", c.Total(), len(m.Plans.Decode.Plan.Instructions))
	}
}
