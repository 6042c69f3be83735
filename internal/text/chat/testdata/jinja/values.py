"""The rows about methods of values and about format strings."""
import jinja2
import markupsafe

from library import over

# One object of each type that a template gets hold of. A name of Python that
# the engine lacks is listed, with its reason, in the test that reads this.
OBJECTS = {
    "str": "s", "list": [1], "tuple": (1,), "dict": {"a": 1}, "int": 1, "float": 1.5, "bool": True, "range": range(3),
    "cycler": jinja2.utils.Cycler(1), "joiner": jinja2.utils.Joiner(),
    "markup": markupsafe.Markup("s"),
}

# Strings that tell predicates and cases apart.
WORDS = ["''", "'a'", "'A'", "'aB c'", "'Ab Cd'", "'12'", "'²'", "'½'", "'Ⅷ'", "'١'", "'日本'", "'ß'", "'ǅ'", "'_a1'", "'1a'", "'a b'", "' \\t\\n'", "'\\x1c'", "'\\u00a0'", "'\\x00'", "'é'", "'e\\u0301'", "'\\U0001F600'", "'İ'", "'Σς'", "'ªº'", "'ŉ'", "'if'", "'\\u200b'", "'A1'", "'ʰ'", "\"it's Bob\""]
PREDICATES = ["isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper"]
CASES = ["capitalize", "casefold", "lower", "swapcase", "title", "upper"]

STR = {p: over("@.%s()" % p, WORDS) for p in PREDICATES + CASES}
for _p in PREDICATES + CASES:
    STR[_p] += ["s.%s(1)" % _p]
STR.update({
    "center": over("'[' ~ 'ab'.center(@) ~ ']'", ["5", "4", "1", "0", "-1", "5, '*'", "5, '日'", "5, 'xy'", "5, ''", "'5'", "5.0", "none", "", "true", "width=5", "5, none"]) + ["'abc'.center(6) ~ '|'", "'日'.center(4, '-')", "('<' | e).center(8)"],
    "count": over("'banana'.count(@)", ["'a'", "'ana'", "''", "'a', 2", "'a', -2", "'a', 1, 4", "'z'", "'', 2", "'', 6", "'', 7", "'', 3, 1", "1", "", "'a', none", "'a', none, 3", "none", "'a', '1'"]) + ["'日本日'.count('日')", "''.count('')"],
    "endswith": over("'hello'.endswith(@)", ["'lo'", "''", "('x', 'lo')", "()", "'l', 0, 4", "'lo', -2", "'', 9", "'', 5", "1", "['lo']", "", "none", "'o', none", "'hello world'", "(1,)", "'ell', 0, -1"]),
    "expandtabs": over("'a\\tbc\\td\\n\\te'.expandtabs(@)", ["", "4", "0", "-1", "1", "tabsize=2", "'4'", "none", "4.0"]) + ["'日\\tx'.expandtabs(4)", "'\\r\\tx'.expandtabs(4)"],
    "find": over("'banana'.find(@)", ["'an'", "'an', 2", "'an', 2, 4", "'z'", "''", "'', 6", "'', 7", "'a', -1", "'a', -99", "1", "none", "", "'', 3, 2", "'a', none, none", "'an', 1.5"]) + ["'日本語'.find('語')", "'日本語日'.find('日', 1)"],
    "format": ["'{} {}'.format(1, 'a')", "'{1}{0}'.format('a', 'b')", "'{a}'.format(a=1)", "'{}'.format()", "'{a}'.format(b=1)", "'{0.a}'.format(d)", "'{0[a]}'.format(d)", "'{}{{}}'.format(1)", "'{'.format(1)", "'}'.format(1)", "'{!r}'.format('a')", "'{!s:>4}'.format(1)", "'{!a}'.format('é')", "'{!x}'.format(1)", "'{:{}}'.format('a', 4) ~ '|'", "'{0[0]}{0[1]}'.format(xs)", "'{0[-1]}'.format(xs)", "'{} {0}'.format(1)", "'{0} {}'.format(1)", "'{}'.format(missing)", "'{}'.format(nil)", "'{0.upper}'.format('a') | length > 0", "'{0.__class__}'.format(1)", "'{0.nosuch}'.format(1)", "('{}' | e).format('<')", "'{a.b}'.format(a={'b': 1})", "'{x[y]}'.format(x={'y': 2})", "'{:>{w}}'.format(1, w=3)", "'{0:{1}.{2}f}'.format(f, 8, 2)", "'{:d}'.format(true)", "'{}'.format(true)", "'{:5}'.format(nil)", "'{:5}'.format(xs)", "'{:>5}'.format(missing)", "'{!r:>5}'.format('a')", "'{!}'.format(1)", "'{!rr}'.format(1)", "'{0!r}{1!s}'.format('a', 'b')", "'{0[}'.format(xs)", "'{0[]}'.format(xs)", "'{[0]}'.format(xs)", "'{.a}'.format(d)", "'{a}'.format(**d)", "'{}{}'.format(*xs)", "'{:}'.format(1)", "'{0:}'.format('a')", "'日{}本'.format('x')", "'{0.a.b}'.format({'a': {'b': 3}})", "'{0[a][b]}'.format({'a': {'b': 3}})", "'{:{}{}}'.format(1, '>', 4)", "'{:{:{}}}'.format(1, 2, 3)", "'{99}'.format(1)", "'{-1}'.format(1)", "'{ a }'.format(a=1)", "'{a!r}'.format(a='x')", "'{0[a]!r:>5}'.format(d)", "'{!a}'.format(u)", "'{!a:>9}'.format('é')"],
    "format_map": ["'{a}'.format_map(d)", "'{z}'.format_map(d)", "'{}'.format_map(d)", "'{a}'.format_map(1)", "'{a[b]}'.format_map({'a': {'b': 1}})", "'{a:>3}'.format_map(d)", "'x'.format_map()", "'{a}'.format_map(a=1)", "('{a}' | e).format_map({'a': '<'})", "'x'.format_map(1)", "'{a}{b}'.format_map(d, d)"],
    "index": over("'banana'.index(@)", ["'an'", "'an', 2", "'z'", "''", "1", "'b', 1", ""]),
    "join": over("'-'.join(@)", ["ss", "'abc'", "d", "xs", "empty", "xs | map('string')", "nil", "missing", "n", "(1, 'a')", "['a', missing]", "", "ss, ss", "['a', 'b' | e]", "d.values() | map('string')"]) + ["('<' | e).join(['<', 'a'])", "''.join(['日', '本'])"],
    "ljust": over("'[' ~ 'ab'.ljust(@) ~ ']'", ["5", "1", "5, '*'", "5, 'xy'", "'5'", "", "-1"]),
    "lstrip": over("'[' ~ 'xx ax '.lstrip(@) ~ ']'", ["", "'x'", "' x'", "none", "''", "1", "chars='x'"]) + ["' \\u3000a'.lstrip()"],
    "partition": over("'a-b-c'.partition(@)", ["'-'", "'z'", "''", "1", "", "none", "'a-b-c'", "'--'"]),
    "removeprefix": over("'aab'.removeprefix(@)", ["'a'", "'b'", "''", "'aab'", "1", "", "none", "('a',)"]),
    "removesuffix": over("'abb'.removesuffix(@)", ["'b'", "'a'", "''", "'abb'", "1", "", "'xabb'"]),
    "replace": over("'banana'.replace(@)", ["'a', 'o'", "'a', 'o', 1", "'a', 'o', 0", "'a', 'o', -1", "'', '-'", "'', '-', 3", "'an', ''", "'z', 'y'", "'a'", "1, 'a'", "'a', 1", "'a', 'o', '1'", "'a', 'o', none", "'a', 'o', 1.5", "'a', 'o', count=1", "old='a', new='b'", "'a', 'o', true", "", "'banana', 'a'"]) + ["('<a' | e).replace('a', '<')", "'日本'.replace('', '.')"],
    "rfind": over("'banana'.rfind(@)", ["'an'", "'an', 0, 4", "'z'", "''", "'', 0, 3", "'a', 6", "1", "'b', -99, -5"]),
    "rindex": over("'banana'.rindex(@)", ["'an'", "'an', 0, 4", "'z'", "''", "1"]),
    "rjust": over("'[' ~ 'ab'.rjust(@) ~ ']'", ["5", "1", "5, '*'", "5, 'xy'", "'5'", "", "5, '日'"]),
    "rpartition": over("'a-b-c'.rpartition(@)", ["'-'", "'z'", "''", "1", "", "'c'"]),
    "rsplit": over("'a b  c '.rsplit(@)", ["", "' '", "none, 1", "' ', 1", "' ', 0", "none, 0", "''", "1", "maxsplit=1", "sep=' '", "' ', maxsplit=2", "' ', -1", "'x'", "none, -1", "' ', '1'"]) + ["'a,b,c'.rsplit(',', 1)[-1]", "''.rsplit()", "''.rsplit(',')", "'  '.rsplit(none, 1)"],
    "rstrip": over("'[' ~ ' xa xx'.rstrip(@) ~ ']'", ["", "'x'", "' x'", "none", "''", "1"]) + ["'a\\n\\n'.rstrip('\\n') ~ '|'"],
    "split": over("' a b  c '.split(@)", ["", "' '", "none, 1", "' ', 1", "' ', 0", "none, 0", "''", "1", "maxsplit=1", "sep=' '", "' ', maxsplit=2", "' ', -1", "'x'", "none, -1", "sep=none", "'b', '1'", "' ', 1, 2", "' ', 1.0", "'  '"]) + ["'a</think>b'.split('</think>')[-1]", "''.split()", "''.split(',')", "'a\\x1cb\\u3000c'.split()", "'日本'.split('本')", "('a&b' | e).split('&')", "'aXbXc'.split('X', 1)[1]", "'a,b'.split(',') | last", "missing.split()", "'xxx'.split('xx')", "'\\n a'.split('\\n')"],
    "splitlines": over("'a\\nb\\r\\nc\\rd\\x0be\\x0cf\\x1cg\\x85h\\u2028i\\n'.splitlines(@)", ["", "true", "keepends=true", "false", "1", "'x'", "none", "[]"]) + ["''.splitlines()", "'\\n\\n'.splitlines()", "'\\n'.splitlines(true)", "'a\\x1f\\x00b'.splitlines()"],
    "startswith": over("'hello'.startswith(@)", ["'he'", "''", "('x', 'he')", "()", "'l', 2", "'lo', -2", "'', 5", "'', 6", "1", "['he']", "", "none", "'he', none", "'h', 0, 0", "'', 3, 2", "prefix='h'", "('a', 1)", "'e', true"]) + ["'日本'.startswith('日')", "missing.startswith('a')", "nil.startswith('a')"],
    "strip": over("'[' ~ ' xa x'.strip(@) ~ ']'", ["", "'x'", "' x'", "none", "''", "1", "'x', 'y'", "chars='x'", "missing"]) + ["'\\x1c a \\x85\\u3000'.strip()", "'\\u200b a'.strip() | length", "('[' ~ ws.strip() ~ ']')", "'日a日'.strip('日')", "('< ' | e).strip()", "'\\ufeffa'.strip() | length", "'abcba'.strip('ab')"],
    "zfill": over("'-42'.zfill(@)", ["5", "3", "0", "-1", "'5'", "", "6.0", "true"]) + ["'+a'.zfill(4)", "''.zfill(2)", "'日'.zfill(3)", "'--1'.zfill(5)", "'4'.zfill(width=2)"],
    "encode": over("'aé日🚀\\\\\\n\\'\\x7f\\x00'.encode(@)", ["", "'utf-8'", "'UTF8'", "'Utf_8'", "'ascii'", "'ascii', 'ignore'", "'ascii', 'replace'", "'ascii', 'xmlcharrefreplace'", "'ascii', 'backslashreplace'", "'latin-1', 'replace'", "'iso-8859-1', errors='ignore'",
                   "'utf-16'", "'utf-16-le'", "'utf-16-be'", "'utf-32'", "'utf-32-be'", "'nosuch'", "1", "'ascii', 1", "encoding='utf-8'", "none", "'utf-8', 'strict', 1"])
    + ["''.encode()", "'\\x7f\\x80'.encode('ascii', 'replace')", "'ÿĀ'.encode('latin-1', 'replace')", "'\"'.encode()", "'\\'\"'.encode()", "u.encode() | length", "u.encode()[0]", "u.encode()[-1]", "u.encode()[99] is defined", "u.encode()[1:3]", "u.encode()[::-2]", "u.encode() | list", "'ab'.encode() | first", "'ab'.encode() == 'ab'", "'ab'.encode() == 'ab'.encode()",
       "'ab'.encode() < 'b'.encode()", "'ab'.encode() < 'b'", "'a'.encode() + 'b'.encode()", "'a'.encode() + 'b'", "'b' + 'a'.encode()", "'ab'.encode() * 2", "2 * 'ab'.encode()", "'ab'.encode() * -1", "'b'.encode() in 'abc'.encode()", "98 in 'abc'.encode()", "300 in 'abc'.encode()", "'b' in 'abc'.encode()", "'a'.encode() in {'a': 1}", "{'a'.encode(): 1}['a'.encode()]",
       "'a'.encode() ~ 'x'", "['a'.encode()]", "'a'.encode() | upper", "'a'.encode() | tojson", "'a'.encode() is string", "'a'.encode() is sequence", "'a'.encode() is iterable", "'a'.encode() is mapping", "'a'.encode() is number", "''.encode() or 'none'", "'%s' % 'a'.encode()", "'{}'.format('a'.encode())", "'{!r}'.format('a'.encode())", "'a'.encode() | string", "'a'.encode() | sort", "'ba'.encode() | sum",
       "'a'.encode() | join('-')", "'a'.encode().nosuch is defined", "'a'.encode().__class__", "'é'.encode().hex()", "'é'.encode().decode()", "'é'.encode().decode('latin-1')", "'é'.encode().decode('ascii')", "'aé'.encode().decode('ascii', 'ignore')", "'aé'.encode().decode('ascii', 'replace')", "'é日🚀'.encode()[1:].decode('utf-8', 'replace')", "'日日'.encode()[:5].decode(errors='ignore')", "'日'.encode()[:2].decode()", "'aé'.encode('latin-1').decode('utf-8', 'backslashreplace')", "'🚀'.encode()[:3].decode('utf8', 'replace') | length",
       "'a'.encode().decode('nosuch')", "'a'.encode() is defined", "'a'.encode() is sameas 'a'.encode()", "'a'.encode() | reverse | list", "'abc'.encode() | batch(2) | list", "'a'.encode() | wordcount", "'a'.encode() | trim", "'a'.encode() | replace('b', 'c')", "'a'.encode() | int", "'7'.encode() | float", "'<'.encode() | e"],
    "maketrans": over("'a'.maketrans(@)", ["'a', 'b'", "'abc', 'xyz', 'd'", "'ab', 'x'", "{'a': 'b', 99: none}", "{'ab': 1}", "{1.5: 1}", "{'': 1}", "1", "'a'", "'a', 1", "'a', 'b', 1", "", "'aa', 'xy'"]), "translate": over("'abcä'.translate(@)", ["{97: 'b'}", "{97: 'xx', 98: none, 99: 68, 228: ''}", "{}", "'a'.maketrans('abä', 'xyz')", "'a'.maketrans('a', 'b', 'c')", "{97: 1.5}", "{97: -1}", "{97: 99999999}", "xs", "1", "'ab'", "", "missing", "{97: true}", "{97: [1]}"]),
})

METHODS = {"str." + k: v for k, v in STR.items()}
METHODS.update({
    "list.copy": ["xs.copy()", "xs.copy(1)", "xs.copy() is sameas xs", "xs.copy() == xs"],
    "list.count": over("[1, 1.0, true, '1', none].count(@)", ["1", "'1'", "none", "missing", "", "1, 2", "[1]"]) + ["[[1], [1]].count([1])"],
    "list.index": over("xs.index(@)", ["1", "3, 1", "1, -1", "9", "1.0", "3, 1, 2", "'1'", "", "1, '2'", "2, -99", "2, 0, 99", "value=1", "3, 4", "1, none"]),
    "list.append": ["xs.append(1)", "xs.append is defined", "{% set _ = xs.append(1) %}"], "list.clear": ["xs.clear()"], "list.extend": ["xs.extend([1])"], "list.insert": ["xs.insert(0, 1)"],
    "list.pop": ["xs.pop()", "xs.pop is defined"], "list.remove": ["xs.remove(1)"], "list.reverse": ["xs.reverse()"], "list.sort": ["xs.sort()", "xs['sort']()"],
    "tuple.count": ["(1, 2, 1).count(1)", "().count(1)", "(1,).count()", "(missing,).count(missing)"], "tuple.index": ["(1, 2, 1).index(2)", "(1, 2, 1).index(1, 1)", "(1,).index(2)", "(1, 2).index(2, -1)", "(1,).index()"],
    "dict.copy": ["d.copy()", "d.copy() == d", "d.copy(1)", "d.copy() is sameas d"],
    "dict.fromkeys": ["{}.fromkeys(['a', 'b'])", "{}.fromkeys('ab', 1)", "{}.fromkeys([[1]])", "{}.fromkeys(1)", "{}.fromkeys()", "d.fromkeys(xs, 0)"],
    "dict.get": over("d.get(@)", ["'a'", "'z'", "'z', 5", "'z', none", "1", "none", "[1]", "", "'a', 1, 2", "key='a'", "'z', default=1", "missing", "'z', missing"]) + ["{1: 'x'}.get(1.0)", "{1: 'x'}.get(true)", "{none: 1}.get(none)", "users[0].get('name').upper()", "{(1, 2): 3}.get((1, 2))", "messages[0].get('tool_calls') is none", "d.get('z', {}).get('y', 'no')", "missing.get('a')", "nil.get('a')"],
    "dict.items": ["d.items()", "d.items() | list", "nothing.items()", "d.items(1)", "{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}", "d.items() | length", "('a', 2) in d.items()", "['a', 2] in d.items()", "d.items() == d.items()", "d.items()[0] is defined", "d.items() | first", "d.items() | sort", "d.items() | map('first') | join", "{'items': 1}.items", "{'items': 1}['items']", "{'items': 1}.items()", "d.items() | list | tojson", "d.items() is mapping", "d.items() + []", "d.items()[0]"],
    "dict.keys": ["d.keys()", "d.keys() | list", "'a' in d.keys()", "d.keys() == d.keys()", "d.keys() | join(',')", "d.keys()[0] is defined", "d.keys() | sort", "d.keys(1)", "nothing.keys() | list", "d.keys() or 'e'", "nothing.keys() or 'e'", "d.keys() | last", "d.keys() == {'C': 1, 'a': 1, 'b': 1}.keys()", "d.keys() == ['b', 'a', 'C']", "d.keys() ~ ''", "d.keys() == d.items()", "{(1, 2): 0}.keys() == {1: 2}.items()", "{1: 2}.items() == {(1, 2): 0}.keys()", "{1: [2]}.items() == {(1, 2): 0}.keys()", "d.keys() == d.values()", "d.keys() != nothing.keys()", "{d.keys(): 1}", "{d.values(): 1} | length", "d.keys() in [d.keys()]", "d.keys() | reverse | list"],
    "dict.values": ["d.values()", "d.values() | sum", "2 in d.values()", "d.values() | max", "d.values() | list", "d.values() == d.values()", "d.values(1)", "nothing.values()", "d.values() | sort | first", "{'a': missing}.values() | list"],
    "dict.clear": ["d.clear()"], "dict.pop": ["d.pop('a')", "d.pop", "{'pop': 1}.pop", "{'pop': 1}['pop']"], "dict.popitem": ["d.popitem()"], "dict.setdefault": ["d.setdefault('a', 1)"], "dict.update": ["d.update({})", "d.update(a=1)"],
    "range.count": ["range(5).count(2)", "range(5).count(9)", "range(5).count('a')", "range(5).count(2.0)", "range(5).count()"], "range.index": ["range(2, 9).index(4)", "range(5).index(9)", "range(5).index(2.0)", "range(5).index()", "range(5).index('a')", "range(5).index(1, 2)"],
    "range.start": ["range(5).start", "range(2, 5).start"], "range.stop": ["range(5).stop", "range(2, 9, 3).stop", "range(9)[1:5].stop"], "range.step": ["range(5).step", "range(9)[::2].step"],
    "cycler.current": ["cycler(1, 2).current"], "cycler.next": ["cycler(1, 2).next()"], "cycler.reset": ["cycler(1, 2).reset()"], "cycler.items": ["cycler(1, 2).items"], "cycler.pos": ["cycler(1, 2).pos"], "joiner.sep": ["joiner('x').sep"], "joiner.used": ["joiner('x').used"],
    "markup.striptags": ["('<b>x</b>' | safe).striptags()"], "markup.unescape": ["('<' | e).unescape()", "('<' | e).unescape() is escaped", "('<' | e).unescape(1)"], "markup.escape": ["('<' | e).escape('<')", "('<' | e).escape('>' | e)", "('<' | e).escape()", "('<' | e).escape('<') is escaped"],
})
METHODS.update({"markup." + k: ["('a &lt; B' | safe).%s(%s)" % (k, v)] for k, v in {
    **{p: "" for p in PREDICATES + CASES + ["split", "rsplit", "splitlines", "strip", "lstrip", "rstrip", "expandtabs"]}, "center": "14", "count": "'l'", "endswith": "'B'", "find": "'t'", "format": "1", "format_map": "d", "index": "'t'",
    "join": "['<', 'b']", "ljust": "14", "rjust": "14", "partition": "'&'", "rpartition": "' '", "removeprefix": "'a'", "removesuffix": "'B'", "replace": "'a', '<'", "maketrans": "'a', 'b'", "translate": "{97: '<'}", "rfind": "' '", "rindex": "' '", "startswith": "'a'", "zfill": "12"}.items()})
for _t, _values in {"int": ["5", "-5", "0", "huge"], "bool": ["true", "false"], "float": ["1.5", "-2.0", "1e300"]}.items():
    for _n in ["real", "imag", "numerator", "denominator"][: 2 if _t == "float" else 4]:
        METHODS["%s.%s" % (_t, _n)] = over("(@).%s" % _n, _values)
    for _n in ["conjugate"] + (["is_integer", "hex", "as_integer_ratio"] if _t == "float" else ["bit_length", "bit_count", "as_integer_ratio"]):
        METHODS["%s.%s" % (_t, _n)] = over("(@).%s()" % _n, _values) + ["(%s).%s(1)" % (_values[0], _n)]
METHODS["int.to_bytes"] = over("(@)", ["5).to_bytes(1, 'big'", "5).to_bytes(", "258).to_bytes(4, 'little'", "258).to_bytes(1", "-1).to_bytes(2, 'big'", "-2).to_bytes(2, 'big', signed=true", "-128).to_bytes(1, signed=true", "-129).to_bytes(1, signed=true", "128).to_bytes(1, signed=true", "0).to_bytes(0", "1).to_bytes(0", "-1).to_bytes(0, signed=true", "5).to_bytes(-1", "5).to_bytes(1, 'middle'", "5).to_bytes('1'", "5).to_bytes(1, 2", "10 ** 30).to_bytes(16, byteorder='little'", "5).to_bytes(length=2"])
METHODS["int.from_bytes"] = over("n.from_bytes(@)", ["'ab'.encode()", "'ab'.encode(), 'little'", "'é'.encode(), 'big', signed=true", "''.encode()", "'abcdefghijklm'.encode()", "'ab'.encode(), 'x'", "'ab'", ""])
METHODS["bool.to_bytes"], METHODS["bool.from_bytes"] = ["true.to_bytes()"], ["yes.from_bytes('a'.encode())"]
METHODS["markup.encode"] = ["('<é' | e).encode()"]
METHODS["float.hex"] += over("(@).hex()", ["0.0", "-0.0", "0.1", "5e-324", "-1e-310", "2.2250738585072014e-308", "1.7976931348623157e308", "('inf' | float)", "('nan' | float)", "1.0"])
METHODS["float.as_integer_ratio"] += over("(@).as_integer_ratio()", ["0.1", "-0.0", "('inf' | float)", "('nan' | float)"])
METHODS["float.is_integer"] += ["('inf' | float).is_integer()", "('nan' | float).is_integer()"]

_INT_SPECS = ["", "d", "5", "<5", ">5", "^5", "05", "+", " ", "-", "x", "#x", "X", "#X", "o", "#o", "b", "#b", ",", "_", "_x", "010,", "*^9", "=+6", "0=6", ".2f", "e", "%", "g", "c", "n", "s", ".2", "+08.2f", "#b", "#010x", "<+6d", ",d", ",.2f", ",x", "z", "5.1", "日>4", "011,", "012_", "0<5", "#o", "y", "_b", "5s", "+c", "^+9,", "_.1f", "06x", ".0f", "#.0f", "5%", ".1%", "E", "G", "F", "é"]
_FLOAT_SPECS = ["", "f", ".0f", ".1f", ".2f", ".10f", "8.2f", "<8.2f", "^8.2f", "08.2f", "+.1f", " .1f", "e", ".2e", "E", "g", ".3g", "G", "%", ".0%", ",", ",.2f", "_.2f", "d", "x", "s", "n", ".3", "10", "010", "z.0f", "#.0f", "#g", ".0e", "+g", ".15g", ".17g", "z", "c", "b", ".1", "012,.1f", "<10", "=10", "*=+10.1f", ".0", "#.3", "1", ".20f", ".0g", ",g", ",e", "F"]
_STR_SPECS = ["", "s", "5", "<5", ">5", "^5", "*^5", ".1", "5.1", ".0", "05", "0", "<05", "=5", "d", "+", " ", "#", ",", "_", "日^6", "5s", ".1s", "x", "{<4", "ss", "5.", ".", "-5", ">>5", "z", "^04"]
_PERCENTS = ["%d", "%5d", "%-5d|", "%05d", "%+d", "% d", "%x", "%#x", "%X", "%#X", "%o", "%#o", "%e", "%.2e", "%E", "%f", "%.0f", "%.1f", "%8.2f", "%-8.2f|", "%08.2f", "%+.1f", "%g", "%.3g", "%G", "%#g", "%s", "%5s", "%-5s|", "%.2s", "%r", "%a", "%c", "%i", "%u", "%%", "%", "%y", "%5", "%.3d", "%08.3d", "%+05d", "%#.0f", "%ld", "%hd", "%5%", "%.10g", "%.3x", "%#08x", "%+s", "% 5d", "%-05d|", "%.d", "%.f", "%#5o", "%+ d", "%F", "%5c", "%.1r", "%10r", "%05s", "%+x", "%#e"]


def _both(form, specs, values):
    return [form.replace("@", s).replace("$", v) for s in specs for v in values]


FORMATS = {
    "int": _both("'{:@}'.format($)", _INT_SPECS, ["42", "-1234567"]), "float": _both("'{:@}'.format($)", _FLOAT_SPECS, ["3.14159", "-1234567.5", "0.0", "1e22"]),
    "str": _both("'{:@}'.format($)", _STR_SPECS, ["'abc'"]), "bool": _both("'{:@}'.format($)", ["", "d", "5", "<6", "s", "x", ".1f", "^7", "05", "c", ","], ["true"]),
    "special": _both("'{:@}'.format($)", ["", "f", "e", "g", "%", "08.1f", "+", "F", "<6", "06", "d", ","], ["('inf' | float)", "('-inf' | float)", "('nan' | float)", "-0.0"]),
    "big": _both("'{:@}'.format($)", ["", ",", "x", "e", ".3f", "d", "_b", "g"], ["huge", "-10 ** 20"]),
    "percent int": _both("'@' % $", _PERCENTS, ["42", "-7"]), "percent float": _both("'@' % $", _PERCENTS, ["3.75", "-0.5"]), "percent str": _both("'@' % $", _PERCENTS, ["'ab'"]),
    "percent other": _both("'@' % $", ["%s", "%r", "%d", "%f", "%c", "%x", "x"], ["nil", "true", "missing", "xs", "(1,)", "(1, 2)", "()", "d", "huge", "'日'", "('<' | e)"]),
    "percent mapping": ["'%(a)s %(b)d' % d", "'%(z)s' % d", "'%(a)s' % 1", "'%(a)s' % (1,)", "'%(a' % d", "'%(a)05d' % d", "'%s' % {}", "'%(a)s%%' % d", "'%(a)s %s' % d", "'%()s' % {'': 1}", "'%((x))s' % {'(x)': 1}", "'x' % {}", "'x' % []", "'x' % xs", "'%(a)*d' % d", "'%(a).1f' % d"],
    "percent star": ["'%*d' % (5, 1)", "'%-*d|' % (5, 1)", "'%*d|' % (-5, 1)", "'%.*f' % (2, 1.5)", "'%*.*f' % (8, 2, 1.5)", "'%*d' % 5", "'%*d' % ('a', 1)", "'%.*f' % (-1, 1.5)"],
    "percent many": ["'%s-%s' % ('a', 'b')", "'%s' % ('a', 'b')", "'%s %s' % ('a',)", "'%s %s' % 'a'", "'%d items' % 3", "'%s' % 'é日'", "'%.1s' % '日本'", "'%5s' % '日'", "'%s' % [1, 2]", "'%s %% %s' % (1, 2)", "'%c%c' % (65, 'b')", "'%c' % 0x1F600", "'%c' % -1", "'%c' % 'ab'", "'%c' % 1.5", "'%r' % \"it's\"", "'%a' % 'é\\U0001F600'", "'%s' % ''", "'100%' % ()", "'%d' % 3.99", "'%d' % -3.99", "'%x' % 3.5", "'%d' % '3'", "'%i' % true", "'%f' % '1'", "'%e' % 0", "'%g' % 1e-5", "'%g' % 100000", "'%g' % 1000000", "'%.2f' % 2.675", "'%.0f' % 0.5", "'%.0f' % 1.5", "'%d' % 1e20", "'%d' % ('inf' | float)", "'%d' % ('nan' | float)", "'%s' % (missing,)", "('%s' | e) % ('<', )", "('%s %s' | e) % ('<', '>' | e)", "('%(a)s' | e) % {'a': '<'}", "('%d' | e) % 5", "('%r' | e) % '<'"],
}
