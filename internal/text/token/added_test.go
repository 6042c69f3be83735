package token

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"atenia/internal/golden/await"
)

// longestOf is what a finder finds, said plainly.
func longestOf(tokens []AddedToken, texts []string, s string, i int) (end int, id int32) {
	end = -1
	for _, special := range []bool{true, false} {
		for k, t := range texts {
			if tokens[k].Special == special && t != "" && strings.HasPrefix(s[i:], t) && i+len(t) > end {
				end, id = i+len(t), tokens[k].ID
			}
		}
	}
	return end, id
}

// TestFinder compares a finder with the plain search, with texts that begin alike.
func TestFinder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func(most int) string {
		b := make([]byte, rng.IntN(most+1))
		for i := range b {
			b[i] = "aab\xff"[rng.IntN(4)]
		}
		return string(b)
	}
	for range 3000 {
		var tokens []AddedToken
		var texts []string
		for i := range rng.IntN(12) {
			text := word(6)
			if rng.IntN(4) == 0 {
				text = strings.Repeat("ab", 12) + text // longer than what is compared at a time
			}
			tokens, texts = append(tokens, AddedToken{ID: int32(i), Special: rng.IntN(2) == 0}), append(texts, text)
		}
		f := newFinder(tokens, texts)
		s := word(40) + strings.Repeat("ab", rng.IntN(20)) + word(10)
		for i := range len(s) {
			end, value := f.longest(s, i)
			wantEnd, want := longestOf(tokens, texts, s, i)
			if end != wantEnd || end >= 0 && f.tokens[value].ID != want {
				t.Fatalf("texts %q in %q at %d: end %d, want %d", texts, s, i, end, wantEnd)
			}
		}
	}
}

// longAdded returns a tokenizer's file with n added tokens of 1000 and some bytes that
// begin alike, and a text that begins each of them and has none.
func longAdded(n int) (data []byte, text string) {
	var b strings.Builder
	b.WriteString(`{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"added_tokens":[`)
	same := strings.Repeat("a", 1000)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"content":"%sx%d","special":true}`, i+1, same, i)
	}
	b.WriteString("]}")
	return []byte(b.String()), strings.Repeat("a", 1<<20)
}

// TestLongToken: a vocabulary has no token that would make an answer of megabytes out of
// every id.
func TestLongToken(t *testing.T) {
	for kind, model := range map[string]string{
		"bpe":       `{"type":"BPE","vocab":{"%s":0},"merges":[]}`,
		"unigram":   `{"type":"Unigram","unk_id":0,"vocab":[["%s",-1]]}`,
		"wordpiece": `{"type":"WordPiece","unk_token":"%[1]s","vocab":{"%[1]s":0}}`,
	} {
		for _, n := range []int{maxToken, maxToken + 1} {
			_, err := Load(fmt.Appendf(nil, `{"model":`+model+`}`, strings.Repeat("b", n)))
			if long := n > maxToken; long && (err == nil || !strings.Contains(err.Error(), "token 0: want at most 4096 bytes, got 4097")) || !long && err != nil {
				t.Errorf("%s: %d bytes: %v", kind, n, err)
			}
		}
	}
}

// TestLongAdded: 20,000 added tokens of 1 KB that begin alike take less memory than twice
// the file and 64 MiB, and a text of 1 MiB that almost has them is searched in a second.
func TestLongAdded(t *testing.T) {
	data, text := longAdded(20_000)
	var tok *Tokenizer
	var err error
	if n := await.Bytes(func() { tok, err = Load(data) }); n > int64(2*len(data)+64<<20) {
		t.Errorf("loading %d bytes allocates %d", len(data), n)
	}
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	tok.original.split(Piece{S: text}, nil, func(Piece) {}, func(Piece, int32) { n++ })
	tok.normalized.split(Piece{S: text}, nil, func(Piece) {}, func(Piece, int32) { n++ })
	if n != 0 {
		t.Errorf("%d tokens found", n)
	}
	long := strings.Replace(string(data), `"content":"`, `"content":"`+strings.Repeat("b", maxToken), 1)
	if _, err := Load([]byte(long)); err == nil || !strings.Contains(err.Error(), "added_tokens[0]") {
		t.Errorf("a longer one: %v", err)
	}
}

func BenchmarkAddedLong(b *testing.B) {
	data, text := longAdded(20_000)
	tok, err := Load(data)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tok.normalized.split(Piece{S: text}, nil, func(Piece) {}, func(Piece, int32) {})
		tok.original.split(Piece{S: text}, nil, func(Piece) {}, func(Piece, int32) {})
	}
}
