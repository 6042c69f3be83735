package atenia_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"atenia"
	"atenia/internal/golden"
)

// Tolerances against the reference, which computes the same weights in
// float32: README.md of the family says where they come from.
const (
	storyLogits = 1e-3 // any logit
	storyLoss   = 1e-4 // nats a token, over all documents
)

// storyContext is more than the model was trained for: some documents of the
// reference are longer.
const storyContext = 1024

// TestStory compares the embedded model with reference results of the weights
// it was made from: what it writes greedily, and its loss on held-out text.
func TestStory(t *testing.T) {
	dir := golden.Family(t, "story")
	m, err := atenia.Open(t.Context(), "", &atenia.Config{Context: storyContext})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	t.Run("greedy", func(t *testing.T) { storyGreedy(t, m, dir) })
	t.Run("heldout", func(t *testing.T) { storyHeldOut(t, m, dir) })
}

func storyGreedy(t *testing.T, m *atenia.Model, dir string) {
	var cases []struct {
		Prompt    string
		PromptIDs []int32   `json:"prompt_ids"`
		GreedyIDs []int32   `json:"greedy_ids"`
		Logits    []float64 `json:"top1_logits"`
		Leads     []float64 `json:"top1_leads"` // of the chosen token over the next best
		Text      string
	}
	golden.JSON(t, filepath.Join(dir, "expected.json"), &cases)
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		ids, err := m.Tokenize(c.Prompt)
		if err != nil || !slices.Equal(ids, c.PromptIDs) {
			t.Errorf("%q becomes %v, want %v (%v)", c.Prompt, ids, c.PromptIDs, err)
			continue
		}
		var got []int32
		finish := ""
		for tok, err := range m.Generate(t.Context(), atenia.Prompt{Text: c.Prompt, Options: atenia.Options{MaxTokens: len(c.GreedyIDs)}}) {
			if err != nil {
				t.Fatal(err)
			}
			if finish = tok.Finish; finish == "" {
				got = append(got, tok.ID)
			}
		}
		want := c.GreedyIDs
		if finish == "stop" { // the token that ended it is not part of the answer
			want = want[:len(want)-1]
		}
		// Two continuations are right where the best two logits are too close.
		sure := len(want)
		if i := slices.IndexFunc(c.Leads, func(lead float64) bool { return lead < 2*storyLogits }); i >= 0 {
			sure = min(sure, i)
		}
		if len(got) < sure || !slices.Equal(got[:sure], want[:sure]) || sure == len(want) && len(got) != sure {
			t.Errorf("%q: %s\n got %v\nwant %v", c.Prompt, finish, got, want)
		}
		storyLogitsMatch(t, m, slices.Concat(c.PromptIDs, c.GreedyIDs), len(c.PromptIDs), c.Logits)
		if text, err := m.Detokenize(c.GreedyIDs); err != nil || text != c.Text {
			t.Errorf("text %q, want %q (%v)", text, c.Text, err)
		}
	}
}

// storyLogitsMatch compares the logit of each token from the given one on,
// with the prompt computed at once and the others one by one.
func storyLogitsMatch(t *testing.T, m *atenia.Model, ids []int32, from int, want []float64) {
	t.Helper()
	worst, at := 0.0, 0
	err := m.EachLogits(t.Context(), ids, atenia.LogitsOptions{All: true, Step: from}, func(row int, logits []float32) {
		if i := row + 1 - from; i >= 0 && i < len(want) {
			if d := math.Abs(float64(logits[ids[row+1]]) - want[i]); !(d <= worst) {
				worst, at = d, i
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !(worst <= storyLogits) {
		t.Errorf("logit of generated token %d is off by %g, at most %g", at, worst, storyLogits)
	}
}

func storyHeldOut(t *testing.T, m *atenia.Model, dir string) {
	type loss struct {
		Tokens int
		Nats   float64 `json:"nll_nats_per_token"`
	}
	var want struct {
		Documents        int
		All, Story, Chat loss
	}
	golden.JSON(t, filepath.Join(dir, "heldout.json"), &want)
	f, err := os.Open(filepath.Join(dir, "heldout.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := map[string]*loss{"all": {}, "story": {}, "chat": {}}
	documents := 0
	for sc := bufio.NewScanner(f); sc.Scan(); documents++ {
		var doc struct{ Kind, Text string }
		if err := json.Unmarshal(sc.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		nats, tokens := storyNats(t, m, doc.Text, doc.Kind == "story")
		for _, key := range []string{"all", doc.Kind} {
			got[key].Nats += nats
			got[key].Tokens += tokens
		}
	}
	if documents != want.Documents || documents == 0 {
		t.Fatalf("%d documents, want %d", documents, want.Documents)
	}
	for key, w := range map[string]loss{"all": want.All, "story": want.Story, "chat": want.Chat} {
		nats := got[key].Nats / float64(got[key].Tokens)
		if got[key].Tokens != w.Tokens || !(math.Abs(nats-w.Nats) <= storyLoss) {
			t.Errorf("%s: %.8f nats a token over %d tokens, want %.8f over %d", key, nats, got[key].Tokens, w.Nats, w.Tokens)
		} else {
			t.Logf("%s: %.8f nats a token, reference %.8f", key, nats, w.Nats)
		}
	}
}

// storyNats scores every token of a text after the first, and the end of text
// after the last where one follows. A chat ends with its last message.
func storyNats(t *testing.T, m *atenia.Model, text string, ends bool) (nats float64, tokens int) {
	t.Helper()
	const endOfText = 0
	ids, err := m.Tokenize(text)
	if err != nil {
		t.Fatal(err)
	}
	next := ids[1:]
	if ends {
		next = append(ids[1:len(ids):len(ids)], endOfText)
	}
	err = m.EachLogits(t.Context(), ids, atenia.LogitsOptions{All: true}, func(row int, logits []float32) {
		if row == len(next) {
			return
		}
		best, sum := float64(slices.Max(logits)), 0.0
		for _, x := range logits {
			sum += math.Exp(float64(x) - best)
		}
		nats += best + math.Log(sum) - float64(logits[next[row]])
		tokens++
	})
	if err != nil {
		t.Fatal(err)
	}
	return nats, tokens
}
