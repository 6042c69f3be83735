package answer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestAnswers reads answers as models write them whose templates do not show it, or
// which are not quite as the template says.
func TestAnswers(t *testing.T) {
	const weather = `get_weather {"city": "Paris", "days": 3}`
	for _, c := range []struct {
		name, marks, prompt, answer string
		noTools                     bool
		want                        string // text | reasoning | calls
	}{
		{name: "llama, bare", marks: "<|python_tag|>", answer: `{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}`, want: "||" + weather},
		{name: "llama, two", marks: "<|python_tag|>", answer: `{"type": "function", "name": "now", "parameters": {}}; {"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}`, want: "||now {};" + weather},
		{name: "llama, python tag", marks: "<|python_tag|>", answer: `<|python_tag|>{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}`, want: "||" + weather},
		{name: "llama, built in", marks: "<|python_tag|>", answer: `<|python_tag|>brave_search.call(query="a \"b\"")`, want: `||brave_search {"query": "a \"b\""}`},
		{name: "llama, code", marks: "<|python_tag|>", answer: "<|python_tag|>x = 1\nprint(x)", want: "<|python_tag|>x = 1\nprint(x)||"},
		{name: "llama, another object", marks: "<|python_tag|>", answer: `{"name": "Bob", "parameters": {}}`, want: `{"name": "Bob", "parameters": {}}||`},
		{name: "llama, an object of data", marks: "<|python_tag|>", answer: `{"name": "now", "age": 3}`, want: `{"name": "now", "age": 3}||`},
		{name: "llama, later object", marks: "<|python_tag|>", answer: `So: {"name": "now", "parameters": {}}`, want: `So: {"name": "now", "parameters": {}}||`},
		{name: "granite 3", marks: "<|tool_call|>", answer: `<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]`, want: "||" + weather},
		{name: "granite 3, thought", marks: "<|tool_call|> <think> <response>", answer: "<think>Hm.</think><response>Yes.</response>", want: "Yes.|Hm.|"},
		{name: "phi 4 mini", marks: "<|tool_call|> <|/tool_call|>", answer: `<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, {"name": "now", "arguments": {}}]<|/tool_call|>`, want: "||" + weather + ";now {}"},
		{name: "gemma 3, code", marks: "<start_of_turn>", answer: "Let me see.\n```tool_code\nget_weather(city=\"Paris\", days=3)\n```", want: "Let me see.||" + weather},
		{name: "gemma 3, json", marks: "<start_of_turn>", answer: "```json\n{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\", \"days\": 3}}\n```", want: "||" + weather},
		{name: "gemma 3, another json", marks: "<start_of_turn>", answer: "Look:\n```json\n{\"a\": 1}\n```\nDone.", want: "Look:\n```json\n{\"a\": 1}\n```\nDone.||"},
		{name: "functiongemma", marks: "<start_function_call>", answer: "<start_function_call>call:get_weather{city:<escape>Paris<escape>,days:3}<end_function_call>", want: "||" + weather},
		{name: "mistral, thought", marks: "[TOOL_CALLS] [ARGS] [THINK]", answer: `[THINK]Hm.[/THINK]Yes.[TOOL_CALLS]get_weather[ARGS]{"city": "Paris", "days": 3}`, want: "Yes.|Hm.|" + weather},
		{name: "mistral, list", marks: "[TOOL_CALLS]", answer: `[TOOL_CALLS] [{"arguments": {"city": "Paris", "days": 3}, "name": "get_weather"}]`, want: "||" + weather},
		{name: "ernie", marks: "<tool_call> <think> <response>", prompt: "<think>\n", answer: "Hm.\n</think>\n\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\", \"days\": 3}}\n</tool_call>\n", want: "|Hm.|" + weather},
		{name: "hunyuan", marks: "<tool_calls> <think>", answer: "<think>\n\n</think>\n<tool_calls>[{\"name\": \"now\", \"arguments\": {}}]</tool_calls>", want: "||now {}"},
		{name: "lfm2", marks: "<|tool_call_start|>", answer: `<|tool_call_start|>[get_weather(city="Paris", days=3), make(tags=['it\'s', {'k': None}], ok=True)]<|tool_call_end|>Wait.`, want: `Wait.||` + weather + `;make {"tags": ["it's", {"k": null}], "ok": true}`},
		{name: "kimi, call within a thought", marks: "<think> <|tool_call_begin|> <|tool_call_argument_begin|>", prompt: "<think>", answer: `Hm. <|tool_calls_section_begin|><|tool_call_begin|>functions.now:3<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>`, want: "|Hm.|now {}"},
		{name: "harmony", marks: "<|start|><|channel|><|message|>", answer: `<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary<|message|>I'll look.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris", "days": 3}`, want: "I'll look.|Hm.|" + weather},
		{name: "harmony, final", marks: "<|start|><|channel|><|message|>", answer: `<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.`, noTools: true, want: "Yes.|Hm.|"},
		{name: "harmony, prompted", marks: "<|start|><|channel|><|message|>", answer: `Just text.`, want: "Just text.||"},
		{name: "harmony, no json", marks: "<|start|><|channel|><|message|>", answer: `<|channel|>commentary to=functions.now<|message|>now!<|call|>`, want: "<|channel|>commentary to=functions.now<|message|>now!||"},
		{name: "arguments in a text", marks: "<tool_call>", answer: `<tool_call>{"name": "get_weather", "arguments": "{\"city\": \"Paris\", \"days\": 3}"}</tool_call>`, want: "||" + weather},
		{name: "within function", marks: "<tool_call>", answer: `<tool_call>{"type": "function", "function": {"name": "now", "arguments": {}}}</tool_call>`, want: "||now {}"},
		{name: "end missing", marks: "<tool_call>", answer: `Yes. <tool_call>{"name": "now", "arguments": {}}`, want: "Yes.||now {}"},
		{name: "cut in a name", marks: "<tool_call>", answer: "Yes.\n<tool_call>{\"name\": \"no", want: "Yes.\n<tool_call>{\"name\": \"no||"},
		{name: "cut in arguments", marks: "<tool_call>", answer: "<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": \"b", want: "<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": \"b||"},
		{name: "not JSON", marks: "<tool_call>", answer: "<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": b}}</tool_call> Sorry.", want: "<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": b}}</tool_call> Sorry.||"},
		{name: "no key", marks: "<tool_call>", answer: "<tool_call>{: 1, \"name\": \"now\", \"arguments\": {}}</tool_call> No.", want: "<tool_call>{: 1, \"name\": \"now\", \"arguments\": {}}</tool_call> No.||"},
		{name: "good, bad", marks: "<tool_call>", answer: "<tool_call>[{\"name\": \"now\", \"arguments\": {}}, {]", want: ", {]||now {}"},
		{name: "no tools", marks: "<tool_call> <think>", answer: "<think>Hm.</think><tool_call>{\"name\": \"now\"}</tool_call>", noTools: true, want: "<tool_call>{\"name\": \"now\"}</tool_call>|Hm.|"},
		{name: "a mark that is none", marks: "<tool_call> <think>", answer: "a <b> <too <thin <tool_cal", want: "a <b> <too <thin <tool_cal||"},
		{name: "cut after a name", marks: "<minimax:tool_call>", answer: `Yes. <minimax:tool_call><invoke name="now" `, want: `Yes. <minimax:tool_call><invoke name="now" ||`},
		{name: "good, bad, in tags", marks: "<minimax:tool_call>", answer: `<minimax:tool_call><invoke name="now"></invoke><invoke name="now">now!`, want: `<invoke name="now">now!||now {}`},
		{name: "not a name", marks: "<start_function_call>", answer: "<start_function_call>call:get weather{city:<escape>Paris<escape>}<end_function_call>", want: "<start_function_call>call:get weather{city:<escape>Paris<escape>}<end_function_call>||"},
		{name: "space at the end", marks: "<think>", answer: "a \n", noTools: true, want: "a \n||"},
	} {
		d := Detect(c.marks, nil)
		o := Options{Tools: testTools, Prompt: c.prompt}
		if c.noTools {
			o.Tools = nil
		}
		for i := range len(c.answer) {
			for _, pieces := range [][]string{{c.answer}, {c.answer[:i], c.answer[i:]}, strings.Split(c.answer, "")} {
				r := parse(t, d, o, pieces...)
				var calls []string
				for _, call := range r.calls {
					calls = append(calls, fmt.Sprintf("%s %s", call.Name, call.Arguments))
				}
				if got := r.text + "|" + r.reasoning + "|" + strings.Join(calls, ";"); got != c.want {
					t.Fatalf("%s %q:\ngot  %s\nwant %s", c.name, pieces, got, c.want)
				}
			}
		}
	}
}

// TestArgumentsStream sees arguments before the call ends, and the call before its
// arguments.
func TestArgumentsStream(t *testing.T) {
	p := New(Detect("<tool_call>", nil), Options{Tools: testTools})
	defer p.Close()
	p.Write(`Yes.<tool_call>{"name": "make", "argum`)
	if e := p.Write(`ents": {"text": "on`); len(e) != 1 || e[0].Call.Name != "make" || e[0].Call.Arguments != `{"text": "on` {
		t.Fatalf("%+v", e)
	}
	if e := p.Write(`ce"}`); len(e) != 1 || *e[0].Call != (Part{Arguments: `ce"}`}) {
		t.Fatalf("%+v", e)
	}
}

// TestLongCall gives a call back as text that is longer than is kept.
func TestLongCall(t *testing.T) {
	p := New(Detect("<tool_call>", nil), Options{Tools: testTools})
	given, back, broken := 0, 0, 0
	count := func(events []Event) {
		for _, e := range events {
			back += len(e.Text)
			if e.Call != nil && e.Call.Broken {
				broken++
			}
		}
	}
	for _, piece := range append([]string{`<tool_call>{"name": "make", "arguments": {"text": "`}, strings.Split(strings.Repeat("0123456789abcdef ", maxCall/10), " ")...) {
		count(p.Write(piece))
		given += len(piece)
		if cap(p.in) > 4*maxCall {
			t.Fatalf("%d bytes are kept", cap(p.in))
		}
	}
	count(p.Close())
	if back != given || broken != 1 {
		t.Errorf("%d bytes of %d, %d broken", back, given, broken)
	}
}

// TestKnows keeps the special tokens of the format alone.
func TestKnows(t *testing.T) {
	p := New(Detect("<|python_tag|> <|eot_id|>", nil), Options{Tools: testTools})
	defer p.Close()
	if !p.Knows("<|python_tag|>") || p.Knows("<|eot_id|>") {
		t.Error(p.text)
	}
	q := New(Detect("<|python_tag|>", nil), Options{})
	defer q.Close()
	if q.Knows("<|python_tag|>") {
		t.Error("a mark of calls, without tools")
	}
}

// FuzzParser parses anything in any dialect: whatever pieces it comes in, the events
// are the same, arguments are objects of JSON, and without marks nothing is lost.
func FuzzParser(f *testing.F) {
	all := turns(f)
	for i, c := range all {
		f.Add(uint16(i), c.Turn, uint16(i*7))
	}
	f.Fuzz(func(t *testing.T, which uint16, text string, cut uint16) {
		c := &all[int(which)%len(all)]
		d := c.dialect()
		o := Options{Tools: testTools, Prompt: c.Prompt}
		whole := parse(t, d, o, text)
		i := int(cut) % (len(text) + 1)
		for _, r := range []reply{whole, parse(t, d, o, text[:i], text[i:]), parse(t, d, o, strings.Split(text, "")...)} {
			if r.text != whole.text || r.reasoning != whole.reasoning || len(r.calls) != len(whole.calls) {
				t.Fatalf("%q, cut at %d:\n%+v\n%+v", text, i, r, whole)
			}
			for k, call := range r.calls {
				var object map[string]any
				if json.Unmarshal(call.Arguments, &object) != nil || string(call.Arguments) != string(whole.calls[k].Arguments) {
					t.Fatalf("%q: call %d: %s %s, whole %s", text, k, call.Name, call.Arguments, whole.calls[k].Arguments)
				}
			}
		}
		if got := parse(t, Detect("", nil), Options{}, text); got.text != text {
			t.Fatalf("%q became %q", text, got.text)
		}
	})
}

// BenchmarkWrite parses an answer with a call, four bytes at a time: the time of one
// piece must be small beside a token's, which takes milliseconds.
func BenchmarkWrite(b *testing.B) {
	d := Detect("<tool_call> <function= <think> <arg_key>", nil)
	text := "<think>" + strings.Repeat("some thought. ", 50) + "</think>" + strings.Repeat("an answer; ", 50) + `<tool_call>{"name": "make", "arguments": {"text": "` + strings.Repeat("word ", 100) + `"}}</tool_call>`
	pieces := 0
	for b.Loop() {
		p := New(d, Options{Tools: testTools})
		for i := 0; i < len(text); i += 4 {
			p.Write(text[i:min(i+4, len(text))])
			pieces++
		}
		p.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(pieces), "ns/piece")
}
