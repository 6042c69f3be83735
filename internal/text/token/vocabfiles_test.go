package token

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"atenia/internal/golden"
)

// A vocabularyFile is what the program of a vocabulary makes of texts.
type vocabularyFile struct {
	File, Class string // of tiktoken
	Texts       []string
	IDs         [][]int32
	Decoded     []*string // null: the ids have control tokens
}

// TestGoldenSentencePiece compares SentencePiece models with the program itself,
// which does not recognize control symbols in text.
func TestGoldenSentencePiece(t *testing.T) {
	dir := golden.Family(t, "vocabfiles")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	checked := 0
	for _, path := range files {
		var ref vocabularyFile
		golden.JSON(t, path, &ref)
		if ref.File != "" {
			continue
		}
		checked++
		name := strings.TrimSuffix(path, ".json")
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name + ".model")
			if err != nil {
				t.Fatal(err)
			}
			if LooksLikeTiktoken(data) {
				t.Error("taken for a list of tiktoken")
			}
			tok, err := LoadSentencePiece(data, Companion{})
			if err != nil {
				t.Fatal(err)
			}
			tok.original = newFinder(nil, nil)
			for i, s := range ref.Texts {
				got, off := tok.EncodeWithOffsets(s, true)
				if !slices.Equal(got, ref.IDs[i]) {
					t.Errorf("%q:\n got %v %q\nwant %v %q", s, got, tokensOf(tok, got), ref.IDs[i], tokensOf(tok, ref.IDs[i]))
				}
				for _, o := range off {
					if o.Start < 0 || o.End < o.Start || o.End > utf8.RuneCountInString(s) {
						t.Fatalf("%q: offset %v", s, o)
					}
				}
				if want := ref.Decoded[i]; want != nil && tok.Decode(ref.IDs[i], false) != *want {
					t.Errorf("%v decodes to %q, want %q", ref.IDs[i], tok.Decode(ref.IDs[i], false), *want)
				}
			}
		})
	}
	if checked == 0 {
		t.Error("no models")
	}
}

func tokensOf(t *Tokenizer, ids []int32) (out []string) {
	for _, id := range ids {
		s, _ := t.Token(id)
		out = append(out, s)
	}
	return out
}

// FuzzSentencePiece: no file makes the reader panic, and a read model encodes.
func FuzzSentencePiece(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join(golden.Family(f, "vocabfiles"), "*.model"))
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, false)
	}
	f.Add([]byte("\x0a\x0c\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02\x0a\x08\x0a\x01a\x15\x00\x00\x80\xbf\x12\x02\x18\x02"), true)
	f.Fuzz(func(t *testing.T, data []byte, fairseq bool) {
		tok, err := LoadSentencePiece(data, Companion{Fairseq: fairseq, Before: []string{"<s>"}, After: []string{"</s>"}})
		if err != nil {
			typed(t, err)
			return
		}
		exercise(t, tok)
	})
}

// FuzzTiktoken is FuzzSentencePiece for lists of tiktoken.
func FuzzTiktoken(f *testing.F) {
	data, err := os.ReadFile(filepath.Join(golden.Family(f, "vocabfiles"), "qwen.tiktoken"))
	if err != nil {
		f.Skip(err)
	}
	f.Add(string(data), "gpt-2", "<end>", 3)
	f.Add("YQ== 0\nYg== 1\r\n\nYWI= 7", "qwen2", "", 0)
	all := string(data)
	f.Fuzz(func(t *testing.T, data, pre, special string, reserved int) {
		c := Companion{Pre: pre, Special: []string{special}, Reserved: min(max(reserved, 0), 1000)}
		for _, text := range []string{data, all + data} {
			tok, err := LoadTiktoken([]byte(text), c)
			if err != nil {
				typed(t, err)
				continue
			}
			exercise(t, tok)
		}
	})
}

// typed requires an error of this package.
func typed(t *testing.T, err error) {
	t.Helper()
	_, format := errors.AsType[*FormatError](err)
	_, unknown := errors.AsType[*UnknownError](err)
	if !format && !unknown {
		t.Fatalf("%T: %v", err, err)
	}
}

func exercise(t *testing.T, tok *Tokenizer) {
	const text = "  Ab é日本 e\u0301\u200b ﬁ\r\n\t12 <end>ab's 😀"
	ids, off := tok.EncodeWithOffsets(text, true)
	if len(ids) != len(off) || !slices.Equal(ids, tok.Encode(text, true)) {
		t.Fatalf("%d ids, %d offsets", len(ids), len(off))
	}
	tok.Decode(ids, false)
	if v, err := tok.ToGGUF(); err == nil {
		back, err := FromVocab(v)
		if err != nil {
			t.Fatalf("written, but not read: %v", err)
		}
		if got := back.Encode(text, true); !slices.Equal(got, ids) {
			t.Fatalf("from GGUF: got %v, want %v", got, ids)
		}
	}
}

// pieceModel returns a SentencePiece file of bpe with the given pieces after
// <unk>, each with its kind; the first have the highest scores.
func pieceModel(pieces ...any) []byte {
	field := func(key byte, b []byte) []byte { return append([]byte{key, byte(len(b))}, b...) }
	out := field(0x0a, append(field(0x0a, []byte("<unk>")), 0x18, TypeUnknown))
	for i := 0; i < len(pieces); i += 2 {
		p := append(field(0x0a, []byte(pieces[i].(string))), 0x15)
		p = binary.LittleEndian.AppendUint32(p, math.Float32bits(-float32(i)))
		out = append(out, field(0x0a, append(p, 0x18, byte(pieces[i+1].(int))))...)
	}
	out = append(out, field(0x12, []byte{0x18, spBPE})...)
	return append(out, field(0x1a, []byte{0x18, 0, 0x20, 0})...) // no space in front, none removed
}

// TestPieceKinds: control pieces never result from merges, user-defined ones do
// not merge, and unused ones are taken apart again.
func TestPieceKinds(t *testing.T) {
	data := pieceModel("ab", TypeControl, "cd", TypeUserDefined, "cde", TypeNormal, "fg", TypeUnused, "fgh", TypeNormal,
		"a", TypeNormal, "b", TypeNormal, "e", TypeNormal, "f", TypeNormal, "g", TypeNormal, "h", TypeNormal)
	tok, err := LoadSentencePiece(data, Companion{})
	if err != nil {
		t.Fatal(err)
	}
	tok.original = newFinder(nil, nil)
	for text, want := range map[string]string{"ab": "a b", "cde": "cd e", "fg": "f g", "fgh": "fgh", "xya": "<unk> a"} {
		if got := strings.Join(tokensOf(tok, tok.Encode(text, false)), " "); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	for name, bad := range map[string][]byte{
		"each piece once": pieceModel("a", TypeNormal, "a", TypeNormal), "a type from 1 to 6": pieceModel("a", 7), "one unknown piece": pieceModel("a", TypeUnknown),
		"100 bytes": []byte("\x0a\x64abc"), "more than 64 bits": []byte("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "a wire type": {0x0b}, "a field's number": {0x02, 0x00}, "a vocabulary": {},
		"an unknown piece": []byte("\x0a\x03\x0a\x01a"), "a text": []byte("\x0a\x00"), `model "3"`: append(pieceModel("a", TypeNormal), 0x12, 2, 0x18, 3),
	} {
		if _, err := LoadSentencePiece(bad, Companion{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		} else {
			typed(t, err)
		}
	}
}

// TestWholeTokens: tiktoken takes a word that is a token as it is, even if no
// merges lead to it.
func TestWholeTokens(t *testing.T) {
	var list strings.Builder
	line := func(b string, rank int) {
		fmt.Fprintf(&list, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(b)), rank)
	}
	for b := range 256 {
		line(string([]byte{byte(b)}), b)
	}
	line("abc", 256)
	tok, err := LoadTiktoken([]byte(list.String()), Companion{Pre: "gpt-2", Special: []string{"<end>"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode("abc abc<end>", false); !slices.Equal(got, []int32{256, ' ', 'a', 'b', 'c', 257}) {
		t.Errorf("got %v", got)
	}
	for text, want := range map[string]string{
		"YQ== 0": "a token for each byte", "YQ==": "in base64 and its rank", "YQ 0": "in base64", "YQ== x": "in base64", "YQ== 99999": "a rank below", "": "nothing",
		list.String() + "YWI= 256": "a rank of its own", list.String() + "YQ== 300": "each token once",
	} {
		if _, err := LoadTiktoken([]byte(text), Companion{Pre: "gpt-2"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v, want %q", text, err, want)
		} else {
			typed(t, err)
		}
	}
	if _, err := LoadTiktoken([]byte(list.String()), Companion{Pre: "gpt-9"}); err == nil || !strings.Contains(err.Error(), `unknown pre-tokenizer of tiktoken "gpt-9"`) {
		t.Error(err)
	}
}
