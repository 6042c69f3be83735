"""Writes internal/picture/testdata: what Pillow and the image processors of transformers make of a random picture.

Needs transformers 5.23, Pillow 13, torchvision 0.24:  python tools/torch/pictures.py internal/picture/testdata
With a seed and a number: so many random sizes and settings of each kind instead (ATENIA_PICTURES of the test names the folder).
"""
import json
import os
import sys

import numpy as np
from PIL import Image

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
seed, count = (int(sys.argv[2]), int(sys.argv[3])) if len(sys.argv) > 3 else (5, 0)
g = np.random.default_rng(seed)


def picture(h, w):
    """Noise over a gradient: single pixels and smooth areas."""
    y, x = np.mgrid[0:h, 0:w]
    base = np.stack([255 * x / w, 255 * y / h, 255 * (x + y) / (w + h)], -1)
    return np.clip(base + g.normal(0, 60, (h, w, 3)), 0, 255).astype(np.uint8)


cases = []
src = picture(47, 61)
Image.fromarray(src).save(f"{out}/source.png")
for name, code in (("lanczos", 1), ("bilinear", 2), ("bicubic", 3)):
    for w, h in () if count else ((20, 30), (61, 13), (100, 47), (90, 120), (1, 1), (7, 200), (72, 40), (57, 38), (57, 39), (60, 9)):
        Image.fromarray(src).resize((w, h), code).save(f"{out}/{name}_{w}x{h}.png")

from transformers import Gemma3ImageProcessor, Lfm2VlImageProcessor, PixtralImageProcessor, Qwen2VLImageProcessor  # noqa: E402
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil  # noqa: E402
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil  # noqa: E402
from transformers.models.pixtral.image_processing_pil_pixtral import PixtralImageProcessorPil  # noqa: E402


def put(name, kind, proc, config, image, exact=True):
    try:
        o = proc(images=Image.fromarray(image), return_tensors="np")
    except (ValueError, ZeroDivisionError, RuntimeError, OverflowError) as e:
        print(name, image.shape, "refused:", str(e)[:90])
        return
    px = np.asarray(o["pixel_values"], np.float32)
    rec = dict(name=name, kind=kind, config=config, shape=list(px.shape), exact=exact)
    for k in ("image_grid_thw", "spatial_shapes", "image_sizes"):
        if k in o:
            rec[k] = np.asarray(o[k]).tolist()
    np.save(f"{out}/{name}.npy", px)
    Image.fromarray(image).save(f"{out}/{name}.png")
    cases.append(rec)



def fixed():
    for i, (h, w) in enumerate(((47, 61), (90, 31), (16, 16))):
        cfg = dict(size={"shortest_edge": 400, "longest_edge": 1600}, patch_size=4, temporal_patch_size=2, merge_size=2)
        put(f"area{i}", "area", Qwen2VLImageProcessorPil(**cfg), dict(cfg, resample=3, image_mean=[0.48145466, 0.4578275, 0.40821073], image_std=[0.26862954, 0.26130258, 0.27577711]), picture(h, w))
    cfg = dict(size={"height": 24, "width": 24}, image_mean=[0.5] * 3, image_std=[0.5] * 3, resample=2)
    put("square0", "square", Gemma3ImageProcessorPil(**cfg), cfg, picture(47, 61))
    for i, (h, w) in enumerate(((40, 50), (90, 60), (120, 35))):
        cfg = dict(tile_size=16, min_image_tokens=4, max_image_tokens=16, encoder_patch_size=4, downsample_factor=2, min_tiles=2, max_tiles=6, resample=2)
        put(f"tiles{i}", "tiles", Lfm2VlImageProcessor(**cfg), dict(cfg, image_mean=[0.5] * 3, image_std=[0.5] * 3), picture(h, w), exact=False)
    for i, (h, w) in enumerate(((40, 90), (33, 20))):
        cfg = dict(size={"longest_edge": 48}, image_mean=[0.48145466, 0.4578275, 0.40821073], image_std=[0.26862954, 0.26130258, 0.27577711], resample=3)
        put(f"longest{i}", "longest", PixtralImageProcessor(**cfg, patch_size=8), cfg, picture(h, w), exact=False)  # the processor counts patches that are merged
    for i, (h, w) in enumerate(((30, 77), (100, 41), (40, 50), (200, 33))):
        cfg = dict(size={"height": 24, "width": 24}, image_mean=[0.5] * 3, image_std=[0.5] * 3, resample=2, do_pan_and_scan=True, pan_and_scan_min_crop_size=16, pan_and_scan_max_num_crops=4, pan_and_scan_min_ratio_to_activate=1.3)
        put(f"scan{i}", "square", Gemma3ImageProcessorPil(**cfg), cfg, picture(h, w))


def drawn():
    n = lambda a, b: int(g.integers(a, b))
    half, clip = dict(image_mean=[0.5] * 3, image_std=[0.5] * 3), dict(image_mean=[0.48145466, 0.4578275, 0.40821073], image_std=[0.26862954, 0.26130258, 0.27577711])
    for i in range(count):
        cfg = dict(size={"shortest_edge": n(64, 1500), "longest_edge": n(1500, 6000)}, patch_size=4, temporal_patch_size=2, merge_size=2, resample=n(2, 4))
        put(f"area{i}", "area", Qwen2VLImageProcessorPil(**cfg), dict(cfg, **clip), picture(n(1, 150), n(1, 150)))
        side = 8 * n(1, 7)
        cfg = dict(half, size={"height": side, "width": side}, resample=2, do_pan_and_scan=bool(n(0, 4)), pan_and_scan_min_crop_size=n(1, 60),
                   pan_and_scan_max_num_crops=n(1, 7), pan_and_scan_min_ratio_to_activate=float(g.uniform(1, 3)))
        put(f"square{i}", "square", Gemma3ImageProcessorPil(**cfg), cfg, picture(n(8, 200), n(8, 200)))
        least = n(1, 6)
        cfg = dict(tile_size=8 * n(1, 6), min_image_tokens=n(1, 9), max_image_tokens=n(9, 40), encoder_patch_size=4, downsample_factor=2, min_tiles=least,
                   max_tiles=n(least, 11), resample=n(2, 4), use_thumbnail=bool(n(0, 2)), do_image_splitting=bool(n(0, 4)), max_pixels_tolerance=float(g.uniform(1, 3)))
        put(f"tiles{i}", "tiles", Lfm2VlImageProcessor(**cfg), dict(cfg, **half), picture(n(5, 250), n(5, 250)), exact=False)
        cfg = dict(clip, size={"longest_edge": n(9, 120)}, resample=n(2, 4))
        put(f"longest{i}", "longest", PixtralImageProcessorPil(**cfg, patch_size=8), cfg, picture(n(1, 200), n(1, 200)))


drawn() if count else fixed()
json.dump(cases, open(f"{out}/cases.json", "w"), indent=1)
print(len(cases), "cases")
