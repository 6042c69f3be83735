package dialect

// The input of /v1/responses: items become messages.

import (
	"fmt"

	"atenia"
	"atenia/serve/internal/host"
)

// A history makes messages of items. Calls that follow one another are of one turn of the
// assistant, and the results of those of MCP servers come after the turn.
type history struct {
	list    []openaiMessage
	names   map[string]string // of functions, by the id of their call
	results []openaiMessage
	asked   map[string]*item // requests for approval, by id
	ran     map[string]bool  // those whose call ran
	said    map[string]bool  // what was answered
	answers []host.Answer    // of calls that did not run
	h       *hosted
	in      *respondRequest
}

// messages returns the messages of the input, and tells h of the calls that may run now.
// What the client says about calls is in answers then.
func (in *respondRequest) messages(h *hosted) ([]atenia.Message, error) {
	y := history{names: map[string]string{}, asked: map[string]*item{}, ran: map[string]bool{}, said: map[string]bool{}, h: h, in: in}
	if in.Instructions != "" {
		y.list = append(y.list, openaiMessage{Role: "system", Content: openaiContent{text: in.Instructions}, at: "instructions"})
	}
	for i := range in.Input {
		switch e := &in.Input[i]; e.Type {
		case "mcp_approval_request":
			y.asked[e.id()] = e
		case "mcp_call":
			y.ran[e.Approval] = true
		}
	}
	for i := range in.Input {
		// Its own items have the numbers that the client knows them by, those before are negative.
		if err := y.add(i-in.before, &in.Input[i]); err != nil {
			return nil, err
		}
	}
	y.flush()
	in.answers = y.answers
	if len(y.list) == 0 {
		return nil, host.Invalid("input", "input is empty or missing")
	}
	return openaiMessages(y.list)
}

func (y *history) add(i int, e *item) error {
	at := fmt.Sprintf("input[%d]", i)
	switch e.Type {
	case "", "message":
		y.flush()
		y.list = append(y.list, openaiMessage{Role: e.Role, Content: e.Content, at: at})
	case "function_call", "custom_tool_call":
		name, arguments := y.in.known(e.Space, e.Name), e.Arguments
		if e.Type == "custom_tool_call" {
			arguments = customArguments(e.Input)
		}
		y.names[e.CallID] = name
		y.call(at, e.CallID, name, arguments)
	case "function_call_output", "custom_tool_call_output":
		y.flush()
		y.list = append(y.list, openaiMessage{Role: "tool", Content: e.Output, ToolCallID: e.CallID, Name: y.names[e.CallID], at: at})
	case "mcp_call":
		result, failed := e.Output, len(e.Error) > 0 && string(e.Error) != "null"
		if failed {
			result = openaiContent{text: "error: " + string(e.Error)}
		}
		if !failed && result.text == "" && string(e.Status) != `"completed"` {
			break // it did not run
		}
		known, _ := y.h.known(e.Label, e.Name)
		y.call(at, e.id(), known, e.Arguments)
		y.results = append(y.results, openaiMessage{Role: "tool", Content: result, ToolCallID: e.id(), Name: known})
	case "mcp_approval_response":
		return y.approval(i, e)
	case "mcp_approval_request", "mcp_list_tools": // an answer makes it a call; tools are asked for again
	case "reasoning": // templates leave out what was thought in earlier turns
	default:
		return host.Unsupported("input", "input[%d] is of type %q, which is not supported", i, e.Type)
	}
	return nil
}

// call adds a call to the turn of the assistant.
func (y *history) call(at, id, name, arguments string) {
	c := *newOpenAICall(id, name, arguments)
	if n := len(y.list); n > 0 && y.list[n-1].Role == "assistant" {
		y.list[n-1].ToolCalls = append(y.list[n-1].ToolCalls, c)
	} else {
		y.list = append(y.list, openaiMessage{Role: "assistant", ToolCalls: []openaiCall{c}, at: at})
	}
}

// flush ends a turn of the assistant.
func (y *history) flush() {
	y.list = append(y.list, y.results...)
	y.results = nil
}

// approval adds the call that the client answers for. One that ran is there as an mcp_call.
func (y *history) approval(i int, e *item) error {
	asked := y.asked[e.Approval]
	if asked == nil {
		return host.Invalid("input", "input[%d] answers the approval request %q, which is not in the input: send it back, or the id of the response that has it as previous_response_id", i, e.Approval)
	}
	said, again := y.said[e.Approval]
	if again && said != e.Approve {
		return host.Invalid("input", "input[%d] answers the approval request %q, which the input has another answer to: leave one", i, e.Approval)
	}
	y.said[e.Approval] = e.Approve
	if again || y.ran[e.Approval] {
		return nil
	}
	y.answers = append(y.answers, host.Answer{ID: e.Approval, Server: asked.Label, Tool: asked.Name, Arguments: asked.Arguments, Approve: e.Approve})
	known, tool := y.h.known(asked.Label, asked.Name)
	if tool == nil && e.Approve {
		return host.Invalid("input", "input[%d] approves of the tool %q of %q, which the request's tools do not have", i, asked.Name, asked.Label)
	}
	y.call(fmt.Sprintf("input[%d]", i), e.Approval, known, asked.Arguments)
	result := openaiMessage{Role: "tool", ToolCallID: e.Approval, Name: known}
	if e.Approve {
		// Where the result will be: the turn's other results come first.
		at := len(y.list) + len(y.results)
		y.h.approve = append(y.h.approve, approval{at, e.Approval, tool, asked.Arguments})
	} else {
		result.Content.text = "error: the user did not allow this call"
		if e.Reason != "" {
			result.Content.text += ": " + e.Reason
		}
		if tool != nil {
			y.h.r.Decided(host.ToolDecision{Server: tool.server, Tool: tool.name, Action: "refuse", Rule: "approval"})
		}
	}
	y.results = append(y.results, result)
	return nil
}
