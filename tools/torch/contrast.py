# Writes losses of encoders and gradients of a low-rank pair that torch computes in
# float64, which TestReferenceGradients of internal/tape compares with:
#
#   pip install torch transformers
#   python tools/torch/contrast.py testdata/golden/parity internal/tape/testdata/encoders.json
#
# roberta: InfoNCE of mean vectors, cosines over 0.05, three queries among four documents.
# bert_rerank: binary cross-entropy of scores, with token types.
import json, math, sys
import torch
import torch.nn.functional as F
from transformers import AutoModel, AutoModelForSequenceClassification

parity, out = sys.argv[1], sys.argv[2]
RANK, SCALE = 2, 1.5


def attach(module):
    """Adds SCALE·B·A to the weight of a linear layer; A and B are multiples of 1/64."""
    rows, cols = module.weight.shape
    a = torch.tensor([[((7 * i + 3 * r) % 23 - 11) / 64 for i in range(cols)] for r in range(RANK)], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([[((5 * o + 9 * r) % 19 - 9) / 64 for r in range(RANK)] for o in range(rows)], dtype=torch.float64, requires_grad=True)
    w = module.weight.detach()
    del module.weight
    module.weight = w + SCALE * b @ a
    return a, b


def texts(lens):
    ids, n = [], 0
    for k in lens:
        ids.append([(11 + 37 * (n + i)) % 300 + 10 for i in range(k)])
        n += k
    return ids


def case(name, lens, module, answers=None, targets=None):
    kind = AutoModel if answers else AutoModelForSequenceClassification
    m = kind.from_pretrained(f"{parity}/{name}", dtype=torch.float64, attn_implementation="eager").eval()
    for p in m.parameters():
        p.requires_grad_(False)
    a, b = attach(m.get_submodule(module))
    ids = texts(lens)
    types = [[i * 2 // len(t) for i in range(len(t))] for t in ids] if targets else None
    rows = []
    for k, t in enumerate(ids):
        x = torch.tensor([t])
        kw = {"token_type_ids": torch.tensor([types[k]])} if types else {}
        y = m(input_ids=x, attention_mask=torch.ones_like(x), **kw)
        rows.append(y.last_hidden_state[0].mean(0) if answers else y.logits[0, 0])
    if answers:
        v = F.normalize(torch.stack(rows), dim=-1)
        docs = [i for i, x in enumerate(answers) if x < 0]
        asks = [i for i, x in enumerate(answers) if x >= 0]
        cos = v[asks] @ v[docs].T / 0.05
        right = torch.tensor([docs.index(answers[i]) for i in asks])
        loss = F.cross_entropy(cos, right)
        met = (cos.argmax(1) == right).sum().item()
    else:
        scores, wanted = torch.stack(rows), torch.tensor(targets, dtype=torch.float64)
        loss = F.binary_cross_entropy_with_logits(scores, wanted)
        met = ((scores > 0) == (wanted > 0.5)).sum().item()
    loss.backward()
    return {
        "name": name, "module": module, "lens": lens, "tokens": sum(ids, []), "types": sum(types, []) if types else None,
        "answers": answers, "targets": targets, "rank": RANK, "scale": SCALE, "loss": loss.item(), "met": met,
        "a": a.detach().flatten().tolist(), "b": b.detach().flatten().tolist(),
        "a_grad": a.grad.flatten().tolist(), "b_grad": b.grad.flatten().tolist(),
    }


cases = [
    case("roberta", [4, 7, 3, 5, 6, 2, 4], "encoder.layer.1.attention.self.query", answers=[6, -1, 3, -1, -1, 1, -1]),
    case("bert_rerank", [6, 9, 5], "bert.encoder.layer.0.output.dense", targets=[1.0, 0.0, 0.25]),
]
with open(out, "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
for c in cases:
    print(c["name"], c["loss"], c["met"], math.fsum(x * x for x in c["a_grad"]) ** 0.5, math.fsum(x * x for x in c["b_grad"]) ** 0.5)
