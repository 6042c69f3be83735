package clients

import (
	"errors"
	"net/http/httptest"
	"testing"

	"atenia/serve"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// TestOpenAI: OpenAI's Go client talks to the server: chat, streams, tools, embeddings,
// errors. Those in Python and JavaScript are in serve/testdata/clients.
func TestOpenAI(t *testing.T) {
	s, err := serve.New(serve.Config{Keys: []string{"key-of-clients"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	web := httptest.NewServer(s)
	defer web.Close()
	client := openai.NewClient(option.WithBaseURL(web.URL+"/v1"), option.WithAPIKey("key-of-clients"), option.WithMaxRetries(0))
	ctx := t.Context()
	params := openai.ChatCompletionNewParams{
		Model: "default", MaxTokens: openai.Int(16), Temperature: openai.Float(0),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Tell me about a dog.")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: "weather", Parameters: openai.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]string{"type": "string"}}},
		})},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	whole, err := client.Chat.Completions.New(ctx, params)
	if err != nil {
		t.Fatal(err)
	}
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	var sum openai.ChatCompletionAccumulator
	for stream.Next() {
		if !sum.AddChunk(stream.Current()) {
			t.Error("a chunk does not fit those before")
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if a, b := whole.Choices[0].Message.Content, sum.Choices[0].Message.Content; a != b || a == "" {
		t.Errorf("the stream says %q, want %q", b, a)
	}
	if sum.Usage.CompletionTokens != 16 || whole.Usage.CompletionTokens != 16 {
		t.Errorf("usage is %d and %d", sum.Usage.CompletionTokens, whole.Usage.CompletionTokens)
	}
	r, err := client.Responses.New(ctx, responses.ResponseNewParams{
		Model: "default", MaxOutputTokens: openai.Int(16), Temperature: openai.Float(0),
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Tell me about a dog.")},
	})
	if err != nil || r.OutputText() == "" || r.Usage.OutputTokens != 16 {
		t.Errorf("%v: %+v", err, r)
	}
	v, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{Model: "default", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"a dog", "a cat"}}})
	if err != nil || len(v.Data) != 2 || len(v.Data[1].Embedding) == 0 {
		t.Errorf("%v: %+v", err, v)
	}
	models, err := client.Models.List(ctx)
	if err != nil || len(models.Data) != 1 {
		t.Errorf("%v: %+v", err, models)
	}
	params.Model = "none-such"
	_, err = client.Chat.Completions.New(ctx, params)
	if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != 404 || e.Code != "model_not_found" {
		t.Errorf("%v", err)
	}
}
