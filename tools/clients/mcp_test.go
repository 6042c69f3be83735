package clients

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"testing"

	"atenia"
	"atenia/serve"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// watch is a tool server within the program.
type watch struct{ asked int }

func (w *watch) Servers() []string { return []string{"watch"} }

func (w *watch) ToolsOf(context.Context, string) ([]atenia.Tool, error) {
	return []atenia.Tool{{Name: "now", Description: "tells the time", Parameters: json.RawMessage(`{"type":"object","properties":{"zone":{"enum":["CET","UTC"]}},"required":["zone"],"additionalProperties":false}`)}}, nil
}

func (w *watch) CallTool(_ context.Context, _, _ string, args json.RawMessage) (string, bool, error) {
	w.asked++
	return "noon " + string(args), false, nil
}

// TestOpenAITools: OpenAI's Go client approves of a call of a tool that the server makes, and
// reads a stream with one.
func TestOpenAITools(t *testing.T) {
	tools := &watch{}
	s, err := serve.New(serve.Config{Tools: serve.Tools{Servers: tools}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	web := httptest.NewServer(s)
	defer web.Close()
	client := openai.NewClient(option.WithBaseURL(web.URL+"/v1"), option.WithAPIKey("none"), option.WithMaxRetries(0))
	question := responses.ResponseInputItemParamOfMessage("What time is it?", responses.EasyInputMessageRoleUser)
	params := responses.ResponseNewParams{
		Model: "default", MaxOutputTokens: openai.Int(80), Tools: []responses.ToolUnionParam{responses.ToolParamOfMcp("watch")},
		Input:      responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{question}},
		ToolChoice: responses.ResponseNewParamsToolChoiceUnion{OfMcpTool: &responses.ToolChoiceMcpParam{ServerLabel: "watch", Name: openai.String("now")}},
	}
	r, err := client.Responses.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	var ask responses.ResponseOutputItemMcpApprovalRequest
	for _, item := range r.Output {
		if a, ok := item.AsAny().(responses.ResponseOutputItemMcpApprovalRequest); ok {
			ask = a
		}
	}
	if ask.Name != "now" || ask.ServerLabel != "watch" || tools.asked != 0 {
		t.Fatalf("%d calls: %+v", tools.asked, r.Output)
	}
	again := params
	again.ToolChoice = responses.ResponseNewParamsToolChoiceUnion{}
	again.Input.OfInputItemList = responses.ResponseInputParam{
		question,
		{OfMcpApprovalRequest: &responses.ResponseInputItemMcpApprovalRequestParam{ID: ask.ID, Arguments: ask.Arguments, Name: ask.Name, ServerLabel: ask.ServerLabel}},
		responses.ResponseInputItemParamOfMcpApprovalResponse(ask.ID, true),
	}
	if r, err = client.Responses.New(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	ran := false
	for _, item := range r.Output {
		if c, ok := item.AsAny().(responses.ResponseOutputItemMcpCall); ok {
			ran = c.Output == "noon "+ask.Arguments && c.ApprovalRequestID == ask.ID && c.Status == "completed"
		}
	}
	if !ran || tools.asked != 1 || r.OutputText() == "" {
		t.Errorf("%d calls: %+v", tools.asked, r.Output)
	}
	params.Tools[0].OfMcp.RequireApproval.OfMcpToolApprovalSetting = openai.String("never")
	stream := client.Responses.NewStreaming(t.Context(), params)
	listed, called, arguments := false, false, ""
	for stream.Next() {
		switch e := stream.Current().AsAny().(type) {
		case responses.ResponseMcpListToolsCompletedEvent:
			listed = true
		case responses.ResponseMcpCallArgumentsDeltaEvent:
			arguments += e.Delta
		case responses.ResponseMcpCallCompletedEvent:
			called = json.Valid([]byte(arguments))
		case responses.ResponseCompletedEvent:
			r = &e.Response
		}
	}
	if err := stream.Err(); err != nil || !listed || !called || tools.asked != 2 || r.OutputText() == "" {
		t.Errorf("%v: listed %v, called %v with %q, %d calls", err, listed, called, arguments, tools.asked)
	}
}
