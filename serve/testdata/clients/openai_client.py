"""OpenAI's Python client against a running server: python openai_client.py http://127.0.0.1:8080/v1 KEY"""

import json
import sys
from typing import Literal

import openai
import pydantic

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
    assert [c.index for c in r.choices] == [0, 1] and len(r.choices[0].logprobs.content) == 4 and len(r.choices[0].logprobs.content[0].top_logprobs) == 3


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

    want = {"type": "json_schema", "name": "dog", "strict": True, "schema": Dog.model_json_schema()}
    r = client.responses.create(model="default", input="Tell me about a dog.", temperature=1.5, max_output_tokens=200, text={"format": want})
    Dog.model_validate_json(r.output_text)
    parsed = client.responses.parse(model="default", input="Tell me about a dog.", temperature=1.5, max_output_tokens=200, text_format=Dog)
    assert isinstance(parsed.output_parsed, Dog), parsed
    with client.responses.stream(model="default", input="Tell me about a dog.", temperature=1.5, max_output_tokens=200, text_format=Dog) as s:
        text = "".join(e.delta for e in s if e.type == "response.output_text.delta")
        assert s.get_final_response().output_parsed == Dog.model_validate_json(text)
    flat = {"type": "function", "strict": True, **tools[0]["function"]}
    r = client.responses.create(model="default", input="Weather?", tools=[flat], tool_choice="required", max_output_tokens=200, temperature=1)
    call = [o for o in r.output if o.type == "function_call"][0]
    assert call.name == "weather" and isinstance(json.loads(call.arguments)["city"], str) and call.call_id


def kept():
    usual = {"model": "default", "max_output_tokens": 8, "temperature": 0}
    first = client.responses.create(input="Tell me about a dog.", metadata={"topic": "dogs"}, **usual)
    again = client.responses.retrieve(first.id)
    assert again.output_text == first.output_text and again.metadata == {"topic": "dogs"} and again.store
    assert [i.content[0].text for i in client.responses.input_items.list(first.id)] == ["Tell me about a dog."]
    second = client.responses.create(input="And a cat?", previous_response_id=first.id, **usual)
    whole = [{"role": "user", "content": "Tell me about a dog."}, *[o.to_dict() for o in first.output], {"role": "user", "content": "And a cat?"}]
    assert second.output_text == client.responses.create(input=whole, store=False, **usual).output_text
    assert client.responses.input_tokens.count(model="default", input="And a cat?", previous_response_id=first.id).input_tokens == second.usage.input_tokens
    assert len(client.responses.compact(model="default", input=whole).output) == 3
    talk = client.conversations.create(items=[{"type": "message", "role": "user", "content": "Hello."}], metadata={"a": "b"})
    client.responses.create(input="And a cat?", conversation=talk.id, **usual)
    assert [i.role for i in client.conversations.items.list(talk.id, order="asc", limit=1)] == ["user", "user", "assistant"]  # page by page
    item = client.conversations.items.create(talk.id, items=[{"type": "message", "role": "user", "content": "Bye."}]).data[0]
    assert client.conversations.items.retrieve(item.id, conversation_id=talk.id).content[0].text == "Bye."
    client.conversations.items.delete(item.id, conversation_id=talk.id)
    assert client.conversations.update(talk.id, metadata={"a": "c"}).metadata == client.conversations.retrieve(talk.id).metadata == {"a": "c"}
    assert client.conversations.delete(talk.id).deleted

    seen = []
    for e in client.responses.create(input="Tell me about a dog.", background=True, stream=True, **usual):
        seen.append(e)
        if e.sequence_number == 3:
            break
    rest = list(client.responses.retrieve(seen[0].response.id, stream=True, starting_after=3))
    assert [e.sequence_number for e in seen + rest] == list(range(len(seen + rest))) and rest[-1].response.output_text == first.output_text
    r = client.responses.create(input="Tell me about a dog.", background=True, **{**usual, "max_output_tokens": 400}, extra_body={"ignore_eos": True})
    assert r.status == "queued"
    try:
        assert client.responses.cancel(r.id).status == "cancelled"
    except openai.BadRequestError:  # it has ended
        assert client.responses.retrieve(r.id).status == "incomplete"
    client.responses.delete(first.id)
    try:
        client.responses.retrieve(first.id)
        raise AssertionError("there after delete")
    except openai.NotFoundError:
        pass


class Dog(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    size: Literal["small", "large"]
    old: bool
    legs: int = pydantic.Field(ge=0, le=4)


def schema():
    usual = {"model": "default", "messages": ask, "max_tokens": 200, "temperature": 1.5}
    for n in range(5):
        r = client.chat.completions.parse(response_format=Dog, seed=n, **usual).choices[0]
        assert r.finish_reason == "stop" and isinstance(r.message.parsed, Dog), r
    with client.chat.completions.stream(response_format=Dog, seed=1, **usual) as s:
        assert isinstance(s.get_final_completion().choices[0].message.parsed, Dog)
    r = client.chat.completions.create(response_format={"type": "json_object"}, seed=1, **usual)
    assert r.choices[0].finish_reason == "length" or isinstance(json.loads(r.choices[0].message.content), dict)
    # Several answers at once, whole and streamed, are the same.
    want = {"type": "json_schema", "json_schema": {"name": "dog", "strict": True, "schema": Dog.model_json_schema()}}
    whole = client.chat.completions.create(response_format=want, n=3, seed=5, **usual)
    texts = ["", "", ""]
    for c in client.chat.completions.create(response_format=want, n=3, seed=5, stream=True, **usual):
        for choice in c.choices:
            texts[choice.index] += choice.delta.content or ""
    assert texts == [c.message.content for c in whole.choices], (texts, whole)
    assert all(Dog.model_validate_json(t) for t in texts)


def demanded():
    for choice in ["required", {"type": "function", "function": {"name": "weather"}}]:
        usual = {"model": "default", "messages": ask, "tools": tools, "tool_choice": choice, "max_tokens": 200, "temperature": 1, "seed": 4, "parallel_tool_calls": True}
        r = client.chat.completions.create(**usual).choices[0]
        call = r.message.tool_calls[0]
        assert r.finish_reason == "tool_calls" and call.function.name == "weather" and isinstance(json.loads(call.function.arguments)["city"], str)
        parts = {}
        for c in client.chat.completions.create(stream=True, **usual):
            for p in c.choices[0].delta.tool_calls or []:
                parts[p.index] = parts.get(p.index, "") + (p.function.arguments or "")
        assert parts == {i: c.function.arguments for i, c in enumerate(r.message.tool_calls)}, parts
    # Two calls of one turn, with their results.
    calls = [{"id": f"call_{i}", "type": "function", "function": {"name": "weather", "arguments": json.dumps({"city": city})}} for i, city in enumerate(["Bern", "Rome"])]
    said = [{"role": "assistant", "content": None, "tool_calls": calls}] + [{"role": "tool", "tool_call_id": c["id"], "content": "sunny"} for c in calls]
    assert client.chat.completions.create(model="default", messages=ask + said, tools=tools, max_tokens=4).choices[0].finish_reason


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
    try:
        client.chat.completions.create(model="default", messages=ask, temperature=-1)
    except openai.BadRequestError as e:
        assert e.param == "temperature" and e.status_code == 400, e.body
    try:
        client.chat.completions.create(model="default", messages=[{"role": "user", "content": "a" * (33 << 20)}])
    except openai.APIStatusError as e:
        assert e.status_code == 413 and e.code == "body_too_large", e
    else:
        raise AssertionError("33 MiB are taken")


def later():
    """Run against a server that is busy, and one that drains, as run.sh has them."""
    kinds = {"busy": (openai.RateLimitError, 429, "too_many_requests"), "draining": (openai.InternalServerError, 503, "shutting_down")}
    kind, status, code = kinds[sys.argv[3]]
    try:
        client.chat.completions.create(model="default", messages=ask, max_tokens=1)
    except kind as e:
        assert e.status_code == status and e.code == code and int(e.response.headers["retry-after"]) > 0, e
    else:
        raise AssertionError(f"no {kind}")


if len(sys.argv) > 3:
    later()
    print("ok openai", sys.argv[3])
    sys.exit()
stream(chat())
for check in [logprobs, calls, demanded, schema, responses, kept, embeddings, errors]:
    check()
    print("ok", check.__name__)
