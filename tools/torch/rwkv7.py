"""Writes a case of testdata/golden/parity for RWKV-7 ("Goose").

    python rwkv7.py OUT [--seed N] [--perturb] [--tokenizer CASE]

OUT is the folder of the case, in the form of the others: a configuration and
tensors as the flash-linear-attention library names them, and logits. The
reference follows the formulas of arXiv 2503.14456, token by token, in float64,
with weights rounded to float32; it shares no code with the library. The
tolerance is 2e-5 of the largest logit. It needs numpy alone.
"""

import argparse
import hashlib
import json
import pathlib
import shutil
import struct

import numpy as np


def parameters(rng, c):
    d, n = c["hidden_size"], c["head_dim"]
    p = {}

    def matrix(name, rows, cols, gain=1.0):
        p[name] = rng.normal(size=(rows, cols)) * gain / np.sqrt(cols)

    def vector(name, mean, spread, shape=None):
        p[name] = mean + spread * rng.normal(size=shape or (d,))

    def norm(name):
        vector(name + ".weight", 1, 0.2)
        vector(name + ".bias", 0, 0.2)

    matrix("model.embeddings.weight", c["vocab_size"], d, 4)
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}."
        if i == 0:
            norm(at + "pre_norm")
        norm(at + "attn_norm")
        for x in "rwkvag":
            vector(at + f"attn.x_{x}", 0.5, 0.3, (1, 1, d))
        vector(at + "attn.k_k", 0.8, 0.2)
        vector(at + "attn.k_a", 1, 0.2)
        vector(at + "attn.r_k", 0, 0.3, (d // n, n))
        for x in "rkvo":
            matrix(at + f"attn.{x}_proj.weight", d, d)
        for x, rank, mean in (("w", "decay", -1.5), ("a", "a", 0), ("v", "v", 0), ("g", "gate", None)):
            if x == "v" and i == 0:
                continue
            r = c[rank + "_low_rank_dim"]
            matrix(at + f"attn.{x}_lora.lora.0.weight", r, d)
            matrix(at + f"attn.{x}_lora.lora.2.weight", d, r, 1.5)
            if mean is not None:
                vector(at + f"attn.{x}_lora.lora.2.bias", mean, 1)
        norm(at + "attn.g_norm")
        norm(at + "ffn_norm")
        vector(at + "ffn.x_k", 0.5, 0.3)
        matrix(at + "ffn.key.weight", c["intermediate_size"], d)
        matrix(at + "ffn.value.weight", d, c["intermediate_size"])
    norm("model.norm")
    matrix("lm_head.weight", c["vocab_size"], d, 3)
    return {k: v.astype(np.float32) for k, v in p.items()}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def layer_norm(x, weight, bias, eps):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * weight + bias


def logits(p, c, tokens):
    """Returns the logits after every token."""
    p = {k: v.astype(np.float64) for k, v in p.items()}
    d, n, eps = c["hidden_size"], c["head_dim"], c["norm_eps"]
    heads, layers = d // n, c["num_hidden_layers"]
    shift, channel, memory = np.zeros((layers, d)), np.zeros((layers, d)), np.zeros((layers, heads, n, n))
    out = []
    for token in tokens:
        x = p["model.embeddings.weight"][token]
        first = None
        for i in range(layers):
            at = f"model.layers.{i}."

            def norm(name, x):
                return layer_norm(x, p[at + name + ".weight"], p[at + name + ".bias"], eps)

            def low(name, x, act):
                y = p[at + f"attn.{name}_lora.lora.2.weight"] @ act(p[at + f"attn.{name}_lora.lora.0.weight"] @ x)
                return y + p.get(at + f"attn.{name}_lora.lora.2.bias", 0)

            same = lambda y: y
            if i == 0:
                x = norm("pre_norm", x)
            h = norm("attn_norm", x)
            mixed = {s: h + (shift[i] - h) * p[at + f"attn.x_{s}"].ravel() for s in "rwkvag"}
            shift[i] = h
            r, k, v = (p[at + f"attn.{s}_proj.weight"] @ mixed[s] for s in "rkv")
            w = np.exp(-np.exp(-np.logaddexp(0, -low("w", mixed["w"], np.tanh)) - 0.5))
            if i == 0:
                first = v
            else:
                v = v + (first - v) * sigmoid(low("v", mixed["v"], same))
            a = sigmoid(low("a", mixed["a"], same))
            g = low("g", mixed["g"], sigmoid)
            kappa = (k * p[at + "attn.k_k"]).reshape(heads, n)
            kappa = kappa / np.maximum(np.linalg.norm(kappa, axis=1, keepdims=True), 1e-12)
            k = k * (1 + (a - 1) * p[at + "attn.k_a"])
            y = np.zeros((heads, n))
            for j in range(heads):
                part = slice(j * n, j * n + n)
                move = np.diag(w[part]) - np.outer(kappa[j], a[part] * kappa[j])
                memory[i, j] = memory[i, j] @ move + np.outer(v[part], k[part])
                y[j] = memory[i, j] @ r[part]
            weight, bias = p[at + "attn.g_norm.weight"].reshape(heads, n), p[at + "attn.g_norm.bias"].reshape(heads, n)
            y = layer_norm(y, weight, bias, n * eps)
            bonus = ((r * k).reshape(heads, n) * p[at + "attn.r_k"]).sum(1, keepdims=True)
            y = (y + bonus * v.reshape(heads, n)).ravel()
            x = x + p[at + "attn.o_proj.weight"] @ (y * g)
            h = norm("ffn_norm", x)
            mixed = h + (channel[i] - h) * p[at + "ffn.x_k"]
            channel[i] = h
            x = x + p[at + "ffn.value.weight"] @ np.maximum(p[at + "ffn.key.weight"] @ mixed, 0) ** 2
        out.append(p["lm_head.weight"] @ layer_norm(x, p["model.norm.weight"], p["model.norm.bias"], eps))
    return np.array(out)


def save(path, tensors):
    header, at = {}, 0
    for name in sorted(tensors):
        size = tensors[name].nbytes
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(tensors[n].tobytes() for n in sorted(tensors)))


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("out", type=pathlib.Path)
    a.add_argument("--seed", type=int, default=0)
    a.add_argument("--perturb", action="store_true", help="also vary configuration values")
    a.add_argument("--tokenizer", type=pathlib.Path, help="folder whose tokenizer is copied")
    a = a.parse_args()
    rng = np.random.default_rng(a.seed + 7)

    def pick(first, *others):
        return first if not a.perturb else [first, *others][rng.integers(1 + len(others))]

    c = dict(
        architectures=["RWKV7ForCausalLM"], model_type="rwkv7", hidden_size=64, head_dim=pick(16, 32, 64), num_hidden_layers=pick(3, 2),
        intermediate_size=pick(112, 128), decay_low_rank_dim=pick(8, 12), gate_low_rank_dim=pick(12, 16), a_low_rank_dim=pick(6, 8),
        v_low_rank_dim=pick(4, 10), hidden_act="sqrelu", norm_eps=pick(1e-5, 1e-4), norm_first=True, norm_bias=True, vocab_size=320,
        max_position_embeddings=512, tie_word_embeddings=False, bos_token_id=1, eos_token_id=2, torch_dtype="float32",
    )
    p = parameters(rng, c)
    (a.out / "expected").mkdir(parents=True, exist_ok=True)
    (a.out / "config.json").write_text(json.dumps(c, indent=2, sort_keys=True) + "\n")
    save(a.out / "model.safetensors", p)
    sequences, largest = [], 0
    for i, (length, prompt) in enumerate([(70, 64), (11, 5), (24, 16)]):
        tokens = rng.integers(3, c["vocab_size"], length)
        y = logits(p, c, tokens).astype(np.float32)
        largest = max(largest, float(abs(y).max()))
        np.save(a.out / f"expected/seq{i}.logits.npy", y)
        sequences.append(dict(name=f"seq{i}", tokens=tokens.tolist(), prompt=prompt, logits=f"expected/seq{i}.logits.npy", min_prefix=1))
    if a.tokenizer:
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(a.tokenizer / name, a.out / name)
    files = {}
    for f in sorted(a.out.rglob("*")):
        if f.is_file() and f.name != "fixture.json":
            files[str(f.relative_to(a.out))] = dict(bytes=f.stat().st_size, sha256=hashlib.sha256(f.read_bytes()).hexdigest())
    case = dict(case=a.out.name, kind="causal", scope="core", seed=a.seed, perturb=a.perturb, layers=c["num_hidden_layers"], files=files,
                note="float64 reference from the formulas of arXiv 2503.14456", sequences=sequences, tolerance=dict(max_abs=2e-5 * largest))
    (a.out / "fixture.json").write_text(json.dumps(case, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
