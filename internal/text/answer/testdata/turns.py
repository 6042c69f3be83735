"""Writes turns.json: assistants' turns with tool calls, as published chat templates spell them.

    python turns.py llama_cpp_python-*/vendor/llama.cpp/models/templates > turns.json

Each template renders a conversation whose last message is the assistant's, by transformers and jinja2. The
turn is what follows the prompt for an answer, up to the token that ends the turn. Of the template only its
marks are kept: Detect looks for nothing else.
"""
import glob, json, os, re, sys

import jinja2.ext
from jinja2.sandbox import SandboxedEnvironment
from transformers.utils.chat_template_utils import _compile_jinja_template

PARAMETERS = {"type": "object", "properties": {
    "city": {"type": "string", "description": "c"}, "days": {"type": "integer", "description": "d"}, "text": {"type": "string", "description": "t"}, "n": {"type": "number", "description": "n"},
    "ok": {"type": "boolean", "description": "o"}, "tags": {"type": "array", "description": "t"}, "o": {"type": "object", "description": "o"}}, "required": ["city"], "additionalProperties": False}
TOOLS = [{"type": "function", "function": {"name": n, "description": "Does it", "parameters": PARAMETERS}} for n in ("get_weather", "make", "now")]
HARD = {"text": "He said \"hi\" & 'ho' <b>ü</b>: [x], {y} \\n\nline 2", "n": -2.5e-3, "ok": True, "tags": ["a", {"k": None}], "o": {"x": {"y": []}}}
CASES = [
    ("Sure.", "", [("get_weather", {"city": "Paris", "days": 3})]),
    ("", "", [("get_weather", {"city": "12", "days": 3})]),
    ("Sure.", "Let me think.", [("get_weather", {"city": "Paris", "days": 3}), ("now", {})]),
    ("", "One,\n\ntwo.", [("make", HARD), ("get_weather", {"city": "São Paulo"})]),
    ("Only text,\n\nin two lines.", "Hm.", []),
]
ENDS = re.compile(r"(<\|im_end\|>|<\|eot_id\|>|<\|eom_id\|>|<EOS>|<\|end_of_text\|>|<end_of_turn>|<turn\|>|<\|role_end\|>|\[e~\[|<\|END_OF_TURN_TOKEN\|>"
                  r"|<end_of_sentence>|<｜end▁of▁sentence｜>|<SPECIAL_12>|<sep>|<seed:eos>|<\|end_of_msg\|>|</assistant>|<｜hy_eos:opensource｜>|<\|eot\|>|<\|tool_response>|<\|user\|>|<\|assistant_end\|>)")


def compiled(text):
    if ".append(" not in text:
        return _compile_jinja_template(text)
    else:  # Kimi's change lists, which transformers forbids
        def fail(message):
            raise ValueError(message)
        env = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])
        env.policies['json.dumps_kwargs'] = {}
        env.filters["tojson"] = lambda x, indent=None, **k: json.dumps(x, ensure_ascii=False, indent=indent)
        env.globals.update(raise_exception=fail, strftime_now=lambda f: "2025")
        return env.from_string(text)


def turn(t, content, thought, calls, written):
    message = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [{"id": "call%05d" % i, "type": "function", "function": {"name": n, "arguments": json.dumps(a, ensure_ascii=False) if written else a}}
                                 for i, (n, a) in enumerate(calls)]
    if thought:
        message.update(reasoning_content=thought, thinking=thought, reasoning=thought)
    asked = [{"role": "user", "content": "Hi?"}]
    args = dict(tools=TOOLS, documents=None, functions=json.dumps(TOOLS), datetime="2025", bos_token="<BOS>", eos_token="<EOS>")
    full = t.render(messages=asked + [message], add_generation_prompt=False, **args)
    prompt = t.render(messages=asked, add_generation_prompt=True, **args)
    whole = prompt
    while not full.startswith(prompt):  # history without the thought, or with another one
        shorter = re.sub(r"(<[^<>]*>|Here are my reasoning steps:)\s*$", "", prompt)
        if shorter == prompt:
            return None
        prompt = shorter
    text = full[len(prompt):]
    if thought and whole.endswith("reasoning steps:\n"):  # a beginning that history has not
        prompt = whole
    ended = None if "harmony" in text else ENDS.search(text)
    return prompt[-80:], (text[:ended.start()] if ended else text).removesuffix("<|message_sep|>\n\n").removesuffix("<|end|>\n").removesuffix("<|end|>")


# What is not read: Muse's recipients, MiniMax M3's lists as tags, and texts that LFM2.5's template does not escape;
# gpt-oss's template writes content with calls as a thought.
UNREAD = {("muse-glimmer", i) for i in range(5)} | {("MiniMax-M3", 3), ("LFM2.5-8B-A1B", 3), ("openai-gpt-oss-120b", 0)}
MARKS = re.compile(r"<\|channel>thought|<\|begin\|>assistant<\|think\|>|</?[^\s<>{}'\"]{1,40}>|\[/?[A-Z_]{3,}\]|\]<\]minimax\[>\[|<(?:function|param) name=\"|<function=|｜DSML｜|function_calls|tool_calls|Action:|```json|tool_name| functools\[|>>>all"
                   r"|function call|<\|[a-z_]+>|Here are my reasoning steps:|<start_of_turn>|\"parameters\": dictionary of argument name and its value|<\|begin\|>assistant<\|think\|>")
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.jinja"))):
    source = open(path).read()
    t = compiled(source)
    for number, (content, thought, calls) in enumerate(CASES):
        if (os.path.basename(path)[:-6], number) in UNREAD:
            continue
        cases, last = calls, None
        for written, n in ((False, 2), (True, 2), (False, 1), (True, 1)):
            try:
                got = turn(t, content, thought, calls[:n], written)
            except Exception as e:
                last = e
                continue
            if got is None or calls and calls[0][0] not in got[1]:
                continue
            text = got[1]
            if re.search(r"<think>\s*$", got[0]) and "</think>" not in text:  # history without a thought after a prompt with one
                break
            calls = [c for c in calls[:n] if c[0] in text]
            print(json.dumps({
                "template": os.path.basename(path)[:-6], "marks": sorted(set(MARKS.findall(source + got[0] + text))), "prompt": got[0], "turn": text,
                "text": content if content in text else "", "reasoning": thought if thought in text else "",
                "calls": [{"name": n, "arguments": a} for n, a in calls]}, ensure_ascii=False))
            break
        else:
            print(os.path.basename(path), repr(content), "left out:", last or "no calls", file=sys.stderr)
