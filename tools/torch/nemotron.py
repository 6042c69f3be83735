"""Writes the parity case nemotron_h (transformers 5.23, torch 2.9):

    python tools/torch/nemotron.py OUT/parity/nemotron_h --seed 0

Odd seeds also have biases of the feed-forward layers and a lower bound of steps that
binds. The tolerance is the larger of 20 times the difference from float64 and 2e-5
times the largest logit.
"""
import argparse, json, pathlib, shutil, struct

import numpy as np
import torch
import transformers


def randomize(model):
    for name, p in model.named_parameters():
        r = torch.randn_like(p)
        if name.endswith(".D") or "norm" in name:
            p.copy_(1 + 0.3 * r)
        elif name.endswith("bias"):
            p.copy_(0.3 * r)
        elif name.endswith("A_log"):
            p.copy_(torch.log(torch.rand_like(p) * 4 + 0.3))
        elif p.dim() >= 2:
            p.copy_(r * (0.4 if "conv" in name else 0.8 / p.shape[-1] ** 0.5))


@torch.no_grad()
def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    odd = args.seed % 2 == 1
    config = transformers.NemotronHConfig(
        vocab_size=320, hidden_size=64, layers_block_type=["linear_attention", "mlp", "linear_attention", "full_attention", "mlp"],
        num_attention_heads=4, num_key_value_heads=2, head_dim=24, intermediate_size=112, ssm_state_size=16, mamba_num_heads=8,
        mamba_head_dim=16, n_groups=2, conv_kernel=4, chunk_size=8, max_position_embeddings=512, use_mamba_kernels=False,
        initializer_range=0.1, attention_bias=odd, mlp_bias=odd, time_step_min=0.05 if odd else 0.001)
    model = transformers.NemotronHForCausalLM(config).eval().float()
    randomize(model)
    (args.out / "expected").mkdir(parents=True, exist_ok=True)
    model.save_pretrained(args.out)
    cases = pathlib.Path(__file__).parents[2] / "testdata" / "golden" / "parity"
    for name in "tokenizer.json", "tokenizer_config.json":
        shutil.copy(cases / "mamba2_groups" / name, args.out)
    sequences, tolerance = [], 0.0
    for k, (n, prompt) in enumerate([(29, 8), (9, 4), (3, 2)]):
        tokens = torch.randint(8, 300, (1, n))
        logits = model.float()(tokens, use_cache=False).logits[0].numpy().astype("<f4")
        exact = model.double()(tokens, use_cache=False).logits[0].numpy()
        model.float()
        tolerance = max(tolerance, 20 * float(abs(exact - logits).max()), 2e-5 * float(abs(logits).max()))
        np.save(args.out / f"expected/seq{k}.logits.npy", logits)
        sequences.append(dict(name=f"seq{k}", tokens=tokens[0].tolist(), prompt=prompt, logits=f"expected/seq{k}.logits.npy", min_prefix=1))
    manifest = dict(case="nemotron_h", kind="text", sequences=sequences, tolerance=dict(max_abs=tolerance))
    (args.out / "fixture.json").write_text(json.dumps(manifest, indent=1))
    with open(args.out / "model.safetensors", "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    tensors = {k: dict(dtype=v["dtype"], file="model.safetensors", shape=v["shape"]) for k, v in header.items() if k != "__metadata__"}
    (args.out / "tensors.json").write_text(json.dumps(tensors, indent=0, sort_keys=True))


main()
