package token

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"
)

// options returns a BPE file for every subset of the model's options, and a
// description of each: half of the letters are tokens, all bytes are.
func options() (files [][]byte, what []string) {
	all := []struct {
		name  string
		value any
	}{
		{"byte_fallback", true}, {"end_of_word_suffix", "</w>"}, {"continuing_subword_prefix", "##"},
		{"unk_token", "<unk>"}, {"fuse_unk", true}, {"ignore_merges", true},
	}
	vocab := map[string]int{"a": 0, "b": 1, "ab": 2, "b</w>": 3, "##b": 4, "ab</w>": 5, "<unk>": 6, "##b</w>": 7}
	for b := range 256 {
		vocab[fmt.Sprintf("<0x%02X>", b)] = 8 + b
	}
	for set := range 1 << len(all) {
		model, names := map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{"a b"}}, ""
		for i, o := range all {
			if set>>i&1 == 1 {
				model[o.name] = o.value
				names += " " + o.name
			}
		}
		if set>>2&1 == 1 { // merges drop the prefix of the second part
			model["merges"] = []string{"a ##b"}
		}
		b, err := json.Marshal(map[string]any{"model": model, "added_tokens": []any{},
			"pre_tokenizer": map[string]any{"type": "WhitespaceSplit"}})
		if err != nil {
			panic(err)
		}
		files, what = append(files, b), append(what, names)
	}
	return files, what
}

// TestOptions encodes with every subset of the model's options: offsets lie in the
// text, in order, and those of a word's bytes cover it.
func TestOptions(t *testing.T) {
	files, what := options()
	long := ""
	for range 100 {
		long += "abé"
	}
	for i, f := range files {
		tok, err := Load(f)
		if err != nil {
			t.Fatalf("%s: %v", what[i], err)
		}
		for _, text := range []string{"ab", "b", "é", "aé b", "x yz", "日本 a", long} {
			ids, off := tok.EncodeWithOffsets(text, false)
			if got := tok.Encode(text, false); !slices.Equal(got, ids) {
				t.Fatalf("%s: %q: %v with offsets, else %v", what[i], text, ids, got)
			}
			n, last := utf8.RuneCountInString(text), 0
			for k, o := range off {
				if o.Start < 0 || o.Start > o.End || o.End > n {
					t.Fatalf("%s: %q: token %d of %d has offset %v", what[i], text, k, len(off), o)
				}
				last = max(last, o.End)
			}
			if fallback := i&1 == 1; fallback && last != n {
				t.Errorf("%s: %q: the tokens end at %d of %d", what[i], text, last, n)
			}
		}
	}
}

// TestAffixBytes: the bytes of an affix are none of the text.
func TestAffixBytes(t *testing.T) {
	vocab := map[string]int{}
	for b := range 256 {
		vocab[fmt.Sprintf("<0x%02X>", b)] = b
	}
	b, _ := json.Marshal(map[string]any{"added_tokens": []any{}, "pre_tokenizer": map[string]any{"type": "WhitespaceSplit"},
		"model": map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}, "byte_fallback": true,
			"end_of_word_suffix": "$", "continuing_subword_prefix": "#"}})
	tok, err := Load(b)
	if err != nil {
		t.Fatal(err)
	}
	ids, off := tok.EncodeWithOffsets("ab c", false)
	if want := []int32{'a', '#', 'b', '$', 'c', '$'}; !slices.Equal(ids, want) {
		t.Errorf("got %d, want %d", ids, want)
	}
	if want := []Offset{{0, 1}, {1, 1}, {1, 2}, {2, 2}, {3, 4}, {4, 4}}; !slices.Equal(off, want) {
		t.Errorf("got %v, want %v", off, want)
	}
}
