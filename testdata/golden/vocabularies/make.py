"""Makes the GGUF vocabularies of this folder, trained on a few lines, and the ids
of test texts by the library "tokenizers". pip install tokenizers gguf
"""
from gguf import GGUFWriter
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

LINES = ["the quick brown fox jumps over the lazy dog", "it's 12345 o'clock, don't you know?\n\n\n", "漢字かなカタカナ 漢字", "The THE the there then\tthem   they\r\n",
         "foo_bar.baz(x[1], 'y'); // the other", "été à la mer"] * 20
TEXTS = ["", " ", "\n\n\n\n", "\t\t x", "The fox's 123 dogs", "the  lazy   DOG\r\n\r\n  don't", "漢字 かな 🚀 é e\u0301", "12345678 1 22 333", "<end>the<end> fox", "they\n\n\n\nthere ▁x"]
SEPARATOR = "\n__ggml_vocab_test__\n"


def write(name, model, pre, tok, extra):
    vocab = tok.get_vocab(with_added_tokens=True)
    tokens = [t for t, _ in sorted(vocab.items(), key=lambda kv: kv[1])]
    w = GGUFWriter(name + ".gguf", "llama")
    w.add_tokenizer_model(model)
    if pre:
        w.add_tokenizer_pre(pre)
    w.add_token_list(tokens)
    types = [3 if t == "<end>" else 2 if t == "<unk>" else 6 if len(t) == 6 and t.startswith("<0x") else 1 for t in tokens]
    w.add_token_types(types)
    merges = __import__("json").loads(tok.to_str())["model"]["merges"]
    w.add_token_merges([" ".join(m) if isinstance(m, list) else m for m in merges])
    w.add_eos_token_id(tokens.index("<end>"))
    for key, value in extra.items():
        getattr(w, key)(value)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.close()
    with open(name + ".gguf.inp", "w", newline="") as f:
        f.write(SEPARATOR.join(TEXTS) + SEPARATOR)
    with open(name + ".gguf.out", "w") as f:
        for t in TEXTS:
            f.write("".join(" %d" % i for i in tok.encode(t, add_special_tokens=False).ids) + "\n")


def train(tok, size, alphabet):
    special = [AddedToken("<unk>", normalized=False), AddedToken("<end>", special=True, normalized=False)]
    if alphabet == "bytes":
        initial = pre_tokenizers.ByteLevel.alphabet()
        special = special[1:]
    else:
        initial = []
        special += ["<0x%02X>" % b for b in range(256)]
    tok.train_from_iterator(LINES, trainers.BpeTrainer(vocab_size=size, initial_alphabet=initial, special_tokens=special, show_progress=False))
    if alphabet != "bytes":  # bytes are for what is unknown; they are not found in text
        import json
        j = json.loads(tok.to_str())
        j["added_tokens"] = [a for a in j["added_tokens"] if not a["content"].startswith("<0x")]
        tok = Tokenizer.from_str(json.dumps(j))
    return tok


tok = Tokenizer(models.BPE())
tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(e), "isolated") for e in (
    r"\p{N}{1,3}", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")]
    + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
write("minicpm5", "gpt2", "minicpm5", train(tok, 330, "bytes"), {})

tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
tok.normalizer = normalizers.Replace(" ", "▁")
write("gemma4", "gemma4", None, train(tok, 420, "text"), {"add_unk_token_id": 0, "add_add_space_prefix": False})
