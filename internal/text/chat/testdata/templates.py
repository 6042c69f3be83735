"""Renders every *.jinja of a folder with conversations of each kind, as
transformers does, and writes OUT/chat/cases.json, the form of the reference
cases: ATENIA_GOLDEN=OUT go test -run TestGoldenChat ./internal/text/chat

  python templates.py FOLDER OUT          pip install transformers jinja2

The clock stands at 2025-03-09 14:05:06, as in the test.
"""
import datetime, glob, json, os, sys
import jinja2
from transformers.utils import chat_template_utils as u


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2025, 3, 9, 14, 5, 6)


u.datetime = Clock

user = lambda c, **k: dict(role="user", content=c, **k)
model = lambda c, **k: dict(role="assistant", content=c, **k)
system = lambda c: dict(role="system", content=c)
call = lambda name, args, **k: dict(type="function", function=dict(name=name, arguments=args), **k)
image, text = dict(type="image"), lambda s: dict(type="text", text=s)

TOOLS = [
    dict(type="function", function=dict(name="get_weather", description="Weather at a place <now> & later", parameters=dict(type="object", properties=dict(
        city=dict(type="string", description="City, e.g. \"Zürich\""), unit=dict(type="string", enum=["celsius", "fahrenheit"], default="celsius"),
        days=dict(type="integer", minimum=1, default=3)), required=["city"]))),
    dict(type="function", function=dict(name="noop", description="Does nothing", parameters=dict(type="object", properties={}))),
    dict(type="function", function=dict(name="draw", description="Draws", parameters=dict(type="object", properties=dict(
        points=dict(type="array", items=dict(type="object", properties=dict(x=dict(type="number"), y=dict(type="number", nullable=True)), required=["x"])),
        fill=dict(type=["string", "null"]), style=dict(anyOf=[dict(type="string"), dict(type="integer")], default="x"), size=dict(type="object", properties=dict(w=dict(type="number"))))),
        **{"return": dict(type="string", description="a file")})),
]
ARGS = dict(city="Zürich", days=2, opts=dict(x=[1, 2.5, None, True], s="it's \"q\""))
CALLS = [user("Weather in Zürich?"), dict(role="assistant", content="", tool_calls=[call("get_weather", ARGS, id="abcdef123")]),
         dict(role="tool", name="get_weather", tool_call_id="abcdef123", content="{\"t\": 21.5}"), model("21.5 °C."), user("Thanks <3")]
TWO = [system("Use tools."), user("Both?"), dict(role="assistant", content="Looking.", reasoning_content="Two calls.", tool_calls=[call("get_weather", dict(city="A"), id="aaaaaaaa1"), call("noop", {}, id="bbbbbbbb2")]),
       dict(role="tool", name="get_weather", tool_call_id="aaaaaaaa1", content="rain"), dict(role="tool", name="noop", tool_call_id="bbbbbbbb2", content="ok")]
TEXTCALL = [user("Go"), dict(role="assistant", content=None, tool_calls=[call("get_weather", json.dumps(ARGS), id="call_1")]), dict(role="tool", tool_call_id="call_1", content=[text("sunny")])]
THINK = [user("q1"), model("<think>\nfirst\nthoughts\n</think>\n\nanswer one"), user("q2"), model("answer two", reasoning_content="more thoughts"), user("q3"), model("three", thinking="deep", reasoning="deep")]
DOCS = [dict(title="Moon", text="The moon is far.\nVery.", doc_id=1), dict(title="Sun", text="Hot & bright", doc_id=2)]

KINDS = {
    "one": dict(messages=[user("Hello!")]),
    "one_gen": dict(messages=[user("Hello!")], add_generation_prompt=True),
    "multi": dict(messages=[user("Hi"), model("Hello, how can I help?"), user("Tell me a joke.")], add_generation_prompt=True),
    "system": dict(messages=[system("You are terse."), user("Hi"), model("Yes?"), user("2+2?")], add_generation_prompt=True),
    "developer": dict(messages=[dict(role="developer", content="Be kind."), user("Hi")], add_generation_prompt=True),
    "done": dict(messages=[user("Hi"), model("Bye")]),
    "continue": dict(messages=[system("s"), user("Hi"), model("The answer"), user("and"), model("It is")], continue_final_message=True),
    "spaces": dict(messages=[system("  padded system \n"), user("\n\n  question \n"), model("  answer\t"), user(" \u00a0end\u3000 ")], add_generation_prompt=True),
    "unicode": dict(messages=[user("Größe: 日本語 👩‍👩‍👧 e\u0301"), model("ok ✓"), user("<b>&amp; 'q' \"d\" \\n {{ x }} {% y %}")], add_generation_prompt=True),
    "empty": dict(messages=[]),
    "wrong_order": dict(messages=[user("a"), user("b"), model("c"), model("d")]),
    "unknown_role": dict(messages=[dict(role="critic", content="x"), user("y")]),
    "tools": dict(messages=[user("Weather?")], tools=TOOLS, add_generation_prompt=True),
    "tools_system": dict(messages=[system("Use them."), user("Weather?")], tools=TOOLS, add_generation_prompt=True),
    "calls": dict(messages=CALLS, tools=TOOLS, add_generation_prompt=True),
    "two_calls": dict(messages=TWO, tools=TOOLS, add_generation_prompt=True),
    "text_call": dict(messages=TEXTCALL, tools=TOOLS[:1], add_generation_prompt=True),
    "calls_no_tools": dict(messages=CALLS),
    "thinking": dict(messages=THINK, add_generation_prompt=True),
    "thinking_on": dict(messages=THINK[:3], add_generation_prompt=True, enable_thinking=True, thinking=True, reasoning_effort="high"),
    "thinking_off": dict(messages=THINK[:3], add_generation_prompt=True, enable_thinking=False, thinking=False, reasoning_effort="low"),
    "parts": dict(messages=[system([text("See well.")]), user([image, text(" What is this? "), dict(type="image_url", image_url=dict(url="x.png")), text("And this?")]), model([text("A cat.")]), user([dict(type="video"), dict(type="audio"), text("?")])], add_generation_prompt=True),
    "documents": dict(messages=[user("How far?")], documents=DOCS, add_generation_prompt=True),
    "options": dict(messages=[system("s"), user("u")], tools=TOOLS[:2], add_generation_prompt=True, xml_tools=True, python_tools=TOOLS[:1], builtin_tools=["browser", "python"], model_identity="You are a test.",
                    keep_past_thinking=True, clear_thinking=False, tools_in_user_message=False, date_string="1 Jan 2030", controls=dict(length="short"), add_vision_id=True),
}


def kind(e):
    if isinstance(e, (jinja2.TemplateSyntaxError, SyntaxError)):
        return "syntax"
    if isinstance(e, jinja2.UndefinedError):
        return "undefined"
    if isinstance(e, jinja2.exceptions.SecurityError):
        return "security"
    return "raise" if type(e) is jinja2.exceptions.TemplateError else "runtime"


def case(name, template, context):
    k = json.loads(json.dumps(dict(context, bos_token="<s>", eos_token="</s>")))
    out = dict(name=name, template=template, context=json.loads(json.dumps(k)))
    k = dict(dict(messages=[], tools=None, documents=None, add_generation_prompt=False), **k)
    try:
        out["expected"] = u._compile_jinja_template(template).render(**k)
        if "{% generation" in template or "{%- generation" in template:
            base = [k.pop(n) for n in ("messages", "tools", "documents", "add_generation_prompt")]
            _, spans = u._render_with_assistant_indices(u._compile_jinja_template(template), *base, **k)
            if spans:
                out["assistant"] = [list(s) for s in spans]
    except Exception as e:
        out["error"], out["error_kind"] = str(e), kind(e)
    return out


folder, out = sys.argv[1:]
os.makedirs(os.path.join(out, "chat"), exist_ok=True)
rows = []
for path in sorted(glob.glob(os.path.join(folder, "*.jinja"))):
    with open(path, encoding="utf8", newline="") as f:
        template = f.read()
    name = os.path.basename(path)[:-len(".jinja")]
    rows += [case(name + "/" + k, template, c) for k, c in KINDS.items()]
with open(os.path.join(out, "chat", "cases.json"), "w", encoding="utf8") as f:
    f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in rows) + "\n]\n")
kinds = [c.get("error_kind", "text") for c in rows]
print(len(rows), "cases of", len(rows) // len(KINDS), "templates:", {k: kinds.count(k) for k in sorted(set(kinds))})
