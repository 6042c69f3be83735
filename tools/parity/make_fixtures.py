#!/usr/bin/env python3
"""Writes parity cases of the families in internal/model/compile/older.go.

    python tools/parity/make_fixtures.py --format ../shared/spec/make_parity_fixtures.py --out DIR/parity
    python tools/parity/make_fixtures.py ... --seed 7 --perturb --only gpt2,mpt
    python tools/parity/make_fixtures.py ... --compact --out testdata/golden/parity

The format, the drawing of weights, the tolerance (20 times the reference's own
float32 error, at least 2e-5 of the largest logit) and the proofs by ablation are
those of the script named by --format, whose table of cases this replaces. Weights
are stored in float16, so that they are exact and small. config.json has the
spelling of transformers 4, from which the reference is loaded again to show
that it means the same; config.v5.json is what transformers 5 writes. --compact
leaves out what Go tests do not read.
"""

import importlib.util
import json
import os
import re
import shutil
import sys


def load(path):
    spec = importlib.util.spec_from_file_location("fixtures", path)
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    return m


def take(flag, value=True):
    """Removes an argument of ours from sys.argv."""
    if flag not in sys.argv:
        return None
    i = sys.argv.index(flag)
    got = sys.argv[i + 1] if value else True
    del sys.argv[i:i + (2 if value else 1)]
    return got


M = load(take("--format") or "../shared/spec/make_parity_fixtures.py")
COMPACT = take("--compact", False)


def cases():
    C = {}

    def add(name, config, model, kw, **o):
        C[name] = dict(dict(name=name, config=config + "Config", model="GPT2LMHeadModel" if name == "gpt2" else model + "ForCausalLM", kw=lambda p: [kw(p)], kind="causal",
                            seqs=[(12, 6), (5, 4), (1, 4)], ablations={}, embed_std=1.0, zero_centred=False, optional=False, note="", scope="core",
                            store="float16", shards=1, pack="", floor=2e-5, in_out=False, fused=False, gain={}, whole=False, min_prefix=0), **o)

    ids = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)

    def base(p, **kw):
        return dict(dict(vocab_size=M.VOCAB, hidden_size=p(32, 64), intermediate_size=p(56, 72), num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=p(2, 1, 4), max_position_embeddings=64, rope_theta=p(10000.0, 5000.0), tie_word_embeddings=False, **ids), **kw)

    eps = lambda p: p(1e-5, 3e-5)
    fill, drop = M.fill, M.drop
    window = lambda p: p(6, 5, 9)
    WINDOWS = [(5, 4), (6, 4), (7, 3), (14, 6), (1, 10)]

    add("gpt2", "GPT2", "GPT2LMHead", lambda p: dict(vocab_size=M.VOCAB, n_embd=p(32, 64), n_layer=2, n_head=4, n_positions=512, n_inner=p(None, 72),
                                             layer_norm_epsilon=eps(p), **ids),
        ablations={"no_positions": fill(r"wpe", 0.0), "no_bias": fill(r"c_attn\.bias", 0.0)}, note="learned positions, transposed matrices")
    add("gpt_neox", "GPTNeoX", "GPTNeoX", lambda p: base(p, num_key_value_heads=None, layer_norm_eps=eps(p), rotary_pct=p(0.5, 0.25), use_parallel_residual=True),
        ablations={"sequential": dict(use_parallel_residual=False), "full_rotary": dict(rotary_pct=1.0)}, note="parallel, q k v of each head together")
    add("gpt_neox_sequential", "GPTNeoX", "GPTNeoX", lambda p: base(p, num_key_value_heads=None, layer_norm_eps=eps(p), rotary_pct=p(0.25, 0.75), use_parallel_residual=False),
        ablations={"parallel": dict(use_parallel_residual=True)})
    add("phi", "Phi", "Phi", lambda p: base(p, num_key_value_heads=p(4, 2), layer_norm_eps=eps(p), partial_rotary_factor=p(0.5, 0.75)),
        ablations={"full_rotary": dict(partial_rotary_factor=1.0), "no_head_bias": fill(r"lm_head\.bias", 0.0)}, note="parallel, one norm, head with a bias")
    falcon = lambda p, **kw: dict(dict(vocab_size=M.VOCAB, hidden_size=p(32, 64), num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64,
                                       layer_norm_epsilon=eps(p), alibi=False, bias=False, rope_theta=p(10000.0, 5000.0), ffn_hidden_size=p(64, 96), **ids), **kw)
    add("falcon_7b", "Falcon", "Falcon", lambda p: falcon(p, multi_query=True, parallel_attn=True, bias=p(False, True)), note="one key head, one norm")
    add("falcon_40b", "Falcon", "Falcon", lambda p: falcon(p, new_decoder_architecture=True, num_kv_heads=p(2, 1, 4)), note="q k v of each group together, two norms")
    add("falcon_11b", "Falcon", "Falcon", lambda p: falcon(p, new_decoder_architecture=True, num_kv_heads=p(2, 4), num_ln_in_parallel_attn=1, tie_word_embeddings=False), note="groups with one norm")
    add("mpt", "Mpt", "Mpt", lambda p: dict(vocab_size=M.VOCAB, d_model=p(48, 96), n_heads=6, n_layers=2, max_seq_len=64, layer_norm_epsilon=eps(p),
                                          attn_config=dict(alibi=True, alibi_bias_max=8, clip_qkv=p(1.0, 2.0), attn_impl="torch"), **ids),
        ablations={"no_clip": lambda kw: dict(attn_config=dict(kw["attn_config"], clip_qkv=None))},
        note="biases on distance for a number of heads that is no power of two; limited q, k and v")
    add("bloom", "Bloom", "Bloom", lambda p: dict(vocab_size=M.VOCAB, hidden_size=p(32, 64), n_layer=2, n_head=p(4, 8), layer_norm_epsilon=eps(p), **ids),
        ablations={"no_embed_norm": drop(r"word_embeddings_layernorm$")}, note="biases on distance, normalized embeddings")
    add("starcoder2", "Starcoder2", "Starcoder2", lambda p: base(p, norm_epsilon=eps(p), sliding_window=window(p), use_bias=p(True, False), tie_word_embeddings=True),
        seqs=WINDOWS, ablations={"no_window": dict(sliding_window=None), "window_off_by_one": lambda kw: dict(sliding_window=kw["sliding_window"] + 1)})
    add("stablelm", "StableLm", "StableLm", lambda p: base(p, layer_norm_eps=eps(p), use_qkv_bias=p(True, False), partial_rotary_factor=p(0.25, 0.5)),
        ablations={"full_rotary": dict(partial_rotary_factor=1.0)})
    add("stablelm_parallel", "StableLm", "StableLm", lambda p: base(p, layer_norm_eps=eps(p), use_parallel_residual=True, qk_layernorm=True, partial_rotary_factor=p(0.25, 0.5)),
        ablations={"no_qk_norm": drop(r"[qk]_layernorm$")})
    add("olmo2", "Olmo2", "Olmo2", lambda p: base(p, rms_norm_eps=eps(p)), ablations={"no_qk_norm": drop(r"[qk]_norm$")}, note="branches normalized after, q and k over all heads")
    add("olmo3", "Olmo3", "Olmo3", lambda p: base(p, rms_norm_eps=eps(p), num_hidden_layers=4, sliding_window=window(p), rope_theta=500000.0,
                                                layer_types=["sliding_attention"] * 3 + ["full_attention"],
                                                rope_scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0, attention_factor=1.2)),
        seqs=WINDOWS, ablations={"no_rope_scaling": dict(rope_scaling=None), "no_window": dict(sliding_window=64)}, note="scaling on full layers only")
    add("cohere", "Cohere", "Cohere", lambda p: base(p, layer_norm_eps=eps(p), logit_scale=p(0.25, 0.125), use_qk_norm=False, tie_word_embeddings=True),
        ablations={"logits": dict(logit_scale=1.0)}, note="layer norm without bias, neighbours rotate")
    add("cohere_qk_norm", "Cohere", "Cohere", lambda p: base(p, layer_norm_eps=eps(p), logit_scale=p(0.25, 0.5), use_qk_norm=True, attention_bias=p(False, True), tie_word_embeddings=True),
        ablations={"no_qk_norm": drop(r"[qk]_norm$")}, note="layer norms of heads with weights of their own")
    add("cohere2", "Cohere2", "Cohere2", lambda p: base(p, layer_norm_eps=eps(p), logit_scale=0.25, num_hidden_layers=3, sliding_window=window(p), tie_word_embeddings=True,
                                                    layer_types=["sliding_attention", "sliding_attention", "full_attention"]),
        seqs=WINDOWS, ablations={"no_window": dict(sliding_window=64)}, note="positions in layers with a window only")
    add("glm4", "Glm4", "Glm4", lambda p: base(p, head_dim=p(16, 8), rms_norm_eps=eps(p), attention_bias=p(True, False), partial_rotary_factor=p(0.5, 0.75)),
        ablations={"full_rotary": dict(partial_rotary_factor=1.0)}, note="neighbours rotate in half of each head; four norms")
    add("ernie4_5", "Ernie4_5", "Ernie4_5", lambda p: base(p, head_dim=p(16, 8), rms_norm_eps=eps(p), use_bias=p(False, True), tie_word_embeddings=True))
    add("exaone4", "Exaone4", "Exaone4", lambda p: base(p, rms_norm_eps=eps(p), num_hidden_layers=3, sliding_window=window(p), head_dim=p(8, 16),
                                                    layer_types=["sliding_attention", "sliding_attention", "full_attention"], sliding_window_pattern="LLG"),
        seqs=WINDOWS, ablations={"no_qk_norm": drop(r"[qk]_norm$"), "no_window": dict(sliding_window=64)}, note="no positions in full layers")
    add("hunyuan_dense", "HunYuanDenseV1", "HunYuanDenseV1", lambda p: base(p, rms_norm_eps=eps(p), head_dim=p(16, 8), tie_word_embeddings=True,
                                                                        rope_scaling=dict(type="dynamic", rope_type="dynamic", alpha=p(50.0, 1000.0), factor=1.0)),
        ablations={"no_qk_norm": drop(r"(query|key)_layernorm$"), "no_alpha": dict(rope_scaling=None)}, note="norm of heads after rope; fixed alpha")
    return C


plain_draw = M.draw


def draw(np, case, seed, name, shape):
    """The same for names that only these families have."""
    n = name.lower()
    g = np.random.default_rng(M.zlib.crc32(f"{seed}/{case['name']}/{name}".encode()))
    if "norm" in n and len(shape) == 2:  # of heads
        return 1.0 + 0.3 * g.standard_normal(shape)
    if re.search(r"\bwpe\b", n):
        return 0.5 * g.standard_normal(shape)
    if re.search(r"\b(wte|embed_in)\b", n):
        return g.standard_normal(shape)
    if "embed_out" in n:
        return g.standard_normal(shape) * 2.0 / shape[-1] ** 0.5
    if case["name"] == "gpt2" and len(shape) == 2:
        return g.standard_normal(shape) * 1.2 / shape[0] ** 0.5
    return plain_draw(np, case, seed, name, shape)


def residual_stream(torch, model, run):
    """What enters each layer and the head; the lists of layers have other names here."""
    layers = next(m for n, m in model.named_modules() if isinstance(m, torch.nn.ModuleList) and re.search(r"(^|\.)(layers|h|blocks)$", n))
    got, undo = [], []

    def see(_, pos, named):
        got.append((pos[0] if pos else named["hidden_states"])[0].float())
    for m in list(layers) + [model.get_output_embeddings()]:
        undo.append(m.register_forward_pre_hook(see, with_kwargs=True))
    try:
        o = run()
    finally:
        for u in undo:
            u.remove()
    return torch.stack(got), o


def older_spelling(cfg):
    """The configuration as transformers 4 wrote it."""
    cfg = dict(cfg)
    cfg["torch_dtype"] = cfg.pop("dtype", "float16")
    cfg["transformers_version"] = "4.57.1"
    rope = cfg.pop("rope_parameters", None)
    if rope and "full_attention" in rope:
        rope = rope["full_attention"]
    if rope:
        rope = dict(rope)
        neox = cfg["model_type"] == "gpt_neox"
        cfg["rotary_emb_base" if neox else "rope_theta"] = rope.pop("rope_theta")
        part = rope.pop("partial_rotary_factor", None)
        if part is not None:
            cfg["rotary_pct" if neox else "partial_rotary_factor"] = part
        if rope.get("rope_type", "default") != "default":
            cfg["rope_scaling"] = rope
    if cfg["model_type"] == "exaone4":
        pass  # layer_types and the pattern say the same
    return cfg


plain_build = M.build


def build(tf, torch, np, case, args, root, seed):
    plain_build(tf, torch, np, dict(case, store="float16"), args, root, seed)
    d = os.path.join(root, case["name"])
    with open(os.path.join(d, "config.json")) as f:
        cfg = json.load(f)
    for k in ("rope_theta", "rope_scaling", "rotary_pct", "rotary_emb_base", "partial_rotary_factor"):  # the format's script writes arguments back
        if "rope_parameters" in cfg:
            cfg.pop(k, None)
    with open(os.path.join(d, "config.v5.json"), "w") as f:
        json.dump(cfg, f, indent=2, sort_keys=True)
    with open(os.path.join(d, "config.json"), "w") as f:
        json.dump(older_spelling(cfg), f, indent=2, sort_keys=True)
    with open(os.path.join(d, "fixture.json")) as f:
        man = json.load(f)
    limit = man["tolerance"]["max_abs"]
    for v5 in (False, True):
        at = d
        if v5:
            at = d + ".v5"
            shutil.copytree(d, at)
            shutil.move(os.path.join(at, "config.v5.json"), os.path.join(at, "config.json"))
        model = M.load_model(tf, torch, case, at, exact=True)
        for s in man["sequences"]:
            with torch.no_grad():
                got = model(input_ids=torch.tensor([s["tokens"]]), use_cache=False).logits[0].float().numpy()
            off = abs(got - np.load(os.path.join(d, s["logits"]))).max()
            if off > limit / 20:
                raise RuntimeError(f"config{'.v5' if v5 else ''}.json means another model: off by {off:.3g}")
        if v5:
            shutil.rmtree(at)
    if COMPACT:
        for s in man["sequences"]:
            name = s.pop("decode", None)
            if name:
                os.remove(os.path.join(d, name))
    M.write_manifest(d, man)
    return man


M.cases, M.draw, M.residual_stream, M.build = cases, draw, residual_stream, build
if __name__ == "__main__":
    sys.exit(M.main())
