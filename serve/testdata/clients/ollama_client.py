"""Ollama's Python client against a running server: python ollama_client.py http://127.0.0.1:8080 KEY"""

import datetime
import importlib.metadata
import json
import sys

import ollama
import pydantic

base, key = sys.argv[1].removesuffix("/v1"), sys.argv[2]
client = ollama.Client(host=base, headers={"Authorization": "Bearer " + key})
ask = [{"role": "user", "content": "Tell me about a dog."}]
fixed = {"seed": 3, "temperature": 1, "num_predict": 16}


def weather(city: str) -> str:
    """Says what the weather is.

    Args:
      city: The name of a city
    """
    return "sunny in " + city


def chat():
    r = client.chat(model="default", messages=ask, options=fixed)
    assert r.message.role == "assistant" and r.message.content and r.done and r.done_reason == "length"
    assert r.eval_count == 16 and r.prompt_eval_count > 4 and r.total_duration >= r.eval_duration > 0
    parts = list(client.chat(model="default", messages=ask, options=fixed, stream=True))
    assert "".join(p.message.content for p in parts) == r.message.content and len(parts) > 8
    assert [p.done for p in parts] == [False] * (len(parts) - 1) + [True] and parts[-1].eval_count == 16
    r = client.chat(model="default", messages=ask, options=fixed, logprobs=True, top_logprobs=2)
    assert len(r.logprobs) == 16 and len(r.logprobs[0].top_logprobs) == 2


def generate():
    r = client.generate(model="default", prompt="Once upon a time", raw=True, options={"temperature": 0, "stop": ["."]})
    assert r.response and "." not in r.response and r.done_reason == "stop"
    text = "".join(p.response for p in client.generate(model="default", prompt="Once upon a time", raw=True, options={"temperature": 0, "stop": ["."]}, stream=True))
    assert text == r.response
    r = client.generate(model="default", prompt="Tell me about a dog.", system="Be brief.", think=False, keep_alive="5m", options=fixed)
    assert r.response and 0 < r.eval_count <= 16


def tools():
    # The embedded model calls nothing: the definitions and results have to be taken.
    turns = ask + [{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "weather", "arguments": {"city": "Rome"}}}]},
                   {"role": "tool", "tool_name": "weather", "content": "sunny"}]
    assert client.chat(model="default", messages=turns, tools=[weather], options=fixed).message.content


def schema():
    want = {"type": "object", "properties": {"old": {"type": "boolean"}}, "required": ["old"], "additionalProperties": False}
    for n in range(5):
        o = json.loads(client.chat(model="default", messages=ask, format=want, options={"seed": n, "temperature": 1.5}).message.content)
        assert list(o) == ["old"] and isinstance(o["old"], bool)

    class Dog(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="forbid")
        old: bool
        legs: int = pydantic.Field(ge=0, le=4)

    usual = {"model": "default", "messages": ask, "format": Dog.model_json_schema(), "options": {"seed": 2, "temperature": 1.5}}
    whole = client.chat(**usual).message.content
    Dog.model_validate_json(whole)
    assert "".join(p.message.content for p in client.chat(stream=True, **usual)) == whole
    assert isinstance(json.loads(client.generate(model="default", prompt="A dog.", format="json", options={"num_predict": 60}).response), dict)


def vectors():
    both = client.embed(model="default", input=["A cat.", "A dog sleeps."])
    assert len(both.embeddings) == 2 and both.prompt_eval_count > 4
    assert client.embed(model="default", input="A dog sleeps.").embeddings[0] == both.embeddings[1]
    assert client.embeddings(model="default", prompt="A dog sleeps.").embedding == both.embeddings[1]
    assert len(client.embed(model="default", input="A cat.", dimensions=8).embeddings[0]) == 8


def models():
    names = [m.model for m in client.list().models]
    assert names
    shown = client.show(names[0])
    assert "completion" in shown.capabilities and shown.details.family and shown.modelinfo["general.architecture"]
    loaded = client.ps().models
    assert loaded and loaded[0].model == names[0] and loaded[0].context_length > 0 and loaded[0].expires_at


def keep():
    def until():
        return [m.expires_at for m in client.ps().models]

    now = datetime.datetime.now(datetime.timezone.utc)
    client.generate(model="default", keep_alive="10m")
    assert 500 < (until()[0] - now).total_seconds() < 700, until()
    client.generate(model="default", prompt="A", keep_alive=-1, options=fixed)
    assert (until()[0] - now).days > 3650
    assert client.generate(model="default", keep_alive=0).done_reason == "unload" and not until()
    client.chat(model="default", messages=ask, options=fixed)
    assert until()


def errors():
    def fails(status, part, call, **args):
        try:
            call(**args)
        except ollama.ResponseError as e:
            assert e.status_code == status and part in e.error, (e.status_code, e.error)
            return
        raise AssertionError("no error")

    fails(404, "none", client.chat, model="none", messages=ask)
    fails(400, "tokens", client.chat, model="default", messages=[{"role": "user", "content": "word " * 20000}])
    fails(400, "num_ctx", client.chat, model="default", messages=ask, options={"num_ctx": 10000000})
    fails(400, "suffix", client.generate, model="default", prompt="a", suffix="b")
    fails(501, "atenia serve", client.pull, model="llama3")
    fails(413, "bytes", client.chat, model="default", messages=[{"role": "user", "content": "a" * (33 << 20)}])
    fails(401, "key", ollama.Client(host=base, headers={"Authorization": "Bearer wrong"}).chat, model="default", messages=ask)


def later():
    """Run against a server that is busy, and one that drains, as run.sh has them."""
    status, part = {"busy": (429, "limit"), "draining": (503, "shutting down")}[sys.argv[3]]
    try:
        client.chat(model="default", messages=ask)
    except ollama.ResponseError as e:
        assert e.status_code == status and part in e.error, e
    else:
        raise AssertionError("no error")


if len(sys.argv) > 3:
    later()
    print("ollama", sys.argv[3], "ok")
    sys.exit()
chat()
generate()
tools()
schema()
vectors()
models()
keep()
errors()
print("ollama", importlib.metadata.version("ollama"), "ok")
