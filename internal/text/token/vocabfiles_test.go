package token

import (
	"errors"
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
