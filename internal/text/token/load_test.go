package token

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// tiny returns a small byte-level tokenizer.json with some fields replaced:
// keys are "model.vocab" or "decoder", values JSON.
func tiny(change map[string]string) string {
	vocab := map[string]int{"ab": 256}
	for b := range 256 {
		vocab[string(byteChar[b])] = b
	}
	v, _ := json.Marshal(vocab)
	model := map[string]json.RawMessage{"type": json.RawMessage(`"BPE"`), "vocab": v, "merges": json.RawMessage(`["a b"]`)}
	file := map[string]json.RawMessage{
		"version":       json.RawMessage(`"1.0"`),
		"added_tokens":  json.RawMessage(`[{"id":257,"content":"<end>","special":true}]`),
		"pre_tokenizer": json.RawMessage(`{"type":"ByteLevel","add_prefix_space":false}`),
		"decoder":       json.RawMessage(`{"type":"ByteLevel"}`),
	}
	for path, value := range change {
		if name, ok := strings.CutPrefix(path, "model."); ok {
			model[name] = json.RawMessage(value)
		} else {
			file[path] = json.RawMessage(value)
		}
	}
	if _, ok := file["model"]; !ok {
		m, err := json.Marshal(model)
		if err != nil {
			panic(err)
		}
		file["model"] = m
	}
	out, err := json.Marshal(file)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// TestLoadRefuses checks that a fault is named by its place in the file, and
// an unknown part by its name.
func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct{ name, path, value, want string }{
		{"type of a field", "model.fuse_unk", `3`, "model.fuse_unk: want bool, got JSON number"},
		{"model", "model.type", `"Hash"`, `model.type: unknown model "Hash"`},
		{"no model", "model", `null`, "model: want an object, got \"nothing\""},
		{"version", "version", `"2.0"`, "version: unknown version"},
		{"id is text", "model.vocab", `{"a":"b"}`, `model.vocab at byte`},
		{"id too high", "model.vocab", `{"a":2000000000}`, `model.vocab["a"]: want an id from 0 to 4099, got "2000000000"`},
		{"id negative", "model.vocab", `{"a":-1}`, `model.vocab["a"]: want an id from 0`},
		{"id twice", "model.vocab", `{"a":1,"b":1}`, `: want an id of its own, got "1, as`},
		{"merge of unknown", "model.merges", `["a b","a zz"]`, "model.merges[1]: want tokens of the vocabulary, got \"a zz\""},
		{"merge into unknown", "model.merges", `[["b","a"]]`, "model.merges[0]: want tokens whose join is in the vocabulary"},
		{"merge of three", "model.merges", `["a b c"]`, "model.merges[0]: want two tokens"},
		{"merge is number", "model.merges", `["a b",7]`, "model.merges[1] at byte"},
		{"dropout", "model.dropout", `0.1`, "model.dropout: unknown option"},
		{"unk", "model.unk_token", `"<unk>"`, "model.unk_token: want a token of the vocabulary"},
		{"model option", "model.magic", `true`, `model: unknown option "magic"`},
		{"normalizer", "normalizer", `{"type":"NFKC_CF"}`, `normalizer.type: unknown normalizer "NFKC_CF"`},
		{"nested normalizer", "normalizer", `{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Rot13"}]}`, `normalizer.normalizers[1].type: unknown normalizer "Rot13"`},
		{"normalizer option", "normalizer", `{"type":"Strip","strip_left":true,"strip_middle":true}`, `normalizer: unknown option "strip_middle"`},
		{"charsmap", "normalizer", `{"type":"Precompiled","precompiled_charsmap":"AAECAwQF"}`, "normalizer.precompiled_charsmap: want a size"},
		{"pattern", "pre_tokenizer", `{"type":"Split","pattern":{"Regex":"(a)\\1"},"behavior":"Isolated"}`, `pre_tokenizer.pattern.Regex: want an expression that the engine knows, got "expression \"(a)\\\\1\": at byte 5: \\1, which is not supported"`},
		{"behavior", "pre_tokenizer", `{"type":"Split","pattern":{"String":" "},"behavior":"Gone"}`, `pre_tokenizer.behavior: unknown behavior "Gone"`},
		{"no pattern", "pre_tokenizer", `{"type":"Split","pattern":{},"behavior":"Isolated"}`, "pre_tokenizer.pattern: want String or Regex"},
		{"pre-tokenizer", "pre_tokenizer", `{"type":"UnicodeScripts"}`, `unknown pre-tokenizer "UnicodeScripts"`},
		{"metaspace", "pre_tokenizer", `{"type":"Metaspace","replacement":"▁","prepend_scheme":"sometimes"}`, `unknown prepend scheme "sometimes"`},
		{"replacement", "pre_tokenizer", `{"type":"Metaspace","replacement":"__"}`, `pre_tokenizer.replacement: want one character`},
		{"sequence", "pre_tokenizer", `{"type":"Sequence"}`, "pre_tokenizer.pretokenizers: want a list"},
		{"depth", "normalizer", strings.Repeat(`{"type":"Sequence","normalizers":[`, 40) + strings.Repeat(`]}`, 40), "sequences in one another"},
		{"post-processor", "post_processor", `{"type":"Stamp"}`, `unknown post-processor "Stamp"`},
		{"template", "post_processor", `{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x","type_id":0}}],"pair":[],"special_tokens":{}}`, "post_processor.single[0].SpecialToken.id"},
		{"template id", "post_processor", `{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x","type_id":0}}],"pair":[],"special_tokens":{"x":{"id":"x","ids":[9999],"tokens":["x"]}}}`, `post_processor.special_tokens["x"].ids[0]: want an id of the vocabulary`},
		{"sep", "post_processor", `{"type":"BertProcessing","sep":["x"],"cls":["y",1]}`, "post_processor.sep: want [token, id]"},
		{"decoder", "decoder", `{"type":"Rot13"}`, `decoder.type: unknown decoder "Rot13"`},
		{"no type", "decoder", `{}`, "decoder.type: want a component's name"},
		{"not an object", "decoder", `[1]`, "decoder: want"},
		{"added id taken", "added_tokens", `[{"id":3,"content":"<end>"}]`, `added_tokens[0].id: want an id of its own, got "3, as`},
		{"added id wrong", "added_tokens", `[{"id":300,"content":"ab"}]`, `added_tokens[0].id: want 256, which "ab" has`},
		{"added id high", "added_tokens", `[{"id":99999999,"content":"z"}]`, `added_tokens[0].id: want an id from 0`},
		{"added type", "added_tokens", `[{"id":"x","content":"z"}]`, "added_tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load([]byte(tiny(map[string]string{c.path: c.value})))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v\nwant %s", err, c.want)
			}
			_, format := errors.AsType[*FormatError](err)
			_, unknown := errors.AsType[*UnknownError](err)
			if format == unknown {
				t.Errorf("%T is not one of this package's errors", err)
			}
		})
	}
	for name, c := range map[string]struct{ file, want string }{
		"empty":     {"", "$ at byte"},
		"not JSON":  {"hello", `want "{"`},
		"truncated": {tiny(nil)[:2000], "at byte"},
		"trailing":  {tiny(nil) + "x", "want the end"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load([]byte(c.file))
			e, ok := errors.AsType[*FormatError](err)
			if !ok || !strings.Contains(" "+e.Error(), c.want) && e.Offset == 0 && name != "empty" && name != "not JSON" {
				t.Fatalf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestEquivalentPatterns: the same expression, written with line ends as
// characters or with escaped quotes.
func TestEquivalentPatterns(t *testing.T) {
	for _, re := range []string{reDeepSeek, strings.ReplaceAll(reDeepSeek, `\r\n`, "\r\n"), strings.Replace(reDeepSeek, `"`, `\"`, 1)} {
		q, _ := json.Marshal(re)
		if _, err := Load([]byte(tiny(map[string]string{"pre_tokenizer": `{"type":"Split","pattern":{"Regex":` + string(q) + `},"behavior":"Isolated","invert":false}`}))); err != nil {
			t.Error(err)
		}
	}
}

// TestSmallModels covers features that the reference vocabularies do not use.
func TestSmallModels(t *testing.T) {
	load := func(s string) *Tokenizer {
		t.Helper()
		tok, err := Load([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	bytes := ""
	for b := range 256 {
		const hex = "0123456789ABCDEF"
		bytes += `,["<0x` + string(hex[b>>4]) + string(hex[b&15]) + `>",0]`
	}
	uni := load(`{"model":{"unk_id":0,"vocab":[["<unk>",0],["a",-1],["b",-2],["ab",-2.5]` + bytes + `],"byte_fallback":true},
		"decoder":{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Fuse"}]}}`)
	if got := uni.Decode(uni.Encode("abéab", false), false); got != "abéab" {
		t.Errorf("unigram with bytes: got %q", got)
	}
	if n := len(uni.Encode("abéab", false)); n != 4 {
		t.Errorf("unigram with bytes: %d tokens", n)
	}
	prefixed := load(`{"model":{"vocab":{"a":0,"##b":1,"ab":2,"##c":3,"abc":4,"[UNK]":5},"merges":["a ##b","ab ##c"],"continuing_subword_prefix":"##","unk_token":"[UNK]"}}`)
	if got := prefixed.Encode("abc", false); len(got) != 1 || got[0] != 4 {
		t.Errorf("BPE with a prefix: got %v", got)
	}
	if got := prefixed.Encode("abx", false); len(got) != 2 || got[1] != 5 {
		t.Errorf("BPE with a prefix and an unknown character: got %v", got)
	}
	if got := prefixed.Decode([]int32{0, -1, 99, 2}, false); got != "a ab" {
		t.Errorf("no decoder: got %q", got)
	}
}

func TestVocabulary(t *testing.T) {
	tok, err := Load([]byte(tiny(nil)))
	if err != nil {
		t.Fatal(err)
	}
	if tok.VocabSize() != 258 {
		t.Errorf("size %d", tok.VocabSize())
	}
	if s, ok := tok.Token(257); !ok || s != "<end>" {
		t.Errorf("token 257 is %q, %v", s, ok)
	}
	for _, id := range []int32{-1, 258, 1 << 30} {
		if s, ok := tok.Token(id); ok {
			t.Errorf("token %d is %q", id, s)
		}
	}
	if id, ok := tok.ID("ab"); !ok || id != 256 {
		t.Errorf("ab is %d, %v", id, ok)
	}
	if !tok.IsSpecial(257) {
		t.Error("<end> is not special")
	}
}
