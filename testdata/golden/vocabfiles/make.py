"""Trains small SentencePiece models and a list of tiktoken, and writes what the
packages themselves make of test texts. pip install sentencepiece tiktoken tokenizers

  python make.py          the small ones, which are in the repository
  python make.py DIR      in DIR also those with the published maps (240 kB each) and other seeds
"""
import base64, json, os, random, sys, tempfile
import sentencepiece as spm
import tiktoken

out = sys.argv[1] if len(sys.argv) > 1 else "."
big = len(sys.argv) > 1
os.makedirs(out, exist_ok=True)
r = random.Random(5)
WORDS = "the quick brown fox jumps over lazy dog thing other them there theory été œuvre naïve Straße 漢字 かな カタカナ мир привет don't it's 123 4567 <ud>".split()
LINES = [" ".join(r.choice(WORDS) for _ in range(r.randrange(3, 14))) for _ in range(400)]
SOUP = "aethoxqu ▁  \t\n\u3000éÉßﬁ①½ｶﾞ漢字かмир'.,!?<ud>🚀0127e\u0301\u00a0"
TEXTS = ["", " ", "   ", "the quick brown fox", "  the   other\tthing  \n", "The Théory: été, ﬁnance ①② ½ ｶﾞ Ｆｕｌｌ", "漢字かなカタカナ 漢 字", "a<ud>b <ud> <ud><ud>x",
         "🚀 rocket 🚀🚀 \u200b\u200d x", "<s> </s> <unk> <ctl> text", "▁the▁other ▁▁ x", "e\u0301te\u0301 \u00a0 \u3000 x", "don't it's 12345 4567890", "unusedword thethethe", "x" * 100, "\x00\x01 y"]
for _ in range(60 if not big else 400):
    TEXTS.append("".join(r.choice([r.choice(SOUP), r.choice(WORDS), " "]) for _ in range(r.randrange(1, 16))))
RULES = "41\t61\n42\t62\nFB01\t66 69\n0041 0042\t63\n00A0\t20\n0009\t20\n3000\t20\n200B\t\n2460\t28 31 29\n0065 0301\tE9\n"


def sp(name, unused=0, **options):
    with tempfile.TemporaryDirectory() as tmp:
        options.setdefault("normalization_rule_name", "identity")
        if options["normalization_rule_name"] == "tsv":
            del options["normalization_rule_name"]
            path = os.path.join(tmp, "rules.tsv")
            with open(path, "w") as f:
                f.write(RULES)
            options["normalization_rule_tsv"] = path
        spm.SentencePieceTrainer.train(sentence_iterator=iter(LINES), model_prefix=os.path.join(tmp, "m"), minloglevel=2, num_threads=1, **options)
        data = open(os.path.join(tmp, "m.model"), "rb").read()
    if unused:  # pieces that the model must not use
        from sentencepiece import sentencepiece_model_pb2 as pb
        m = pb.ModelProto()
        m.ParseFromString(data)
        normal = [p for p in m.pieces if p.type == 1 and len(p.piece) > 2]
        for p in normal[::unused]:
            p.type = 5
        data = m.SerializeToString()
    with open(os.path.join(out, name + ".model"), "wb") as f:
        f.write(data)
    s = spm.SentencePieceProcessor(model_proto=data)
    ids = [s.encode(t) for t in TEXTS]
    control = [i for i in range(s.get_piece_size()) if s.is_control(i) or s.is_unknown(i)]
    with open(os.path.join(out, name + ".json"), "w") as f:
        json.dump({"texts": TEXTS, "ids": ids, "decoded": [s.decode(x) if not set(x) & set(control) else None for x in ids]}, f, separators=(",", ":"))
        f.write("\n")


def tik(name, file, pre, pattern, special, words):
    """Ranks of merges trained by the library tokenizers; the ids are tiktoken's."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tok.train_from_iterator(LINES, trainers.BpeTrainer(vocab_size=words, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    chars = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    byte = {chr(c): c for c in chars}
    n = 256
    for b in range(256):
        if b not in chars:
            byte[chr(n)] = b
            n += 1
    ranks = {bytes(byte[c] for c in t): i for t, i in tok.get_vocab().items()}
    ranks = {t: i for i, (t, _) in enumerate(sorted(ranks.items(), key=lambda kv: kv[1]))}
    enc = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={t: len(ranks) + i for i, t in enumerate(special)})
    texts = TEXTS + ["a%sb %s" % (special[0], special[-1]), "HTTPServer's Don'T 123456789 漢字abc"]
    with open(os.path.join(out, file), "wb") as f:
        for t, i in ranks.items():
            f.write(base64.b64encode(t) + b" %d\n" % i)
    nfc = __import__("unicodedata").normalize if pre == "QWenTokenizer" else lambda _, t: t
    ids = [enc.encode(nfc("NFC", t), allowed_special="all") for t in texts]
    with open(os.path.join(out, name + ".json"), "w") as f:
        json.dump({"file": file, "class": pre, "texts": texts, "ids": ids, "decoded": [enc.decode(x) for x in ids]}, f, separators=(",", ":"))
        f.write("\n")


UD = dict(user_defined_symbols=["<ud>", "▁▁", "мир"], control_symbols=["<ctl>"])
sp("bpe_llama", model_type="bpe", vocab_size=460, hard_vocab_limit=False, byte_fallback=True, remove_extra_whitespaces=False)
sp("bpe_defined", model_type="bpe", vocab_size=200, unused=3, hard_vocab_limit=False, normalization_rule_name="tsv", **UD)
sp("unigram_bytes", model_type="unigram", vocab_size=420, byte_fallback=True, normalization_rule_name="tsv", hard_vocab_limit=False, **UD)
sp("unigram_suffix", model_type="unigram", vocab_size=140, unused=4, hard_vocab_limit=False, treat_whitespace_as_suffix=True)
sp("unigram_bare", model_type="unigram", vocab_size=140, hard_vocab_limit=False, add_dummy_prefix=False, remove_extra_whitespaces=False, **UD)
I = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
QWEN = I + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
UP, LOW = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
KIMI = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?" + UP + "*" + LOW + "+" + I + r"?|[^\r\n\p{L}\p{N}]?" + UP + "+" + LOW + "*" + I + r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
tik("qwen", "qwen.tiktoken", "QWenTokenizer", QWEN, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] + ["<|extra_%d|>" % i for i in range(205)], 340)
tik("kimi", "tiktoken.model", "TikTokenTokenizer", KIMI, ["<|reserved_token_%d|>" % i for i in range(340, 340 + 256)], 340)
if big:
    for seed in range(3):
        r.seed(seed)
        LINES = ["".join(r.choice(["a", "b", "c", " ", r.choice(WORDS)]) for _ in range(40)) for _ in range(300)]
        sp("nfkc_bpe%d" % seed, model_type="bpe", vocab_size=300, hard_vocab_limit=False, normalization_rule_name="nmt_nfkc")
        sp("nfkc_unigram%d" % seed, model_type="unigram", vocab_size=300, hard_vocab_limit=False, normalization_rule_name="nmt_nfkc", unused=5, **UD)
        sp("cf_unigram%d" % seed, model_type="unigram", vocab_size=200, hard_vocab_limit=False, normalization_rule_name="nfkc_cf", add_dummy_prefix=False)
        sp("nfkc_bytes%d" % seed, model_type="bpe", vocab_size=500, hard_vocab_limit=False, byte_fallback=True, normalization_rule_name="nfkc", unused=4, **UD)
