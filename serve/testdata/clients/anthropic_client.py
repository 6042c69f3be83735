"""Anthropic's Python client against a running server: python anthropic_client.py http://127.0.0.1:8080 KEY"""

import json
import sys

import anthropic
import pydantic

base, key = sys.argv[1].removesuffix("/v1"), sys.argv[2]
client = anthropic.Anthropic(base_url=base, api_key=key, max_retries=0)
ask = [{"role": "user", "content": "Tell me about a dog."}]
tools = [{"name": "weather", "description": "of a city", "input_schema": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]
greedy = {"temperature": 0}  # newer packages have no parameter for it


def chat():
    m = client.messages.create(model="default", max_tokens=16, messages=ask, system="Be brief.", extra_body=greedy, metadata={"user_id": "u"})
    assert m.type == "message" and m.role == "assistant" and m.model == "default" and m.id.startswith("msg_")
    assert [b.type for b in m.content] == ["text"] and m.content[0].text
    assert m.stop_reason == "max_tokens" and m.stop_sequence is None and m.usage.output_tokens == 16
    assert m._request_id
    n = client.messages.count_tokens(model="default", messages=ask, system=[{"type": "text", "text": "Be brief."}])
    assert n.input_tokens == m.usage.input_tokens + m.usage.cache_read_input_tokens, (n, m.usage)
    stop = client.messages.create(model="default", max_tokens=200, messages=ask, stop_sequences=["never said", "."], extra_body=greedy)
    assert stop.stop_reason == "stop_sequence" and stop.stop_sequence == "." and "." not in stop.content[0].text
    return m.content[0].text


def stream(want):
    with client.messages.stream(model="default", max_tokens=16, messages=ask, system="Be brief.", extra_body=greedy) as s:
        text = "".join(s.text_stream)
        m = s.get_final_message()
    assert text == want == m.content[0].text, (text, want)
    assert m.stop_reason == "max_tokens" and m.usage.output_tokens == 16 and m.usage.input_tokens + m.usage.cache_read_input_tokens > 0
    kinds = [e.type for e in client.messages.create(model="default", max_tokens=4, messages=ask, stream=True)]
    assert kinds[:2] == ["message_start", "content_block_start"] and kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"], kinds


def prefill(want):
    half = want[: len(want) // 2].rsplit(" ", 1)[0]
    m = client.messages.create(model="default", max_tokens=16, messages=ask + [{"role": "assistant", "content": half}], system="Be brief.", extra_body=greedy)
    assert (half + m.content[0].text).startswith(want), (half, m.content[0].text, want)


def demanded():
    usual = {"model": "default", "max_tokens": 200, "messages": ask, "tools": tools}
    for choice in ({"type": "any"}, {"type": "tool", "name": "weather"}):
        m = client.messages.create(tool_choice=choice, **usual)
        assert m.stop_reason == "tool_use" and m.content[0].name == "weather" and isinstance(m.content[0].input["city"], str), m
        with client.messages.stream(tool_choice=choice, **usual) as s:
            m = s.get_final_message()
        assert m.stop_reason == "tool_use" and isinstance(m.content[0].input["city"], str), m
    two = [{"type": "tool_use", "id": f"t{i}", "name": "weather", "input": {"city": c}} for i, c in enumerate(["Rome", "Bern"])]
    turns = ask + [{"role": "assistant", "content": two}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": b["id"], "content": "sunny"} for b in two]}]
    assert client.messages.create(model="default", max_tokens=4, messages=turns, tools=tools).content


def tool():
    # The embedded model calls nothing: the definitions and results have to be taken.
    turns = ask + [
        {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Rome"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "sunny"}]}]},
    ]
    for choice in ({"type": "auto", "disable_parallel_tool_use": True}, {"type": "none"}):
        m = client.messages.create(model="default", max_tokens=8, messages=turns, tools=tools, tool_choice=choice)
        assert m.content[0].type == "text"


def schema():
    want = {"type": "object", "properties": {"old": {"type": "boolean"}}, "required": ["old"], "additionalProperties": False}
    m = client.messages.create(model="default", max_tokens=60, messages=ask, output_config={"format": {"type": "json_schema", "schema": want}})
    assert isinstance(json.loads(m.content[0].text)["old"], bool) and m.stop_reason == "end_turn", m

    class Dog(pydantic.BaseModel):
        old: bool

    parsed = client.messages.parse(model="default", max_tokens=60, messages=ask, output_format=Dog)
    assert isinstance(parsed.parsed_output, Dog), parsed


def errors():
    def fails(kind, status, name, call):
        try:
            call()
        except kind as e:
            assert e.status_code == status and e.body["type"] == "error" and e.body["error"]["type"] == name and e.body["request_id"], e.body
            return str(e)
        raise AssertionError("no error")

    def create(c=client, **change):
        return lambda: c.messages.create(**{"model": "default", "max_tokens": 8, "messages": ask, **change})

    fails(anthropic.NotFoundError, 404, "not_found_error", create(model="none"))
    fails(anthropic.BadRequestError, 400, "invalid_request_error", create(messages=[]))
    text = fails(anthropic.BadRequestError, 400, "invalid_request_error", create(messages=[{"role": "user", "content": "word " * 20000}]))
    assert "prompt is too long: " in text, text
    fails(anthropic.BadRequestError, 400, "invalid_request_error", create(messages=[{"role": "user", "content": [
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}]}]))
    fails(anthropic.RequestTooLargeError, 413, "request_too_large", create(messages=[{"role": "user", "content": "a" * (33 << 20)}]))
    other = anthropic.Anthropic(base_url=base, api_key="wrong-key", max_retries=0)
    fails(anthropic.AuthenticationError, 401, "authentication_error", create(other))


def later():
    """Run against a server that is busy, and one that drains, as run.sh has them."""
    kinds = {"busy": (anthropic.RateLimitError, 429, "rate_limit_error"), "draining": (anthropic.OverloadedError, 529, "overloaded_error")}
    kind, status, name = kinds[sys.argv[3]]
    try:
        client.messages.create(model="default", max_tokens=1, messages=ask)
    except kind as e:
        assert e.status_code == status and e.body["error"]["type"] == name and int(e.response.headers["retry-after"]) > 0, e
    else:
        raise AssertionError(f"no {kind}")


if len(sys.argv) > 3:
    later()
    print("anthropic", sys.argv[3], "ok")
    sys.exit()
said = chat()
stream(said)
prefill(said)
tool()
demanded()
schema()
errors()
print("anthropic", anthropic.__version__, "ok")
