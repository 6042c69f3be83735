# Times 200 texts with all-MiniLM-L6-v2 in onnxruntime, weights in int8 by its
# dynamic quantization, on two threads, sorted by length in batches of 32:
#
#   pip install onnx onnxruntime sentence-transformers
#   python tools/torch/minilm_onnx.py FOLDER testdata/golden/embed/all-MiniLM-L6-v2 ROUNDS
import json, os, sys, tempfile, time
import numpy as np, onnxruntime, torch
from onnxruntime.quantization import quantize_dynamic
from sentence_transformers import SentenceTransformer

folder, cases, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
st = SentenceTransformer(folder, device="cpu", model_kwargs={"attn_implementation": "eager"})
texts = json.load(open(f"{cases}/texts.json"))
path = os.environ.get("MINILM_ONNX", os.path.join(tempfile.gettempdir(), "minilm-int8.onnx"))
if not os.path.exists(path):
    bert = st[0].auto_model.eval()

    class Rows(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = bert

        def forward(self, ids, mask, types):
            return self.bert(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state

    x = torch.ones(2, 9, dtype=torch.long)
    axes = {0: "batch", 1: "tokens"}
    torch.onnx.export(Rows(), (x, x, torch.zeros_like(x)), path + ".f32", input_names=["ids", "mask", "types"], output_names=["rows"],
                      dynamic_axes={"ids": axes, "mask": axes, "types": axes, "rows": axes}, opset_version=17, dynamo=False)
    quantize_dynamic(path + ".f32", path)
o = onnxruntime.SessionOptions()
o.intra_op_num_threads = 2
s = onnxruntime.InferenceSession(path, o, providers=["CPUExecutionProvider"])
tok = st.tokenizer


def embed():
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    out = np.zeros((len(texts), 384), np.float32)
    for i in range(0, len(order), 32):
        part = order[i:i + 32]
        b = tok([texts[k] for k in part], padding=True, truncation=True, max_length=256, return_tensors="np")
        rows = s.run(None, dict(ids=b["input_ids"], mask=b["attention_mask"], types=b.get("token_type_ids", np.zeros_like(b["input_ids"]))))[0]
        m = b["attention_mask"][..., None]
        v = (rows * m).sum(1) / m.sum(1)
        out[part] = v / np.linalg.norm(v, axis=1, keepdims=True)
    return out


got, want = embed(), np.load(f"{cases}/vectors.npy")
print("least cosine", float((got * want).sum(1).min()))
for _ in range(rounds):
    t, c = time.perf_counter(), time.process_time()
    embed()
    print(f"{time.perf_counter() - t:.3f} s, {time.process_time() - c:.3f} s of processors")
