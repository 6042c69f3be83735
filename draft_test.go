package atenia_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/place"
)

func parity(name string) string { return filepath.Join("testdata", "golden", "parity", name) }

// answerOf returns the tokens of an answer and its usage.
func answerOf(t *testing.T, m *atenia.Model, p atenia.Prompt) (ids []int32, u atenia.Usage) {
	t.Helper()
	for tok, err := range m.Generate(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		if ids = append(ids, tok.ID); tok.Usage != nil {
			u = *tok.Usage
		}
	}
	return ids, u
}

// TestDraft: answers are the same with a draft model, greedy or sampled, with one that is
// the target and with one of another architecture, without a budget and within one that
// holds both; what it drafted is counted.
func TestDraft(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 9))
	for _, by := range []string{parity("llama3"), parity("qwen3"), parity("gemma3"), "early", "early:2"} {
		for _, ram := range []int64{0, 256 << 20} {
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(by), ram), func(t *testing.T) {
				plain, err := atenia.Open(t.Context(), parity("llama3"), &atenia.Config{Context: 256})
				if err != nil {
					t.Fatal(err)
				}
				defer plain.Close()
				var budget place.Budget
				if ram > 0 { // the program that has run other tests is larger than one with this model
					budget = place.Budget{RAM: ram, Reserve: place.Reserve{Runtime: 60 << 20}}
				}
				m, err := atenia.Open(t.Context(), parity("llama3"), &atenia.Config{Context: 256, Draft: by, Budget: budget})
				if err != nil {
					t.Fatal(err)
				}
				drafted := 0
				for i := range 6 {
					p := atenia.Prompt{Tokens: make([]int32, 1+rng.IntN(100)), Options: atenia.Options{MaxTokens: 40, IgnoreEnd: true, Speculate: []string{"", "draft", "auto"}[i%3]}}
					if i == 0 { // short, so that the draft model is tried before it is known whether it pays
						p.Tokens = p.Tokens[:1]
					}
					for k := range p.Tokens {
						p.Tokens[k] = rng.Int32N(320)
					}
					if i%2 == 1 {
						p.Sampling = atenia.Sampling{Temperature: 0.8, Seed: rng.Uint64(), LogProbs: 1}
					}
					got, u := answerOf(t, m, p)
					p.Speculate = "off"
					want, _ := answerOf(t, plain, p)
					if !slices.Equal(got, want) {
						t.Errorf("answer %d: %v, want %v", i, got, want)
					}
					if u.ModelDrafted > u.Drafted || u.ModelAccepted > u.ModelDrafted {
						t.Errorf("answer %d: %+v", i, u)
					}
					drafted += u.ModelDrafted
				}
				if drafted == 0 {
					t.Error("the draft model drafted nothing")
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestDraftRefused: a draft model that has other tokens, that cannot take tokens back, or
// that is not there is an error which names it and says what would do; and so it is for a
// plan.
func TestDraftRefused(t *testing.T) {
	for _, x := range []struct{ model, draft, want string }{
		{parity("llama3"), "", "a model with the tokens of"},
		{"", parity("llama3"), "a model with the tokens of atenia-story"},
		{parity("llama3"), parity("qwen3_next"), "a model with attention layers alone"},
		{parity("llama3"), parity("bert_rerank"), "a model that generates text"},
		{parity("llama3"), "early:3", "fewer layers than the model has: 3"},
		{parity("llama3"), "early:0", "N of 1 or more layers"},
		{parity("llama3"), "early:x", "N of 1 or more layers"},
	} {
		c := &atenia.Config{Context: 128, Draft: x.draft}
		if x.draft == "" {
			c.Draft = "atenia-story"
		}
		_, err := atenia.Open(t.Context(), x.model, c)
		_, planned := atenia.OpenPlan(x.model, c)
		for _, err := range []error{err, planned} {
			if e, ok := errors.AsType[*atenia.ConfigError](err); !ok || e.Field != "Draft" || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%s by %s: %v, want %q", x.model, x.draft, err, x.want)
			}
		}
	}
	if _, err := atenia.Open(t.Context(), "", &atenia.Config{Draft: "no-such.gguf"}); err == nil || !strings.Contains(err.Error(), "draft model: ") || !strings.Contains(err.Error(), "no-such.gguf") {
		t.Errorf("%v", err)
	}
}

// TestDraftTokens: a draft model with as many tokens of which one is another is refused by
// its number; one whose special token has another name is not.
func TestDraftTokens(t *testing.T) {
	for token, fault := range map[string]string{`"\u0104"`: "token 12 of this one is \"ĄĄ\", there it is \"Ą\"", "\"<pad>\"": ""} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(parity("llama3"))); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "tokenizer.json")
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := token[1 : len(token)-1]
		other := strings.ReplaceAll(string(b), token, `"`+text+text+`"`)
		if err := os.WriteFile(name, []byte(other), 0o644); err != nil {
			t.Fatal(err)
		}
		m, err := atenia.Open(t.Context(), parity("llama3"), &atenia.Config{Context: 64, Draft: dir})
		if fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
			t.Errorf("%s: %v, want %q", token, err, fault)
		}
		if err == nil {
			m.Close()
		}
	}
}

// TestDraftPlanned: a placement leaves room for the draft model, and says so; a budget
// that has none is refused with what it needs.
func TestDraftPlanned(t *testing.T) {
	least := func(draft string) (floor int64, parts []place.Part) {
		t.Helper()
		cfg := &atenia.Config{Context: 256, Draft: draft, Budget: place.Budget{RAM: 1 << 17}}
		cfg.Budget.Reserve.Runtime = 1 << 16 // what is measured grows by what other tests of the process leave
		p, err := atenia.OpenPlan(parity("llama3"), cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Place()
		e, ok := errors.AsType[*place.FloorError](err)
		if !ok {
			t.Fatalf("%v", err)
		}
		return e.Floor, e.Parts
	}
	without, _ := least("")
	with, parts := least(parity("qwen3"))
	i := slices.IndexFunc(parts, func(p place.Part) bool { return strings.Contains(p.Name, "draft model") })
	if i < 0 || with-without != parts[i].Bytes {
		t.Errorf("a floor of %d bytes without, %d with a draft model: %v", without, with, parts)
	}
	p, err := atenia.OpenPlan(parity("llama3"), &atenia.Config{Context: 256, Draft: parity("qwen3"), Budget: place.Budget{RAM: 1 << 30}, Placement: place.Rules{NoProbe: true}})
	if err != nil {
		t.Fatal(err)
	}
	pl, err := p.Place()
	if err != nil {
		t.Fatal(err)
	}
	notes, err := p.PlacementNotes(pl)
	if err != nil || !strings.Contains(strings.Join(notes, "\n"), "draft    "+parity("qwen3")+": ") {
		t.Errorf("%v, %v", notes, err)
	}
}
