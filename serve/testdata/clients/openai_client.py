"""OpenAI's Python client against a running server: python openai_client.py http://127.0.0.1:8080/v1 KEY"""

import sys

import openai

base, key = sys.argv[1], sys.argv[2]
client = openai.OpenAI(base_url=base, api_key=key, max_retries=0)
ask = [{"role": "user", "content": "Tell me about a dog."}]
tools = [{"type": "function", "function": {"name": "weather", "description": "of a city", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]


def chat():
    r = client.chat.completions.create(model="default", messages=ask, max_tokens=16, temperature=0)
    assert r.object == "chat.completion" and r.choices[0].message.role == "assistant" and r.choices[0].message.content
    assert r.usage.completion_tokens == 16 and r.choices[0].finish_reason == "length"
    assert [m.id for m in client.models.list()] and client.models.retrieve("default").id
    return r.choices[0].message.content


def stream(want):
    text, usage, roles = "", None, 0
    for c in client.chat.completions.create(model="default", messages=ask, max_tokens=16, temperature=0, stream=True,
                                            stream_options={"include_usage": True}):
        if c.usage:
            usage = c.usage
        for choice in c.choices:
            text += choice.delta.content or ""
            roles += choice.delta.role == "assistant"
    assert text == want, (text, want)
    assert roles == 1 and usage.completion_tokens == 16
    whole = client.chat.completions.create(model="default", messages=ask, stop=["."], temperature=0).choices[0]
    with client.chat.completions.stream(model="default", messages=ask, stop=["."], temperature=0) as s:
        last = s.get_final_completion().choices[0]
    assert whole.finish_reason == last.finish_reason == "stop" and last.message.content == whole.message.content
    text = "".join(c.choices[0].text for c in client.completions.create(model="default", prompt="Once", max_tokens=8, temperature=0, stream=True))
    assert text == client.completions.create(model="default", prompt="Once", max_tokens=8, temperature=0).choices[0].text


def logprobs():
    r = client.chat.completions.create(model="default", messages=ask, max_tokens=4, temperature=0, logprobs=True, top_logprobs=3, n=2, seed=1, stop=["zzz"])
    assert len(r.choices) == 2 and len(r.choices[0].logprobs.content) == 4 and len(r.choices[0].logprobs.content[0].top_logprobs) == 3


def calls():
    r = client.chat.completions.create(model="default", messages=ask + [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Bern"}'}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"}], tools=tools, tool_choice="auto", max_tokens=8)
    assert r.choices[0].finish_reason in ("stop", "length", "tool_calls")


def responses():
    r = client.responses.create(model="default", input="Tell me about a dog.", max_output_tokens=16, temperature=0)
    assert r.output_text and r.usage.output_tokens == 16, r
    text, last = "", None
    for e in client.responses.create(model="default", input="Tell me about a dog.", max_output_tokens=16, temperature=0, stream=True):
        text += e.delta if e.type == "response.output_text.delta" else ""
        last = e
    assert text == r.output_text and last.type == "response.incomplete" and last.response.output_text == text


def embeddings():
    r = client.embeddings.create(model="default", input=["a dog", "a cat"])  # asks for base64
    f = client.embeddings.create(model="default", input=["a dog", "a cat"], encoding_format="float")
    assert len(r.data) == 2 and max(abs(a - b) for a, b in zip(r.data[1].embedding, f.data[1].embedding)) < 1e-6


def errors():
    for kind, call in [
        (openai.NotFoundError, lambda: client.chat.completions.create(model="none-such", messages=ask)),
        (openai.BadRequestError, lambda: client.chat.completions.create(model="default", messages=ask, temperature=-1)),
        (openai.BadRequestError, lambda: client.chat.completions.create(model="default", messages=[{"role": "user", "content": "word " * 20000}])),
        (openai.AuthenticationError, lambda: openai.OpenAI(base_url=base, api_key="wrong-key", max_retries=0).models.list()),
    ]:
        try:
            call()
        except kind as e:
            assert e.code and e.type and e.request_id, e
        else:
            raise AssertionError(f"no {kind}")


stream(chat())
for check in [logprobs, calls, responses, embeddings, errors]:
    check()
    print("ok", check.__name__)
