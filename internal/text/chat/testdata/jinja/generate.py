"""Writes Jinja's own answers to the rows of library.py, language.py and values.py.

    pip install jinja2==3.1.6 transformers==5.23.0
    python internal/text/chat/testdata/jinja/generate.py

Each template is compiled and rendered by the function that transformers uses
for chat templates, so sandbox, extensions, filters and globals are its own. The
clock alone is replaced, by one that stands still. The product and its tests
read the JSON files beside this script and never run Python.
"""
import copy
import datetime
import json
import os
import platform
import re

import jinja2
from jinja2.lexer import operators
from jinja2.parser import _statement_keywords
from transformers.utils import chat_template_utils as chat

import language
import library
import values

HERE = os.path.dirname(os.path.abspath(__file__))


NOW = (2025, 3, 9, 14, 5, 6)


class StoppedClock(datetime.datetime):
    """The time of every strftime_now: that of the other golden cases, if not a row's own."""

    shows = NOW

    @classmethod
    def now(cls, tz=None):
        return cls(*cls.shows)


chat.datetime = StoppedClock


def kind(e):
    """The name of an error's kind in the engine."""
    for types, name in [
        ((jinja2.TemplateSyntaxError, SyntaxError), "syntax"),
        (jinja2.exceptions.SecurityError, "security"),
        (jinja2.exceptions.UndefinedError, "undefined"),
        (jinja2.exceptions.FilterArgumentError, "argument"),
        (jinja2.exceptions.TemplateRuntimeError, "name" if str(e).startswith("No ") else "runtime"),
        (jinja2.TemplateError, "raise"),
        (ZeroDivisionError, "zero division"),
        (OverflowError, "overflow"),
        ((TypeError, AttributeError), "type"),
        ((ValueError, LookupError, AssertionError, RuntimeError), "value"),
    ]:
        if isinstance(e, types):
            return name
    raise e


def answer(template, variables):
    """The fields of a row that Jinja decides.

    None where that is no answer: an address in memory, or the NameError of
    Jinja's own compiler, which writes a float beyond the largest as "inf".
    """
    context = {"messages": [], "tools": None, "documents": None, "add_generation_prompt": False}
    try:
        compiled = chat._cached_compile_jinja_template(template)
        text, spans = chat._render_with_assistant_indices(compiled, **{**context, **variables})
    except NameError:
        return None
    except Exception as e:  # noqa: BLE001 - every exception is an answer
        k = kind(e)
        out = {"error": k}
        if k == "raise":
            out["message"] = str(e)
        return out
    if re.search(r" at 0x[0-9a-f]", text):
        return None
    if spans:
        return {"want": text, "assistant": spans}
    return {"want": text}


def table(entries):
    """Rows of a table that maps a subject to templates or expressions.

    A template of its own variables is a pair (template, variables), or three
    with the parts of the time that its clock shows.
    """
    seen, out = set(), []
    for subject, templates in entries.items():
        for n, t in enumerate(templates, 1):
            t, own, *now = t if isinstance(t, tuple) else (t, {})
            StoppedClock.shows = now[0] if now else NOW
            if not re.search(r"\{[{%#]", t):
                t = "{{ " + t + " }}"
            if (t, str(own), str(now)) in seen:
                continue
            seen.add((t, str(own), str(now)))
            told = answer(t, copy.deepcopy({**library.VARIABLES, **own}))  # the filter indent can change a list
            if told is not None:
                out.append({"name": f"{subject} {n}", "template": t, **({"variables": own} if own else {}), **({"now": now[0]} if now else {}), **told})
    return out


def write(name, head, cases):
    lines = [json.dumps(c, ensure_ascii=False) for c in cases]
    head = json.dumps(head, ensure_ascii=False)[:-1]
    with open(os.path.join(HERE, name + ".json"), "w", encoding="utf-8") as f:
        f.write(head + ',\n"rows": [\n' + ",\n".join(lines) + "\n]}\n")
    errors = sum("error" in c for c in cases)
    print(f"{name}: {len(cases)} rows, {errors} of them errors")


def public(names):
    return sorted(n for n in names if not n.startswith("_"))


def main():
    env = chat._cached_compile_jinja_template("").environment
    made_by = f"jinja2 {jinja2.__version__}, Python {platform.python_version()}"
    for name, entries, names in [
        ("filters", library.FILTERS, sorted(env.filters)),
        ("tests", library.TESTS, sorted(env.tests)),
        ("globals", library.GLOBALS, sorted(env.globals)),
        ("statements", language.STATEMENTS, sorted(_statement_keywords | {"call", "filter", "raw"} | {t for e in env.extensions.values() for t in e.tags})),
        ("expressions", language.EXPRESSIONS, sorted(operators)),
        ("methods", values.METHODS, sorted(f"{t}.{n}" for t, v in values.OBJECTS.items() for n in public(dir(v)))),
        ("formats", values.FORMATS, []),
    ]:
        head = {"made_by": made_by, "now": NOW, "names": names, "variables": library.VARIABLES}
        write(name, head, table(entries))


if __name__ == "__main__":
    main()
