# A llama in plain PyTorch, eager, float32, on the CPU: what `atenia bench
# train` is compared with:   python3 tools/torch/llama.py 5M 7   (size, steps)
import sys, time, json, torch, torch.nn as nn, torch.nn.functional as F
torch.set_num_threads(2)
torch.manual_seed(0)
size = sys.argv[1] if len(sys.argv) > 1 else "5M"
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 7
vocab, hidden, layers, ffn, heads, kv = {"5M": (4096, 256, 5, 688, 8, 8), "60M": (16384, 512, 12, 2048, 8, 8)}[size]
batch, length = 8, 256

class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight

def rope(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        d = hidden // heads
        self.d = d
        self.n1, self.n2 = Norm(hidden), Norm(hidden)
        self.q = nn.Linear(hidden, heads * d, bias=False)
        self.k = nn.Linear(hidden, kv * d, bias=False)
        self.v = nn.Linear(hidden, kv * d, bias=False)
        self.o = nn.Linear(heads * d, hidden, bias=False)
        self.gate = nn.Linear(hidden, ffn, bias=False)
        self.up = nn.Linear(hidden, ffn, bias=False)
        self.down = nn.Linear(ffn, hidden, bias=False)
    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        h = self.n1(x)
        split = lambda y, n: y.view(b, t, n, self.d).transpose(1, 2)
        q, k, v = rope(split(self.q(h), heads), cos, sin), rope(split(self.k(h), kv), cos, sin), split(self.v(h), kv)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=kv != heads)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, -1))
        h = self.n2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))

class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.norm = Norm(hidden)
        self.head = nn.Linear(hidden, vocab, bias=False)
        self.head.weight = self.embed.weight
    def forward(self, ids, labels, cos, sin):
        x = self.embed(ids)
        for l in self.layers:
            x = l(x, cos, sin)
        return F.cross_entropy(self.head(self.norm(x)).view(-1, vocab), labels.reshape(-1))

m = Llama()
d = hidden // heads
angles = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)
cos, sin = angles.cos(), angles.sin()
opt = torch.optim.AdamW(m.parameters(), lr=3e-4, weight_decay=0.1)
ids = torch.randint(0, vocab, (batch, length + 1))
times = []
for step in range(steps + 2):
    t0 = time.perf_counter()
    loss = m(ids[:, :-1], ids[:, 1:], cos, sin)
    t1 = time.perf_counter()
    loss.backward()
    t2 = time.perf_counter()
    opt.step()
    opt.zero_grad(set_to_none=False)
    t3 = time.perf_counter()
    if step >= 2:
        times.append((t3 - t0, t1 - t0, t2 - t1, t3 - t2))
med = [sorted(x)[len(x) // 2] * 1e3 for x in zip(*times)]
peak = [l for l in open("/proc/self/status") if l.startswith("VmHWM")][0].split()[1]
print(json.dumps({"params": sum(p.numel() for p in m.parameters()), "loss": loss.item(), "step_ms": round(med[0], 1), "forward_ms": round(med[1], 1), "backward_ms": round(med[2], 1), "optimizer_ms": round(med[3], 1), "peak_mib": int(peak) // 1024}))
