package token

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"atenia/internal/golden"
)

// FuzzLoad: no file makes Load panic, errors are this package's, and a loaded
// tokenizer can encode, decode and be written.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(tiny(nil)))
	f.Add([]byte(tiny(map[string]string{"normalizer": `{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"},{"type":"Strip","strip_left":true,"strip_right":true}]}`})))
	f.Add([]byte(tiny(map[string]string{"normalizer": `{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}`, "pre_tokenizer": `{"type":"BertPreTokenizer"}`})))
	f.Add([]byte(tiny(map[string]string{"pre_tokenizer": `{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}`, "decoder": `{"type":"Metaspace","replacement":"▁"}`})))
	f.Add([]byte(tiny(map[string]string{"post_processor": `{"type":"RobertaProcessing","sep":["a",64],"cls":["b",65],"trim_offsets":true,"add_prefix_space":true}`})))
	f.Add([]byte(tiny(map[string]string{"normalizer": `{"type":"Precompiled","precompiled_charsmap":"CAAAAAAEAAABAAAAYQBiAA=="}`})))
	f.Add([]byte(`{"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["a",-1.5]],"byte_fallback":false},"decoder":{"type":"WordPiece","prefix":"##","cleanup":true}}`))
	f.Add([]byte(`{"model":{"type":"WordPiece","vocab":{"[UNK]":0,"a":1,"##b":2}},"decoder":{"type":"Sequence","decoders":[{"type":"Strip","content":" ","start":1,"stop":1},{"type":"BPEDecoder","suffix":"</w>"}]}}`))
	for _, part := range []string{"model", "normalizer", "pre_tokenizer", "post_processor", "decoder"} {
		f.Add([]byte(tiny(map[string]string{part: `{"type":""}`})))
	}
	for _, change := range bombs() {
		if s := tiny(change); len(s) < 1<<16 {
			f.Add([]byte(s))
		}
	}
	files, _ := options()
	for _, b := range files {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tok, err := Load(data)
		if err != nil {
			_, format := errors.AsType[*FormatError](err)
			_, unknown := errors.AsType[*UnknownError](err)
			if !format && !unknown {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		const text = "  Ab é日本 e\u0301\u200b ﬁ\r\n\t12 <end>ab's 😀"
		ids, off := tok.EncodeWithOffsets(text, true)
		if len(ids) != len(off) {
			t.Fatalf("%d ids, %d offsets", len(ids), len(off))
		}
		s := tok.NewStream(true)
		for _, id := range ids {
			if part := s.Next(id); !utf8.ValidString(part) {
				t.Fatalf("stream said %q", part)
			}
		}
		s.Flush()
		tok.Decode(ids, false)
		tok.EncodePair(text, "b")
		if v, err := tok.ToGGUF(); err == nil {
			if _, err := FromVocab(v); err != nil {
				t.Fatalf("written, but not read: %v", err)
			}
		}
	})
}

// FuzzEncodeDecode: byte-level vocabularies are lossless, offsets are within the
// text, and a stream gives the same text as Decode.
func FuzzEncodeDecode(f *testing.F) {
	dir := golden.Family(f, "tokenizers")
	var toks []*Tokenizer
	for _, kind := range []string{"gpt2", "llama3", "o200k", "tekken", "deepseek3", "smollm", "falcon"} {
		data, err := os.ReadFile(filepath.Join(dir, kind+".json"))
		if err != nil {
			continue
		}
		tok, err := Load(data)
		if err != nil {
			f.Fatal(err)
		}
		toks = append(toks, tok)
	}
	for _, s := range []string{"", "Hello, world!", " \t\r\n  x", "don't IT'S 'ſ", "漢字 e\u0301 👩\u200d🚀", "\x00\xff\xc3", "<|endoftext|><s>", "1234567 ١٢٣ ½"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, tok := range toks {
			want := s
			if !utf8.ValidString(s) {
				want = toValidUTF8([]byte(s))
			}
			ids, off := tok.EncodeWithOffsets(s, false)
			if got := tok.Decode(ids, false); got != want {
				t.Fatalf("%q came back as %q", s, got)
			}
			for _, o := range off {
				if o.Start < 0 || o.Start > o.End || o.End > utf8.RuneCountInString(want) {
					t.Fatalf("%q: offset %v", s, o)
				}
			}
			stream := tok.NewStream(false)
			var said strings.Builder
			for _, id := range ids {
				said.WriteString(stream.Next(id))
			}
			said.WriteString(stream.Flush())
			if said.String() != want {
				t.Fatalf("%q came as %q from a stream", s, said.String())
			}
		}
	})
}

// FuzzFromVocab: no vocabulary makes FromVocab panic.
func FuzzFromVocab(f *testing.F) {
	f.Add("gpt2", "gpt-2", "a\nb\nab", "a b", []byte{1, 1, 3}, []byte("x"))
	f.Add("llama", "", "<unk>\n▁\na\n▁a\n<0x0A>", "", []byte{2, 1, 1, 1, 6}, []byte(nil))
	f.Add("t5", "default", "<unk>\n▁\na", "", []byte{2, 1, 1}, []byte{8, 0, 0, 0, 0, 4, 0, 0, 1, 0, 0, 0, 'a', 0})
	f.Add("bert", "", "[UNK]\n[CLS]\n▁a\nb", "", []byte{3, 3, 1, 1}, []byte(nil))
	f.Add("gemma4", "", "<unk>\n▁\na\na▁\n<0x0A>", "a ▁", []byte{2, 1, 1, 1, 6}, []byte(nil))
	f.Add("rwkv", "", "<s>\na\nab\n\\xe6", "", []byte{3, 1, 1, 1}, []byte(nil))
	f.Add("gpt2", "kimi-k2", "a\nb\nab\n<end>", "", []byte{1, 1, 1, 3}, []byte(nil))
	f.Add("whitespace", "", "a\nb\nab", "a b", []byte{1, 1, 1}, []byte(nil))
	f.Fuzz(func(t *testing.T, model, pre, tokens, merges string, types, charsmap []byte) {
		v := Vocab{Model: model, Pre: pre, Tokens: strings.Split(tokens, "\n"), PrecompiledCharsmap: charsmap, Special: map[string]int32{}}
		if merges != "" {
			v.Merges = strings.Split(merges, "\n")
		}
		for i, k := range types {
			v.Types = append(v.Types, int32(k))
			v.Scores = append(v.Scores, -float32(i))
			if k > 100 {
				v.Special["bos"] = int32(k) - 100
			}
		}
		tok, err := FromVocab(v)
		if err != nil {
			_, format := errors.AsType[*FormatError](err)
			_, unknown := errors.AsType[*UnknownError](err)
			if !format && !unknown {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		ids := tok.Encode(tokens+" ab é", true)
		tok.Decode(ids, false)
		tok.ToGGUF()
	})
}
