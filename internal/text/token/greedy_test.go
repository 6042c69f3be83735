package token

import (
	"slices"
	"strings"
	"testing"
)

const rwkvList = "1 '\\x00' 1\n2 ' ' 1\n3 'a' 1\n4 'ab' 2\r\n5 \"'\" 1\n6 b'\\xe6' 1\n7 b'\\xbc\\xa2' 2\n8 '\\u6f22\\n' 4\n9 'é' 2\n\n12 '\\\\' 1\n"

// TestRWKV reads the published form and its GGUF.
func TestRWKV(t *testing.T) {
	tok, err := LoadRWKV([]byte(rwkvList), Companion{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := tok.ToGGUF()
	if err != nil {
		t.Fatal(err)
	}
	if v.Model != "rwkv" || v.Tokens[1] != `\x00` || v.Tokens[5] != `\'` || v.Tokens[7] != `\xbc\xa2` || v.Tokens[12] != `\\` || v.Tokens[0] != "<s>" {
		t.Errorf("%q", v.Tokens)
	}
	back, err := FromVocab(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, tok := range []*Tokenizer{tok, back} {
		for text, want := range map[string][]int32{"aab 'é": {3, 4, 2, 5, 9}, "漢\n": {8}, "漢": {6, 7}, "x<s>a\\": {0, 3, 12}, "xa": {3}, "\x00": {1}, "": {}} {
			ids, off := tok.EncodeWithOffsets(text, true)
			if !slices.Equal(ids, want) || len(off) != len(ids) {
				t.Errorf("%q: got %v, want %v", text, ids, want)
			}
			if back := tok.Decode(ids, false); back != strings.TrimPrefix(text, "x") {
				t.Errorf("%q came back as %q", text, back)
			}
		}
	}
	for list, want := range map[string]string{
		"1 'a' 2\n": "line 1: want 1 bytes", "1 'a'\n": "an id, a string and its length", "0 'a' 1": "an id from 1", "99999 'a' 1": "an id from 1",
		"1 'a' 1\n1 'b' 1": "line 2 at byte 8: want each token and each id once", "1 'a' 1\n2 'a' 1": "line 2", "1 a 1": "as Python writes it", `1 '\q' 1`: "as Python writes it",
		`1 b'\u1234' 3`: "as Python writes it", `1 '\x1' 1`: "as Python writes it", `1 '\Uffffffff' 4`: "as Python writes it",
	} {
		if _, err := LoadRWKV([]byte(list), Companion{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", list, err, want)
		}
	}
}

// FuzzRWKV: no list makes the reader panic, and a read one encodes.
func FuzzRWKV(f *testing.F) {
	f.Add(rwkvList)
	f.Fuzz(func(t *testing.T, list string) {
		tok, err := LoadRWKV([]byte(list), Companion{})
		if err != nil {
			typed(t, err)
			return
		}
		exercise(t, tok)
	})
}
