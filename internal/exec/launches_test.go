package exec_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/plan"
)

var updateLaunches = flag.Bool("update", false, "lower the counts of perf/launches.json, and add those of new cases")

// launchBaseline is, for each parity case, how often a step hands work to the
// pool: on this backend that is a launch.
const launchBaseline = "perf/launches.json"

// launchCounts are the counts of one case. A count above the baseline by more
// than a tenth needs an approval, whose reason says why it is worth it.
type launchCounts struct {
	Prefill  uint64          `json:"prefill"` // a step of several rows
	Decode   uint64          `json:"decode"`  // of one row
	Approved *launchApproval `json:"approved,omitempty"`
}

type launchApproval struct {
	Prefill uint64 `json:"prefill,omitempty"`
	Decode  uint64 `json:"decode,omitempty"`
	Reason  string `json:"reason"`
}

// eachDecoder calls f with every parity case of a decoder that compiles.
func eachDecoder(t *testing.T, f func(t *testing.T, name string, m *model)) {
	root := golden.Family(t, "parity")
	for _, name := range golden.Dirs(t, root) {
		var fix fixture
		golden.JSON(t, filepath.Join(root, name, "fixture.json"), &fix)
		d, err := file.Open(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		if c, err := compile.Compile(d, compile.Options{}); err != nil || c.Plans.Decode == nil || fix.Kind != "causal" {
			continue
		}
		t.Run(name, func(t *testing.T) { f(t, name, load(t, d, compile.Options{})) })
	}
}

// launches returns the count of one step of sequences of so many rows each.
func launches(t *testing.T, m *model, rows, seqs int) uint64 {
	t.Helper()
	cfg := small
	cfg.Threads = 2
	l := m.lane(t, cfg)
	c := &exec.Counters{}
	var feeds []feed
	for i := range seqs {
		feeds = append(feeds, feed{l.sequence(64), randomTokens(uint64(i), rows, m.Config.Vocab)})
	}
	l.run(&exec.Step{Counters: c}, feeds...)
	return c.Launches()
}

// moreLaunches is what a step may add, whatever its rows: a mixture hands out the
// experts that were chosen together, and small ones may be chosen together.
const moreLaunches = 2

// TestLaunchesIndependentOfBatch: work is handed to the pool once per stage,
// however many rows there are, for every opcode that a case has: a loop over rows
// or sequences in an adapter would show as a count that grows with them.
func TestLaunchesIndependentOfBatch(t *testing.T) {
	seen := map[plan.Opcode]bool{}
	eachDecoder(t, func(t *testing.T, _ string, m *model) {
		mixtures := uint64(0)
		for _, ins := range m.Plans.Decode.Plan.Instructions {
			seen[ins.Op] = true
			if ins.Op == plan.OpMoE {
				mixtures++
			}
		}
		more := mixtures * moreLaunches
		one := launches(t, m, 1, 1)
		if n := launches(t, m, 1, 8); n > one+more {
			t.Errorf("a decode step of 8 sequences launches %d times, of one %d", n, one)
		}
		few, many := launches(t, m, 16, 1), launches(t, m, 100, 1)
		if many > few+more {
			t.Errorf("a prompt of 100 tokens launches %d times, of 16 %d", many, few)
		}
		if n := launches(t, m, 16, 6); n > few+more {
			t.Errorf("6 prompts of 16 tokens launch %d times, one %d", n, few)
		}
	})
	for _, op := range []plan.Opcode{plan.OpNorm, plan.OpAttention, plan.OpFFN, plan.OpMoE, plan.OpEmbedding, plan.OpResidualAdd, plan.OpLMHead} {
		if !seen[op] {
			t.Errorf("no case has a %s", op)
		}
	}
}

// TestLaunchCounters: counts are those of the steps since they were reset.
func TestLaunchCounters(t *testing.T) {
	l := openCase(t, "parity/llama3", compile.Options{}).lane(t, small)
	q, c := l.sequence(64), &exec.Counters{}
	l.run(&exec.Step{}, feed{q, []int32{1, 2, 3}})
	l.run(&exec.Step{Counters: c}, feed{q, []int32{4}})
	one := c.Launches()
	l.run(&exec.Step{Counters: c}, feed{q, []int32{5}})
	if one == 0 || c.Launches() != 2*one {
		t.Errorf("%d launches in one step and %d in two", one, c.Launches())
	}
	if c.Reset(); c.Launches() != 0 || c.Total() != 0 {
		t.Errorf("%d launches after a reset", c.Launches())
	}
}

// TestLaunchBaseline compares the counts of every case with the lowest that were
// committed. With -update it lowers them and adds new cases; it never raises one.
func TestLaunchBaseline(t *testing.T) {
	path := filepath.Join(golden.Root(t), filepath.FromSlash(launchBaseline))
	base := map[string]*launchCounts{}
	golden.JSON(t, path, &base)
	eachDecoder(t, func(t *testing.T, name string, m *model) {
		now := launchCounts{Prefill: launches(t, m, 16, 1), Decode: launches(t, m, 1, 1)}
		b := base[name]
		switch {
		case b == nil && *updateLaunches:
			base[name] = &now
			return
		case b == nil && os.Getenv(golden.EnvVar) != "":
			t.Skip("not a case of this repository")
		case b == nil:
			t.Fatalf("no counts in %s: run with -update", launchBaseline)
		}
		if *updateLaunches {
			b.Prefill, b.Decode = min(b.Prefill, now.Prefill), min(b.Decode, now.Decode)
		}
		most := *b
		if a := b.Approved; a != nil {
			if strings.TrimSpace(a.Reason) == "" {
				t.Error("approved without a reason")
			}
			most.Prefill, most.Decode = max(most.Prefill, a.Prefill), max(most.Decode, a.Decode)
		}
		for _, x := range []struct {
			mode      string
			now, most uint64
		}{{"prefill", now.Prefill, most.Prefill}, {"decode", now.Decode, most.Decode}} {
			if 10*x.now > 11*x.most {
				t.Errorf("%s: %d launches, the baseline is %d: make them fewer, or add {\"approved\": {\"%s\": %d, \"reason\": …}} to %s",
					x.mode, x.now, x.most, x.mode, x.now, launchBaseline)
			}
		}
	})
	if *updateLaunches {
		b, err := json.MarshalIndent(base, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(b, '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
