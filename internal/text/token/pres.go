package token

// The names of pre-tokenizers in GGUF files. llama.cpp defines them, each for the
// models that first had it; the expressions are those of the models' own
// tokenizer.json, where the two differ.

import (
	"sync"

	"golang.org/x/text/unicode/norm"
)

// A pre is the meaning of a value of tokenizer.ggml.pre.
type pre struct {
	names  []string // the first is the one written
	cut    func() preTokenizers
	form   normalizer
	ignore bool // a word that is a token is not split, whatever the merges
	bos    bool // AddBOS if the file does not say
	plain  bool // tokens are text, not bytes in the form of characters
	whole  bool // merges cross words: see fromWholeText
}

// preOf finds a pre-tokenizer by one of its names.
func preOf(name string) (pre, bool) {
	for _, p := range pres {
		for _, n := range p.names {
			if n == name {
				return p, true
			}
		}
	}
	return pre{}, false
}

// splits returns pre-tokenizers that isolate the given expressions in turn.
func splits(res ...string) (ps preTokenizers) {
	for _, re := range res {
		ps = append(ps, isolated(re))
	}
	return ps
}

// isolatedBy has a splitter for each expression of this package that was asked for: a file
// that is written is compared with all tokenizers that have a name.
var isolatedBy sync.Map

// isolated is for the expressions of this package, which are all valid.
func isolated(re string) *splitter {
	if s, ok := isolatedBy.Load(re); ok {
		return s.(*splitter)
	}
	m, all, err := matcherOf(re)
	if err != nil {
		panic(err)
	}
	s, _ := isolatedBy.LoadOrStore(re, &splitter{Name: re, Match: m, All: all, How: isolatedMatch})
	return s.(*splitter)
}

// cuts returns pre-tokenizers that isolate the given expressions in turn and
// then go byte by byte.
func cuts(res ...string) func() preTokenizers {
	return func() preTokenizers { return append(splits(res...), byteLevelSplit{}) }
}

func gpt2Cut() preTokenizers { return preTokenizers{byteLevelSplit{Regex: true}} }

// digits isolates each digit, as the component of that name.
func digits() *splitter {
	return &splitter{Name: "Digits", Match: oneOf(isNumeric), How: isolatedMatch}
}

func digitsCut() preTokenizers { return preTokenizers{digits(), byteLevelSplit{Regex: true}} }

// falconCut splits digits after bytes became characters, as the published
// tokenizer does.
func falconCut() preTokenizers {
	return preTokenizers{
		&splitter{Name: "Punctuation", Match: oneOf(isBertPunctuation), How: contiguous},
		byteLevelSplit{Regex: true},
		&splitter{Name: "Digits", Match: oneOf(isNumeric), How: contiguous},
		&splitter{Name: reTriples, Match: threeDigits, How: isolatedMatch},
	}
}

func deepSeekLLMCut() preTokenizers {
	return append(splits(reLineEnd, reCasedWords, reWidePunct, `\s+$`, reCJKWide), digits(), byteLevelSplit{})
}

func chameleonCut() preTokenizers {
	ps := splits(`<sentinel:[0-9]+>`, `(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z`, `([\t\n]|    |  )`)
	return append(ps, digits(), &splitter{Name: "Punctuation", Match: oneOf(isBertPunctuation), How: isolatedMatch}, byteLevelSplit{Regex: true})
}

func plainWords() preTokenizers {
	return preTokenizers{&splitter{Name: "WhitespaceSplit", Match: oneOf(isSpaceRune), How: removed}}
}

var nfc = unicodeForm{Form: norm.NFC}

// pres lists the known names, as in llama.cpp. Qwen's text is composed (NFC)
// first, as in its own tokenizer.json, although GGUF does not say so.
var pres = []pre{
	{names: []string{"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "exaone4", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "gigachat", "a.x-4.0", "mellum", "modern-bert", "roberta-bpe", "jina-v1-en", "jina-v2-code"}, cut: gpt2Cut},
	{names: []string{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"}, cut: cuts(reLlama3), ignore: true, bos: true},
	{names: []string{"dbrx", "smaug-bpe", "chatglm-bpe"}, cut: cuts(reLlama3)},
	{names: []string{"glm4", "glm5"}, cut: cuts(reLlama3), ignore: true},
	{names: []string{"qwen2", "deepseek-r1-qwen", "megrez", "kormo", "f2llmv2"}, cut: cuts(reQwen2), form: nfc},
	{names: []string{"stablelm2", "hunyuan", "solar-open", "grok-2", "bailingmoe", "bailingmoe2", "llada-moe"}, cut: cuts(reQwen2)},
	{names: []string{"qwen35"}, cut: cuts(reQwen35), form: nfc},
	{names: []string{"tekken"}, cut: cuts(reTekken), ignore: true, bos: true},
	{names: []string{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, cut: cuts(reO200k)},
	{names: []string{"granite-embed-multi-97m"}, cut: cuts(reO200k), ignore: true},
	{names: []string{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"}, cut: cuts(reDigits3, reCJK, reDeepSeek)},
	{names: []string{"deepseek-llm"}, cut: deepSeekLLMCut},
	{names: []string{"deepseek-coder"}, cut: cuts(reLineEnd, reLetters, rePunct, reCJKWide, `\p{N}`)},
	{names: []string{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"}, cut: digitsCut},
	{names: []string{"bloom", "gpt3-finnish", "poro-chat"}, cut: cuts(reBloom)},
	{names: []string{"viking"}, cut: cuts(reBloom, `\p{N}`)},
	{names: []string{"falcon"}, cut: falconCut},
	{names: []string{"kimi-k2"}, cut: cuts(reKimi)},
	{names: []string{"k2-horizon"}, cut: cuts(reHorizon)},
	{names: []string{"youtu"}, cut: cuts(reEastAsian, reYoutu), ignore: true},
	{names: []string{"seed-coder"}, cut: cuts(reSeedCoder)},
	{names: []string{"ufakzeka"}, cut: cuts(reUfakzeka)},
	{names: []string{"minicpm5"}, cut: cuts(reDigits3, reMiniCPM5), ignore: true},
	{names: []string{"spark2_5"}, cut: cuts(reDigits3, reCJK, reSpark, `\p{N}`)},
	{names: []string{"jais-2"}, cut: cuts(reJais2)},
	{names: []string{"exaone-moe"}, cut: cuts(reExaoneMoE)},
	{names: []string{"tiny_aya", "cohere2moe"}, cut: cuts(reGroups, reO200k)},
	{names: []string{"afmoe"}, cut: cuts(reNumberGroups, reAsian, reDeepSeek)},
	{names: []string{"superbpe"}, cut: cuts(reNumbers, rePlaces)},
	{names: []string{"laguna"}, cut: cuts(`[^\n]+|[\n]+`, reQwen2)},
	{names: []string{"chameleon"}, cut: chameleonCut, bos: true},
	{names: []string{"gemma4", "granite-embed-multi-311m", "sarvam-moe"}, cut: func() preTokenizers { return nil }, whole: true},
	{names: []string{"whitespace"}, cut: plainWords, plain: true},
	{names: []string{"default", ""}, cut: cuts(reFalconP, reGPT2, reNumbers, reTriples)},
}

// Expressions that only the names above use.
const (
	caseless    = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	spaceTail   = `|\s*[\r\n]+|\s+(?!\S)|\s+`
	upperNotHan = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]`
	lowerNotHan = `[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]`

	// reKimi keeps Chinese characters apart from other letters.
	reKimi = `[\p{Han}]+|[^\r\n\p{L}\p{N}]?` + upperNotHan + `*` + lowerNotHan + `+` + caseless +
		`?|[^\r\n\p{L}\p{N}]?` + upperNotHan + `+` + lowerNotHan + `*` + caseless + `?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*` + spaceTail

	reHorizon    = caseless + `|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}\u200C\u200D]+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*` + spaceTail
	reUfakzeka   = `[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*` + spaceTail
	reSeedCoder  = caseless + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+` + spaceTail
	reMiniCPM5   = caseless + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*` + spaceTail
	reExaoneMoE  = caseless + `|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+`
	reJais2      = caseless + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}`
	reSpark      = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+|[\\r\\n]|\\s+(?!\\S)|\\s+"
	reYoutu      = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` + caseless + `?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` + caseless + `?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*` + spaceTail
	reEastAsian  = `[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+`
	reAsian      = `[一-鿿㐀-䶿豈-\x{faff}぀-ゟ゠-ヿ･-ﾟ⼀-\x{2fdf}\x{e40}-\x{e7f}\x{e80}-\x{eff}ក-\x{17ff}က-႟ꩠ-ꩿꧠ-\x{a9ff}가-\x{d7af}ᄀ-ᇿ]+`
	reWidePunct  = `\s?[!-/:-~！-／：-～‘-‟　-。]+`
	reCasedWords = `\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+`

	// Digits in groups of three, counted from the right.
	reGroups       = `\d{1,3}(?=(?:\d{3})*\b)`
	reNumberGroups = `\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))`
	rePlaces       = `(?=(\d{3})+(?!\d))` // where groups begin
)
