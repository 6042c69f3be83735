"""Writes render.json: conversations as transformers' apply_chat_template renders them.

    python make.py ../golden/chat/cases.json > render.json

Templates are those of the chat cases, named by their first case; those that print the date are left out. A
program with transformers gives arguments as objects, and as text to templates that fail on objects.
"""
import json, sys

from transformers.utils.chat_template_utils import render_jinja_template

ASK = {"role": "user", "content": "Weather in Zürich?"}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "abcdef123", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Zürich", "days": 2, "deep": {"a": [1.5, None, True]}}}}]}
RESULT = {"role": "tool", "content": "{\"t\": 21.5}", "tool_call_id": "abcdef123", "name": "get_weather"}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "Weather at a place <now>", "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "City"}, "days": {"type": "integer"}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "noop", "description": "", "parameters": {"type": "object", "properties": {}}}},
]
DOCUMENTS = [{"title": "Moon", "text": "It is far."}, {"title": "Sun", "text": "It is hot & bright."}]
THINK = {"role": "assistant", "content": "21.5 °C.", "reasoning_content": "The tool says 21.5.", "thinking": "The tool says 21.5."}
CASES = {
    "tools": dict(messages=[ASK], tools=TOOLS),
    "call": dict(messages=[ASK, CALL], tools=TOOLS, no_prompt=True),
    "result": dict(messages=[ASK, CALL, RESULT], tools=TOOLS),
    "answered": dict(messages=[ASK, CALL, RESULT, THINK, {"role": "user", "content": "Thanks <3"}], tools=TOOLS),
    "reasoning": dict(messages=[ASK, THINK], no_prompt=True),
    "documents": dict(messages=[ASK], documents=DOCUMENTS),
    "system": dict(messages=[{"role": "system", "content": "Be brief."}, ASK]),
    "no prompt": dict(messages=[ASK], no_prompt=True),
    "continue": dict(messages=[ASK, {"role": "assistant", "content": "It is "}], go_on=True),
    "continue, spaces": dict(messages=[ASK, {"role": "assistant", "content": " In Zürich\n"}], go_on=True),
    "thinking off": dict(messages=[ASK], variables={"enable_thinking": False}),
}

templates = {}
for case in json.load(open(sys.argv[1])):
    if len(case["template"]) > 400 and "strftime_now" not in case["template"] and "/" in case["name"] and not case["name"].startswith("f"):
        templates.setdefault(case["template"], case["name"])


def written(messages):
    messages = json.loads(json.dumps(messages))
    for m in messages:
        for c in m.get("tool_calls", []):
            c["function"]["arguments"] = json.dumps(c["function"]["arguments"], ensure_ascii=False)
    return messages


for template, name in templates.items():
    for kind, c in CASES.items():
        row = dict(template=name, case=kind, **c)
        for messages in (c["messages"], written(c["messages"])):
            try:
                texts, _ = render_jinja_template([messages], tools=c.get("tools"), documents=c.get("documents"), chat_template=template, continue_final_message=c.get("go_on", False),
                                                 add_generation_prompt=not c.get("no_prompt") and not c.get("go_on"), bos_token="<s>", eos_token="</s>", **c.get("variables", {}))
                row["expected"] = texts[0]
                break
            except Exception as e:
                row["error"] = str(e)
        if "expected" in row:
            row.pop("error", None)
        row.pop("tools", None), row.pop("documents", None), row.pop("messages")
        print(json.dumps(row, ensure_ascii=False))
print(json.dumps({"cases": CASES}, ensure_ascii=False))
