package serve_test

//lint:file-ignore SA1019 logging and sampling are part of the protocols before 2026-07-28, which are tested here

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"atenia/serve"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A fixtures is a program that adds to a server what the MCP conformance suite asks for
// by name: tools with every kind of content, log, progress, sampling and elicitation, resources and prompts.
type fixtures struct{ *mcp.Server }

const watchedURI = "test://watched-resource"

func (fixtures) config() serve.MCP {
	return serve.MCP{
		Add: func(s *mcp.Server) {
			f := fixtures{s}
			f.media()
			f.talk()
			f.elicitations()
			f.resources()
			f.prompts()
		},
		Subscribe: func(_ context.Context, r *mcp.SubscribeRequest) error {
			if r.Params.URI != watchedURI {
				return mcp.ResourceNotFoundError(r.Params.URI)
			}
			return nil
		},
		Complete: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			res := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
			for _, v := range []string{"paris", "park", "party"} {
				if strings.HasPrefix(v, r.Params.Argument.Value) {
					res.Completion.Values = append(res.Completion.Values, v)
				}
			}
			return res, nil
		},
	}
}

// png and wav are the smallest files of their kinds.
var (
	png, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	wav, _ = base64.StdEncoding.DecodeString("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
)

func plain(s string) mcp.Content { return &mcp.TextContent{Text: s} }

// tool adds a tool without a particular schema.
func (f fixtures) tool(name string, call func(context.Context, *mcp.CallToolRequest) ([]mcp.Content, error)) {
	f.AddTool(&mcp.Tool{Name: name, Description: "of the suite", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res := &mcp.CallToolResult{}
		var err error
		if res.Content, err = call(ctx, r); err != nil {
			res.SetError(err)
		}
		return res, nil
	})
}

func (f fixtures) media() {
	fixed := func(name string, c ...mcp.Content) {
		f.tool(name, func(context.Context, *mcp.CallToolRequest) ([]mcp.Content, error) { return c, nil })
	}
	image := &mcp.ImageContent{Data: png, MIMEType: "image/png"}
	embedded := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content."}}
	fixed("test_simple_text", plain("This is a simple text response for testing."))
	fixed("test_image_content", image)
	fixed("test_audio_content", &mcp.AudioContent{Data: wav, MIMEType: "audio/wav"})
	fixed("test_embedded_resource", embedded)
	fixed("test_multiple_content_types", plain("Multiple content types test:"), image, embedded)
	f.AddTool(&mcp.Tool{Name: "json_schema_2020_12_tool", Description: "of the suite", InputSchema: json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"}},"additionalProperties":false}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{plain(string(r.Params.Arguments))}}, nil
	})
}

// talk adds tools that speak to the client before they end.
func (f fixtures) talk() {
	f.tool("test_error_handling", func(context.Context, *mcp.CallToolRequest) ([]mcp.Content, error) {
		return nil, errors.New("This tool intentionally returns an error for testing") // the suite's words
	})
	f.tool("test_tool_with_logging", func(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
		for _, s := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: s}); err != nil {
				return nil, err
			}
		}
		return []mcp.Content{plain("logged")}, nil
	})
	f.tool("test_tool_with_progress", func(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
		for i := range 3 {
			err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(50 * i), Total: 100})
			if err != nil {
				return nil, err
			}
		}
		return []mcp.Content{plain("done")}, nil
	})
	f.tool("test_reconnection", func(_ context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
		r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		return []mcp.Content{plain("Reconnection test completed successfully.")}, nil
	})
	f.tool("test_sampling", func(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
		var in struct{ Prompt string }
		if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
			return nil, err
		}
		res, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 100, Messages: []*mcp.SamplingMessage{{Role: "user", Content: plain(in.Prompt)}}})
		if err != nil {
			return nil, err
		}
		text, _ := res.Content.(*mcp.TextContent)
		return []mcp.Content{plain("LLM response: " + text.Text)}, nil
	})
}

// elicitations adds tools that ask the user for what a schema says.
func (f fixtures) elicitations() {
	for name, schema := range map[string]string{
		"test_elicitation": `{"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`,
		"test_elicitation_sep1034_defaults": `{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
			"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`,
		"test_elicitation_sep1330_enums": `{"type":"object","properties":{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
			"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
			"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
			"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},
			"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`,
	} {
		f.tool(name, func(ctx context.Context, r *mcp.CallToolRequest) ([]mcp.Content, error) {
			var in struct{ Message string }
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			var asked map[string]any
			if err := json.Unmarshal([]byte(schema), &asked); err != nil {
				return nil, err
			}
			res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: in.Message + " ", RequestedSchema: asked})
			if err != nil {
				return nil, err
			}
			b, err := json.Marshal(res.Content)
			return []mcp.Content{plain(fmt.Sprintf("User response: action=%s, content=%s", res.Action, b))}, err
		})
	}
}

func (f fixtures) resources() {
	add := func(fill func(*mcp.ResourceContents)) mcp.ResourceHandler {
		return func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			c := &mcp.ResourceContents{URI: r.Params.URI, MIMEType: "text/plain"}
			fill(c)
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
		}
	}
	f.AddResource(&mcp.Resource{URI: "test://static-text", Name: "text"}, add(func(c *mcp.ResourceContents) { c.Text = "This is the content of the static text resource." }))
	f.AddResource(&mcp.Resource{URI: "test://static-binary", Name: "binary"}, add(func(c *mcp.ResourceContents) { c.MIMEType, c.Blob = "image/png", png }))
	f.AddResource(&mcp.Resource{URI: watchedURI, Name: "watched"}, add(func(c *mcp.ResourceContents) { c.Text = "Watched resource content" }))
	f.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template"}, add(func(c *mcp.ResourceContents) {
		id := strings.TrimSuffix(strings.TrimPrefix(c.URI, "test://template/"), "/data")
		b, _ := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
		c.MIMEType, c.Text = "application/json", string(b)
	}))
}

func (f fixtures) prompts() {
	add := func(name string, say func(args map[string]string) []mcp.Content, args ...string) {
		p := &mcp.Prompt{Name: name, Description: "of the suite"}
		for _, a := range args {
			p.Arguments = append(p.Arguments, &mcp.PromptArgument{Name: a, Description: "of the suite", Required: true})
		}
		f.AddPrompt(p, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			res := &mcp.GetPromptResult{}
			for _, c := range say(r.Params.Arguments) {
				res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: c})
			}
			return res, nil
		})
	}
	add("test_simple_prompt", func(map[string]string) []mcp.Content {
		return []mcp.Content{plain("This is a simple prompt for testing.")}
	})
	add("test_prompt_with_arguments", func(a map[string]string) []mcp.Content {
		return []mcp.Content{plain(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))}
	}, "arg1", "arg2")
	add("test_prompt_with_embedded_resource", func(a map[string]string) []mcp.Content {
		return []mcp.Content{
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: a["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}},
			plain("Please process the embedded resource above."),
		}
	}, "resourceUri")
	add("test_prompt_with_image", func(map[string]string) []mcp.Content {
		return []mcp.Content{&mcp.ImageContent{Data: png, MIMEType: "image/png"}, plain("Please analyze the image above.")}
	})
}

// TestConformance runs all scenarios of the MCP conformance suite for servers, over the
// whole server as "atenia serve" has it. ATENIA_MCP_CONFORMANCE is the command of the suite.
func TestConformance(t *testing.T) {
	suite := os.Getenv("ATENIA_MCP_CONFORMANCE")
	if suite == "" {
		t.Skip("ATENIA_MCP_CONFORMANCE is not set: docs/serving.md says how to get it")
	}
	s, err := serve.New(serve.Config{MCP: fixtures{}.config()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	web := httptest.NewServer(s)
	defer web.Close()
	c := exec.CommandContext(t.Context(), "sh", "-c", suite+` server --suite all --url "$0"`, web.URL+"/mcp")
	c.Dir = t.TempDir()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	passed := 0
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "✓ ") {
			passed++
		}
	}
	t.Logf("%d scenarios passed", passed)
	if passed < 32 { // of version 0.1.16
		t.Errorf("%d scenarios passed, want 32\n%s", passed, out[max(0, len(out)-4000):])
	}
}
