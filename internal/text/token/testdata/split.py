"""Makes split.json: words that the library "tokenizers" cuts texts into.

For each name of a GGUF pre-tokenizer that the reference cases do not cover, its
expressions as llama.cpp or the model's own files state them; and expressions of
our own for the parts of the syntax. Run with: pip install tokenizers
"""
import json, random
from tokenizers import Regex
from tokenizers.pre_tokenizers import ByteLevel, Digits, Punctuation, Sequence, Split, WhitespaceSplit

LETTERS = r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"
WIDE = r"\s?[!-/:-~！-／：-～‘-‟　-。]+"
ASIAN = r"[一-鿿㐀-䶿\x{8c48}-\x{faff}぀-ゟ゠-ヿ･-ﾟ⼀-\x{2fdf}\x{e40}-\x{e7f}\x{e80}-\x{eff}ក-\x{17ff}က-႟ꩠ-ꩿꧠ-\x{a9ff}가-\x{d7af}ᄀ-ᇿ]+"

I = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
END = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
UP, LOW = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
LEAD = r"[^\r\n\p{L}\p{N}]?"

def cased(tail, digits, up=f"[{UP}]", low=f"[{LOW}]", rest=r"[\r\n/]*"):
    return f"{LEAD}{up}*{low}+{tail}|{LEAD}{up}+{low}*{tail}|{digits}| ?[^\\s\\p{{L}}\\p{{N}}]+{rest}{END}"

O200K = cased(I + "?", r"\p{N}{1,3}")
LLAMA3 = I + "|" + LEAD + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + END
QWEN2 = LLAMA3.replace("{1,3}", "")
PUNCT = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
DEEPSEEK = PUNCT + r"| ?[\p{P}\p{S}]+[\r\n]*" + END
CJK = "[一-龥぀-ゟ゠-ヿ]+"
NOT_HAN = r"&&[^\p{Han}]]"

bytes_only = ByteLevel(add_prefix_space=False, use_regex=False)
gpt2 = ByteLevel(add_prefix_space=False, use_regex=True)

def cuts(*exprs):
    return [Split(Regex(e), "isolated") for e in exprs] + [bytes_only]

NAMES = {
    "jina-v5-nano": cuts(LLAMA3),
    "glm5": cuts(LLAMA3),
    "f2llmv2": cuts(QWEN2),
    "modern-bert": [gpt2],
    "mellum2": [Digits(individual_digits=True), gpt2],
    "kanana2": cuts(O200K),
    "talkie": cuts(O200K),
    "granite-embed-multi-97m": cuts(O200K),
    "hy_v4": cuts(r"\p{N}{1,3}", CJK, DEEPSEEK),
    "deepseek-llm": [Split(Regex(e), "isolated") for e in (r"[\r\n]", LETTERS, WIDE, r"\s+$", "[一-龥ࠀ-一가-퟿]+")] + [Digits(individual_digits=True), bytes_only],
    "kimi-k2": cuts(r"[\p{Han}]+|" + cased(I + "?", r"\p{N}{1,3}", f"[{UP}{NOT_HAN}", f"[{LOW}{NOT_HAN}", r"[\r\n]*")),
    "k2-horizon": cuts(I + "|" + LEAD + r"(?:\p{L}|\p{M}|\u200C|\u200D)+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + END),
    "youtu": cuts("[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+", cased(I + "?", r"\p{N}")),
    "seed-coder": cuts(I + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+" + END),
    "ufakzeka": cuts(LEAD + r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + END),
    "minicpm5": cuts(r"\p{N}{1,3}", I + "|" + LEAD + r"\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*" + END),
    "spark2_5": cuts(r"\p{N}{1,3}", CJK, PUNCT + r"| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+", r"\p{N}"),
    "jais-2": cuts(I + "|" + LEAD + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|" +
                   "|".join(r"\s{%d}(?!\S)" % (1 << k) for k in range(9, 1, -1)) + r"|\s{1,2}(?!\S)|\s{1}"),
    "exaone-moe": cuts(I + "|" + LEAD + r"(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"),
    "tiny_aya": cuts(r"\d{1,3}(?=(?:\d{3})*\b)", O200K),
    "cohere2moe": cuts(r"\d{1,3}(?=(?:\d{3})*\b)", O200K),
    "afmoe": cuts(r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))", ASIAN, DEEPSEEK),
    "superbpe": cuts(r"\p{N}+", r"(?=(\d{3})+(?!\d))"),
    "laguna": cuts(r"[^\n]+|[\n]+", QWEN2),
    "chameleon": [Split(Regex(e), "isolated") for e in ("<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", r"([\t\n]|    |  )")]
    + [Digits(individual_digits=True), Punctuation("isolated"), gpt2],
    "whitespace": [WhitespaceSplit()],
}

SYNTAX = [
    r"(?<=[a-z])[A-Z]+", r"(?<!\d)\d{2,}", r"\b\w+?\b", r"(?>a+)b|a", r"[\w&&[^\d_]]+", r"[^\w\s&&[^.,]]", r"(?i)strasze|k+",
    r"\p{^L}+", r"\P{Lu}+", r"[[:alpha:]]+|[[:^space:]]", r"a{,2}b", r"x{2,3}+", r"(?:ab|a)(?:c|bcd)?", r"(a|ab)(c|bcd)*",
    r"^.+?$", r"\A\S+|\S+\z", r"\h{2}", r"[\x{4e00}-\x{9fff}]|\u0301", r"\p{Cyrillic}+|\p{Greek}+|\p{Han}{1,2}", r"\p{Nd}+|\p{Sc}",
    r"(?m:.)+?\n", r"\s*+\S", r"(?=[A-Z])", r"(?<=\n)|(?=\d)", r"a(?#no comment)b", r"(?x) a  b # two letters", r"(?<word>\w)\W",
    r"[a\-z]+", r"[]a]+", r"[-a]+", r"[a-]+", r"{a}", r"a{b}", r"\.\*", r"(?i:[k-m]+)", r"(?-i:A)(?i)b",
]

LETTERS_FOR_TEXT = "aZsSſtTlLdDkKvVeErRmM'’ \t\n\r\u00a0\u3000x019٣½Ⅷéßǅʰ\u0301\u0903漢字かカー가ㄱไ🚀$+<`|~^_-–!?.,。，()[]{}/\\\u200dяΩ"
TEXTS = [
    "", "Hello, world! It's 12345 o'clock, DON'T you'LL", "a b c  d   e    f        g", "x" + " " * 40 + "y", " " * 700 + "z",
    "1234567 123456 12345 1234 123 12 1 1,234,567.89 123abc 1234é ١٢٣٤٥ ½½½½", "漢字かなカタカナ가나다ㄱㄴ，。、〿︰ㄅㄆ",
    "line\r\n\r\n  next\n\n\n\tend \n ", "HTTPServer fooBar ÉCOLE ǅungla ʰx e\u0301te\u0301 \u0301x", "a\u200db \u200c 👩\u200d🚀 <sentinel:12> IMGIMGABCDZ  x",
    "Привет, мир'ын İstanbul'da καλημέρα", "foo_bar.baz(x[1], 'y') // ++ -- /path/to\n#!", "$12 €3 £4 `q` ~t ^u |v", "aab ab abcd abbcd xxxx KKkk STRASSE straße {a} a{b} ]a a- -",
]
r = random.Random(7)
for _ in range(40):
    TEXTS.append("".join(r.choice(LETTERS_FOR_TEXT) * (1 + r.randrange(4) * r.randrange(2)) for _ in range(r.randrange(1, 24))))

def ranges(parts, text):
    return [list(o) for _, o in Sequence(parts).pre_tokenize_str(text)]

out = {"texts": TEXTS, "names": {}, "syntax": {}}
for name, parts in NAMES.items():
    out["names"][name] = [[b for _, b in ranges(parts, t)] for t in TEXTS]
for expr in SYNTAX:
    out["syntax"][expr] = [[b for _, b in ranges([Split(Regex(expr), "isolated")], t)] for t in TEXTS]
with open("split.json", "w") as f:
    f.write('{"texts": ' + json.dumps(TEXTS, ensure_ascii=True))
    for part in ("names", "syntax"):
        f.write(',\n"%s": {\n' % part + ",\n".join(json.dumps(k) + ": " + json.dumps(v, separators=(",", ":")) for k, v in out[part].items()) + "\n}")
    f.write("}\n")
