# Tiny llamas as other tools quantize them, with what their reference makes of
# them: the fixtures of internal/model/quant and of the tests that open them.
#
#   python3 tools/torch/packed.py internal/model/quant/testdata
#
# needs torch, transformers, safetensors, numpy, compressed-tensors and
# bitsandbytes. GPTQ, AWQ and FP8 follow the published dequantization of
# AutoGPTQ (qlinear_cuda), AutoAWQ (packing_utils) and DeepSeek-V3
# (fp8_cast_bf16); the others call the library itself.
import hashlib, json, os, sys
import numpy as np
import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

H, F, V, TOKENS = 64, 64, 32, [1, 5, 9, 30]
out_root = sys.argv[1]
MODULES = {"self_attn.q_proj": (32, H), "self_attn.k_proj": (32, H), "self_attn.v_proj": (32, H), "self_attn.o_proj": (H, 32),
           "mlp.gate_proj": (F, H), "mlp.up_proj": (F, H), "mlp.down_proj": (H, F)}


def config(dtype):
    return LlamaConfig(hidden_size=H, intermediate_size=F, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1, head_dim=32,
                       vocab_size=V, max_position_embeddings=128, rms_norm_eps=1e-5, tie_word_embeddings=True, bos_token_id=1, eos_token_id=2,
                       dtype=dtype)


def original(dtype):
    g = torch.Generator().manual_seed(7)
    w = {"model.embed_tokens.weight": torch.randn(V, H, generator=g), "model.norm.weight": 1 + 0.1 * torch.randn(H, generator=g)}
    for n in ("input_layernorm", "post_attention_layernorm"):
        w[f"model.layers.0.{n}.weight"] = 1 + 0.1 * torch.randn(H, generator=g)
    for n, (o, i) in MODULES.items():
        w[f"model.layers.0.{n}.weight"] = torch.randn(o, i, generator=g) * (1.5 / i ** 0.5)
    return {k: v.to(dtype) for k, v in w.items()}


def tokenizer():
    vocab = {"<unk>": 0, "<s>": 1, "</s>": 2} | {chr(97 + i): 3 + i for i in range(26)} | {"Ġ": 29, "ab": 30, "cd": 31}
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
                             for i, t in enumerate(("<unk>", "<s>", "</s>"))],
            "normalizer": None, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "post_processor": None, "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "vocab": vocab, "merges": [["a", "b"], ["c", "d"]]}}


def write(name, dtype, how, make):
    """make(module name, weight) returns stored tensors by suffix and the dequantized weight."""
    cfg, w = config(dtype), original(dtype)
    stored, plain = {}, {}
    for key, v in w.items():
        module = key.removeprefix("model.layers.0.").removesuffix(".weight")
        if module not in MODULES:
            stored[key] = plain[key] = v
            continue
        tensors, deq = make(module, v)
        assert deq.shape == v.shape and (deq.float() - v.float()).abs().max() < 0.5 * v.float().abs().max(), (name, key)
        plain[key] = deq
        for suffix, t in tensors.items():
            stored[key.removesuffix("weight") + suffix] = t.contiguous()
    model = LlamaForCausalLM(cfg).float().eval()
    model.load_state_dict({k: v.float() for k, v in plain.items()} | {"lm_head.weight": plain["model.embed_tokens.weight"].float()})
    with torch.no_grad():
        logits = model(torch.tensor([TOKENS])).logits[0]
    d = os.path.join(out_root, name)
    os.makedirs(d, exist_ok=True)
    c = json.loads(cfg.to_json_string())
    c["quantization_config"] = how
    c["architectures"] = ["LlamaForCausalLM"]
    json.dump(c, open(os.path.join(d, "config.json"), "w"), indent=1, sort_keys=True)
    json.dump(tokenizer(), open(os.path.join(d, "tokenizer.json"), "w"))
    save_file(stored, os.path.join(d, "model.safetensors"), metadata={"format": "pt"})
    expect = {}
    for k, v in plain.items():
        bits = (v + 0).contiguous().view({2: torch.int16, 4: torch.int32}[v.element_size()]).numpy().tobytes()
        expect[k] = {"dtype": {torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32"}[v.dtype],
                     "sha256": hashlib.sha256(bits).hexdigest(), "first": [float(x) for x in v.flatten()[:4]]}
    json.dump({"tokens": TOKENS, "weights": expect, "logits": [[float(np.float32(x)) for x in row] for row in logits]},
              open(os.path.join(d, "expected.json"), "w"), indent=0, sort_keys=True)


# --- GPTQ -------------------------------------------------------------------

def stream(q, bits):
    """Packs [n, m] along the first axis: n·bits/32 words of 32 bits, digit i at bit i·bits."""
    n, m = q.shape
    assert n * bits % 32 == 0
    out = np.zeros((n * bits // 32, m), dtype=np.uint64)
    for i in range(n):
        at = i * bits
        out[at // 32] |= (q[i].astype(np.uint64) << (at % 32)) & 0xFFFFFFFF
        if at % 32 + bits > 32:
            out[at // 32 + 1] |= q[i].astype(np.uint64) >> (32 - at % 32)
    return torch.from_numpy(out.astype(np.uint32).view(np.int32).copy())


def affine(w, bits, group, sym, order=None):
    """Digits, scales and zero points of groups of columns, taken in the given order."""
    o, i = w.shape
    idx = torch.arange(i) // group
    if order is not None:
        idx = torch.empty(i, dtype=torch.long)
        idx[order] = torch.arange(i) // group
    groups, top = int(idx.max()) + 1, 2 ** bits - 1
    s, z = torch.zeros(groups, o), torch.zeros(groups, o, dtype=torch.long)
    for g in range(groups):
        x = w[:, idx == g].float()
        if sym:
            s[g] = x.abs().amax(1) * 2 / top
            z[g] = (top + 1) // 2
        else:
            lo, hi = x.amin(1).clamp(max=0), x.amax(1).clamp(min=0)
            s[g] = (hi - lo) / top
            z[g] = (-lo / s[g]).round().clamp(0, top).long()
    s = s.to(w.dtype)
    q = ((w.float() / s.float()[idx].T).round() + z[idx].T).clamp(0, top).long()
    return q, s, z, idx  # [o, i], [groups, o], [groups, o], [i]


def gptq(bits, group, sym, act, plus):
    def make(module, w):
        g = w.shape[1] if group == -1 else group
        order = torch.randperm(w.shape[1], generator=torch.Generator().manual_seed(3)) if act else None
        q, s, z, idx = affine(w, bits, g, sym, order)
        qweight = stream(q.T.numpy(), bits)
        qzeros = stream(((z - plus) & (2 ** bits - 1)).T.numpy(), bits).T
        # The reference, from what is stored.
        zeros = unstream(qzeros.T, bits, z.shape[1]).T
        zeros = (zeros + plus) & (2 ** bits - 1)
        weight = unstream(qweight, bits, w.shape[1])
        deq = (s[idx] * (weight - zeros[idx]).to(s.dtype)).T
        return {"qweight": qweight, "qzeros": qzeros, "scales": s, "g_idx": idx.to(torch.int32)}, deq
    return make


def unstream(words, bits, n):
    """What AutoGPTQ's qlinear_cuda does, with its special case of 3 bits."""
    if bits in (2, 4, 8):
        wf = torch.arange(0, 32, bits, dtype=torch.int32).reshape(1, -1, 1)
        x = torch.bitwise_right_shift(words.unsqueeze(1).expand(-1, 32 // bits, -1), wf) & (2 ** bits - 1)
        return x.reshape(-1, words.shape[1])[:n]
    wf = torch.tensor([[0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 0], [0, 1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31],
                       [0, 2, 5, 8, 11, 14, 17, 20, 23, 26, 29, 0]], dtype=torch.int32).reshape(1, 3, 12, 1)
    x = words.reshape(words.shape[0] // 3, 3, 1, words.shape[1]).expand(-1, -1, 12, -1)
    x = torch.bitwise_right_shift(x, wf) & 0x7
    x[:, 0, 10] = (x[:, 0, 10] & 0x3) | ((x[:, 1, 0] << 2) & 0x4)
    x[:, 1, 11] = (x[:, 1, 11] & 0x1) | ((x[:, 2, 0] << 1) & 0x6)
    x = torch.cat([x[:, 0, :11], x[:, 1, 1:12], x[:, 2, 1:11]], dim=1)
    return x.reshape(-1, words.shape[1])[:n]


def gptq_how(bits, group, sym, act, plus):
    how = {"quant_method": "gptq", "bits": bits, "group_size": group, "sym": sym, "desc_act": act}
    return how | ({} if plus else {"checkpoint_format": "gptq_v2"})


for name, dtype, args in [("gptq4", torch.float16, (4, 32, True, False, 1)), ("gptq4_asym", torch.float16, (4, 32, False, False, 1)),
                          ("gptq4_order", torch.float16, (4, 32, False, True, 1)), ("gptq_v2", torch.bfloat16, (4, 32, False, False, 0)),
                          ("gptq2", torch.float16, (2, 32, False, False, 1)), ("gptq3", torch.float16, (3, 32, False, False, 1)),
                          ("gptq8", torch.float16, (8, -1, True, False, 1))]:
    write(name, dtype, gptq_how(*args), gptq(*args))

# --- AWQ --------------------------------------------------------------------

ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def awq_pack(x):  # [n, m] → [n, m/8]
    out = torch.zeros(x.shape[0], x.shape[1] // 8, dtype=torch.int64)
    for i, o in enumerate(ORDER):
        out |= x[:, o::8] << (4 * i)
    return (out & 0xFFFFFFFF).numpy().astype(np.uint32).view(np.int32)


def awq_unpack(x):  # AutoAWQ: unpack_awq, then reverse_awq_order
    shifts = torch.arange(0, 32, 4)
    y = torch.bitwise_right_shift(x[:, :, None], shifts[None, None, :]).view(x.shape[0], -1)
    rev = torch.arange(y.shape[-1]).view(-1, 8)[:, [0, 4, 1, 5, 2, 6, 3, 7]].reshape(-1)
    return y[:, rev] & 15


def awq(module, w):
    q, s, z, idx = affine(w, 4, 32, False)
    qw, qz = torch.from_numpy(awq_pack(q.T.contiguous()).copy()), torch.from_numpy(awq_pack(z).copy())
    iw, iz = awq_unpack(qw), awq_unpack(qz)
    deq = ((iw - iz[idx]) * s[idx]).T
    return {"qweight": qw, "qzeros": qz, "scales": s}, deq


write("awq", torch.float16, {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True}, awq)

# --- FP8 --------------------------------------------------------------------


def fp8_block(module, w, b=(32, 40)):
    o, i = w.shape
    s = torch.zeros(-(-o // b[0]), -(-i // b[1]))
    q = torch.zeros(o, i, dtype=torch.float8_e4m3fn)
    deq = torch.zeros(o, i, dtype=w.dtype)
    for y in range(s.shape[0]):
        for x in range(s.shape[1]):
            at = (slice(y * b[0], (y + 1) * b[0]), slice(x * b[1], (x + 1) * b[1]))
            s[y, x] = w[at].float().abs().max() / 448
            q[at] = (w[at].float() / s[y, x]).to(torch.float8_e4m3fn)
            deq[at] = (q[at].float() * s[y, x]).to(w.dtype)
    return {"weight": q, "weight_scale_inv": s}, deq


def fp8_row(module, w):
    s = w.float().abs().amax(1, keepdim=True) / 448
    q = (w.float() / s).to(torch.float8_e4m3fn)
    return {"weight": q, "weight_scale": s, "input_scale_ub": torch.tensor([1200.0])}, (q.float() * s).to(w.dtype)


write("fp8_block", torch.bfloat16, {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [32, 40], "activation_scheme": "dynamic"}, fp8_block)
write("fp8_row", torch.bfloat16, {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0}, fp8_row)

# --- compressed-tensors -----------------------------------------------------

from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme, QuantizationStrategy
from compressed_tensors.quantization.utils import calculate_qparams


def compressed(fmt, **kw):
    args = QuantizationArgs(**kw)
    scheme = QuantizationScheme(targets=["Linear"], weights=args)
    comp = BaseCompressor.get_value_from_registry(fmt)

    def make(module, w):
        g = {"channel": w.shape[1], "tensor": w.numel(), "block": 0}.get(getattr(args.strategy, "value", args.strategy), args.group_size)
        if args.strategy == QuantizationStrategy.BLOCK:
            b = args.block_structure
            x = torch.nn.functional.pad(w, (0, -w.shape[1] % b[1], 0, -w.shape[0] % b[0]))
            x = x.reshape(x.shape[0] // b[0], b[0], x.shape[1] // b[1], b[1])
            lo, hi = x.amin((1, 3)), x.amax((1, 3))
        elif args.strategy == QuantizationStrategy.TENSOR:
            lo, hi = w.min().reshape(1), w.max().reshape(1)
        else:
            x = w.reshape(w.shape[0], -1, g)
            lo, hi = x.amin(-1), x.amax(-1)
        state = {"weight": w}
        if args.num_bits == 4 and args.type == "float" and args.group_size == 16:
            state["weight_global_scale"] = (448 * 6 / w.float().abs().max()).reshape(1)
        s, z = calculate_qparams(lo, hi, args, global_scale=state.get("weight_global_scale"))
        state |= {"weight_scale": s, "weight_zero_point": z}
        if args.symmetric:
            del state["weight_zero_point"]
        stored = {k: v for k, v in comp.compress(state, scheme).items()}
        deq = comp.decompress({k: v.clone() for k, v in stored.items()}, scheme)["weight"]
        return stored, deq.to(w.dtype)
    how = {"quant_method": "compressed-tensors", "format": fmt, "quantization_status": "compressed", "ignore": ["lm_head"],
           "config_groups": {"group_0": {"targets": ["Linear"], "weights": json.loads(args.model_dump_json(exclude_none=True))}}}
    return how, make


for name, dtype, how, make in [
    ("compressed_int4", torch.bfloat16, *compressed("pack-quantized", num_bits=4, type="int", symmetric=True, strategy="group", group_size=32)),
    ("compressed_int4_asym", torch.float16, *compressed("pack-quantized", num_bits=4, type="int", symmetric=False, strategy="group", group_size=32)),
    ("compressed_int3", torch.bfloat16, *compressed("pack-quantized", num_bits=3, type="int", symmetric=False, strategy="group", group_size=32)),
    ("compressed_int8", torch.bfloat16, *compressed("int-quantized", num_bits=8, type="int", symmetric=True, strategy="channel")),
    ("compressed_fp8", torch.bfloat16, *compressed("float-quantized", num_bits=8, type="float", symmetric=True, strategy="channel")),
    ("compressed_fp8_tensor", torch.bfloat16, *compressed("float-quantized", num_bits=8, type="float", symmetric=True, strategy="tensor")),
    ("compressed_fp8_block", torch.bfloat16, *compressed("float-quantized", num_bits=8, type="float", symmetric=True, strategy="block", block_structure=[32, 40])),
    ("compressed_nvfp4", torch.bfloat16, *compressed("nvfp4-pack-quantized", num_bits=4, type="float", symmetric=True, strategy="tensor_group", group_size=16)),
    ("compressed_mxfp4", torch.bfloat16, *compressed("mxfp4-pack-quantized", num_bits=4, type="float", symmetric=True, strategy="group", group_size=32)),
]:
    write(name, dtype, how, make)

# --- bitsandbytes -----------------------------------------------------------

import bitsandbytes.functional as bnb
from bitsandbytes.backends.default.ops import _dequantize_4bit_compute


def bits4(kind, nested):
    def make(module, w):
        q, state = bnb.quantize_4bit(w, blocksize=64, quant_type=kind, compress_statistics=nested)
        # The generic implementation: that for CPUs starts a block with each row, as
        # those for GPUs and the quantizer do not.
        absmax = state.absmax
        if nested:
            absmax = bnb.dequantize_blockwise(absmax, state.state2) + state.offset
        deq = _dequantize_4bit_compute(q.reshape(-1), absmax.float(), state.code, state.blocksize, state.shape, state.dtype)
        return {"weight": q} | {"weight." + k: v for k, v in state.as_dict(packed=True).items()}, deq
    how = {"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False, "bnb_4bit_quant_type": kind,
           "bnb_4bit_use_double_quant": nested, "bnb_4bit_compute_dtype": "bfloat16", "llm_int8_skip_modules": ["lm_head"]}
    return how, make


def bits8(module, w):
    q, scb, _ = bnb.int8_vectorwise_quant(w.to(torch.float16))
    deq = bnb.int8_vectorwise_dequant(q, scb).to(w.dtype)
    return {"weight": q, "SCB": scb, "weight_format": torch.tensor(0, dtype=torch.uint8)}, deq


write("bnb_nf4", torch.bfloat16, *bits4("nf4", False))
write("bnb_nf4_nested", torch.float16, *bits4("nf4", True))
write("bnb_fp4", torch.bfloat16, *bits4("fp4", False))
write("bnb_int8", torch.float16, {"quant_method": "bitsandbytes", "load_in_4bit": False, "load_in_8bit": True}, bits8)
