"""Writes internal/sight/testdata/videos: what the processors of transformers make of videos: which frames, how large, the text with its
times, the positions of its tokens, and of some the patches.

Needs transformers 5.23, Pillow 13, torchvision 0.24:  python tools/torch/videos.py internal/sight/testdata/videos [seed [cases]]
"""
import json
import os
import sys
import types

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLProcessor, Qwen2VLImageProcessor, Qwen2VLProcessor, Qwen2VLVideoProcessor, Qwen3VLProcessor, Qwen3VLVideoProcessor
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLModel
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLModel
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLModel

out = sys.argv[1]
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 7
count = int(sys.argv[3]) if len(sys.argv) > 3 else 24
os.makedirs(out, exist_ok=True)
g = np.random.default_rng(seed)
special = ["<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>"]
t = Tokenizer(models.WordLevel({s: i for i, s in enumerate(special)} | {chr(c): c for c in range(32, 127)} | {"<unk>": 4}, unk_token="<unk>"))
t.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
tok = PreTrainedTokenizerFast(tokenizer_object=t, unk_token="<unk>", additional_special_tokens=special)
classes = {"qwen2": (Qwen2VLProcessor, Qwen2VLVideoProcessor, Qwen2VLModel), "qwen2_5": (Qwen2_5_VLProcessor, Qwen2VLVideoProcessor, Qwen2_5_VLModel),
           "qwen3": (Qwen3VLProcessor, Qwen3VLVideoProcessor, Qwen3VLModel)}


def film(n, h, w):
    """Pixels [n, h, w, 3] that a test makes again."""
    f, y, x, c = np.meshgrid(np.arange(n), np.arange(h), np.arange(w), np.arange(3), indexing="ij")
    return ((x * x + 3 * y * (c + 1) + 17 * f + x * y * c) % 256).astype(np.uint8)


cases = []
while len(cases) < count:
    kind = ["qwen3", "qwen3", "qwen2_5", "qwen2"][len(cases) % 4]
    proc, video, model = classes[kind]
    n, hundredths = int(g.integers(2, 90)), int(g.integers(1, 3000))
    h, w = int(g.integers(9, 60)), int(g.integers(9, 60))
    cfg = {"patch_size": 4, "merge_size": 2, "temporal_patch_size": 2}
    if kind == "qwen3":
        cfg["size"] = {"shortest_edge": int(g.integers(64, 4000)), "longest_edge": int(g.integers(8000, 40000))}
    else:
        cfg["size"] = {"shortest_edge": int(g.integers(64, 400)), "longest_edge": int(g.integers(600, 2500))}
    if g.random() < 0.5:
        cfg["do_sample_frames"] = bool(g.random() < 0.8)
    if g.random() < 0.5:
        cfg["fps"] = [0.5, 1, 1.5, 2, 3, 4.5][g.integers(6)]
    elif g.random() < 0.2:
        cfg["fps"], cfg["num_frames"] = None, int(g.integers(2, min(n, 20) + 1))
        if kind != "qwen3":
            cfg["num_frames"] = max(2, cfg["num_frames"] // 2 * 2)
    if g.random() < 0.4:
        cfg["min_frames"], cfg["max_frames"] = int(g.integers(2, 9)), int(g.integers(9, 30))
    if g.random() < 0.4:
        cfg["cap_pixels_per_frame"] = True
        cfg["max_video_tokens"] = int(g.integers(4, 40)) if kind == "qwen3" else int(g.integers(40, 4000))
    v = video(**cfg)
    p = proc(Qwen2VLImageProcessor(patch_size=4, merge_size=2, temporal_patch_size=2), tok, v, chat_template=None)
    seen = {}
    inner, sample = p.get_text_with_replacements, v.sample_frames
    p.get_text_with_replacements = lambda *a, **k: seen.setdefault("text", inner(*a, **k))
    v.sample_frames = lambda *a, **k: seen.setdefault("frames", sample(*a, **k))
    meta = {"total_num_frames": n, "fps": n / (hundredths / 100), "frames_indices": None if kind == "qwen2_5" else list(range(n))}
    try:
        o = p(text="ab<|vision_start|><|video_pad|><|vision_end|>cd", videos=[film(n, h, w)], video_metadata=[meta], return_tensors="pt")
    except (ValueError, TypeError, IndexError) as e:
        print(kind, "skipped:", e)
        continue
    grid = o["video_grid_thw"]
    if int(grid.prod()) > 20000:
        continue
    stub = types.SimpleNamespace(config=types.SimpleNamespace(vision_config=types.SimpleNamespace(spatial_merge_size=2, tokens_per_second=4)))
    stub.get_vision_position_ids = types.MethodType(model.get_vision_position_ids, stub)
    more = {"second_per_grid_ts": torch.as_tensor(o["second_per_grid_ts"])} if "second_per_grid_ts" in o else {}
    places, _ = model.get_rope_index(stub, o["input_ids"], o["mm_token_type_ids"], None, grid, attention_mask=o["attention_mask"], **more)
    frames = seen.get("frames")
    name = f"{kind}_{len(cases)}"
    rec = dict(name=name, kind=kind, config=cfg, frames=n, hundredths=hundredths, height=h, width=w, take=list(range(n)) if frames is None else [int(x) for x in frames],
               grid=grid[0].tolist(), text=seen["text"][0][0], places=places[:, 0].T.tolist() if len(cases) < 12 else None)
    if rec["places"] is None:
        del rec["places"]
    px = o["pixel_values_videos"].numpy().astype(np.float32)
    if count > 24 or px.size < 60000:  # as pixels of 8 bits, which they were
        rec["patches"] = True
        mean, std = np.asarray(v.image_mean, np.float32)[None, :, None], np.asarray(v.image_std, np.float32)[None, :, None]
        np.rint((px.reshape(len(px), 3, -1) * std + mean) * 255).astype(np.uint8).tofile(f"{out}/{name}.u8")
    cases.append(rec)
json.dump(cases, open(f"{out}/cases.json", "w"), separators=(",", ":"))
print(len(cases), "cases")
