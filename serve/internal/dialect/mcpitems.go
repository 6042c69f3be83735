package dialect

// Items and events about tools of MCP servers.

import (
	"encoding/json"
	"errors"

	"atenia"
	"atenia/serve/internal/host"
)

// An mcpListItem has the tools of a server.
type mcpListItem struct {
	ID    string        `json:"id"`
	Type  string        `json:"type"`
	Label string        `json:"server_label"`
	Tools []mcpListTool `json:"tools"`
	Error *string       `json:"error"`
}

type mcpListTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
	Annotations any             `json:"annotations"`
}

// An mcpCallItem is a call of a tool of a server.
type mcpCallItem struct {
	ID        string  `json:"id"`
	Type      string  `json:"type"`
	Status    string  `json:"status"`
	Label     string  `json:"server_label"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	Approval  *string `json:"approval_request_id"`
	Output    *string `json:"output"`
	Error     any     `json:"error"`
}

// An mcpAskItem asks the client whether a call may run.
type mcpAskItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Label     string `json:"server_label"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// A waiting call is one that the model made and that did not run yet.
type waiting struct {
	item int    // its index in the output
	call string // its id in the conversation
}

// about completes an event about an item.
func about(kind, id string, index int) event {
	return event{"type": kind, "item_id": id, "output_index": index}
}

// sendAll sends events in order.
func (o *output) sendAll(events ...event) error {
	for _, e := range events {
		if err := o.send(e); err != nil {
			return err
		}
	}
	return nil
}

// listed tells of the tools of a server, or that it has none to tell of.
func (o *output) listed(label string, list []atenia.Tool, failed error) error {
	if err := o.start(); err != nil {
		return err
	}
	o.open = "mcp_list_tools"
	i, item := len(o.response.Output), mcpListItem{ID: o.itemID(), Type: o.open, Label: label, Tools: []mcpListTool{}}
	o.open = ""
	if err := o.sendAll(o.addedEvent(item), about("response.mcp_list_tools.in_progress", item.ID, i)); err != nil {
		return err
	}
	kind := "response.mcp_list_tools.completed"
	if failed != nil {
		text := failed.Error()
		item.Error, kind = &text, "response.mcp_list_tools.failed"
	}
	for _, t := range list {
		schema := t.Parameters
		if schema == nil {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		item.Tools = append(item.Tools, mcpListTool{Name: t.Name, Description: t.Description, Schema: schema})
	}
	o.response.Output = append(o.response.Output, item)
	return o.sendAll(about(kind, item.ID, i), o.doneEvent(i))
}

// ask tells of a call that the client has to approve of.
func (o *output) ask() error {
	i, item := len(o.response.Output), mcpAskItem{"", o.open, o.tool.server, o.tool.name, o.call.Arguments}
	if item.Arguments == "" {
		item.Arguments = "{}"
	}
	item.ID = o.itemID() + "_" + o.hosted.r.Seal(item.Label, item.Name, item.Arguments)
	_, rule := o.hosted.r.Tools().Asks(o.tool.server, o.tool.name, o.tool.wants)
	o.hosted.r.Decided(host.ToolDecision{Server: o.tool.server, Tool: o.tool.name, Action: "ask", Rule: rule})
	added := o.addedEvent(item)
	o.response.Output = append(o.response.Output, item)
	o.client = true
	return o.sendAll(added, o.doneEvent(i))
}

// mcpCall returns the call that is being written.
func (o *output) mcpCall(status string) mcpCallItem {
	return mcpCallItem{ID: o.itemID(), Type: "mcp_call", Status: status, Label: o.tool.server, Name: o.tool.name, Arguments: o.call.Arguments}
}

// endCall ends the writing of a call. One that is whole waits until the answer has ended.
func (o *output) endCall(whole bool) error {
	i, item := len(o.response.Output), o.mcpCall("calling")
	if whole && item.Arguments == "" {
		item.Arguments = "{}"
	}
	o.response.Output = append(o.response.Output, item)
	done := about("response.mcp_call_arguments.done", item.ID, i)
	done["arguments"] = item.Arguments
	if err := o.send(done); err != nil {
		return err
	}
	if whole {
		o.waiting = append(o.waiting, waiting{i, o.call.CallID})
		return nil
	}
	return o.incomplete(i)
}

// incomplete ends a call that does not run: it was cut short, or is none.
func (o *output) incomplete(i int) error {
	item := o.response.Output[i].(mcpCallItem)
	item.Status = "incomplete"
	o.response.Output[i] = item
	return o.sendAll(about("response.mcp_call.failed", item.ID, i), o.doneEvent(i))
}

// approved adds the item of a call that the client approved of, and returns its index.
func (o *output) approved(a *approval) (int, error) {
	o.open, o.tool, o.call = "mcp_call", a.tool, callItem{}
	i, item := len(o.response.Output), o.mcpCall("in_progress")
	o.open = ""
	item.Approval = &a.request
	added := o.addedEvent(item)
	item.Arguments, item.Status = a.arguments, "calling"
	o.response.Output = append(o.response.Output, item)
	delta, done := about("response.mcp_call_arguments.delta", item.ID, i), about("response.mcp_call_arguments.done", item.ID, i)
	delta["delta"], done["arguments"] = a.arguments, a.arguments
	return i, o.sendAll(added, about("response.mcp_call.in_progress", item.ID, i), delta, done)
}

// called ends the item of a call with its result.
func (o *output) called(i int, text string, failed bool, err error) error {
	item := o.response.Output[i].(mcpCallItem)
	kind := "response.mcp_call.completed"
	item.Status = "completed"
	switch e, _ := errors.AsType[*host.ToolError](err); {
	case e != nil:
		item.Error = map[string]any{"type": "mcp_protocol_error", "code": e.Code, "message": e.Message}
	case failed:
		item.Error = map[string]any{"type": "mcp_tool_execution_error", "content": []any{map[string]string{"type": "text", "text": text}}}
	default:
		item.Output = &text
	}
	if item.Error != nil {
		item.Status, kind = "failed", "response.mcp_call.failed"
	}
	o.response.Output[i] = item
	return o.sendAll(about(kind, item.ID, i), o.doneEvent(i))
}

func (o *output) addedEvent(item any) event {
	return event{"type": "response.output_item.added", "output_index": len(o.response.Output), "item": item}
}

func (o *output) doneEvent(i int) event {
	return event{"type": "response.output_item.done", "output_index": i, "item": o.response.Output[i]}
}
