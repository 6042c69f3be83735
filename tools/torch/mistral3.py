"""Writes the parity case mistral3 (transformers 5.23, torch 2.9):

    python tools/torch/mistral3.py OUT/parity/mistral3 --seed 0

Even seeds have a decoder of the class Mistral, odd ones of Ministral3 and biases in
the projector. config.json has the spelling of transformers 4, config.v5.json that of
5. Both images are padded to one size, as the processor does; each row of an image
ends with [IMG_BREAK], the last with [IMG_END]. The tolerance is the larger of 20
times the difference from float64 and 2e-5 times the largest logit.
"""
import argparse, copy, json, pathlib, struct

import numpy as np
import torch
import transformers

IMG, BREAK, END, VOCAB = 10, 12, 13, 288


def randomize(model):
    for name, p in model.named_parameters():
        r = torch.randn_like(p)
        if p.dim() == 1:
            r = 0.3 * r if name.endswith("bias") else 1 + 0.3 * r
        elif "embed_tokens" in name:
            pass
        else:
            r *= 1.2 / p[0].numel() ** 0.5
        p.copy_(r.half().float())


def older(config):
    """The spelling that published files have."""
    def rope(o):
        r = o.pop("rope_parameters", None) or {}
        if o.get("model_type") == "ministral3":  # a class of release 5
            o["rope_parameters"] = r
        elif "rope_theta" in r:
            o["rope_theta"] = r["rope_theta"]
        return o
    config = json.loads(json.dumps(config))
    for k in "text_config", "vision_config":
        rope(config[k])
    config["vision_config"]["head_dim"] = config["vision_config"]["hidden_size"] // config["vision_config"]["num_attention_heads"]
    return config


def write_tokenizer(out):
    """A byte-level vocabulary without merges: bytes are 16 to 271."""
    chars, n = {}, 0
    for b in range(256):
        printable = 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b <= 255
        chars[b] = chr(b if printable else 256 + n)
        n += not printable
    special = {0: "<pad>", 1: "<s>", 2: "</s>", IMG: "[IMG]", BREAK: "[IMG_BREAK]", END: "[IMG_END]"}
    vocab = {chars[b]: 16 + b for b in range(256)}
    vocab.update({special.get(i, f"<unused{i}>"): i for i in [*range(16), *range(272, VOCAB)]})
    added = [dict(id=i, content=t, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True) for i, t in special.items()]
    (out / "tokenizer.json").write_text(json.dumps(dict(
        version="1.0", truncation=None, padding=None, added_tokens=added, normalizer=None,
        pre_tokenizer=dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=False), post_processor=None,
        decoder=dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
        model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None, fuse_unk=False,
                   byte_fallback=False, ignore_merges=False, vocab=vocab, merges=[]))))
    (out / "tokenizer_config.json").write_text(json.dumps(dict(tokenizer_class="PreTrainedTokenizerFast", pad_token="<pad>", bos_token="<s>", eos_token="</s>")))


@torch.no_grad()
def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    odd = args.seed % 2 == 1
    text = dict(model_type="ministral3" if odd else "mistral", vocab_size=VOCAB, hidden_size=48, intermediate_size=80, num_hidden_layers=2,
                num_attention_heads=4, num_key_value_heads=2, head_dim=16, max_position_embeddings=512, sliding_window=None,
                rms_norm_eps=3e-5, tie_word_embeddings=False, pad_token_id=0, bos_token_id=1, eos_token_id=2)
    if odd:
        text["rope_parameters"] = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=16, beta_fast=32.0,
                                       beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.5)
    else:
        text["rope_theta"] = 50000.0
    vision = dict(model_type="pixtral", hidden_size=48 if odd else 32, intermediate_size=72, num_hidden_layers=2, num_attention_heads=3 if odd else 2, patch_size=4,
                  image_size=40, hidden_act="gelu" if odd else "silu", rope_parameters=dict(rope_type="axial", rope_theta=500.0 if odd else 10000.0))
    config = transformers.Mistral3Config(text_config=text, vision_config=vision, image_token_index=IMG, spatial_merge_size=2,
                                         multimodal_projector_bias=odd, vision_feature_layer=-1, tie_word_embeddings=False)
    config._attn_implementation = "eager"
    model = transformers.Mistral3ForConditionalGeneration(config).eval().float()
    randomize(model)
    (args.out / "expected").mkdir(parents=True, exist_ok=True)
    copy.deepcopy(model).half().save_pretrained(args.out)  # of model itself it would round the frequencies
    v5 = json.loads((args.out / "config.json").read_text())
    (args.out / "config.v5.json").write_text(json.dumps(v5, indent=1, sort_keys=True))
    (args.out / "config.json").write_text(json.dumps(older(v5), indent=1, sort_keys=True))
    (args.out / "generation_config.json").unlink(missing_ok=True)
    write_tokenizer(args.out)

    put = lambda name, a: np.save(args.out / f"expected/{name}.npy", a) or f"expected/{name}.npy"
    sizes = [(24, 40), (16, 16)]
    h, w = (max(s[i] for s in sizes) for i in range(2))
    pixels = torch.zeros(len(sizes), 3, h, w)
    tokens = torch.randint(16, 272, (4,)).tolist()
    for i, (y, x) in enumerate(sizes):
        pixels[i, :, :y, :x] = torch.randn(3, y, x)
        rows, cols = y // 8, x // 8
        image = ([IMG] * cols + [BREAK]) * rows
        tokens += image[:-1] + [END] + torch.randint(16, 272, (3,)).tolist()
    prompt = len(tokens)
    tokens += torch.randint(16, 272, (6,)).tolist()

    def run(m, dtype):
        o = m(input_ids=torch.tensor([tokens]), pixel_values=pixels.to(dtype), image_sizes=torch.tensor(sizes), use_cache=False)
        e = m.model.get_image_features(pixel_values=pixels.to(dtype), image_sizes=torch.tensor(sizes), vision_feature_layer=-1)
        return o.logits[0].numpy(), torch.cat(list(e.pooler_output)).numpy()

    logits, embeds = run(model, torch.float32)
    exact, _ = run(model.double(), torch.float64)
    tolerance = max(20 * float(abs(exact - logits).max()), 2e-5 * float(abs(logits).max()))
    seq = dict(name="seq0", tokens=tokens, prompt=prompt, logits=put("seq0.logits", logits.astype("<f4")), image_embeds=put("image_embeds", embeds.astype("<f4")))
    manifest = dict(case="mistral3", kind="vlm_padded", sequences=[seq], tolerance=dict(max_abs=tolerance), seed=args.seed,
                    inputs=dict(pixel_values=put("pixel_values", pixels.numpy()), image_sizes=put("image_sizes", np.array(sizes, "<i4"))))
    (args.out / "fixture.json").write_text(json.dumps(manifest, indent=1))
    with open(args.out / "model.safetensors", "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    tensors = {k: dict(dtype=v["dtype"], file="model.safetensors", shape=v["shape"]) for k, v in header.items() if k != "__metadata__"}
    (args.out / "tensors.json").write_text(json.dumps(tensors, indent=0, sort_keys=True))


main()
