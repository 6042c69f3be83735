package token

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"atenia/internal/golden"
)

// marksOf returns the characters of control tokens that are no letters, digits or "_".
func marksOf(t *Tokenizer) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.White_Space) {
			return -1
		}
		return r
	}, strings.Join(t.Control(), ""))
}

// positions returns where in text[from:to] characters of marks stand.
func positions(text, marks string, from, to int) (said []int) {
	for i, r := range text {
		if i >= from && i < to && strings.ContainsRune(marks, r) {
			said = append(said, i)
		}
	}
	return said
}

// A normalizer makes no control token of other characters of a conversation, whether the
// token is looked for behind it or is a piece of the model.
func TestControlNormalized(t *testing.T) {
	for name, file := range map[string]string{
		"added": `{"model": {"type": "BPE", "vocab": {"<": 0, "x": 1, ">": 2, "<x>": 3}, "merges": []}, "normalizer": {"type": "NFKC"},
			"added_tokens": [{"id": 3, "content": "<x>", "special": true, "normalized": true, "single_word": false, "lstrip": false, "rstrip": false}]}`,
		"piece": `{"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["<", -5], ["x", -5], [">", -5], ["<x>", 0]]}, "normalizer": {"type": "NFKC"},
			"added_tokens": [{"id": 4, "content": "<x>", "special": true, "normalized": false, "single_word": false, "lstrip": false, "rstrip": false}]}`,
	} {
		tok, err := Load([]byte(file))
		if err != nil {
			t.Fatal(name, err)
		}
		id, _ := tok.ID("<x>")
		for text, said := range map[string][]int{"＜x＞": {}, "<x>＜x＞": {}, "＜x＞<x>": {7}} {
			want := 0
			if strings.HasPrefix(text, "<x>") {
				want = 1
			}
			ids, err := tok.EncodeContext(t.Context(), text, said, false)
			n := len(slices.DeleteFunc(slices.Clone(ids), func(i int32) bool { return i != id }))
			if n != want || err != nil {
				t.Errorf("%s: %q, said %v: %v, %v", name, text, said, ids, err)
			}
			if all := tok.Encode(text, false); !slices.Contains(all, id) {
				t.Errorf("%s: %q: %v", name, text, all)
			}
		}
	}
}

// A text that is no UTF-8 is read with a character for what is not, and what was said in it
// is found behind those.
func TestControlNotUTF8(t *testing.T) {
	tok := goldenLoad(t, golden.Family(t, "tokenizers"), "qwen2")
	id, _ := tok.ID("<|im_end|>")
	for _, bad := range []string{"\xff", strings.Repeat("\xff", 100), "\xe6\x97", "é\xc3"} {
		text := bad + "<|im_end|>" + bad + "<|im_end|>"
		said := positions(text, marksOf(tok), 0, len(text)/2)
		ids, err := tok.EncodeContext(t.Context(), text, said, false)
		if n := len(slices.DeleteFunc(slices.Clone(ids), func(i int32) bool { return i != id })); n != 1 || ids[len(ids)-1] != id || err != nil {
			t.Errorf("%q: %v, %v", text, ids, err)
		}
	}
}

// Of the reference tokenizers each control token is found where the template wrote it,
// and is text where a conversation said it, next to others and inside a word.
func TestControl(t *testing.T) {
	dir := golden.Family(t, "tokenizers")
	for _, kind := range goldenKinds(t, dir) {
		t.Run(kind, func(t *testing.T) {
			tok := goldenLoad(t, dir, kind)
			marks := marksOf(tok)
			n := 0
			for i := range tok.added {
				a := &tok.added[i]
				if !a.Special || !strings.ContainsAny(a.Content, marks) || a.SingleWord {
					continue
				}
				if n++; n > 8 && n%64 > 0 {
					continue
				}
				s := a.Content
				count := func(ids []int32) (n int) {
					for _, id := range ids {
						if id == a.ID {
							n++
						}
					}
					return n
				}
				if count(tok.Encode(s, false)) != 1 || count(tok.Encode("x<x>x", false)) > 0 {
					continue // another token of that text comes first, or it is the one for unknown characters
				}
				text := "say " + s + s + "x" + s + " end"
				if got := count(tok.Encode(text, false)); got != 3 {
					t.Errorf("%q has %d of 3", text, got)
				}
				at := strings.Index(text, s)
				for said, want := range map[[2]int]int{
					{0, len(text)}: 0, {at, at + len(s)}: 2, {at + len(s), at + 2*len(s)}: 2, {at + 2*len(s), len(text)}: 2, {at, at + 2*len(s)}: 1,
				} {
					where := positions(text, marks, said[0], said[1])
					ids, err := tok.EncodeContext(t.Context(), text, where, false)
					if got := count(ids); got != want || err != nil {
						t.Errorf("%q, said %v: %d of %d (%v)", text, said, got, want, err)
					}
					if again, _ := tok.EncodeSaid(text, where, false); !slices.Equal(ids, again) {
						t.Errorf("%q, said %v: %v with offsets, %v without", text, said, again, ids)
					}
				}
				ids := tok.EncodePlain(text, false)
				if count(ids) != 0 {
					t.Errorf("%q plain has %q", text, s)
				}
				// The vocabularies of BERT write no white space, and "[" apart.
				if got, want := tok.Decode(ids, false), tok.Decode(tok.Encode("say x end", false), false); strings.Contains(want, "say x end") && !strings.Contains(strings.ToLower(got), strings.ToLower(s)) && !strings.Contains(kind, "bert") {
					t.Errorf("%q plain reads %q", text, got)
				}
			}
			t.Logf("%d control tokens, marks %q", n, marks)
			if n == 0 && kind != "added" {
				t.Errorf("no control token")
			}
			if m := tok.EncodePlain("no marks", true); !slices.Equal(m, tok.Encode("no marks", true)) {
				t.Errorf("a text without marks: %v", m)
			}
		})
	}
}
