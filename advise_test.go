package atenia_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"atenia"
	"atenia/internal/golden"
	"atenia/internal/golden/await"
	"atenia/place"
)

// advised returns the advice about a small model in a memory with steps of so many
// tokens, and its placement there, nil if there is none.
func advised(t *testing.T, ram int64, tokens int) (*place.Advice, *atenia.Placement) {
	t.Helper()
	path := filepath.Join(golden.Family(t, "parity"), "llama3")
	c := &atenia.Config{
		BatchTokens: tokens, Slots: 1, Context: 512, Budget: place.Budget{RAM: ram, Reserve: place.Reserve{Runtime: 1000}},
		Placement: place.Rules{Rates: place.Rates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}},
	}
	a, err := atenia.Advise(t.Context(), path, c)
	if err != nil {
		t.Fatal(err)
	}
	p, err := atenia.OpenPlan(path, c)
	if err != nil {
		t.Fatal(err)
	}
	pl, err := p.Place()
	if (err == nil) != (a.Verdict != place.VerdictCannot) {
		t.Errorf("%d bytes: %s, and placing: %v", ram, a.Verdict, err)
	}
	return a, pl
}

// TestAdvise: a verdict is that of placing the model, a remedy makes it better or
// a token surely faster, and what a remedy promises is true, as is what a placement
// says of more memory: with steps as short as any, and with such as are shortened.
func TestAdvise(t *testing.T) {
	for _, tokens := range []int{4, 512} {
		t.Run(strconv.Itoa(tokens), func(t *testing.T) { testAdvise(t, tokens) })
	}
	if _, err := atenia.Advise(t.Context(), "", &atenia.Config{Context: -1}); err == nil {
		t.Error("a bad configuration was advised about")
	}
}

func testAdvise(t *testing.T, tokens int) {
	type answer struct {
		*place.Advice
		placed *atenia.Placement
	}
	known := map[int64]answer{} // of each memory asked about, several times some
	advised := func(t *testing.T, ram int64, tokens int) (*place.Advice, *atenia.Placement) {
		t.Helper()
		if _, ok := known[ram]; !ok {
			a, pl := advised(t, ram, tokens)
			known[ram] = answer{a, pl}
		}
		return known[ram].Advice, known[ram].placed
	}
	all, _ := advised(t, 1<<30, tokens)
	if all.Verdict != place.VerdictFits || all.RAM != 1<<30 || all.Fit >= 1<<30 {
		t.Fatalf("%+v", all)
	}
	none, _ := advised(t, 1000, tokens)
	if none.Verdict != place.VerdictCannot || none.Why == "" || none.Outcome.RAM <= 1000 {
		t.Fatalf("%+v", none)
	}
	rank := map[place.Verdict]int{place.VerdictFits: 0, place.VerdictStreams: 1, place.VerdictCannot: 2}
	seen := map[place.Verdict]int{}
	least, steps := none.Outcome.RAM, int64(12)
	if await.Long() {
		steps = 40
	}
	memories := []int64{least - 1, least, all.Fit - 1, all.Fit}
	for ram := least / 2; ram < all.Fit+1<<20; ram += all.Fit / steps {
		memories = append(memories, ram)
	}
	for _, ram := range memories {
		a, pl := advised(t, ram, tokens)
		seen[a.Verdict]++
		if (a.Verdict == place.VerdictFits) != (ram >= all.Fit) || (a.Verdict == place.VerdictCannot) != (ram < least) {
			t.Errorf("%d bytes, at least %d, %d to fit: %s", ram, least, all.Fit, a.Verdict)
		}
		if pl != nil {
			for _, x := range pl.Next {
				then, at := advised(t, x.RAM, tokens)
				if x.Fits != (then.Verdict == place.VerdictFits) || at.Decode.Seconds != x.SecondsThen || x.Fits && x.RAM != all.Fit {
					t.Errorf("%d bytes: %+v: %s, %g s; all fits in %d", ram, x, then.Verdict, at.Decode.Seconds, all.Fit)
				}
			}
		}
		if len(a.Remedies) > 3 {
			t.Errorf("%d remedies", len(a.Remedies))
		}
		for _, r := range a.Remedies {
			if rank[r.Then.Verdict] > rank[a.Verdict] || r.Then.Verdict == a.Verdict && r.Then.High >= a.Low || !strings.HasPrefix(r.Command, "atenia ") {
				t.Errorf("%s: %s is no remedy", a.Outcome.String(), r.Then.String())
			}
		}
		if n := len(a.Remedies); a.Verdict == place.VerdictStreams && n > 0 && strings.Contains(a.Remedies[n-1].What, "of memory") {
			if got, _ := advised(t, all.Fit+1<<20, tokens); got.Verdict != a.Remedies[n-1].Then.Verdict {
				t.Errorf("more memory: %s, promised %s", got.Verdict, a.Remedies[n-1].Then.Verdict)
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("only %v", seen)
	}
	var w strings.Builder
	if err := none.WriteText(&w); err != nil || !strings.Contains(w.String(), "cannot run in 1000 B") {
		t.Errorf("%v: %s", err, w.String())
	}
}

// TestRunsCorrect: what a run measures is kept when the model is closed, and
// later placements of its kind are corrected by it and say so.
func TestRunsCorrect(t *testing.T) {
	c := &atenia.Config{Context: 64, Placement: place.Rules{ProfileDir: t.TempDir()}}
	path := filepath.Join(golden.Family(t, "parity"), "llama3")
	predicted := func() place.Prediction {
		t.Helper()
		p, err := atenia.OpenPlan(path, c)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := p.Place()
		if err != nil {
			t.Fatal(err)
		}
		var w strings.Builder
		if err := pl.WriteText(&w); err != nil || strings.Contains(w.String(), "corrected by") != (pl.Decode.Runs > 0) {
			t.Errorf("%v: %s", err, w.String())
		}
		return pl.Decode
	}
	before := predicted()
	// Too few tokens say nothing, nor do those of threads that other programs kept waiting.
	for _, n := range []int{4, 30, 31} {
		waited := time.Duration(0)
		c.SetDelay(func() time.Duration {
			if n == 30 {
				waited += time.Hour
			}
			return waited
		})
		m, err := atenia.Open(t.Context(), path, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range m.Generate(t.Context(), atenia.Prompt{Tokens: []int32{1, 2}, Options: atenia.Options{MaxTokens: n, IgnoreEnd: true}}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if got := predicted().Runs; (got > 0) != (n == 31) {
			t.Errorf("after %d tokens: corrected by %d runs", n, got)
		}
	}
	after := predicted()
	if want := before.Seconds * after.Correction; after.Runs != 1 || !(after.Seconds > 0.999*want && after.Seconds < 1.001*want) || after.Low >= after.Seconds || after.High <= after.Seconds {
		t.Errorf("%+v became %+v", before, after)
	}
	c.Placement.Rates = place.Rates{SSD: 1e9, RAM: 1e10, FLOPS: 1e11}
	if p := predicted(); p.Runs != 0 {
		t.Errorf("rates that are given were corrected: %+v", p)
	}
}

// TestMapIsTrue: what is drawn of a run in memory is what the system says that
// the process has, but for a twentieth, and for memory that this small model
// reserves and never touches. docs/placement.md has numbers of a larger one.
func TestMapIsTrue(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector takes memory of its own")
	}
	m, err := atenia.Open(t.Context(), "", &atenia.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, err := range m.Generate(t.Context(), atenia.Prompt{Text: "Once", Options: atenia.Options{MaxTokens: 8}}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	d := m.Map()
	if d.Resident == 0 {
		t.Skip("this system does not say how much memory a process has")
	}
	const untouched = 12 << 20
	if ram := d.RAM(); ram < d.Resident-d.Resident/20 || ram > d.Resident+d.Resident/20+untouched {
		t.Errorf("%d bytes are drawn, %d resident: %+v", ram, d.Resident, d)
	}
	uses := map[string]bool{}
	for _, p := range d.Parts {
		uses[p.Use] = true
	}
	if !uses["program"] || !uses["packed"] || !uses["scratch"] || !uses["cache"] {
		t.Errorf("%v", uses)
	}
}

// TestAdviseBatch: sequences that a server computes at once share what keys and values
// have room for, so that several need no more memory than one; the verdict says how many
// have room for whole contexts.
func TestAdviseBatch(t *testing.T) {
	path := filepath.Join(golden.Family(t, "parity"), "llama3")
	within := func(ram int64, batch int) *atenia.Config {
		return &atenia.Config{
			BatchTokens: 4, Context: 512, Budget: place.Budget{RAM: ram, Reserve: place.Reserve{Runtime: 1000}},
			Placement: place.Rules{Batch: batch, Rates: place.Rates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}},
		}
	}
	advise := func(ram int64, batch int) *place.Advice {
		t.Helper()
		a, err := atenia.Advise(t.Context(), path, within(ram, batch))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	one, all := advise(1<<30, 1).Fit, advise(1<<30, 4).Fit
	each := (all - one) / 3
	for n := 1; n <= 4; n++ {
		a := advise(one+each*int64(n-1)+each/2, 4)
		if a.Verdict != place.VerdictFits || a.Whole != n || strings.Contains(a.Outcome.String(), strconv.Itoa(n)+" of 4 sequences") != (n < 4) {
			t.Errorf("room for %d: %d, %s", n, a.Whole, a.Outcome.String())
		}
	}
	c := within(1<<30, 1)
	c.BatchTokens = 40 // which are shortened where all fits then, and not where weights are streamed
	a, err := atenia.Advise(t.Context(), path, c)
	if err != nil {
		t.Fatal(err)
	}
	c.Budget.RAM, c.Placement.Batch = a.Fit*3/4, 4
	p, err := atenia.OpenPlan(path, c)
	if err != nil {
		t.Fatal(err)
	}
	pl, err := p.Place()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(pl.Next); n == 0 || !pl.Next[n-1].Fits || pl.Next[n-1].RAM != a.Fit {
		t.Errorf("%+v, nothing is streamed in %d", pl.Next, a.Fit)
	}
	if a, b := advise(1000, 1), advise(1000, 4); a.Outcome.RAM != b.Outcome.RAM {
		t.Errorf("at least %d bytes for one, %d for four", a.Outcome.RAM, b.Outcome.RAM)
	}
}

// TestAdviseEncoder: a model that keeps no keys and values is told to make none smaller, each
// command is of the kind of the model, and what together helps names no more than it changes.
func TestAdviseEncoder(t *testing.T) {
	together := 0
	for name, command := range map[string]string{"roberta": "atenia embed ", "distilbert": "atenia embed ", "bert_rerank": "atenia rerank ", "whisper": "atenia transcribe ", "llama3": "atenia run ", "qwen2 mean": "atenia embed "} {
		folder, pooling, _ := strings.Cut(name, " ")
		path := filepath.Join(golden.Family(t, "parity"), folder)
		c := &atenia.Config{Slots: 1, Pooling: pooling, Budget: place.Budget{RAM: 1 << 40, Reserve: place.Reserve{Runtime: 1000}}, Placement: place.Rules{Rates: place.Rates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}}}
		a, err := atenia.Advise(t.Context(), path, c)
		if err != nil {
			t.Fatal(err)
		}
		for most, part := a.Fit, int64(10); part < 16; part += 2 {
			c.Budget.RAM = most * part / 16
			if a, err = atenia.Advise(t.Context(), path, c); err != nil {
				t.Fatal(err)
			}
			for _, r := range a.Remedies {
				if !strings.Contains(r.Command, command) && !strings.HasPrefix(r.Command, "atenia quantize ") {
					t.Errorf("%s: %s", name, r.Command)
				}
				for what, flag := range map[string]string{"keys and values": "--kv-type", "a context of": "--ctx", "steps of": "--batch-tokens"} {
					if strings.Contains(r.What, what) != strings.Contains(r.Command, flag) {
						t.Errorf("%s: %q and %q", name, r.What, r.Command)
					}
				}
				if then := r.Then; a.Verdict == then.Verdict && command != "atenia run " && command != "atenia transcribe " && then.Seconds*float64(a.Text) >= a.Seconds*float64(then.Text) {
					t.Errorf("%s: %s is no faster for each token of a text: %+v, then %+v", name, r.Command, a.Outcome, then)
				}
				if command != "atenia run " && command != "atenia transcribe " {
					if strings.Contains(r.Command, "--kv-type") {
						t.Errorf("%s: %s, and an encoder keeps no keys and values", name, r.Command)
					}
					if strings.Contains(r.Command, "--batch-tokens") {
						together++
					}
				}
			}
		}
	}
	if together == 0 {
		t.Error("no encoder was advised shorter steps")
	}
}
