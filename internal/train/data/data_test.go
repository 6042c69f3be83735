package data

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/model/text"
	"atenia/internal/text/chat"
	"atenia/internal/text/token"
)

const chatML = "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

// bytesText is a tokenizer of bytes with a chat template.
func bytesText(t testing.TB, template string) *text.Text {
	t.Helper()
	v, err := token.TrainVocabulary(token.VocabularyConfig{Size: 261, Special: []string{"<|end|>", "<|im_start|>", "<|im_end|>", "<s>", "</s>"}}, func(func(string, error) bool) {})
	if err != nil {
		t.Fatal(err)
	}
	b, err := v.JSON()
	if err != nil {
		t.Fatal(err)
	}
	x := &text.Text{Vars: map[string]string{"bos_token": "<s>", "eos_token": "</s>"}, Stop: []int32{0, 2, 4}}
	if x.Tokenizer, err = token.Load(b); err != nil {
		t.Fatal(err)
	}
	if template != "" {
		if x.Template, err = chat.Parse("test", template); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// sourceFile writes a file for a test.
func sourceFile(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// open opens a set that the test closes.
func open(t testing.TB, c Config, x *text.Text) *Set {
	t.Helper()
	s, err := Open(context.Background(), c, x)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// stories are lines of texts of many lengths, none like another.
func stories(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"text\":\"%04d%s\"}\n", i, strings.Repeat(string(rune('a'+i%26)), i*7%40))
	}
	return b.String()
}

// rows returns the rows of a batch and their targets as text.
func rows(t testing.TB, x *text.Text, b *Batch) (in, out []string) {
	t.Helper()
	at := 0
	for _, n := range b.Lens {
		in = append(in, x.Tokenizer.Decode(b.Tokens[at:at+n], false))
		var labels []int32
		for i, l := range b.Labels[at : at+n] {
			if l != Ignored {
				labels = append(labels, l)
			}
			if i+1 < n && l != Ignored && l != b.Tokens[at+i+1] {
				t.Fatalf("label %d of a row is %d, the next token %d", i, l, b.Tokens[at+i+1])
			}
		}
		out = append(out, x.Tokenizer.Decode(labels, false))
		at += n
	}
	if at != len(b.Tokens) || at != len(b.Labels) {
		t.Fatalf("rows of %d tokens, %d tokens, %d labels", at, len(b.Tokens), len(b.Labels))
	}
	return in, out
}

// TestEpoch sees every document once in an epoch, in an order that changes.
func TestEpoch(t *testing.T) {
	t.Parallel()
	x := bytesText(t, "")
	path := sourceFile(t, "a.jsonl", stories(300))
	for _, memory := range []int64{0, 400} { // also from a file
		s := open(t, Config{Files: []string{path}, Row: 64, Rows: 4, End: "<|end|>", MemoryBytes: memory, Dir: t.TempDir()}, x)
		src := s.Train()
		var seen []string
		var b Batch
		for len(seen) < 600 {
			if err := src.Next(&b); err != nil {
				t.Fatal(err)
			}
			if n := len(seen) + len(b.Lens); len(b.Tokens) > 256 || len(b.Tokens) < 192 && n%300 != 0 {
				t.Fatalf("a batch of %d tokens", len(b.Tokens))
			}
			in, out := rows(t, x, &b)
			for i := range in {
				if !strings.HasSuffix(out[i], "<|end|>") || in[i] != in[i][:1]+strings.TrimSuffix(out[i], "<|end|>") {
					t.Fatalf("%q predicts %q", in[i], out[i])
				}
			}
			seen = append(seen, in...)
		}
		first, second := seen[:300], seen[300:600]
		if slices.Equal(first, second) || slices.IsSorted(first) {
			t.Error("the order does not change")
		}
		for _, epoch := range [][]string{first, second} {
			if n := len(slices.Compact(slices.Sorted(slices.Values(epoch)))); n != 300 {
				t.Fatalf("%d documents in an epoch", n)
			}
		}
	}
}

// TestResume: reading can be resumed at any position.
func TestResume(t *testing.T) {
	t.Parallel()
	x := bytesText(t, "")
	cfg := Config{Files: []string{sourceFile(t, "a.jsonl", stories(40))}, Row: 9, Rows: 3, Seed: 7, Heldout: 0.1}
	src := open(t, cfg, x).Train()
	type step struct {
		cursor string
		tokens []int32
	}
	var steps []step
	var b Batch
	for range 150 {
		cursor := src.Cursor()
		if err := src.Next(&b); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step{cursor, slices.Concat(b.Tokens, b.Labels)})
	}
	if src.Epoch() == 0 {
		t.Error("never a second epoch")
	}
	again := open(t, cfg, x).Train()
	for _, i := range []int{77, 149, 3, 0} {
		if err := again.Seek(steps[i].cursor); err != nil {
			t.Fatal(err)
		}
		for _, want := range steps[i:] {
			if err := again.Next(&b); err != nil || !slices.Equal(slices.Concat(b.Tokens, b.Labels), want.tokens) {
				t.Fatalf("from %s: %v", steps[i].cursor, err)
			}
		}
	}
	for _, bad := range []string{"x", "1:2", "0:99999@" + steps[0].cursor[4:], "-1:0@00000000"} {
		if err := again.Seek(bad); !errors.Is(err, errConfig) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	cfg.Row = 10
	if err := open(t, cfg, x).Train().Seek(steps[5].cursor); !errors.Is(err, errConfig) || !strings.Contains(err.Error(), "changed") {
		t.Error(err)
	}
}

// TestLong cuts one long text at other places in every epoch and predicts each
// token once.
func TestLong(t *testing.T) {
	t.Parallel()
	x := bytesText(t, "")
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "%03d.", i)
	}
	path := sourceFile(t, "a.txt", text.String())
	src := open(t, Config{Files: []string{path}, Row: 32, Rows: 1}, x).Train()
	var first []string
	var b Batch
	for epoch := range 3 {
		predicted := 0
		var seen []string
		for predicted < text.Len()-1 {
			if err := src.Next(&b); err != nil {
				t.Fatal(err)
			}
			in, out := rows(t, x, &b)
			for i := range in {
				predicted += len(out[i])
				seen = append(seen, in[i])
			}
		}
		if predicted != text.Len()-1 || len(slices.Compact(slices.Sorted(slices.Values(seen)))) != len(seen) {
			t.Fatalf("epoch %d: %d tokens, %d rows", epoch, predicted, len(seen))
		}
		slices.Sort(seen)
		if epoch > 0 && slices.Equal(seen, first) {
			t.Error("cut at the same places again")
		}
		first = seen
	}
	for long, want := range map[Long]string{cut: text.String()[:33], split: text.String()} {
		s := open(t, Config{Files: []string{path}, Row: 32, Rows: 100, Long: long}, x)
		n := 0
		for _, d := range s.train {
			n += int(d.to - d.from)
		}
		if n != len(want) {
			t.Errorf("%s: %d tokens, want %d", long, n, len(want))
		}
	}
	if _, err := Open(context.Background(), Config{Files: []string{path}, Row: 32, Long: drop}, x); !errors.Is(err, errConfig) {
		t.Error(err)
	}
}

func TestHeldout(t *testing.T) {
	t.Parallel()
	x := bytesText(t, "")
	s := open(t, Config{Files: []string{sourceFile(t, "a.jsonl", stories(100))}, Row: 64, Rows: 2, Heldout: 0.2}, x)
	held, ok := s.Heldout()
	if !ok || len(s.held) != 20 || len(s.train) != 80 {
		t.Fatalf("%d held out, %d to train on", len(s.held), len(s.train))
	}
	var b Batch
	var lists [2][]string
	for k, src := range []*Source{s.Train(), held} {
		for src.Epoch() < 2 {
			if err := src.Next(&b); err != nil {
				t.Fatal(err)
			}
			in, _ := rows(t, x, &b)
			lists[k] = append(lists[k], in...)
		}
	}
	for _, d := range lists[1] {
		if slices.Contains(lists[0], d) {
			t.Fatalf("%q is trained on and held out", d)
		}
	}
	if !slices.Equal(lists[1][:20], lists[1][20:40]) {
		t.Error("held-out rows come in changing order")
	}

	// One document: its end.
	s = open(t, Config{Files: []string{sourceFile(t, "a.txt", "abcdefghijklmnopqrst")}, Heldout: 0.25}, x)
	if src, ok := s.Heldout(); !ok || src.Next(&b) != nil || x.Tokenizer.Decode(b.Tokens, false) != "pqrs" {
		t.Error(x.Tokenizer.Decode(b.Tokens, false))
	}
	if err := s.Train().Next(&b); err != nil || !strings.HasSuffix(x.Tokenizer.Decode(b.Tokens, false), "lmn") {
		t.Error(x.Tokenizer.Decode(b.Tokens, false), err)
	}
	if _, ok := open(t, Config{Files: []string{sourceFile(t, "a.txt", "abc")}}, x).Heldout(); ok {
		t.Error("something is held out")
	}
}

// TestAlone: every document has one row, and a batch a fixed number of them.
func TestAlone(t *testing.T) {
	t.Parallel()
	x := bytesText(t, "")
	src := open(t, Config{Files: []string{sourceFile(t, "a.jsonl", stories(100))}, Row: 64, Rows: 5, Alone: true}, x).Train()
	var b Batch
	for range 30 {
		if err := src.Next(&b); err != nil || len(b.Lens) != 5 {
			t.Fatal(b.Lens, err)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	x := bytesText(t, chatML)
	raise := bytesText(t, "{{ raise_exception('no') }}")
	talk := `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]}`
	for want, c := range map[string]struct {
		cfg Config
		x   *text.Text
	}{
		"no files":             {Config{}, x},
		"rows of -1":           {Config{Files: []string{"a"}, Row: -1}, x},
		"no treatment \"x\"":   {Config{Files: []string{"a"}, Long: "x"}, x},
		"share of 1":           {Config{Files: []string{"a"}, Heldout: 1}, x},
		"no token \"<eos>\"":   {Config{Files: []string{"a"}, End: "<eos>"}, x},
		"no such file":         {Config{Files: []string{"none"}}, x},
		"nothing to learn":     {Config{Files: []string{sourceFile(t, "a.txt", "a")}}, x},
		"a.jsonl:2: malformed": {Config{Files: []string{sourceFile(t, "a.jsonl", talk+"\n{")}}, x},
		"a.jsonl:1: no":        {Config{Files: []string{sourceFile(t, "a.jsonl", talk)}}, raise},
		"no chat template":     {Config{Files: []string{sourceFile(t, "a.jsonl", talk)}}, bytesText(t, "")},
	} {
		if _, err := Open(context.Background(), c.cfg, c.x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	_, err := Open(context.Background(), Config{Files: []string{sourceFile(t, "a.jsonl", talk)}}, raise)
	if e, ok := errors.AsType[*token.CorpusError](err); !ok || e.Line != 1 {
		t.Error(err)
	}
}

// TestNextAllocates: Next does not allocate once its slices have grown.
func TestNextAllocates(t *testing.T) {
	x := bytesText(t, "")
	s := open(t, Config{Files: []string{sourceFile(t, "a.jsonl", stories(300))}, Row: 16, Rows: 4, MemoryBytes: 800, Dir: t.TempDir()}, x)
	src := s.Train()
	var b Batch
	for range 100 {
		if err := src.Next(&b); err != nil {
			t.Fatal(err)
		}
	}
	if n := await.Allocs(100, func() {
		if err := src.Next(&b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a batch", n)
	}
}

// TestShuffle checks that orders are permutations, and not alike.
func TestShuffle(t *testing.T) {
	t.Parallel()
	for _, n := range []uint64{1, 2, 3, 5, 16, 17, 1000} {
		seen := make([]bool, n)
		s, fixed := newShuffle(n, 1, 2), 0
		for i := range n {
			j := s.at(i)
			if j >= n || seen[j] {
				t.Fatalf("%d of %d goes to %d", i, n, j)
			}
			if seen[j] = true; i == j {
				fixed++
			}
		}
		if n == 1000 && fixed > 10 {
			t.Errorf("%d of %d stay", fixed, n)
		}
	}
}
