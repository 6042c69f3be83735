// Package answer splits what a model writes into visible text, reasoning and tool
// calls, while it is written.
//
//	chat template, added tokens ──Detect──▶ Dialect ──New──▶ Parser
//	                                                          ▲    │
//	                                    pieces of the answer ─┘    └─▶ Events: Text, Reasoning, Call
//
// How models spell a thought and a call is data: tables in format.go, whose rows are
// taken from published chat templates. A [Dialect] is the rows that a model's template
// and vocabulary show.
//
//	body    an example of one call
//	JSON    <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>
//	named   [TOOL_CALLS]f[ARGS]{"a": 1}
//	tagged  <tool_call><function=f><parameter=a>1</parameter></function></tool_call>
//	python  <|tool_call_start|>[f(a=1)]<|tool_call_end|>
//	braces  <|tool_call>call:f{a:1}<tool_call|>
//	harmony <|start|>assistant to=functions.f<|channel|>commentary json<|message|>{"a": 1}<|call|>
//
// Arguments that are written as JSON are passed on as they come; others become JSON
// parameter by parameter or call by call.
//
// Nothing is lost: what looks like a call and is none becomes text. If some of it was
// passed on before that was known, a Part that is Broken takes it back.
//
// Read format.go first, then parser.go.
package answer
