package answer

import "strings"

// A thought is how a model marks what it thinks.
type thought struct {
	begin, end string
	shown      string // what in a template or vocabulary shows it, "" = begin
}

// begunBy reports whether a prompt ends with the beginning of a thought, which the
// answer then goes on with.
func (t *thought) begunBy(prompt string) bool {
	return prompt != "" && strings.HasSuffix(strings.TrimRight(prompt, space), strings.TrimSpace(t.begin))
}

var thoughts = []thought{
	{begin: "<think>", end: "</think>"},
	{begin: "[THINK]", end: "[/THINK]"},
	{begin: "<|START_THINKING|>", end: "<|END_THINKING|>"},
	{begin: "<seed:think>", end: "</seed:think>"},
	{begin: "<mm:think>", end: "</mm:think>"},
	{begin: "<think:opensource>", end: "</think:opensource>"},
	{begin: "<|channel>thought\n", end: "<channel|>"},
	{begin: "<|open|>think<|sep|>", end: "<|close|>think<|sep|>", shown: "<|open|>"},
	{begin: "<|inner_prefix|>", end: "<|inner_suffix|>"},
	{begin: "Here are my reasoning steps:\n", end: "[BEGIN FINAL RESPONSE]"},
	{begin: "Here is my thought process:", end: "Here is my response:"},
	{begin: "<|think|>", end: "<|end|>", shown: "<|begin|>assistant<|think|>"},
}

// A body is how calls are spelled between their marks.
type body int

const (
	jsonBody   body = iota // an object with a name and arguments, or several, or a list of them
	namedBody              // the name, sep, and the arguments as JSON
	taggedBody             // marks around the name and around each argument
	pythonBody             // calls with arguments by name, or a list of them
	bracesBody             // name{key:value,…}
)

// A syntax is a way to spell calls: section (open body close)… sectionEnd. Marks that
// are "" are absent; the ending ones may be missing at the end of an answer, since
// generation stops at some of them.
type syntax struct {
	name                string
	shown               []string // all of these show it in a template or vocabulary
	section, sectionEnd string
	open, close         string
	body                body

	keyed bool   // jsonBody: {name: arguments}
	quote string // bracesBody: the mark on both sides of a string

	// namedBody: lead name sep arguments. Between name and sep there may be a mark
	// and an id. A name that has a "." or ":" is cut if dotted: functions.name:0.
	lead, idMark, sep string
	dotted            bool
	idFirst           bool // the id comes before the name, separated by idMark
	fence             bool // arguments may be in a fence of three back-quotes

	tags tags // taggedBody
}

// tags are the marks of a taggedBody: name NAME nameEnd (key KEY keyEnd value VALUE
// valueEnd)… end. With attrs set, what is between keyEnd and attrs is attributes, of
// which string="true", string="false" and type="…" say the value's type, and what is
// between nameEnd and attrs means nothing. valueEnd may have a % for KEY.
type tags struct {
	name, nameEnd   string
	key, keyEnd     string
	value, valueEnd string
	end, attrs      string
}

// coder are Qwen3-coder's tags.
var coder = tags{name: "<function=", nameEnd: ">", key: "<parameter=", keyEnd: ">", valueEnd: "</parameter>", end: "</function>"}

// invoke are tags with attributes, with a prefix in each.
func invoke(prefix string) tags {
	return tags{
		name: "<" + prefix + `invoke name="`, nameEnd: `"`, key: "<" + prefix + `parameter name="`, keyEnd: `"`, attrs: ">",
		valueEnd: "</" + prefix + "parameter>", end: "</" + prefix + "invoke>",
	}
}

// syntaxes are tried in order where several begin with the same mark; a tagged one
// without a mark before its name takes what the others leave.
var syntaxes = []syntax{
	{name: "hermes", shown: []string{"<tool_call>"}, open: "<tool_call>", close: "</tool_call>"},
	{name: "qwen3-coder", shown: []string{"<tool_call>", "<function="}, open: "<tool_call>", close: "</tool_call>", body: taggedBody, tags: coder},
	{name: "glm", shown: []string{"<tool_call>", "<arg_key>"}, open: "<tool_call>", close: "</tool_call>", body: taggedBody, tags: tags{
		key: "<arg_key>", keyEnd: "</arg_key>", value: "<arg_value>", valueEnd: "</arg_value>"}},
	{name: "seed", shown: []string{"<seed:tool_call>"}, open: "<seed:tool_call>", close: "</seed:tool_call>", body: taggedBody, tags: coder},
	{name: "hunyuan 3", shown: []string{"<tool_call:opensource>"}, section: "<tool_calls:opensource>", sectionEnd: "</tool_calls:opensource>",
		open: "<tool_call:opensource>", close: "</tool_call:opensource>", body: taggedBody, tags: tags{nameEnd: "<tool_sep:opensource>",
			key: "<arg_key:opensource>", keyEnd: "</arg_key:opensource>", value: "<arg_value:opensource>", valueEnd: "</arg_value:opensource>"}},
	{name: "minimax m2", shown: []string{"<minimax:tool_call>"}, section: "<minimax:tool_call>", sectionEnd: "</minimax:tool_call>", body: taggedBody, tags: invoke("")},
	{name: "minimax m3", shown: []string{"]<]minimax[>["}, section: "]<]minimax[>[<tool_call>", sectionEnd: "]<]minimax[>[</tool_call>", body: taggedBody, tags: tags{
		name: `]<]minimax[>[<invoke name="`, nameEnd: `">`, key: "]<]minimax[>[<", keyEnd: ">", valueEnd: "]<]minimax[>[</%>", end: "]<]minimax[>[</invoke>"}},
	{name: "deepseek 3.2", shown: []string{"｜DSML｜", "function_calls"}, section: "<｜DSML｜function_calls>", sectionEnd: "</｜DSML｜function_calls>", body: taggedBody, tags: invoke("｜DSML｜")},
	{name: "deepseek 4", shown: []string{"｜DSML｜", "tool_calls"}, section: "<｜DSML｜tool_calls>", sectionEnd: "</｜DSML｜tool_calls>", body: taggedBody, tags: invoke("｜DSML｜")},
	{name: "kimi k3", shown: []string{"<|open|>", "<|close|>", "<|sep|>"}, section: "<|open|>tools<|sep|>", sectionEnd: "<|close|>tools<|sep|>", body: taggedBody, tags: tags{
		name: `<|open|>call tool="`, nameEnd: `"`, key: `<|open|>argument key="`, keyEnd: `"`, attrs: "<|sep|>",
		valueEnd: "<|close|>argument<|sep|>", end: "<|close|>call<|sep|>"}},
	{name: "minicpm", shown: []string{`<function name="`, `<param name="`}, open: `<function name="`, body: taggedBody, tags: tags{
		nameEnd: `">`, key: `<param name="`, keyEnd: `">`, valueEnd: "</param>", end: "</function>"}},
	{name: "tool calls", shown: []string{"<tool_calls>"}, open: "<tool_calls>", close: "</tool_calls>"},
	{name: "nemotron 2", shown: []string{"<TOOLCALL>"}, open: "<TOOLCALL>", close: "</TOOLCALL>"},
	{name: "phi4, granite 3", shown: []string{"<|tool_call|>"}, open: "<|tool_call|>", close: "<|/tool_call|>"},
	{name: "cohere", shown: []string{"<|START_ACTION|>"}, open: "<|START_ACTION|>", close: "<|END_ACTION|>"},
	{name: "command r+", shown: []string{"Action:", "```json", "tool_name"}, open: "Action:\n```json", close: "```"},
	{name: "command r+", shown: []string{"Action:", "```json", "tool_name"}, open: "Action: ```json", close: "```"},
	{name: "apertus", shown: []string{"<|tools_prefix|>"}, open: "<|tools_prefix|>", close: "<|tools_suffix|>", keyed: true},
	{name: "gigachat 3", shown: []string{"<|message_sep|>", "function call"}, open: "<|message_sep|>\n\nfunction call<|role_sep|>\n", close: "<|message_sep|>"},
	{name: "gigachat 3.1", shown: []string{"<|function_call|>"}, open: "<|function_call|>", close: "<|message_sep|>"},
	{name: "firefunction", shown: []string{" functools["}, open: " functools"},
	{name: "mistral", shown: []string{"[TOOL_CALLS]"}, open: "[TOOL_CALLS]"},
	{name: "mistral 3", shown: []string{"[TOOL_CALLS]"}, open: "[TOOL_CALLS]", body: namedBody, idMark: "[CALL_ID]", sep: "[ARGS]"},
	{name: "functionary 3.1", shown: []string{"<function=example_function_name>"}, open: "<function=", close: "</function>", body: namedBody, sep: ">"},
	{name: "functionary 3.2", shown: []string{">>>all"}, open: ">>>", body: namedBody, sep: "\n"},
	{name: "deepseek 3", shown: []string{"<｜tool▁calls▁begin｜>"}, section: "<｜tool▁calls▁begin｜>", sectionEnd: "<｜tool▁calls▁end｜>",
		open: "<｜tool▁call▁begin｜>", close: "<｜tool▁call▁end｜>", body: namedBody, lead: "function<｜tool▁sep｜>", sep: "\n", fence: true},
	{name: "deepseek 3.1", shown: []string{"<｜tool▁calls▁begin｜>"}, section: "<｜tool▁calls▁begin｜>", sectionEnd: "<｜tool▁calls▁end｜>",
		open: "<｜tool▁call▁begin｜>", close: "<｜tool▁call▁end｜>", body: namedBody, sep: "<｜tool▁sep｜>"},
	{name: "kimi k2", shown: []string{"<|tool_call_begin|>", "<|tool_call_argument_begin|>"}, section: "<|tool_calls_section_begin|>", sectionEnd: "<|tool_calls_section_end|>",
		open: "<|tool_call_begin|>", close: "<|tool_call_end|>", body: namedBody, sep: "<|tool_call_argument_begin|>", dotted: true},
	{name: "solar", shown: []string{"<|tool_call:name|>"}, section: "<|tool_calls|>", sectionEnd: "<|calls|>",
		open: "<|tool_call:begin|>", close: "<|tool_call:end|>", body: namedBody, idFirst: true, idMark: "<|tool_call:name|>", sep: "<|tool_call:args|>"},
	{name: "lfm2", shown: []string{"<|tool_call_start|>"}, open: "<|tool_call_start|>", close: "<|tool_call_end|>"},
	{name: "lfm2 python", shown: []string{"<|tool_call_start|>"}, open: "<|tool_call_start|>", close: "<|tool_call_end|>", body: pythonBody},
	{name: "gemma 4", shown: []string{"<|tool_call>"}, open: "<|tool_call>call:", close: "<tool_call|>", body: bracesBody, quote: `<|"|>`},
	{name: "functiongemma", shown: []string{"<start_function_call>"}, open: "<start_function_call>call:", close: "<end_function_call>", body: bracesBody, quote: "<escape>"},
	{name: "gemma 3 json", shown: []string{"<start_of_turn>"}, open: "```json", close: "```"},
	{name: "gemma 3", shown: []string{"<start_of_turn>"}, open: "```tool_code", close: "```", body: pythonBody},
	{name: "llama 3", shown: []string{"<|python_tag|>"}, open: "<|python_tag|>"},
	{name: "llama 3 built in", shown: []string{"<|python_tag|>"}, open: "<|python_tag|>", body: pythonBody},
}

// bare shows models that write an object of JSON without any mark.
var bare = []string{"<|python_tag|>", `"parameters": dictionary of argument name and its value`, "<start_of_turn>"}

// silent are marks around text that are not part of it.
var silent = []struct{ shown, mark string }{
	{"<|open|>", "<|open|>response<|sep|>"},
	{"<|open|>", "<|close|>response<|sep|>"},
	{"<|open|>", "<|close|>message<|sep|>"},
	{"<|START_RESPONSE|>", "<|START_RESPONSE|>"},
	{"<|START_RESPONSE|>", "<|END_RESPONSE|>"},
	{"<|START_TEXT|>", "<|START_TEXT|>"},
	{"<|START_TEXT|>", "<|END_TEXT|>"},
	{"<response>", "<response>"},
	{"<response>", "</response>"},
	{"<|begin|>assistant<|think|>", "<|begin|>assistant"},
	{"<|begin|>assistant<|think|>", "<|content|>"},
	{">>>all", ">>>all\n"},
}

// A Dialect is how one model marks its thoughts and calls.
type Dialect struct {
	thoughts []thought
	calls    []*syntax
	silent   []string
	bare     bool // calls may be objects of JSON without a mark, where an answer begins
	harmony  bool // messages in channels
	// prompted are marks with which a prompt may end and which belong to the answer.
	prompted []string
}

// Detect returns the dialect of a model with a chat template and a vocabulary; has
// reports whether the vocabulary has a token of its own for a text.
func Detect(template string, has func(token string) bool) *Dialect {
	shows := func(mark string) bool { return strings.Contains(template, mark) || has != nil && has(mark) }
	d := &Dialect{harmony: shows("<|channel|>") && shows("<|message|>") && shows("<|start|>")}
	if d.harmony {
		return d
	}
	for _, t := range thoughts {
		if t.shown == "" {
			t.shown = t.begin
		}
		// A template may write its line breaks as escapes.
		if shows(strings.TrimSpace(t.shown)) {
			d.thoughts = append(d.thoughts, t)
		}
	}
	for i := range syntaxes {
		all := true
		for _, mark := range syntaxes[i].shown {
			all = all && shows(mark)
		}
		if all {
			d.calls = append(d.calls, &syntaxes[i])
		}
	}
	for _, mark := range bare {
		d.bare = d.bare || shows(mark)
	}
	if len(d.calls) == 0 { // what most models were trained on, should they call at all
		d.calls, d.bare = []*syntax{&syntaxes[0]}, true
	}
	for _, s := range silent {
		if shows(s.shown) {
			d.silent = append(d.silent, s.mark)
		}
	}
	if shows(">>>all") {
		d.prompted = append(d.prompted, ">>>")
	}
	return d
}

// Plain reports whether an answer is text alone: nothing in it can be reasoning, and
// calls are not looked for.
func (d *Dialect) Plain(tools bool) bool {
	return !tools && !d.harmony && len(d.thoughts) == 0 && len(d.silent) == 0
}
