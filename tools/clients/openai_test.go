package clients

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"atenia/internal/golden/await"
	"atenia/serve"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

const key = "key-of-clients"

// connect starts a server with the embedded model and returns it with a client.
func connect(t *testing.T, c serve.Config) (*serve.Server, openai.Client) {
	c.Keys = []string{key}
	s, err := serve.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return s, openai.NewClient(option.WithBaseURL(web.URL+"/v1"), option.WithAPIKey(key), option.WithMaxRetries(0))
}

// TestOpenAI: OpenAI's Go client talks to the server: chat, streams, tools, schemas,
// embeddings, errors. Those in Python and JavaScript are in serve/testdata/clients.
func TestOpenAI(t *testing.T) {
	_, client := connect(t, serve.Config{})
	for _, script := range []struct {
		name string
		run  func(*testing.T, *openai.Client)
	}{
		{"chat", chat}, {"stream", stream}, {"tools", tools}, {"schema", schema}, {"responses", respond}, {"embeddings", embeddings}, {"errors", fail},
	} {
		t.Run(script.name, func(t *testing.T) { script.run(t, &client) })
	}
}

// asked returns a request for a short answer.
func asked() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "default", MaxTokens: openai.Int(16), Temperature: openai.Float(0),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Tell me about a dog.")},
	}
}

// whole returns an answer that must not fail.
func whole(t *testing.T, client *openai.Client, p openai.ChatCompletionNewParams) *openai.ChatCompletion {
	t.Helper()
	c, err := client.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// streamed returns what the client makes of the stream of an answer, which must not fail.
func streamed(t *testing.T, client *openai.Client, p openai.ChatCompletionNewParams) *openai.ChatCompletion {
	t.Helper()
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	s := client.Chat.Completions.NewStreaming(t.Context(), p)
	var sum openai.ChatCompletionAccumulator
	for s.Next() {
		if !sum.AddChunk(s.Current()) {
			t.Error("a chunk does not fit those before")
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return &sum.ChatCompletion
}

func chat(t *testing.T, client *openai.Client) {
	c := whole(t, client, asked())
	if m := c.Choices[0].Message; c.Object != "chat.completion" || m.Role != "assistant" || m.Content == "" {
		t.Errorf("%+v", c)
	}
	if u := c.Usage; u.CompletionTokens != 16 || u.PromptTokens == 0 || u.TotalTokens != u.PromptTokens+16 || c.Choices[0].FinishReason != "length" {
		t.Errorf("usage is %+v, the end %q", u, c.Choices[0].FinishReason)
	}
	p := asked()
	p.MaxTokens, p.N, p.Logprobs, p.TopLogprobs, p.Seed = openai.Int(4), openai.Int(2), openai.Bool(true), openai.Int(3), openai.Int(1)
	c = whole(t, client, p)
	if len(c.Choices) != 2 || c.Choices[1].Index != 1 {
		t.Fatalf("%+v", c)
	}
	for _, choice := range c.Choices {
		said := ""
		for _, l := range choice.Logprobs.Content {
			said += l.Token
			if len(l.TopLogprobs) != 3 || l.Logprob > 0 || l.TopLogprobs[0].Token != l.Token || l.TopLogprobs[0].Logprob != l.Logprob { // the choice is greedy
				t.Errorf("%+v", l)
			}
		}
		if len(choice.Logprobs.Content) != 4 || strings.TrimSpace(said) != strings.TrimSpace(choice.Message.Content) {
			t.Errorf("the log-probabilities are of %q, the answer is %q", said, choice.Message.Content)
		}
	}
	models, err := client.Models.List(t.Context())
	if err != nil || len(models.Data) != 1 {
		t.Fatalf("%v: %+v", err, models)
	}
	if m, err := client.Models.Get(t.Context(), "default"); err != nil || m.ID == "" {
		t.Errorf("%v: %+v", err, m)
	}
}

func stream(t *testing.T, client *openai.Client) {
	for _, stop := range []openai.ChatCompletionNewParamsStopUnion{{}, {OfStringArray: []string{"."}}} {
		p := asked()
		p.Stop = stop
		if stop.OfStringArray != nil {
			p.MaxTokens = openai.Int(200)
		}
		a, b := whole(t, client, p), streamed(t, client, p)
		if a.Choices[0].Message.Content != b.Choices[0].Message.Content || b.Choices[0].Message.Content == "" {
			t.Errorf("the stream says %q, want %q", b.Choices[0].Message.Content, a.Choices[0].Message.Content)
		}
		if a.Choices[0].FinishReason != b.Choices[0].FinishReason || (a.Choices[0].FinishReason == "stop") != (stop.OfStringArray != nil) {
			t.Errorf("the ends are %q and %q", a.Choices[0].FinishReason, b.Choices[0].FinishReason)
		}
		if a.Usage.CompletionTokens != b.Usage.CompletionTokens || a.Usage.PromptTokens != b.Usage.PromptTokens {
			t.Errorf("the usages are %+v and %+v", a.Usage, b.Usage)
		}
	}
	p := openai.CompletionNewParams{Model: "default", MaxTokens: openai.Int(8), Temperature: openai.Float(0), Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("Once")}}
	want, err := client.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	s, text := client.Completions.NewStreaming(t.Context(), p), ""
	for s.Next() {
		for _, c := range s.Current().Choices {
			text += c.Text
		}
	}
	if err := s.Err(); err != nil || text != want.Choices[0].Text || text == "" {
		t.Errorf("%v: the stream says %q, want %q", err, text, want.Choices[0].Text)
	}
}

// weather is a tool.
var weather = shared.FunctionDefinitionParam{
	Name: "weather", Description: openai.String("of a city"),
	Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}},
}

// city returns the argument of a call of weather.
func city(t *testing.T, arguments string) string {
	t.Helper()
	var a struct{ City *string }
	if err := json.Unmarshal([]byte(arguments), &a); err != nil || a.City == nil {
		t.Fatalf("the arguments are %s: %v", arguments, err)
	}
	return *a.City
}

func tools(t *testing.T, client *openai.Client) {
	usual := asked()
	usual.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(weather)}
	usual.MaxTokens, usual.Temperature, usual.Seed, usual.ParallelToolCalls = openai.Int(200), openai.Float(1), openai.Int(4), openai.Bool(true)
	for _, choice := range []openai.ChatCompletionToolChoiceOptionUnionParam{
		{OfAuto: openai.String("required")}, openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: "weather"}),
	} {
		p := usual
		p.ToolChoice = choice
		a, b := whole(t, client, p).Choices[0], streamed(t, client, p).Choices[0]
		if a.FinishReason != "tool_calls" || b.FinishReason != a.FinishReason || len(a.Message.ToolCalls) == 0 || len(b.Message.ToolCalls) != len(a.Message.ToolCalls) {
			t.Fatalf("%+v, streamed %+v", a, b)
		}
		for i, call := range a.Message.ToolCalls {
			city(t, call.Function.Arguments)
			if part := b.Message.ToolCalls[i].Function; call.ID == "" || call.Function.Name != "weather" || part.Name != call.Function.Name || part.Arguments != call.Function.Arguments {
				t.Errorf("%+v, streamed %+v", call.Function, part)
			}
		}
	}
	// Two calls of one turn, with their results.
	p := usual
	p.MaxTokens = openai.Int(4)
	said := openai.ChatCompletionAssistantMessageParam{}
	p.Messages = slices.Clone(p.Messages)
	p.Messages = append(p.Messages, openai.ChatCompletionMessageParamUnion{OfAssistant: &said})
	for i, place := range []string{"Bern", "Rome"} {
		id := "call_" + strconv.Itoa(i)
		said.ToolCalls = append(said.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: id, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: "weather", Arguments: `{"city":"` + place + `"}`},
		}})
		p.Messages = append(p.Messages, openai.ToolMessage("sunny", id))
	}
	before := usual
	before.MaxTokens = openai.Int(4)
	if a, b := whole(t, client, p), whole(t, client, before); a.Choices[0].FinishReason == "" || a.Usage.PromptTokens <= b.Usage.PromptTokens {
		t.Errorf("the calls and their results are not in the prompt: %+v, without them %+v", a.Usage, b.Usage)
	}
}

// dog is a JSON Schema.
var dog = map[string]any{
	"type": "object", "additionalProperties": false, "required": []string{"size", "old", "legs"},
	"properties": map[string]any{
		"size": map[string]any{"enum": []string{"small", "large"}}, "old": map[string]any{"type": "boolean"},
		"legs": map[string]any{"type": "integer", "minimum": 0, "maximum": 4},
	},
}

// isDog fails the test if a text is not of that schema.
func isDog(t *testing.T, text string) {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	_, old := got["old"].(bool)
	legs, whole := got["legs"].(float64)
	if !slices.Equal(slices.Sorted(maps.Keys(got)), []string{"legs", "old", "size"}) || got["size"] != "small" && got["size"] != "large" ||
		!old || !whole || legs != math.Trunc(legs) || legs < 0 || legs > 4 {
		t.Errorf("%q is not of the schema", text)
	}
}

func schema(t *testing.T, client *openai.Client) {
	p := asked()
	p.MaxTokens, p.Temperature = openai.Int(200), openai.Float(1.5)
	p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "dog", Strict: openai.Bool(true), Schema: dog}}
	for seed := range int64(5) {
		p.Seed = openai.Int(seed)
		a, b := whole(t, client, p).Choices[0], streamed(t, client, p).Choices[0]
		isDog(t, a.Message.Content)
		if a.FinishReason != "stop" || b.FinishReason != "stop" || b.Message.Content != a.Message.Content {
			t.Errorf("%+v, streamed %+v", a, b)
		}
	}
	p.N = openai.Int(3)
	a, b := whole(t, client, p), streamed(t, client, p)
	if len(a.Choices) != 3 || len(b.Choices) != 3 {
		t.Fatalf("%+v, streamed %+v", a, b)
	}
	for i, choice := range a.Choices {
		isDog(t, choice.Message.Content)
		if b.Choices[i].Message.Content != choice.Message.Content {
			t.Errorf("answer %d is %q, streamed %q", i, choice.Message.Content, b.Choices[i].Message.Content)
		}
	}
	p = asked()
	p.MaxTokens, p.Seed = openai.Int(200), openai.Int(1)
	p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	c := whole(t, client, p).Choices[0]
	if c.FinishReason != "length" && !json.Valid([]byte(c.Message.Content)) || !strings.HasPrefix(strings.TrimSpace(c.Message.Content), "{") {
		t.Errorf("%+v", c)
	}
}

func respond(t *testing.T, client *openai.Client) {
	p := responses.ResponseNewParams{
		Model: "default", MaxOutputTokens: openai.Int(16), Temperature: openai.Float(0),
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Tell me about a dog.")},
	}
	r, err := client.Responses.New(t.Context(), p)
	if err != nil || r.OutputText() == "" || r.Usage.OutputTokens != 16 || r.Status != "incomplete" {
		t.Fatalf("%v: %+v", err, r)
	}
	s, text := client.Responses.NewStreaming(t.Context(), p), ""
	var last responses.ResponseStreamEventUnion
	for s.Next() {
		if last = s.Current(); last.Type == "response.output_text.delta" {
			text += last.Delta
		}
	}
	if err := s.Err(); err != nil || text != r.OutputText() || last.Type != "response.incomplete" || last.Response.OutputText() != text {
		t.Errorf("%v: the stream says %q and ends with %s, want %q", err, text, last.Type, r.OutputText())
	}
	p.MaxOutputTokens, p.Temperature = openai.Int(200), openai.Float(1.5)
	q := p
	q.Text.Format.OfJSONSchema = &responses.ResponseFormatTextJSONSchemaConfigParam{Name: "dog", Strict: openai.Bool(true), Schema: dog}
	if r, err = client.Responses.New(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	isDog(t, r.OutputText())
	p.Tools = []responses.ToolUnionParam{responses.ToolParamOfFunction("weather", weather.Parameters, true)}
	p.ToolChoice.OfToolChoiceMode = openai.Opt(responses.ToolChoiceOptionsRequired)
	if r, err = client.Responses.New(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Output, func(o responses.ResponseOutputItemUnion) bool { return o.Type == "function_call" })
	if i < 0 {
		t.Fatalf("there is no call: %s", r.RawJSON())
	}
	call := r.Output[i].AsFunctionCall()
	if city(t, call.Arguments); call.Name != "weather" || call.CallID == "" {
		t.Errorf("%+v", call)
	}
}

func embeddings(t *testing.T, client *openai.Client) {
	p := openai.EmbeddingNewParams{Model: "default", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"a dog", "a cat"}}}
	v, err := client.Embeddings.New(t.Context(), p)
	if err != nil || len(v.Data) != 2 || len(v.Data[1].Embedding) == 0 || v.Data[1].Index != 1 || v.Usage.PromptTokens == 0 {
		t.Fatalf("%v: %+v", err, v)
	}
	p.Input = openai.EmbeddingNewParamsInputUnion{OfString: openai.String("a cat")}
	one, err := client.Embeddings.New(t.Context(), p)
	if err != nil || len(one.Data) != 1 {
		t.Fatalf("%v: %+v", err, one)
	}
	if !slices.Equal(one.Data[0].Embedding, v.Data[1].Embedding) || slices.Equal(v.Data[0].Embedding, v.Data[1].Embedding) {
		t.Errorf("the second vector is not that of its text")
	}
}

// problem returns the error of a request, which must be one of the API.
func problem(t *testing.T, ctx context.Context, client *openai.Client, p openai.ChatCompletionNewParams) *openai.Error {
	t.Helper()
	_, err := client.Chat.Completions.New(ctx, p)
	e, ok := errors.AsType[*openai.Error](err)
	if !ok {
		t.Fatalf("no error of the API: %v", err)
	}
	if e.Code == "" || e.Type == "" || e.Message == "" || e.Response.Header.Get("X-Request-Id") == "" {
		t.Errorf("fields are missing: %s, %v", e.RawJSON(), e.Response.Header)
	}
	return e
}

func fail(t *testing.T, client *openai.Client) {
	for _, c := range []struct {
		name        string
		change      func(*openai.ChatCompletionNewParams)
		status      int
		code, param string // "" = any
	}{
		{"model", func(p *openai.ChatCompletionNewParams) { p.Model = "none-such" }, 404, "model_not_found", "model"},
		{"temperature", func(p *openai.ChatCompletionNewParams) { p.Temperature = openai.Float(-1) }, 400, "", "temperature"},
		{"long prompt", func(p *openai.ChatCompletionNewParams) {
			p.Messages = append(slices.Clone(p.Messages), openai.UserMessage(strings.Repeat("word ", 20000)))
		}, 400, "context_length_exceeded", ""},
		{"long body", func(p *openai.ChatCompletionNewParams) {
			p.Messages = []openai.ChatCompletionMessageParamUnion{openai.UserMessage(strings.Repeat("a", 33<<20))}
		}, 413, "body_too_large", ""},
	} {
		p := asked()
		c.change(&p)
		if e := problem(t, t.Context(), client, p); e.StatusCode != c.status || c.code != "" && e.Code != c.code || c.param != "" && e.Param != c.param {
			t.Errorf("%s: %d %q of %q: %s", c.name, e.StatusCode, e.Code, e.Param, e.Message)
		}
	}
	other := openai.NewClient(append(slices.Clone(client.Options), option.WithAPIKey("wrong-key"))...)
	if e := problem(t, t.Context(), &other, asked()); e.StatusCode != 401 {
		t.Errorf("a wrong key: %d", e.StatusCode)
	}
}

// TestOpenAILater: a client is told to come again by a server that is busy, and by one that
// shuts down and still finishes what runs.
func TestOpenAILater(t *testing.T) {
	s, client := connect(t, serve.Config{MaxRequests: 1})
	// A stream that is not read: once all buffers are full the server waits for its client.
	ctx, cancel := context.WithCancel(t.Context())
	held := client.Completions.NewStreaming(ctx, openai.CompletionNewParams{
		Model: "default", MaxTokens: openai.Int(400), N: openai.Int(64), Logprobs: openai.Int(5), Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("Once")},
	}, option.WithJSONSet("ignore_eos", true))
	if !held.Next() {
		t.Fatal(held.Err())
	}
	later := func(status int, code string) {
		t.Helper()
		e := problem(t, t.Context(), &client, asked())
		if after, err := strconv.Atoi(e.Response.Header.Get("Retry-After")); e.StatusCode != status || e.Code != code || err != nil || after < 1 {
			t.Errorf("%d %q, after %d s: %v", e.StatusCode, e.Code, after, err)
		}
	}
	later(429, "too_many_requests")
	drained := make(chan error)
	go func() { drained <- s.Drain(t.Context()) }()
	await.Until(t, "a server that drains", func() bool {
		_, err := client.Chat.Completions.New(t.Context(), asked())
		e, ok := errors.AsType[*openai.Error](err)
		return ok && e.StatusCode == 503
	})
	later(503, "shutting_down")
	cancel()
	held.Close()
	if err := <-drained; err != nil {
		t.Error(err)
	}
}
