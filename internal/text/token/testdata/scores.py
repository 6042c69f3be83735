"""Makes scores.json: numbers, and the bits of the scores that the library
"tokenizers" reads them as. Run with: pip install tokenizers
"""
import json, random, struct
from tokenizers import Tokenizer

r = random.Random(1)
digits = lambda n: "".join(r.choice("0123456789") for _ in range(n))
numbers = ["-0", "0", "-0.0", "1", "-1", "18446744073709551615", "18446744073709551616", "-9223372036854775808", "-9223372036854775809",
           "999999999999999999999", "0.999999999999999999999", "-9.99999999999999999999", "1e308", "1e-308", "1e-320", "123456789e-330",
           "0e999999", "0e99999999999", "1e-99999999999", "1.7976931348623157e308", "4.9e-324", "123456789012345678901234567890.5e-10"]
for _ in range(400):
    k = r.randrange(4)
    if k == 0: n = repr(-r.random() * 20)
    elif k == 1: n = "-%d.%s" % (r.randrange(30), digits(r.randrange(1, 30)))
    elif k == 2: n = "%s%d.%se%d" % (r.choice(["", "-"]), r.randrange(10), digits(r.randrange(1, 25)), r.randrange(-330, 290))
    else: n = "-" + "9" * r.randrange(1, 30)
    numbers.append(n)
file = {"version": "1.0", "added_tokens": [], "model": {"type": "Unigram", "unk_id": 0, "vocab": "@"}}
text = json.dumps(file).replace('"@"', "[" + ",".join('["%d",%s]' % p for p in enumerate(numbers)) + "]")
vocab = json.loads(Tokenizer.from_str(text).to_str())["model"]["vocab"]  # written with all digits, read back exactly
with open("scores.json", "w") as f:
    json.dump([[n, struct.pack(">d", v).hex()] for n, (_, v) in zip(numbers, vocab)], f, separators=(",", ":"))
    f.write("\n")
