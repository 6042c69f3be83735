package text

// Vocabularies of a folder without tokenizer.json: SentencePiece models and lists
// of tiktoken. They lack what the tokenizer's own program adds: the pattern that
// splits text, special tokens, and the tokens around a text. The folder's
// configuration names that program by its class.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"atenia/internal/text/token"
)

// vocabularies lists the names of vocabulary files in order of precedence, after
// *.tiktoken and rwkv_vocab*.txt.
var vocabularies = []string{"tiktoken.model", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model"}

// Vocabulary returns the name of the file that holds the vocabulary of a folder
// without tokenizer.json, or "".
func Vocabulary(files map[string][]byte) string {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".tiktoken") || isRWKV(name) {
			return name
		}
	}
	for _, name := range vocabularies {
		if _, ok := files[name]; ok {
			return name
		}
	}
	return ""
}

func isRWKV(name string) bool {
	return strings.HasPrefix(name, "rwkv_vocab") && strings.HasSuffix(name, ".txt")
}

// A program is what a class of tokenizers adds to its vocabulary. The
// configuration may say otherwise.
type program struct {
	pre          string   // tiktoken: the pre-tokenizer
	special      []string // tokens after the vocabulary's, in the order of their ids
	reserved     int      // further such tokens, named by their ids
	bos, eos     string
	front, back  bool     // bos and eos stand around a text
	prefix       []string // tokens in front of every text
	fairseq      bool
	spaceOptions bool // the option legacy says where a space is put
}

// numbered returns names made from the numbers below n.
func numbered(format string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

// programs by class, without "Fast".
var programs = map[string]program{
	"QWenTokenizer":     {pre: "qwen2", special: append([]string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"}, numbered("<|extra_%d|>", 205)...)},
	"HYTokenizer":       {pre: "qwen2", special: append([]string{"<|endoftext|>", "<|startoftext|>", "<|bos|>", "<|eos|>", "<|pad|>"}, numbered("<|extra_%d|>", 204)...), bos: "<|startoftext|>", eos: "<|endoftext|>", front: true},
	"TikTokenTokenizer": {pre: "kimi-k2", reserved: 256},
	"ChatGLM4Tokenizer": {pre: "chatglm-bpe", prefix: []string{"[gMASK]", "<sop>"}},

	"LlamaTokenizer":      {bos: "<s>", eos: "</s>", front: true, spaceOptions: true},
	"CodeLlamaTokenizer":  {bos: "<s>", eos: "</s>", front: true, spaceOptions: true},
	"GemmaTokenizer":      {bos: "<bos>", eos: "<eos>", front: true},
	"BaichuanTokenizer":   {bos: "<s>", eos: "</s>", front: true},
	"InternLMTokenizer":   {bos: "<s>", eos: "</s>", front: true},
	"InternLM2Tokenizer":  {bos: "<s>", eos: "</s>", front: true},
	"T5Tokenizer":         {eos: "</s>", back: true, spaceOptions: true},
	"MT5Tokenizer":        {eos: "</s>", back: true, spaceOptions: true},
	"XLMRobertaTokenizer": {bos: "<s>", eos: "</s>", front: true, back: true, fairseq: true},
}

// patterns are the pre-tokenizers of files that OpenAI and others publish under
// fixed names.
var patterns = map[string]string{
	"qwen.tiktoken": "qwen2", "hy.tiktoken": "qwen2", "tiktoken.model": "kimi-k2",
	"o200k_base.tiktoken": "gpt-4o", "o200k_harmony.tiktoken": "gpt-4o", "cl100k_base.tiktoken": "dbrx",
	"p50k_base.tiktoken": "gpt-2", "r50k_base.tiktoken": "gpt-2", "gpt2.tiktoken": "gpt-2", "multilingual.tiktoken": "gpt-2",
	"tokenizer.model": "llama-bpe",
}

func (tc *tokenizerConfig) program() program {
	return programs[strings.TrimSuffix(tc.Class, "Fast")]
}

// load reads the vocabulary of the given name.
func (tc *tokenizerConfig) load(name string, files map[string][]byte) (*token.Tokenizer, error) {
	data, p := files[name], tc.program()
	c := token.Companion{Fairseq: p.fairseq, OnlyFirst: p.spaceOptions && tc.Legacy != nil && !*tc.Legacy}
	for key, a := range tc.Decoder {
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("tokenizer_config.json: added_tokens_decoder: %q is no id", key)
		}
		a.ID, a.Normalized = int32(id), false // found in the original, as by the programs
		c.Added = append(c.Added, a)
	}
	if b, ok := files["added_tokens.json"]; ok {
		var ids map[string]int32
		if err := json.Unmarshal(b, &ids); err != nil {
			return nil, fmt.Errorf("added_tokens.json: %w", err)
		}
		for text, id := range ids {
			if !slices.ContainsFunc(c.Added, func(a token.AddedToken) bool { return a.Content == text }) {
				c.Added = append(c.Added, token.AddedToken{ID: id, Content: text})
			}
		}
	}
	slices.SortFunc(c.Added, func(a, b token.AddedToken) int { return int(a.ID) - int(b.ID) })
	c.Before = p.prefix
	bos, eos := tc.roles()
	if tc.AddBOS != nil && *tc.AddBOS || tc.AddBOS == nil && p.front {
		c.Before = append(c.Before[:len(c.Before):len(c.Before)], bos)
	}
	if tc.AddEOS != nil && *tc.AddEOS || tc.AddEOS == nil && p.back {
		c.After = []string{eos}
	}
	if isRWKV(name) {
		return token.LoadRWKV(data, c)
	}
	if !strings.HasSuffix(name, ".tiktoken") && !token.LooksLikeTiktoken(data) {
		return token.LoadSentencePiece(data, c)
	}
	if c.Pre = p.pre; c.Pre == "" {
		c.Pre = patterns[name]
	}
	if c.Pre == "" {
		return nil, &token.UnknownError{Path: "tokenizer_class", Kind: "program, which has the pattern that splits text,", Name: tc.Class}
	}
	c.Special, c.Reserved = p.special, p.reserved
	return token.LoadTiktoken(data, c)
}

// roles returns the tokens at the start and the end of a text.
func (tc *tokenizerConfig) roles() (bos, eos string) {
	p := tc.program()
	bos, eos = string(tc.BOS), string(tc.EOS)
	if bos == "" {
		bos = p.bos
	}
	if eos == "" {
		eos = p.eos
	}
	return bos, eos
}

// complete sets the roles that the program gives, if the vocabulary has the
// tokens.
func (tc *tokenizerConfig) complete(t *token.Tokenizer) {
	bos, eos := tc.roles()
	if _, ok := t.ID(bos); ok {
		tc.BOS = tokenText(bos)
	}
	if _, ok := t.ID(eos); ok {
		tc.EOS = tokenText(eos)
	}
}
