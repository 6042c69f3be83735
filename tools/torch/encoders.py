# Writes parity cases of encoders: tiny random models in the form of published
# folders, with the rows and vectors that transformers and sentence-transformers
# compute of them. TestGoldenParity reads them.
#
#   python tools/torch/encoders.py --out testdata/golden/parity
#   python tools/torch/encoders.py --out DIR/parity --seed 3 --perturb     (other values, for ATENIA_GOLDEN=DIR)
#
# Needs torch, transformers 5.23, sentence-transformers 6.2, safetensors and numpy.
# A case's tolerance is the larger of 20 times the reference's difference between
# float32 and float64 and 2e-5 of its largest value. Each ablation switches one
# feature off and must move a row by more than 30 tolerances.
import argparse, copy, json, os, random, shutil, zlib
import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer

parser = argparse.ArgumentParser()
parser.add_argument("--out", required=True)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--perturb", action="store_true")
parser.add_argument("--only", nargs="*")
args = parser.parse_args()
VOCAB = 320


def cases():
    r = random.Random(f"encoders/{args.seed}")
    p = lambda first, *others: r.choice((first,) + others) if args.perturb else first
    enc = dict(vocab_size=VOCAB, hidden_size=p(32, 48), num_hidden_layers=p(3, 2), num_attention_heads=4, intermediate_size=p(48, 56),
               max_position_embeddings=64, type_vocab_size=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, hidden_act="gelu", pad_token_id=0)
    rob = dict(enc, layer_norm_eps=1e-5, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2)
    modern = dict(vocab_size=VOCAB, hidden_size=p(32, 48), num_hidden_layers=4, num_attention_heads=4, intermediate_size=p(48, 56), max_position_embeddings=64,
                  local_attention=p(8, 6, 12), global_attn_every_n_layers=p(3, 2), global_rope_theta=p(160000.0, 5000.0), local_rope_theta=p(10000.0, 400.0),
                  pad_token_id=0, bos_token_id=1, cls_token_id=1, eos_token_id=2, sep_token_id=2, attention_dropout=0.0, mlp_dropout=0.0,
                  embedding_dropout=0.0, classifier_dropout=0.0, hidden_activation="gelu", reference_compile=False, attn_implementation="eager")
    yield dict(name="roberta", config="RobertaConfig", model="RobertaModel", kw=rob, ablate={"positions_from_1": dict(pad_token_id=0)})
    yield dict(name="distilbert", config="DistilBertConfig", model="DistilBertModel", kw=dict(
        vocab_size=VOCAB, dim=p(32, 48), n_layers=p(3, 2), n_heads=4, hidden_dim=p(48, 56), max_position_embeddings=64, dropout=0.0,
        attention_dropout=0.0, activation="gelu", pad_token_id=0), pool="cls", unit=True, ablate={"tanh_gelu": dict(activation="gelu_new")}, weak=True)
    yield dict(name="nomic_bert", config="NomicBertConfig", model="NomicBertModel", kw=dict(
        enc, hidden_act="silu", rope_parameters={"rope_type": "default", "rope_theta": p(1000.0, 300.0)}, layer_norm_eps=1e-12),
        pool="mean", unit=True, hub="nomic", ablate={"theta": dict(rope_parameters={"rope_type": "default", "rope_theta": 50.0})})
    yield dict(name="modern_bert", config="ModernBertConfig", model="ModernBertModel", kw=modern, pool="cls", unit=True, tokens=(24, 6, 1), ablate={
        "wider": dict(local_attention=modern["local_attention"] + 2), "local_theta": dict(local_rope_theta=100.0), "global_theta": dict(global_rope_theta=100.0)})
    yield dict(name="gemma_embedding", config="Gemma3TextConfig", model="Gemma3TextModel", gemma=True, kw=dict(
        vocab_size=VOCAB, hidden_size=p(32, 48), intermediate_size=p(48, 56), num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=p(1, 2), head_dim=8,
        max_position_embeddings=64, rms_norm_eps=1e-5, rope_theta=10000.0, query_pre_attn_scalar=p(8, 12), sliding_window=p(8, 10), use_bidirectional_attention=True,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"], hidden_activation="gelu_pytorch_tanh", pad_token_id=0, bos_token_id=1, eos_token_id=2),
        pool="mean", unit=True, dense=[(p(64, 80), False, "Identity"), (p(24, 40), p(False, True), p("Identity", "Tanh"))], tokens=(20, 5),
        ablate={"causal": dict(use_bidirectional_attention=False)})
    yield dict(name="qwen3_embedding", config="Qwen3Config", model="Qwen3Model", kw=dict(
        vocab_size=VOCAB, hidden_size=p(32, 48), intermediate_size=p(48, 56), num_hidden_layers=p(3, 2), num_attention_heads=4, num_key_value_heads=p(2, 1), head_dim=p(8, 16),
        max_position_embeddings=64, rms_norm_eps=1e-6, rope_theta=p(1e6, 1e4), tie_word_embeddings=True, pad_token_id=0, bos_token_id=1, eos_token_id=2),
        pool="lasttoken", unit=True, ablate={"theta": dict(rope_theta=100.0)})
    yield dict(name="bert_rerank", config="BertConfig", model="BertForSequenceClassification", kw=dict(enc, layer_norm_eps=1e-12, num_labels=1), types=True,
               ablate={"one_type": "types"})
    yield dict(name="xlm_roberta_rerank", config="XLMRobertaConfig", model="XLMRobertaForSequenceClassification", kw=dict(rob, num_labels=1), ablate={})
    yield dict(name="modern_bert_rerank", config="ModernBertConfig", model="ModernBertForSequenceClassification",
               kw=dict(modern, num_labels=1, classifier_pooling=p("mean", "cls")), ablate={})


def rng(case, name):
    return np.random.default_rng([args.seed, zlib.crc32(f"{case}/{name}".encode())])


def draw(case, name, shape, gemma):
    g = rng(case, name).standard_normal(shape).astype(np.float32)
    if "norm" in name.lower() or "emb_ln" in name:
        return 0.2 * g + (0 if gemma or name.endswith("bias") else 1)
    if len(shape) == 1:
        return 0.3 * g
    if "embed" in name and "norm" not in name.lower():
        return g * (0.125 if gemma else 1)
    return g * (1.6 / np.sqrt(shape[-1]))


def build(c, kw):
    torch.manual_seed(0)
    cfg = getattr(transformers, c["config"])(**kw)
    cfg._attn_implementation = "eager"
    model = getattr(transformers, c["model"])._from_config(cfg, attn_implementation="eager").eval()
    if getattr(model, "pooler", None) is not None:  # for another task, and published files may lack it
        model.pooler = None
    state = model.state_dict()
    for name, t in state.items():
        if t.is_floating_point():
            state[name] = torch.from_numpy(np.ascontiguousarray(draw(c["name"], name, tuple(t.shape), c.get("gemma"))))
    model.load_state_dict(state)
    if getattr(cfg, "tie_word_embeddings", False):
        model.tie_weights()
    return model


def run(c, model, ids, types=None):
    x = dict(input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long))
    if types is not None:
        x["token_type_ids"] = torch.tensor([types])
    with torch.no_grad():
        out = model(**x)
    if hasattr(out, "logits"):
        return out.logits[0]
    return out.last_hidden_state[0]


def base_of(model):
    return getattr(model, getattr(model, "base_model_prefix", ""), model)


def write(path, a):
    np.save(path, np.ascontiguousarray(a.detach().to(torch.float32).numpy()))


def modules(c, d, hidden):
    mods = [("", "Transformer"), ("1_Pooling", "Pooling")]
    os.makedirs(f"{d}/1_Pooling")
    keys = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens", "lasttoken": "pooling_mode_lasttoken"}
    json.dump({"word_embedding_dimension": hidden, **{k: m == c["pool"] for m, k in keys.items()}}, open(f"{d}/1_Pooling/config.json", "w"), indent=2)
    width = hidden
    for i, (out, bias, act) in enumerate(c.get("dense", [])):
        name = f"{i + 2}_Dense"
        os.makedirs(f"{d}/{name}")
        kind = {"Identity": "torch.nn.modules.linear.Identity", "Tanh": "torch.nn.modules.activation.Tanh"}[act]
        json.dump({"in_features": width, "out_features": out, "bias": bias, "activation_function": kind}, open(f"{d}/{name}/config.json", "w"), indent=2)
        ts = {"linear.weight": torch.from_numpy(draw(c["name"], name, (out, width), False).astype(np.float32))}
        if bias:
            ts["linear.bias"] = torch.from_numpy(draw(c["name"], name + "bias", (out,), False).astype(np.float32))
        save_file(ts, f"{d}/{name}/model.safetensors")
        mods.append((name, "Dense"))
        width = out
    if c.get("unit"):
        mods.append((f"{len(mods)}_Normalize", "Normalize"))
    json.dump([dict(idx=i, name=str(i), path=p, type="sentence_transformers.models." + t) for i, (p, t) in enumerate(mods)], open(f"{d}/modules.json", "w"), indent=2)
    json.dump({"max_seq_length": 48, "do_lower_case": False}, open(f"{d}/sentence_bert_config.json", "w"))
    json.dump({"__version__": {"sentence_transformers": "5.0.0"}, "prompts": {"query": "query: ", "document": "passage: "}, "default_prompt_name": None},
              open(f"{d}/config_sentence_transformers.json", "w"), indent=2)


def hub_names(c, d):
    """Renames the tensors to those of the published files where the library keeps others."""
    ts = load_file(f"{d}/model.safetensors")
    if c.get("hub") != "nomic" or any("Wqkv" in k for k in ts):
        return
    out, qkv = {}, {}
    for k, v in ts.items():
        for a, b in [("layers.", "encoder.layers."), ("embeddings.LayerNorm", "emb_ln"), ("self_attn.o_proj", "attn.out_proj"), ("up_proj", "fc11"),
                     ("gate_proj", "fc12"), ("down_proj", "fc2"), ("post_attention_layernorm", "norm1"), ("post_mlp_layernorm", "norm2")]:
            k = k.replace(a, b)
        for i, x in enumerate("qkv"):
            if f"self_attn.{x}_proj" in k:
                qkv.setdefault(k.replace(f"self_attn.{x}_proj", "attn.Wqkv"), [None] * 3)[i] = v
                break
        else:
            out[k] = v
    out.update({k: torch.cat(v) for k, v in qkv.items()})
    save_file({k: v.contiguous() for k, v in out.items()}, f"{d}/model.safetensors", metadata={"format": "pt"})


for c in cases():
    if args.only and c["name"] not in args.only:
        continue
    d = f"{args.out}/{c['name']}"
    shutil.rmtree(d, ignore_errors=True)
    os.makedirs(f"{d}/expected")
    model = build(c, c["kw"])
    model.save_pretrained(d)
    cfg = json.load(open(f"{d}/config.json"))
    json.dump(cfg, open(f"{d}/config.json", "w"), indent=2, sort_keys=True)
    hub_names(c, d)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(os.path.join(os.path.dirname(__file__), "../../testdata/golden/parity/gemma3", name), d)
    rerank = "SequenceClassification" in c["model"]
    if c.get("pool"):
        modules(c, d, model.config.hidden_size)
        st = SentenceTransformer(d, device="cpu", model_kwargs={"attn_implementation": "eager"})
        st.eval()
    f64 = copy.deepcopy(model).double()
    seqs, noise, top, rows = [], 0.0, 0.0, []
    for i, n in enumerate(c.get("tokens", (17, 6, 1))):
        if rerank:
            n = max(n, 5)
        ids = [int(x) for x in rng(c["name"], f"tokens{i}").integers(8, 300, n)]
        types = [int(j >= n // 2) for j in range(n)] if c.get("types") else None
        s = dict(name=f"seq{i}", tokens=ids, prompt=n)
        if types:
            s["types"] = types
        h, h64 = (run(c, base_of(m), ids, types) for m in (model, f64))
        rows.append((ids, types, h))
        noise, top = max(noise, float((h.double() - h64).abs().max())), max(top, float(h.abs().max()))
        put = lambda key, a: (write(f"{d}/expected/seq{i}.{key}.npy", a), s.__setitem__({"mean": "mean_pooled", "mean_l2": "mean_pooled_l2"}.get(key, key), f"expected/seq{i}.{key}.npy"))
        put("logits", h)
        if not rerank and not c.get("dense"):
            put("mean", h.mean(0)), put("cls", h[0]), put("last", h[-1]), put("mean_l2", torch.nn.functional.normalize(h.mean(0), dim=0))
        own = None
        if rerank:
            own, own64 = run(c, model, ids, types), run(c, f64, ids, types)
            noise = max(noise, float((own.double() - own64).abs().max()))
        elif c.get("pool"):
            with torch.no_grad():
                own = st.forward(dict(input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, n, dtype=torch.long)))["sentence_embedding"][0]
        if own is not None:
            write(f"{d}/expected/seq{i}.model.npy", own)
            s["vectors"] = {"model": f"expected/seq{i}.model.npy"}
        seqs.append(s)
    tol = max(20 * noise, 2e-5 * top)
    moved = {}
    for what, change in c["ablate"].items():
        ids, types, h = rows[0]
        if change == "types":
            other = run(c, base_of(model), ids, [0] * len(ids))
        else:
            other = run(c, base_of(build(c, dict(c["kw"], **change))), ids, types)
        moved[what] = float((other - h).abs().max())
        assert moved[what] > (10 if c.get("weak") else 30) * tol, (c["name"], what, moved, tol)
    tensors = {}
    for sub in ("", "2_Dense", "3_Dense"):
        path = os.path.join(d, sub, "model.safetensors")
        if os.path.exists(path):
            for k, v in load_file(path).items():
                tensors[(sub + "/" if sub else "") + k] = dict(dtype="F32", file="model.safetensors", shape=list(v.shape))
    json.dump(tensors, open(f"{d}/tensors.json", "w"), indent=0)
    json.dump(dict(case=c["name"], kind="encoder", model_class=c["model"], seed=args.seed, perturb=args.perturb, ablations=moved, sequences=seqs, store="float32",
                   tolerance=dict(max_abs=tol, float32_noise=noise, logit_scale=top), torch=torch.__version__, transformers=transformers.__version__),
              open(f"{d}/fixture.json", "w"), indent=1)
    for extra in ("README.md", "special_tokens_map.json", "generation_config.json"):
        if os.path.exists(f"{d}/{extra}"):
            os.remove(f"{d}/{extra}")
    print(c["name"], "tolerance", tol, "moved", moved)
