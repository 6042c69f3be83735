package token_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"atenia/internal/text/token"
)

// texts yields a list.
func texts(list ...string) token.TrainTexts {
	return func(yield func(string, error) bool) {
		for _, s := range list {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// train returns a vocabulary, its file and the tokenizer that the file makes.
func train(t testing.TB, c token.VocabularyConfig, list ...string) (*token.Vocabulary, []byte, *token.Tokenizer) {
	t.Helper()
	v, err := token.TrainVocabulary(c, texts(list...))
	if err != nil {
		t.Fatal(err)
	}
	b, err := v.JSON()
	if err != nil {
		t.Fatal(err)
	}
	tok, err := token.Load(b)
	if err != nil {
		t.Fatal(err)
	}
	return v, b, tok
}

// TestReference compares with the trainer of huggingface/tokenizers 0.22.2 on the
// same texts: the same merges, and the same file byte for byte.
func TestReference(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref struct {
		Texts []string
		Cases []struct {
			Pattern  token.Pattern
			Size     int
			MinCount int64 `json:"min_count"`
			SHA256   string
			Merges   []string
		}
	}
	if err := json.Unmarshal(b, &ref); err != nil || len(ref.Cases) == 0 {
		t.Fatal(err)
	}
	for _, c := range ref.Cases {
		v, file, tok := train(t, token.VocabularyConfig{Size: c.Size, MinCount: c.MinCount, Pattern: c.Pattern, Special: []string{"<|end|>", "<|pad|>"}}, ref.Texts...)
		for i, m := range v.Merges {
			got := v.Tokens[m[0]] + " " + v.Tokens[m[1]]
			if i >= len(c.Merges) || got != c.Merges[i] {
				t.Fatalf("%s %d: merge %d is %q, want of %q", c.Pattern, c.Size, i, got, c.Merges[min(i, len(c.Merges)):min(i+1, len(c.Merges))])
			}
		}
		if sum := sha256.Sum256(file); len(v.Merges) != len(c.Merges) || hex.EncodeToString(sum[:]) != c.SHA256 {
			t.Errorf("%s %d: %d merges, want %d; or the file differs", c.Pattern, c.Size, len(v.Merges), len(c.Merges))
		}
		for _, s := range ref.Texts {
			if got := tok.Decode(tok.Encode(s, true), false); got != s {
				t.Errorf("%s %d: %q became %q", c.Pattern, c.Size, s, got)
			}
		}
	}
}

// TestOrder trains on the same texts in another order and in pieces.
func TestOrder(t *testing.T) {
	t.Parallel()
	list := make([]string, 200)
	for i := range list {
		list[i] = fmt.Sprintf("text %d says %d times: hello %x\n", i%17, i, i*i*i)
	}
	c := token.VocabularyConfig{Size: 400, MinCount: 1}
	_, want, _ := train(t, c, list...)
	slices.Reverse(list)
	if _, got, _ := train(t, c, list...); !bytes.Equal(got, want) {
		t.Error("the order of texts matters")
	}
	if _, got, _ := train(t, c, strings.Join(list, "")); !bytes.Equal(got, want) {
		t.Error("the borders of texts matter")
	}
}

// TestLength counts the tokens of the text as the tokenizer does.
func TestLength(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a story of a brave fox, a lantern and 3 boats.\n", 9)
	for _, c := range []token.VocabularyConfig{{Size: 256}, {Size: 290}, {Size: 300, Pattern: token.GPT2}, {Characters: true}} {
		v, _, tok := train(t, c, text)
		if got := int64(len(tok.Encode(text, false))); got != v.Length || v.Bytes != int64(len(text)) {
			t.Errorf("%+v: %d tokens for %d bytes, want %d for %d", c, v.Length, v.Bytes, got, len(text))
		}
		if c.Size > 0 && len(v.Tokens) > c.Size || len(v.Tokens) != tok.VocabSize() {
			t.Errorf("%+v: %d tokens", c, len(v.Tokens))
		}
	}
}

// TestSpecial: special tokens take no part in training the vocabulary.
func TestSpecial(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("<|end|>xy<|e|>xy<|end|><|end|>", 5)
	v, _, tok := train(t, token.VocabularyConfig{Size: 300, MinCount: 1, Special: []string{"<|e|>", "<|end|>"}, BOS: "<|end|>"}, text)
	if want := []string{"xy"}; !slices.Equal(v.Tokens[258:], want) {
		t.Errorf("learned %q, want %q", v.Tokens[258:], want)
	}
	xy := int32(258)
	if got, want := tok.Encode("xy<|e|>", true), []int32{1, xy, 0}; !slices.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
	if got := tok.Decode([]int32{1, xy, 0}, true); got != "xy" {
		t.Errorf("decoded %q", got)
	}
}

func TestCharacters(t *testing.T) {
	t.Parallel()
	v, _, tok := train(t, token.VocabularyConfig{Characters: true, Special: []string{"<|end|>"}}, "ba\nab", "é<|end|>a")
	if want := []string{"<|end|>", token.Unknown, "\n", "a", "b", "é"}; !slices.Equal(v.Tokens, want) {
		t.Fatalf("tokens %q, want %q", v.Tokens, want)
	}
	if got, want := tok.Encode("bé ?\n<|end|>", true), []int32{4, 5, 1, 1, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
	if got := tok.Decode([]int32{4, 5, 2}, true); got != "bé\n" {
		t.Errorf("decoded %q", got)
	}
	v, _, _ = train(t, token.VocabularyConfig{Characters: true, Size: 3}, "abbccc")
	if want := []string{token.Unknown, "b", "c"}; !slices.Equal(v.Tokens, want) {
		t.Errorf("tokens %q, want %q", v.Tokens, want)
	}
}

// TestBound forgets the rarest words where the distinct ones are too many.
func TestBound(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 3000 {
		list = append(list, fmt.Sprintf(" rare%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676), " often")
	}
	v, _, _ := train(t, token.VocabularyConfig{Size: 262, MinCount: 1000, MaxBytes: 1000, Pattern: token.GPT2}, list...)
	if last := v.Tokens[len(v.Tokens)-1]; len(v.Merges) != 5 || last != "Ġoften" {
		t.Errorf("%d merges, the last token %q", len(v.Merges), last)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]token.VocabularyConfig{
		"a size of 255":              {Size: 255},
		"want 257":                   {Size: 256, Special: []string{"<s>"}},
		"no pattern":                 {Pattern: "x"},
		"negative":                   {MinCount: -1},
		"twice":                      {Special: []string{"<s>", "<s>"}},
		"not empty":                  {Special: []string{""}},
		"also a token of the text":   {Special: []string{"a"}},
		"begins a text and is no sp": {BOS: "<s>"},
	} {
		if _, err := token.TrainVocabulary(c, texts("a")); !errors.Is(err, token.ErrVocabularyConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
	bad := errors.New("bad")
	if _, err := token.TrainVocabulary(token.VocabularyConfig{}, func(yield func(string, error) bool) { yield("", bad) }); err != bad {
		t.Error(err)
	}
}

// plain is the textbook algorithm: count all pairs, merge the most frequent one
// everywhere, repeat. It stops if an existing token is made by a second merge,
// where counts differ by design.
func plain(text string, n int) (tokens []string) {
	have := map[string]int{}
	for id, r := range slices.Sorted(slices.Values(token.ByteChar[:])) {
		tokens = append(tokens, string(r))
		have[string(r)] = id
	}
	words := map[string][]string{}
	times := map[string]int{}
	split := &token.Splitter{Match: token.Scanners[token.ReLlama3], How: token.Isolated}
	split.Cut(token.Piece{S: text}, func(p token.Piece) {
		times[p.S]++
		words[p.S] = nil
		for _, b := range []byte(p.S) {
			words[p.S] = append(words[p.S], string(token.ByteChar[b]))
		}
	})
	for range n {
		pairs := map[[2]string]int{}
		for s, w := range words {
			for i := 1; i < len(w); i++ {
				pairs[[2]string{w[i-1], w[i]}] += times[s]
			}
		}
		best, most := [2]string{}, 0
		for p, n := range pairs {
			if n > most || n == most && (have[p[0]] < have[best[0]] || have[p[0]] == have[best[0]] && have[p[1]] < have[best[1]]) {
				best, most = p, n
			}
		}
		joined := best[0] + best[1]
		if _, known := have[joined]; known || most == 0 {
			break
		}
		have[joined] = len(tokens)
		tokens = append(tokens, joined)
		for s, w := range words {
			var out []string
			for i := 0; i < len(w); i++ {
				if i+1 < len(w) && w[i] == best[0] && w[i+1] == best[1] {
					out = append(out, joined)
					i++
				} else {
					out = append(out, w[i])
				}
			}
			words[s] = out
		}
	}
	return tokens
}

// FuzzTrain compares the incremental merges with the plain algorithm, and reads
// the resulting vocabulary back.
func FuzzTrain(f *testing.F) {
	f.Add("low low lower newest widest", uint8(20))
	f.Add("abababab cdcdcd \xff 🙂 aaaaaaaaaaaa", uint8(9))
	f.Fuzz(func(t *testing.T, text string, n uint8) {
		v, _, tok := train(t, token.VocabularyConfig{Size: 256 + int(n), MinCount: 1}, text)
		valid := token.Lossy([]byte(text))
		if want := plain(valid, int(n)); !slices.Equal(v.Tokens[:min(len(want), len(v.Tokens))], want) {
			t.Fatalf("tokens %q, want %q", v.Tokens[256:], want[256:])
		}
		if got := tok.Decode(tok.Encode(text, true), false); got != valid {
			t.Fatalf("%q became %q", valid, got)
		}
	})
}

// BenchmarkTrain learns 4,096 tokens of two megabytes of made-up prose.
func BenchmarkTrain(b *testing.B) {
	var list []string
	size, seed := 0, uint32(1)
	for size < 2<<20 {
		var s strings.Builder
		for range 200 {
			for range 1 + seed>>16%4 {
				seed = seed*1664525 + 1013904223
				s.WriteString([]string{"ka", "lo", "mi", "tur", "en", "s", "ver", "o", "ch", "pa"}[seed>>20%10])
			}
			s.WriteByte(' ')
		}
		size += s.Len()
		list = append(list, s.String())
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		train(b, token.VocabularyConfig{}, list...)
	}
}
