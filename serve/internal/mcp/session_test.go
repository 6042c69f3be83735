package mcp

//lint:file-ignore SA1019 logging and sampling are part of the protocols before 2026-07-28, which are tested here

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"atenia/internal/golden/await"
)

// TestSubscribe: who subscribed to a model's resource hears of its loads, and nobody
// subscribes to what is not there.
func TestSubscribe(t *testing.T) {
	heard := make(chan string, 100)
	srv := New(testConfig(t))
	s := join(t, srv, &sdk.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { heard <- r.Params.URI }})
	for _, uri := range []string{"atenia://models/none", "atenia://models/", "file:///etc/passwd", ""} {
		if err := s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err == nil {
			t.Errorf("%q can be subscribed to", uri)
		}
	}
	want := []string{"atenia://models", "atenia://decisions/cold"}
	for _, uri := range want {
		if err := s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
	}
	srv.Changed("cold")
	var got []string
	for range want {
		got = append(got, await.Value(t, "news of each that is subscribed to", heard))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("heard %v, want %v", got, want)
	}
	srv.Close()
	srv.Changed("cold") // after which nobody is told
	if len(heard) > 0 {
		t.Errorf("heard %s after the end", <-heard)
	}
}

// TestChangedWhileClosing: a model that is loaded while the server closes is told of before
// Close returns, or not at all. The race detector finds what is not.
func TestChangedWhileClosing(t *testing.T) {
	c := testConfig(t)
	for range 50 {
		srv := New(c)
		begun := make(chan bool)
		var all sync.WaitGroup
		all.Go(func() {
			close(begun)
			srv.Changed("cold")
		})
		<-begun
		srv.Close()
		srv.mu.Lock()
		if srv.telling {
			t.Error("Close did not wait for a notification")
		}
		srv.mu.Unlock()
		all.Wait()
	}
}

// TestComplete: names of models are completed by prefix, and nothing else is.
func TestComplete(t *testing.T) {
	c := testConfig(t)
	var names []string
	for range 150 {
		names = append(names, fmt.Sprintf("%c%d", 'a'+rand.IntN(2), rand.IntN(1000)))
	}
	c.Names = func() []string { return names }
	s := join(t, New(c), nil)
	for prefix := range map[string]int{"": 0, "a": 0, "b1": 0, "none": 0} {
		var want []string
		for _, n := range names {
			if strings.HasPrefix(n, prefix) {
				want = append(want, n)
			}
		}
		for _, ref := range []*sdk.CompleteReference{{Type: "ref/prompt", Name: "diagnose"}, {Type: "ref/resource", URI: "atenia://decisions/{+name}"}} {
			arg := map[string]string{"ref/prompt": "model", "ref/resource": "name"}[ref.Type]
			res, err := s.Complete(t.Context(), &sdk.CompleteParams{Ref: ref, Argument: sdk.CompleteParamsArgument{Name: arg, Value: prefix}})
			if err != nil {
				t.Fatal(err)
			}
			got := res.Completion
			if !slices.Equal(got.Values, want[:min(100, len(want))]) || got.Total != len(want) || got.HasMore != (len(want) > 100) {
				t.Errorf("%q: %v of %d, want %v", prefix, got.Values, got.Total, want)
			}
		}
		res, err := s.Complete(t.Context(), &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "other"}, Argument: sdk.CompleteParamsArgument{Name: "model", Value: prefix}})
		if err != nil || len(res.Completion.Values) > 0 {
			t.Errorf("another prompt: %v, %v", res, err)
		}
	}
}

// TestPrompt: the prompt has the decisions about the model that it names.
func TestPrompt(t *testing.T) {
	s := connect(t, testConfig(t), nil)
	for _, args := range []map[string]string{nil, {"model": "story"}} {
		res, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "diagnose", Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		r := res.Messages[0].Content.(*sdk.EmbeddedResource).Resource
		read, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "atenia://decisions/story"})
		if err != nil {
			t.Fatal(err)
		}
		var a, b decisionView
		if json.Unmarshal([]byte(r.Text), &a) != nil || json.Unmarshal([]byte(read.Contents[0].Text), &b) != nil || a.Weights != b.Weights || a.Because != b.Because || a.Name != "story" || r.URI != read.Contents[0].URI {
			t.Errorf("the prompt has %s, the resource %s", r.Text, read.Contents[0].Text)
		}
	}
	if _, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "diagnose", Arguments: map[string]string{"model": "none"}}); err == nil {
		t.Error("a model that is not there has decisions")
	}
}

// TestExtra: what a program adds is there beside the package's own, and a panic in
// it is an error of its request alone, that tells nobody what it said.
func TestExtra(t *testing.T) {
	c := testConfig(t)
	var added *sdk.Server
	c.Extra.Add = func(s *sdk.Server) {
		added = s
		s.AddTool(&sdk.Tool{Name: "broken", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { panic("planted") })
		s.AddPrompt(&sdk.Prompt{Name: "broken"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) { panic("planted") })
	}
	c.Extra.Complete = func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) { panic("planted") }
	c.Extra.Subscribe = func(context.Context, *sdk.SubscribeRequest) error { panic("planted") }
	changed := make(chan bool, 10)
	s := join(t, New(c), &sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- true }})
	for what, f := range map[string]func() error{
		"tool": func() error {
			_, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "broken"})
			return err
		},
		"prompt": func() error {
			_, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "broken"})
			return err
		},
		"completion": func() error {
			_, err := s.Complete(t.Context(), &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "broken"}, Argument: sdk.CompleteParamsArgument{Name: "x"}})
			return err
		},
		"subscription": func() error { return s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "x://y"}) },
	} {
		if err := f(); err == nil || strings.Contains(err.Error(), "planted") || !strings.Contains(err.Error(), "internal error") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if text, failed := invoke(t, s, "generate", `{"prompt":"Once","max_tokens":2}`); failed || text == "" {
		t.Errorf("after panics: %q", text)
	}
	added.RemoveTools("broken")
	await.Value(t, "news that the tools changed", changed)
}

// TestLog: a client that sets a level hears how an answer came to be, without its text.
func TestLog(t *testing.T) {
	heard := make(chan string, 10)
	s := connect(t, testConfig(t), &sdk.ClientOptions{LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) {
		b, _ := json.Marshal(r.Params.Data)
		heard <- string(b)
	}})
	invoke(t, s, "generate", `{"prompt":"Once upon a time","max_tokens":3}`)
	if err := s.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "info"}); err != nil {
		t.Fatal(err)
	}
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "generate", Arguments: json.RawMessage(`{"prompt":"Once upon a time","max_tokens":3}`)})
	if err != nil {
		t.Fatal(err)
	}
	line := await.Value(t, "a line of the log", heard)
	if id, _ := res.Meta["atenia/request"].(string); id == "" || !strings.Contains(line, id) || strings.Contains(line, "Once") {
		t.Errorf("heard %s of request %v", line, res.Meta)
	}
	if len(heard) > 0 {
		t.Errorf("heard also %s", <-heard)
	}
}
