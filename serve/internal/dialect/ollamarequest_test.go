package dialect

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"atenia"
)

var ollamaLimitsOf = ollamaLimits{name: "m", context: 4096, sampling: atenia.Sampling{Temperature: 0.8, TopK: 40}}

func parseOllama[T any](t *testing.T, body string) *T {
	t.Helper()
	in := new(T)
	if err := json.Unmarshal([]byte(body), in); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return in
}

// TestOllamaConversation reads what a chat can say.
func TestOllamaConversation(t *testing.T) {
	in := parseOllama[ollamaChatRequest](t, `{"model": "m", "think": "low", "messages": [
		{"role": "system", "content": "Be kind."}, {"role": "user", "content": "What is this?", "images": ["AAEC"]},
		{"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [{"id": "c1", "function": {"name": "see", "arguments": {"n": 1}}}]},
		{"role": "tool", "tool_call_id": "c1", "content": "a cat"}, {"role": "tool", "tool_name": "hear", "content": "meow"},
		{"role": "assistant", "content": "A c"}],
		"tools": [{"type": "function", "function": {"name": "see", "description": "Looks.", "parameters": {"type": "object"}}}]}`)
	c, err := in.conversation(ollamaLimitsOf)
	if err != nil {
		t.Fatal(err)
	}
	want := []atenia.Message{
		{Role: "system", Content: "Be kind."},
		{Role: "user", Parts: []atenia.ContentPart{{Image: []byte{0, 1, 2}}, {Text: "What is this?"}}},
		{Role: "assistant", Reasoning: "Hm.", ToolCalls: []atenia.ToolCall{{ID: "c1", Name: "see", Arguments: json.RawMessage(`{"n": 1}`)}}},
		{Role: "tool", ToolCallID: "c1", Name: "see", Content: "a cat"}, {Role: "tool", Name: "hear", Content: "meow"},
		{Role: "assistant", Content: "A c"},
	}
	if !reflect.DeepEqual(c.Messages, want) || !c.Continue {
		t.Errorf("got\n%+v %v, want\n%+v", c.Messages, c.Continue, want)
	}
	if w := []atenia.Tool{{Name: "see", Description: "Looks.", Parameters: json.RawMessage(`{"type": "object"}`)}}; !reflect.DeepEqual(c.Tools, w) {
		t.Errorf("tools %+v, want %+v", c.Tools, w)
	}
	if w := map[string]any{"enable_thinking": true, "reasoning_effort": "low"}; !reflect.DeepEqual(c.Variables, w) {
		t.Errorf("variables %v, want %v", c.Variables, w)
	}
}

// TestOllamaOptions reads every option that counts.
func TestOllamaOptions(t *testing.T) {
	for _, c := range []struct {
		options string
		max     int
		want    atenia.Sampling
	}{
		{`{"seed": 3, "num_predict": 1}`, 1, atenia.Sampling{Temperature: 0.8, TopK: 40, Seed: 3}},
		{`{"seed": 3}`, 0, atenia.Sampling{Temperature: 0.8, TopK: 40, Seed: 3}},
		{`{"seed": 3, "num_predict": 7, "num_ctx": 4096, "num_gpu": 99, "temperature": 0, "top_k": 5, "top_p": 0.5, "min_p": 0.1, "typical_p": 0.7, "repeat_penalty": 1.5, "presence_penalty": 0.2, "frequency_penalty": 0.3, "repeat_last_n": -1}`, 7,
			atenia.Sampling{Seed: 3, TopK: 5, TopP: 0.5, MinP: 0.1, Typical: 0.7, RepeatPenalty: 1.5, PresencePenalty: 0.2, FrequencyPenalty: 0.3, RepeatLast: -1}},
		{`{"seed": 3, "num_predict": -2, "repeat_penalty": 1.5, "repeat_last_n": 0, "mirostat": 2, "mirostat_eta": 0.2}`, 0,
			atenia.Sampling{Temperature: 0.8, TopK: 40, Seed: 3, Mirostat: atenia.Mirostat{Tau: 5, Eta: 0.2}}},
	} {
		var o atenia.Options
		if err := parseOllama[ollamaCommon](t, `{"options": `+c.options+`}`).answer(&o, ollamaLimitsOf); err != nil {
			t.Errorf("%s: %v", c.options, err)
		}
		if !reflect.DeepEqual(o.Sampling, c.want) || o.MaxTokens != c.max {
			t.Errorf("%s: %d %+v, want %d %+v", c.options, o.MaxTokens, o.Sampling, c.max, c.want)
		}
	}
	var a, b atenia.Options
	in := parseOllama[ollamaCommon](t, `{"options": {"seed": -1, "stop": "END"}}`)
	if in.answer(&a, ollamaLimitsOf) != nil || in.answer(&b, ollamaLimitsOf) != nil || a.Sampling.Seed == b.Sampling.Seed || !reflect.DeepEqual(a.Stop, []string{"END"}) {
		t.Errorf("a random seed is %d and %d, stop is %q", a.Sampling.Seed, b.Sampling.Seed, a.Stop)
	}
}

// TestPrompt: generate takes the model's template unless it is raw.
func TestOllamaPrompt(t *testing.T) {
	in := parseOllama[ollamaGenerateRequest](t, `{"prompt": "Hi.", "system": "Be kind.", "think": false}`)
	c, p, err := in.prompt(ollamaLimitsOf, true)
	if want := []atenia.Message{{Role: "system", Content: "Be kind."}, {Role: "user", Content: "Hi."}}; err != nil || p != nil || !reflect.DeepEqual(c.Messages, want) || c.Variables["enable_thinking"] != false {
		t.Errorf("%+v %+v %v", c, p, err)
	}
	if c, p, err = in.prompt(ollamaLimitsOf, false); err != nil || c != nil || p.Text != "Be kind.\n\nHi." {
		t.Errorf("without a template: %+v %+v %v", c, p, err)
	}
	in.Raw = true
	if c, p, err = in.prompt(ollamaLimitsOf, true); err != nil || c != nil || p.Text != "Hi." {
		t.Errorf("raw: %+v %+v %v", c, p, err)
	}
}

// TestRefused: what cannot be done is an error that says why.
func TestOllamaRefused(t *testing.T) {
	const hi = `"messages": [{"role": "user", "content": "Hi."}]`
	for _, c := range []struct{ body, want string }{
		{`{` + hi + `, "options": {"num_ctx": 9999}}`, "9999 is more than the 4096 tokens"},
		{`{` + hi + `, "logprobs": true, "top_logprobs": 21}`, "top_logprobs"},
		{`{` + hi + `, "tools": [{"type": "function"}]}`, "no name"},
		{`{` + hi + `, "think": "hard"}`, "think"},
		{`{` + hi + `, "keep_alive": "long"}`, "keep_alive"},
		{`{` + hi + `, "format": "xml"}`, "format"},
		{`{` + hi + `, "format": 7}`, "format"},
		{`{` + hi + `, "options": {"stop": 7}}`, "neither a string nor an array"},
		{`{"messages": [{"role": "critic"}]}`, `"critic" is none of`},
		{`{"messages": [{"role": "user", "images": ["!"]}]}`, "images[0] is not base64"},
		{`{"messages": [{"role": "user", "images": [""]}]}`, "images[0] is empty"},
		{`{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}]}`, "no object"},
	} {
		var in ollamaChatRequest
		err := json.Unmarshal([]byte(c.body), &in)
		if err == nil {
			_, err = in.conversation(ollamaLimitsOf)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want …%s…", c.body, err, c.want)
		}
	}
	for body, want := range map[string]string{
		`{"prompt": "a", "suffix": "b"}`:    "suffix is not supported",
		`{"prompt": "a", "template": "b"}`:  "template is not supported",
		`{"prompt": "a", "context": [1]}`:   "/api/chat",
		`{"prompt": "a", "images": ["!"]}`:  "not base64",
		`{"prompt": "a", "format": "html"}`: "format",
	} {
		if _, _, err := parseOllama[ollamaGenerateRequest](t, body).prompt(ollamaLimitsOf, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want …%s…", body, err, want)
		}
	}
}

// TestKeepAlive reads seconds and durations.
func TestKeepAlive(t *testing.T) {
	for text, want := range map[string]time.Duration{`0`: 0, `90`: 90 * time.Second, `"1h30m"`: 90 * time.Minute, `-1`: -time.Second, `"-1m"`: -time.Minute} {
		var k keepAlive
		if err := json.Unmarshal([]byte(text), &k); err != nil || time.Duration(k) != want {
			t.Errorf("%s is %v (%v), want %v", text, time.Duration(k), err, want)
		}
	}
	var k keepAlive
	if err := json.Unmarshal([]byte("1e300"), &k); err != nil || k <= 0 {
		t.Errorf("a long time is %v (%v)", time.Duration(k), err)
	}
}

// FuzzOllamaRequest reads any body as every kind of request.
func FuzzOllamaRequest(f *testing.F) {
	f.Add([]byte(`{"model": "m", "think": true, "keep_alive": "5m", "messages": [{"role": "user", "content": "Hi.", "images": ["AAEC"]}, {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}], "tools": [{"function": {"name": "f"}}]}`))
	f.Add([]byte(`{"model": "m", "prompt": "a", "system": "b", "raw": true, "format": {"type": "object"}, "options": {"seed": -1, "stop": ["a"], "num_ctx": 4096}, "logprobs": true}`))
	f.Add([]byte(`{"model": "m", "input": ["a", "b"], "dimensions": 3, "truncate": false}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var c ollamaChatRequest
		if json.Unmarshal(body, &c) == nil && len(c.Messages) > 0 {
			if got, err := c.conversation(ollamaLimitsOf); err == nil && len(got.Messages) != len(c.Messages) {
				t.Errorf("%d messages of %d", len(got.Messages), len(c.Messages))
			}
		}
		var g ollamaGenerateRequest
		if json.Unmarshal(body, &g) == nil {
			c, p, err := g.prompt(ollamaLimitsOf, true)
			if err == nil && (c == nil) == (p == nil) {
				t.Error("neither or both of a conversation and a prompt")
			}
		}
		var e ollamaEmbedRequest
		json.Unmarshal(body, &e)
	})
}
