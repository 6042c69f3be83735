"""Writes the parity cases of Phi MoE with the generator of the golden files.

    python tools/torch/phimoe.py make_parity_fixtures.py --out DIR [--seed N] [--perturb]

The first argument is the generator, whose other arguments are passed on.
"""
import importlib.util
import sys

spec = importlib.util.spec_from_file_location("generator", sys.argv[1])
generator = importlib.util.module_from_spec(spec)
spec.loader.exec_module(generator)
others = generator.cases


def case(name, kw, **options):
    d = dict(name=name, config="PhimoeConfig", model="PhimoeForCausalLM", kw=kw, kind="causal", seqs=generator.SHORT, ablations={}, embed_std=1.0,
             zero_centred=False, optional=False, note="", scope="core", store="float32", shards=1, pack="", floor=2e-5, in_out=False, fused=False,
             gain={}, whole=False, min_prefix=0)
    d.update(options)
    return d


def cases():
    sizes = lambda p: dict(intermediate_size=p(48, 40), num_local_experts=p(4, 6), num_experts_per_tok=2)
    factors = dict(short_factor=[1.0, 1.1, 1.2, 1.3, 1.5, 1.7, 2.0, 2.2], long_factor=[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0])
    rope = dict(rope_type="longrope", rope_theta=10000.0, original_max_position_embeddings=64, short_mscale=1.3, long_mscale=1.3, factor=2.0, **factors)
    return {
        "phimoe": case("phimoe", lambda p: [generator.base(p, attention_bias=True, lm_head_bias=True, router_jitter_noise=p(0.2, 0.4), **sizes(p))],
                       ablations={"jitter": dict(router_jitter_noise=0.0)}, note="layer norms, sparsemixer"),
        "phimoe_longrope": case("phimoe_longrope", lambda p: [generator.base(p, hidden_size=64, max_position_embeddings=128, rope_parameters=rope, **sizes(p))]),
    }


generator.cases = cases
sys.argv = sys.argv[1:]
generator.main()
