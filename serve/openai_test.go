package serve

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"atenia"
	"atenia/internal/golden/await"
)

const hello = `"messages":[{"role":"user","content":"Tell me about a dog."}]`

// TestChat: a whole answer has OpenAI's form, and streams of the same seed say the same.
func TestChat(t *testing.T) {
	noLeaks(t)
	_, web := newServer(t, Config{})
	for _, more := range []string{
		`"temperature":0`, `"temperature":1.2,"top_p":0.9,"top_k":50,"min_p":0.01`, `"n":3,"temperature":1`, `"stop":[" the","."]`,
		`"logit_bias":{"5":-100,"7":5},"presence_penalty":0.5,"frequency_penalty":0.25`, `"logprobs":true,"top_logprobs":2`, `"max_completion_tokens":3`,
	} {
		body := `{` + hello + `,"seed":7,"max_tokens":20,` + more
		status, text := post(t, web.URL+"/v1/chat/completions", body+"}")
		if status != 200 {
			t.Fatalf("%s: %d %s", more, status, text)
		}
		whole := object(t, text)
		if whole["object"] != "chat.completion" || at(t, whole, "choices", 0, "message", "role") != "assistant" {
			t.Errorf("%s: %s", more, text)
		}
		status, text = post(t, web.URL+"/v1/chat/completions", body+`,"stream":true,"stream_options":{"include_usage":true}}`)
		if status != 200 {
			t.Fatalf("%s: %d %s", more, status, text)
		}
		streamed := gather(t, events(t, text))
		choices := whole["choices"].([]any)
		if len(streamed.text) != len(choices) {
			t.Fatalf("%s: %d choices of %d", more, len(streamed.text), len(choices))
		}
		for i := range choices {
			if got, want := streamed.text[i], at(t, choices, i, "message", "content"); got != want {
				t.Errorf("%s: the stream of choice %d is %q, want %q", more, i, got, want)
			}
			if got, want := streamed.finish[i], at(t, choices, i, "finish_reason"); got != want {
				t.Errorf("%s: choice %d ended by %q, want %q", more, i, got, want)
			}
			if p, ok := at(t, choices, i, "logprobs").(map[string]any); ok {
				if got, want := fmt.Sprint(streamed.probs[i]), fmt.Sprint(p["content"]); got != want {
					t.Errorf("%s: log-probabilities %s, want %s", more, got, want)
				}
			}
		}
		// What is reused of the prompt depends on what went before.
		for _, key := range []string{"prompt_tokens", "completion_tokens", "total_tokens"} {
			if got, want := at(t, streamed.usage, key), at(t, whole, "usage", key); got != want || got == 0.0 {
				t.Errorf("%s: %s is %v, want %v", more, key, got, want)
			}
		}
	}
}

// A gathered is what the chunks of a stream add up to.
type gathered struct {
	text, finish map[int]string
	probs        map[int][]any
	usage        any
}

func gather(t *testing.T, chunks []string) gathered {
	t.Helper()
	g := gathered{map[int]string{}, map[int]string{}, map[int][]any{}, nil}
	if len(chunks) == 0 || chunks[len(chunks)-1] != "[DONE]" {
		t.Fatalf("the stream does not end with [DONE]: %q", chunks)
	}
	for _, c := range chunks[:len(chunks)-1] {
		o := object(t, c)
		if o["object"] != "chat.completion.chunk" {
			t.Fatalf("not a chunk: %s", c)
		}
		if o["usage"] != nil {
			g.usage = o["usage"]
			if len(o["choices"].([]any)) != 0 {
				t.Errorf("the chunk of usage has choices: %s", c)
			}
			continue
		}
		i := int(at(t, o, "choices", 0, "index").(float64))
		delta := at(t, o, "choices", 0, "delta").(map[string]any)
		_, known := g.text[i]
		if known != (delta["role"] == nil) {
			t.Errorf("the role belongs in the first chunk of a choice: %s", c)
		}
		text, _ := delta["content"].(string)
		g.text[i] += text
		if g.finish[i] != "" {
			t.Errorf("a chunk after the end: %s", c)
		}
		g.finish[i], _ = at(t, o, "choices", 0, "finish_reason").(string)
		if p, ok := at(t, o, "choices", 0, "logprobs").(map[string]any); ok {
			g.probs[i] = append(g.probs[i], p["content"].([]any)...)
		}
	}
	return g
}

// TestCompletions: the same for texts and ids to continue.
func TestCompletions(t *testing.T) {
	_, web := newServer(t, Config{})
	url := web.URL + "/v1/completions"
	for _, body := range []string{
		`{"prompt":"Once upon a time","temperature":0`, `{"prompt":["Once","Tom had"],"n":2,"seed":5,"max_tokens":8`,
		`{"prompt":"Once upon a time","echo":true,"logprobs":3,"temperature":0`, `{"prompt":[[5,6,7],[8]],"echo":true,"temperature":0`,
	} {
		status, text := post(t, url, body+"}")
		if status != 200 {
			t.Fatalf("%s: %d %s", body, status, text)
		}
		whole := object(t, text)
		_, text = post(t, url, body+`,"stream":true}`)
		said := map[int]string{}
		if !strings.HasSuffix(text, "data: [DONE]\n\n") {
			t.Errorf("%s: the stream ends with %q", body, text[max(0, len(text)-100):])
		}
		for _, c := range events(t, text) {
			if c != "[DONE]" {
				o := object(t, c)
				said[int(at(t, o, "choices", 0, "index").(float64))] += at(t, o, "choices", 0, "text").(string)
			}
		}
		for i, c := range whole["choices"].([]any) {
			if at(t, c, "text") != said[i] || said[i] == "" {
				t.Errorf("%s: the stream of choice %d is %q, want %q", body, i, said[i], at(t, c, "text"))
			}
		}
	}
	_, text := post(t, url, `{"prompt":"Once upon a time","echo":true,"temperature":0}`)
	if got := at(t, object(t, text), "choices", 0, "text").(string); !strings.HasPrefix(got, "Once upon a time") {
		t.Errorf("the echo is missing: %q", got)
	}
}

// TestSeveralPrompts: each answer of several prompts is the one that its prompt has alone with
// its seed, and the prompts count once, whole and as a stream.
func TestSeveralPrompts(t *testing.T) {
	_, web := newServer(t, Config{})
	url := web.URL + "/v1/completions"
	const usual = `,"max_tokens":8,"temperature":1.5`
	prompts := []string{`"Once"`, `"Tom had a"`, `"The dog"`}
	body := `{"prompt":[` + strings.Join(prompts, ",") + `],"n":2,"seed":5` + usual
	_, text := post(t, url, body+"}")
	whole := object(t, text)
	var usage any
	_, text = post(t, url, body+`,"stream":true,"stream_options":{"include_usage":true}}`)
	for _, c := range events(t, text) {
		if c != "[DONE]" {
			usage = object(t, c)["usage"]
		}
	}
	different := map[any]bool{}
	length := 0.0
	for i, prompt := range prompts {
		for k := range 2 {
			_, text := post(t, url, fmt.Sprintf(`{"prompt":%s,"seed":%d%s}`, prompt, 5+k, usual))
			alone := object(t, text)
			want, got := at(t, alone, "choices", 0, "text"), at(t, whole, "choices", 2*i+k, "text")
			if got != want || at(t, whole, "choices", 2*i+k, "index") != float64(2*i+k) {
				t.Errorf("answer %d of prompt %d is %q, alone %q", k, i, got, want)
			}
			if different[got] = true; k == 0 {
				length += at(t, alone, "usage", "prompt_tokens").(float64)
			}
		}
	}
	if len(different) != 6 {
		t.Errorf("answers are the same: %v", different)
	}
	for what, u := range map[string]any{"whole": whole["usage"], "stream": usage} {
		if at(t, u, "prompt_tokens") != length || at(t, u, "completion_tokens") != 48.0 || at(t, u, "total_tokens") != length+48 {
			t.Errorf("%s: the usage is %v, want prompts of %v", what, u, length)
		}
	}
}

// TestTextOffsets: log-probabilities of completions are those of the tokens that were chosen,
// and say where in the text each is, after an echo too; the chunks of a stream say the same.
func TestTextOffsets(t *testing.T) {
	_, web := newServer(t, Config{})
	url := web.URL + "/v1/completions"
	for _, more := range []string{"", `,"echo":true`} {
		body := `{"prompt":"Once upon a time","logprobs":2,"seed":3,"temperature":1` + more
		_, text := post(t, url, body+"}")
		choice := at(t, object(t, text), "choices", 0)
		said := at(t, choice, "text").(string)
		tokens, offsets := at(t, choice, "logprobs", "tokens").([]any), at(t, choice, "logprobs", "text_offset").([]any)
		probs, tops := at(t, choice, "logprobs", "token_logprobs").([]any), at(t, choice, "logprobs", "top_logprobs").([]any)
		if len(tokens) != 16 || len(offsets) != 16 || len(probs) != 16 || len(tops) != 16 {
			t.Fatalf("%d tokens, %d offsets, %d probabilities, %d of others", len(tokens), len(offsets), len(probs), len(tops))
		}
		other := 0 // tokens that are not the likeliest
		for i, top := range tops {
			top := top.(map[string]any)
			if len(top) != 2 {
				t.Errorf("%d likely tokens, want 2", len(top))
			}
			if p, ok := top[tokens[i].(string)]; ok && p != probs[i] {
				t.Errorf("%q has the log-probability %v, among the likeliest %v", tokens[i], probs[i], p)
			}
			for _, p := range top {
				if p.(float64) > probs[i].(float64) {
					other++
					break
				}
			}
		}
		if other == 0 {
			t.Error("all tokens are the likeliest, which shows too little")
		}
		for i, token := range tokens {
			if at := int(offsets[i].(float64)); at > len(said) || !strings.HasPrefix(said[at:], token.(string)) {
				t.Errorf("%s: token %q is not at %d of %q", more, token, at, said)
			}
		}
		var streamed []any
		_, text = post(t, url, body+`,"stream":true}`)
		for _, c := range events(t, text) {
			if c != "[DONE]" {
				if p, ok := at(t, object(t, c), "choices", 0, "logprobs").(map[string]any); ok {
					streamed = append(streamed, p["text_offset"].([]any)...)
				}
			}
		}
		if got, want := fmt.Sprint(streamed), fmt.Sprint(offsets); got != want {
			t.Errorf("%s: the stream has the offsets %s, want %s", more, got, want)
		}
	}
}

// TestTextOffsetsOfBytes: an offset counts characters of the text, and a token that is a part
// of a character is where that is.
func TestTextOffsetsOfBytes(t *testing.T) {
	_, web := newServer(t, Config{})
	body := `{"prompt":"Önce","echo":true,"max_tokens":20,"logprobs":1,"grammar":"root ::= \"aé日😀z\""`
	_, text := post(t, web.URL+"/v1/completions", body+"}")
	choice := at(t, object(t, text), "choices", 0)
	const want = "[4 5 5 6 6 6 7 7 7 7 8]" // of "aé日😀z" byte by byte, after four characters
	if said, got := at(t, choice, "text"), fmt.Sprint(at(t, choice, "logprobs", "text_offset")); said != "Önceaé日😀z" || !strings.HasPrefix(got, want[:len(want)-1]) {
		t.Errorf("%q has the offsets %s, want %s", said, got, want)
	}
	_, text = post(t, web.URL+"/v1/completions", body+`,"stream":true}`)
	var streamed []any
	for _, c := range events(t, text) {
		if c != "[DONE]" {
			if p, ok := at(t, object(t, c), "choices", 0, "logprobs").(map[string]any); ok {
				streamed = append(streamed, p["text_offset"].([]any)...)
			}
		}
	}
	if got := fmt.Sprint(streamed); !strings.HasPrefix(got, want[:len(want)-1]) {
		t.Errorf("the stream has the offsets %s, want %s", got, want)
	}
}

// TestTimeLimit: a request that takes longer than it may is an error, however many answers
// it has, and its stream has no end but that.
func TestTimeLimit(t *testing.T) {
	for _, n := range []int{8, 32} { // of whole contexts: more than any machine computes until the first token is sent
		for limit := range growing(t, 20*time.Millisecond) {
			s, web := newServer(t, Config{Timeout: limit, Open: atenia.Config{Slots: 1}})
			body := fmt.Sprintf(`{"prompt":"Once","ignore_eos":true,"max_tokens":100000,"temperature":1.5,"n":%d`, n)
			status, text := post(t, web.URL+"/v1/completions", body+"}")
			if status != 504 || at(t, object(t, text), "error", "code") != "timeout" {
				t.Fatalf("%d answers: %d %.200s", n, status, text)
			}
			status, text = post(t, web.URL+"/v1/completions", body+`,"stream":true}`)
			await.Until(t, "the end of all requests", func() bool { return s.host.Running() == 0 })
			if status == 504 { // before the stream began
				continue
			}
			all := events(t, text)
			if len(all) == 0 || !strings.Contains(all[len(all)-1], `"timeout"`) {
				t.Errorf("%d answers: the stream ends with %q", n, text[max(0, len(text)-200):])
			}
			break
		}
	}
}

// TestResponses: the items of a stream's last event are those of the whole response.
func TestResponses(t *testing.T) {
	_, web := newServer(t, Config{})
	url, body := web.URL+"/v1/responses", `{"input":"Tell me about a dog.","instructions":"Be kind.","temperature":0,"max_output_tokens":12`
	status, text := post(t, url, body+"}")
	if status != 200 {
		t.Fatal(status, text)
	}
	whole := object(t, text)
	want := at(t, whole, "output", 0, "content", 0, "text")
	_, text = post(t, url, body+`,"stream":true}`)
	var kinds []string
	said := ""
	for i, c := range events(t, text) {
		o := object(t, c)
		if o["sequence_number"] != float64(i) {
			t.Errorf("event %d has the number %v", i, o["sequence_number"])
		}
		kind := o["type"].(string)
		if len(kinds) == 0 || kinds[len(kinds)-1] != kind {
			kinds = append(kinds, kind)
		}
		if kind == "response.output_text.delta" {
			said += o["delta"].(string)
		}
		if kind == "response.completed" || kind == "response.incomplete" {
			if got := at(t, o, "response", "output", 0, "content", 0, "text"); got != want {
				t.Errorf("the stream ends with %q, want %q", got, want)
			}
		}
	}
	if said != want {
		t.Errorf("the pieces are %q, want %q", said, want)
	}
	order := "response.created response.in_progress response.output_item.added response.content_part.added response.output_text.delta " +
		"response.output_text.done response.content_part.done response.output_item.done response." + whole["status"].(string)
	if got := strings.Join(kinds, " "); got != order {
		t.Errorf("events are\n%s, want\n%s", got, order)
	}
}

// TestEmbeddings: vectors as numbers and packed are the same, and rerank says what the
// model cannot do.
func TestEmbeddings(t *testing.T) {
	_, web := newServer(t, Config{})
	status, text := post(t, web.URL+"/v1/embeddings", `{"input":["a dog","a cat"]}`)
	if status != 200 {
		t.Fatal(status, text)
	}
	v := at(t, object(t, text), "data", 1, "embedding").([]any)
	_, text = post(t, web.URL+"/v1/embeddings", `{"input":["a dog","a cat"],"encoding_format":"base64"}`)
	b, err := base64.StdEncoding.DecodeString(at(t, object(t, text), "data", 1, "embedding").(string))
	if err != nil || len(b) != 4*len(v) {
		t.Fatalf("%v: %d bytes of %d numbers", err, len(b), len(v))
	}
	if status, text := post(t, web.URL+"/v1/rerank", `{"query":"a","documents":["b",{"text":"c"}]}`); status != 400 || !strings.Contains(text, "no classifier") {
		t.Error(status, text)
	}
}

// TestTokens: ids go back to the same text.
func TestTokens(t *testing.T) {
	_, web := newServer(t, Config{})
	_, text := post(t, web.URL+"/tokenize", `{"content":"Once upon a time"}`)
	ids := strings.ReplaceAll(fmt.Sprint(object(t, text)["tokens"]), " ", ",")
	if _, back := post(t, web.URL+"/detokenize", `{"tokens":`+ids+`}`); object(t, back)["content"] != "Once upon a time" {
		t.Errorf("%s became %s", ids, back)
	}
}

// TestModels: the list and its entries; the first model is the default.
func TestModels(t *testing.T) {
	_, web := newServer(t, Config{Models: []Model{{Name: "a"}, {Name: "b"}}})
	_, text := get(t, web.URL+"/v1/models")
	for i, name := range []string{"a", "b"} {
		if got := at(t, object(t, text), "data", i, "id"); got != name {
			t.Errorf("model %d is %v, want %s", i, got, name)
		}
	}
	for name, want := range map[string]string{"b": "b", "default": "a"} {
		if _, text := get(t, web.URL+"/v1/models/"+name); object(t, text)["id"] != want {
			t.Errorf("%s is %s", name, text)
		}
		if _, text := post(t, web.URL+"/v1/completions", `{"model":"`+name+`","prompt":"A","max_tokens":1}`); object(t, text)["model"] != want {
			t.Errorf("%s answers as %s", name, text)
		}
	}
}

// TestErrors: what is wrong with a request is said in OpenAI's form.
func TestErrors(t *testing.T) {
	t.Parallel() // package http waits before it closes the connection of a large body
	_, web := newServer(t, Config{MaxBody: 1 << 20})
	long := strings.Repeat("once upon a time ", 4000)
	for _, c := range []struct {
		path, body string
		status     int
		code, text string
	}{
		{"/v1/chat/completions", `{"model":"gpt-9",` + hello + `}`, 404, "model_not_found", `"gpt-9" does not exist`},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"` + long + `"}]}`, 400, "context_length_exceeded", "maximum context length is"},
		{"/v1/completions", `{"prompt":"` + long + `"}`, 400, "context_length_exceeded", "maximum context length is"},
		{"/v1/responses", `{"input":"` + long + `"}`, 400, "context_length_exceeded", "maximum context length is"},
		{"/v1/chat/completions", `{"messages":[]}`, 400, "invalid_value", "messages is empty"},
		{"/v1/chat/completions", `{"messages":[{"role":"king","content":"a"}]}`, 400, "invalid_value", `role is "king"`},
		{"/v1/chat/completions", `{` + hello + `,"temperature":-1}`, 400, "invalid_value", "temperature is -1"},
		{"/v1/chat/completions", `{` + hello + `,"temperature":"hot"}`, 400, "invalid_value", "temperature is a JSON string at byte"},
		{"/v1/chat/completions", `{` + hello + `,"n":1000}`, 400, "invalid_value", "want 1 to"},
		{"/v1/chat/completions", `{` + hello + `,"logit_bias":{"99999999":1}}`, 400, "invalid_value", "logit_bias"},
		{"/v1/chat/completions", `{` + hello, 400, "invalid_value", "not JSON"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]}`, 400, "invalid_value", "data: URL"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`, 400, "unsupported_value", "image"},
		{"/v1/completions", `{"prompt":[[99999999]]}`, 400, "invalid_value", "ids below"},
		{"/v1/completions", `{"prompt":[[2048]]}`, 400, "invalid_value", "ids below"},
		{"/v1/completions", `{"prompt":["a","b"],"n":33}`, 400, "invalid_value", "more than 64 answers"},
		{"/v1/completions", `{"prompt":"a","stop":["a",""]}`, 400, "invalid_value", "empty"},
		{"/v1/completions", `{"prompt":"a","stop":["` + strings.Repeat(`a","`, 64) + `a"]}`, 400, "invalid_value", "at most 64"},
		{"/v1/completions", `{"prompt":{}}`, 400, "invalid_value", "prompt is"},
		{"/v1/responses", `{"input":"a","previous_response_id":"x"}`, 404, "previous_response_not_found", "Send the whole conversation as input"},
		{"/v1/embeddings", `{"input":[]}`, 400, "invalid_value", "input has 0 texts"},
		{"/v1/audio/transcriptions", `{}`, 400, "invalid_value", "multipart"},
		{"/v1/nothing", `{}`, 404, "not_found", "/v1/nothing"},
		{"/v1/models", `{}`, 405, "method_not_allowed", "takes GET"},
		{"/v1/completions", `{"prompt":"` + strings.Repeat("a", 1<<20) + `"}`, 413, "body_too_large", "1048576 bytes"},
	} {
		for _, stream := range []string{"", `"stream":true,`} {
			status, text := post(t, web.URL+c.path, strings.Replace(c.body, "{", "{"+stream, 1))
			if c.body == `{}` || c.path == "/v1/embeddings" {
				status, text = post(t, web.URL+c.path, c.body)
			}
			e := at(t, object(t, text), "error")
			if status != c.status || at(t, e, "code") != c.code || !strings.Contains(at(t, e, "message").(string), c.text) {
				t.Errorf("%s %.60s: %d %s, want %d %s %q", c.path, c.body, status, text, c.status, c.code, c.text)
			}
			if field, _, _ := strings.Cut(c.body[2:], `"`); c.code == "context_length_exceeded" && at(t, e, "param") != field {
				t.Errorf("%s: the parameter is %v, not %s", c.path, at(t, e, "param"), field)
			}
		}
	}
}

// TestFormats: answers follow a schema, whole and streamed; a schema that cannot be followed
// is the client's mistake.
func TestFormats(t *testing.T) {
	_, web := newServer(t, Config{})
	url := web.URL + "/v1/chat/completions"
	schema := `{"type":"object","properties":{"name":{"type":"string","maxLength":8},"age":{"type":"integer","minimum":0,"maximum":99}},"required":["name","age"],"additionalProperties":false}`
	body := `{` + hello + `,"temperature":1.5,"seed":3,"max_tokens":120,"response_format":{"type":"json_schema","json_schema":{"name":"dog","strict":true,"schema":` + schema + `}}`
	status, text := post(t, url, body+"}")
	if status != 200 {
		t.Fatal(status, text)
	}
	said := at(t, object(t, text), "choices", 0, "message", "content").(string)
	o := object(t, said)
	if _, ok := o["name"].(string); !ok || len(o) != 2 || at(t, object(t, text), "choices", 0, "finish_reason") != "stop" {
		t.Errorf("%s is not of the schema", said)
	}
	_, text = post(t, url, body+`,"stream":true}`)
	if got := gather(t, events(t, text)).text[0]; got != said {
		t.Errorf("the stream is %q, want %q", got, said)
	}
	_, text = post(t, url, `{`+hello+`,"seed":3,"max_tokens":60,"response_format":{"type":"json_object"}}`)
	if said := at(t, object(t, text), "choices", 0, "message", "content").(string); !strings.HasPrefix(strings.TrimSpace(said), "{") {
		t.Errorf("%q is no object", said)
	}
	for _, bad := range []string{`{"type":"yaml"}`, `{"type":"json_schema"}`, `{"type":"json_schema","json_schema":{"schema":{"type":"king"}}}`} {
		if status, text := post(t, url, `{`+hello+`,"response_format":`+bad+`}`); status != 400 {
			t.Errorf("%s: %d %s", bad, status, text)
		}
	}
	heavy := `{"type":"json_schema","json_schema":{"schema":{"properties":{"a":{"type":"string","pattern":"^(?:a|b)*a(?:a|b){40}$"}}}}}`
	if status, text := post(t, url, `{`+hello+`,"response_format":`+heavy+`}`); status != 400 || !strings.Contains(text, "/properties/a") || !strings.Contains(text, "16384 states") {
		t.Errorf("a schema of too many states: %d %s", status, text)
	}
}

// TestToolChoice: a call that a request demands is made, with arguments of its schema,
// whole and streamed, in every dialect that can demand one.
func TestToolChoice(t *testing.T) {
	_, web := newServer(t, Config{})
	parameters := `{"type":"object","properties":{"city":{"enum":["Oslo","Bergen"]},"days":{"type":"integer","minimum":1,"maximum":9}},"required":["city","days"],"additionalProperties":false}`
	fits := func(arguments string) bool {
		o := object(t, arguments)
		city, days := o["city"], o["days"]
		return len(o) == 2 && (city == "Oslo" || city == "Bergen") && days.(float64) >= 1 && days.(float64) <= 9
	}
	tools := `"tools":[{"type":"function","function":{"name":"weather","parameters":` + parameters + `}},{"type":"function","function":{"name":"news","parameters":` + parameters + `}}]`
	url := web.URL + "/v1/chat/completions"
	for _, choice := range []string{`"required"`, `{"type":"function","function":{"name":"news"}}`} {
		body := `{` + hello + `,"temperature":1.5,"seed":4,"max_tokens":200,` + tools + `,"tool_choice":` + choice
		status, text := post(t, url, body+"}")
		if status != 200 {
			t.Fatal(status, text)
		}
		answer := object(t, text)
		call := at(t, answer, "choices", 0, "message", "tool_calls", 0, "function").(map[string]any)
		if choice != `"required"` && call["name"] != "news" || !fits(call["arguments"].(string)) || at(t, answer, "choices", 0, "finish_reason") != "tool_calls" {
			t.Errorf("%s: %s", choice, text)
		}
		_, text = post(t, url, body+`,"stream":true}`)
		arguments := ""
		for _, e := range events(t, text) {
			if e == "[DONE]" {
				break
			}
			for _, c := range object(t, e)["choices"].([]any) {
				calls, _ := c.(map[string]any)["delta"].(map[string]any)["tool_calls"].([]any)
				for _, part := range calls {
					more, _ := part.(map[string]any)["function"].(map[string]any)["arguments"].(string)
					if arguments += more; part.(map[string]any)["id"] != nil && more != "" {
						t.Errorf("%s: a call begins with the arguments %q", choice, more)
					}
				}
			}
		}
		if arguments != call["arguments"] {
			t.Errorf("%s: the stream has %q, want %q", choice, arguments, call["arguments"])
		}
	}
	for _, choice := range []string{`{"type":"any"}`, `{"type":"tool","name":"news"}`} {
		status, text := post(t, web.URL+"/v1/messages", `{"model":"default","messages":[{"role":"user","content":"Hello."}],"max_tokens":200,"temperature":1,"tools":[{"name":"weather","input_schema":`+parameters+`},{"name":"news","input_schema":`+parameters+`}],"tool_choice":`+choice+`}`)
		if status != 200 {
			t.Fatal(status, text)
		}
		answer := object(t, text)
		block := at(t, answer, "content", 0).(map[string]any)
		input, err := json.Marshal(block["input"])
		if err != nil || block["type"] != "tool_use" || answer["stop_reason"] != "tool_use" || !fits(string(input)) {
			t.Errorf("%s: %s", choice, text)
		}
	}
}

// The bytes of a log-probability are the token's, which may be a part of a character.
func TestTokenBytes(t *testing.T) {
	tok, err := atenia.OpenTokenizer("")
	if err != nil {
		t.Fatal(err)
	}
	const part = 0xe2 // begins a character of three bytes
	id := int32(0)
	for ; int(id) < tok.Size(); id++ {
		if b, ok := tok.Bytes(id); ok && string(b) == string([]byte{part}) {
			break
		}
	}
	_, web := newServer(t, Config{})
	status, text := post(t, web.URL+"/v1/chat/completions", fmt.Sprintf(`{"messages":[{"role":"user","content":"hi"}],"logprobs":true,"temperature":0,"max_tokens":1,"logit_bias":{"%d":100}}`, id))
	if status != 200 {
		t.Fatal(status, text)
	}
	if got := fmt.Sprint(at(t, object(t, text), "choices", 0, "logprobs", "content", 0, "bytes")); got != fmt.Sprint([]int{part}) {
		t.Errorf("bytes %s of token %d: %s", got, id, text)
	}
}
