package dialect

import (
	"net/http"
	"strings"
	"testing"
)

// TestOpenAI asks the embedded model at every endpoint, as a whole and as a stream.
func TestOpenAI(t *testing.T) {
	url := server(t)
	const user = `"messages":[{"role":"user","content":"Tell me a story."}]`
	const weather = `{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}`
	for _, c := range []struct {
		path, body string
		status     int
		want       string // parts that stand in the response, one after the other
	}{
		{"/v1/chat/completions", `{"max_tokens":3,"temperature":0,` + user + `}`, 200, `"object":"chat.completion"|"content":|"refusal":null|"finish_reason":"length"|"completion_tokens":3`},
		{"/v1/chat/completions", `{"max_tokens":3,"temperature":0,"stream":true,"stream_options":{"include_usage":true},` + user + `}`, 200, `data: |"delta":{"role":"assistant","content":""}|"finish_reason":"length"|"choices":[],"usage"|data: [DONE]`},
		{"/v1/chat/completions", `{"max_tokens":2,"n":2,"logprobs":true,"top_logprobs":2,` + user + `}`, 200, `"index":0|"top_logprobs":[{"token"|"index":1|"completion_tokens":4`},
		{"/v1/chat/completions", `{"max_tokens":60,"seed":4,"temperature":0,"tool_choice":"required","tools":[` + weather + `],` + user + `}`, 200, `"content":null|"tool_calls":[{"id":"|"name":"weather","arguments":"{|"finish_reason":"tool_calls"`},
		{"/v1/chat/completions", `{"max_tokens":60,"seed":4,"temperature":0,"stream":true,"tool_choice":"required","tools":[` + weather + `],` + user + `}`, 200, `"tool_calls":[{"index":0,"id":"|"name":"weather","arguments":""}|"tool_calls":[{"index":0,"function":{"arguments":"{|"finish_reason":"tool_calls"`},
		{"/v1/chat/completions", `{"max_tokens":0,` + user + `}`, 400, `max_tokens is 0, want 1 or more|"param":"max_tokens"`},
		{"/v1/chat/completions", `{"n":0,` + user + `}`, 400, `n is 0, want 1 to 64`},
		{"/v1/chat/completions", `{"stop":[""],` + user + `}`, 400, `a stop text is empty|"param":"stop"`},
		{"/v1/chat/completions", `{"logprobs":true,"top_logprobs":21,` + user + `}`, 400, `top_logprobs is 21, want at most 20`},
		{"/v1/completions", `{"prompt":"Once","max_tokens":2,"temperature":0,"echo":true,"logprobs":1}`, 200, `"object":"text_completion"|"text":"Once|"tokens":[|"text_offset":[4|"finish_reason":"length"`},
		{"/v1/completions", `{"prompt":["Once","Then"],"max_tokens":2,"temperature":0,"stream":true,"stream_options":{"include_usage":true}}`, 200, `data: |"text":|"completion_tokens":4|data: [DONE]`},
		{"/v1/completions", `{"prompt":[[1,99999999]]}`, 400, `prompt has the token 99999999`},
		{"/v1/responses", `{"input":"Once","max_output_tokens":3,"temperature":0}`, 200, `"object":"response"|"status":"incomplete"|"reason":"max_output_tokens"|"type":"output_text"|"output_tokens":3`},
		{"/v1/responses", `{"input":"Once","max_output_tokens":3,"temperature":0,"stream":true}`, 200, `event: response.created|event: response.output_item.added|event: response.output_text.delta|event: response.output_item.done|event: response.incomplete`},
		{"/v1/responses", `{"input":"Once","previous_response_id":"resp_1"}`, 404, `Send the whole conversation as input`},
		{"/v1/embeddings", `{"input":["a","b"],"encoding_format":"base64"}`, 200, `"object":"list"|"index":1,"embedding":"`},
		{"/v1/embeddings", `{"input":[]}`, 400, `input has 0 texts`},
		{"/v1/rerank", `{"query":"a","documents":["b"],"top_n":0}`, 400, `top_n is 0, want 1 or more`},
		{"/tokenize", `{"content":"Once upon"}`, 200, `"count":2`},
		{"/detokenize", `{"tokens":[-1]}`, 400, `tokens[0] is -1`},
		{"/v1/audio/transcriptions", `{}`, 400, `want a multipart form`},
		{"/v1/load_lora_adapter", `{"lora_name":"a","lora_path":"b"}`, 403, `--adapter-dir`},
	} {
		status, _, b := post(t, url+c.path, c.body)
		rest, ok := string(b), status == c.status
		for part := range strings.SplitSeq(c.want, "|") {
			_, after, found := strings.Cut(rest, part)
			if rest = after; !found {
				ok = false
				t.Errorf("no %s", part)
			}
		}
		if !ok {
			t.Errorf("%s %s: %d %s, want %d %s", c.path, c.body, status, b, c.status, c.want)
		}
	}
	for path, want := range map[string]string{"/v1/models": `"id":"atenia-story"`, "/v1/models/default": `"object":"model"`, "/lora-adapters": "[]"} {
		q, err := http.NewRequest("GET", url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if status, _, b := send(t, q); status != http.StatusOK || !strings.Contains(string(b), want) {
			t.Errorf("%s: %d %s", path, status, b)
		}
	}
}
