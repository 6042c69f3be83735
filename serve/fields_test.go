package serve

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Fields of requests: every optional one takes null, what is not built is refused by
// name instead of dropped, and errors have the client's names.
func TestFieldsOfRequests(t *testing.T) {
	_, web := newServer(t, Config{Origins: []string{"https://page.example"}})
	nothing := func(names string) string {
		var b strings.Builder
		for name := range strings.FieldsSeq(names) {
			fmt.Fprintf(&b, ", %q: null", name)
		}
		return b.String()
	}
	const ask = "temperature top_p top_k min_p typical_p repeat_penalty repetition_penalty presence_penalty frequency_penalty logit_bias seed stop n ignore_eos speculate stream stream_options user store metadata service_tier parallel_tool_calls grammar guided_json min_tokens lora parse_special tools tool_choice "
	const chat = `{"max_tokens": 2, "messages": [{"role": "user", "content": "hi"}]`
	for path, body := range map[string]string{
		"/v1/chat/completions": chat + nothing(ask+"max_completion_tokens logprobs top_logprobs response_format reasoning_effort documents chat_template_kwargs continue_final_message add_generation_prompt"),
		"/v1/responses":        `{"max_output_tokens": 2, "input": "hi"` + nothing(ask+"instructions text reasoning previous_response_id conversation background truncation include top_logprobs max_tool_calls"),
		"/v1/completions":      `{"max_tokens": 2, "prompt": "hi"` + nothing(ask+"echo suffix logprobs"),
		"/v1/messages":         `{"model": "default", "max_tokens": 2, "messages": [{"role": "user", "content": "hi"}]` + nothing("system stop_sequences stream temperature top_p top_k tools tool_choice thinking output_config metadata"),
		"/api/chat":            `{"model": "default", "stream": false, "messages": [{"role": "user", "content": "hi", "images": null, "tool_calls": null}], "options": {"num_predict": 2, "temperature": null, "stop": null}` + nothing("tools format keep_alive think logprobs top_logprobs"),
	} {
		if status, out := post(t, web.URL+path, body+"}"); status != 200 {
			t.Errorf("%s with null: %d %s", path, status, out)
		}
	}
	for name, value := range map[string]string{
		"bad_words": `["a"]`, "top_n_sigma": `1`, "dynatemp_range": `0.5`, "mirostat": `2`, "mirostat_tau": `2`, "truncate_prompt_tokens": `5`,
		"guided_json": `{"type":"king"}`, "guided_regex": `"("`, "guided_choice": `[]`, "guided_grammar": `"a"`, "structured_outputs.json": `5`, "samplers": `["x"]`, "xtc_probability": `2`, "min_tokens": `-1`,
	} {
		for path, body := range map[string]string{"/v1/chat/completions": chat, "/v1/responses": `{"input": "hi"`, "/v1/completions": `{"prompt": "hi"`} {
			field, member, nested := strings.Cut(name, ".")
			sent := value
			if nested {
				sent = fmt.Sprintf("{%q: %s}", member, value)
			}
			status, out := post(t, web.URL+path, fmt.Sprintf("%s, %q: %s}", body, field, sent))
			if status != 400 || !strings.Contains(out, `"param":"`+field) {
				t.Errorf("%s %s: %d %s", path, name, status, out)
			}
		}
	}
	for _, c := range []struct{ path, body, param, message string }{
		{"/v1/chat/completions", chat + `, "temperature": "x"}`, "temperature", "temperature is a JSON string"},
		{"/v1/chat/completions", chat + `, "temperature": -1}`, "temperature", "temperature is -1, want"},
		{"/v1/chat/completions", `{"messages": [{"role": "user", "content": "hi", "tool_calls": [{"function": {"name": 5}}]}]}`, "messages", "messages.tool_calls.function.name is a JSON number"},
		{"/v1/chat/completions", chat + `, "stream_options": {"include_usage": 5}}`, "stream_options.include_usage", "stream_options.include_usage is"},
		{"/v1/chat/completions", chat + `, "repetition_penalty": -1}`, "repetition_penalty", "repetition_penalty is -1, want"},
		{"/api/chat", `{"model": "default", "messages": [], "options": {"temperature": "x"}}`, "", `"options.temperature is a JSON string`},
	} {
		status, out := post(t, web.URL+c.path, c.body)
		if status != 400 || !strings.Contains(out, c.message) || c.param != "" && !strings.Contains(out, `"param":"`+c.param) {
			t.Errorf("%s %s: %d %s", c.path, c.body, status, out)
		}
	}
	if status, out := post(t, web.URL+"/v1/chat/completions", `{"messages": [{"role": "user", "content": "hi"}], "grammar": "root ::= \"yes\" | \"no\""}`); status != 200 || !strings.Contains(out, `"content":"yes"`) && !strings.Contains(out, `"content":"no"`) {
		t.Errorf("a grammar: %d %s", status, out)
	}
	q, err := http.NewRequestWithContext(t.Context(), "OPTIONS", web.URL+"/v1/chat/completions", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Origin", "https://page.example")
	q.Header.Set("Access-Control-Request-Method", "POST")
	q.Header.Set("Access-Control-Request-Headers", "content-type, x-stainless-lang,x-other, X-Stainless-OS, anthropic-beta,anthropic-dangerous-direct-browser-access, OpenAI-Organization,other-anthropic-")
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	allowed := strings.Split(strings.ReplaceAll(resp.Header.Get("Access-Control-Allow-Headers"), " ", ""), ",")
	for name, may := range map[string]bool{
		"x-stainless-lang": true, "X-Stainless-OS": true, "anthropic-beta": true, "anthropic-dangerous-direct-browser-access": true, "OpenAI-Organization": true,
		"X-Api-Key": true, "Authorization": true, "x-other": false, "other-anthropic-": false,
	} {
		if slices.Contains(allowed, name) != may {
			t.Errorf("pages may send %v, %s: want %v", allowed, name, may)
		}
	}
	for request, want := range map[string]int{"GET /health HTTP/1.0\r\n\r\n": 200, "GET /health HTTP/1.0\r\nHost: evil.example\r\n\r\n": 403} {
		c, err := net.Dial("tcp", web.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, request)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != want {
			t.Errorf("%q: %v, %v", request, resp, err)
		}
		c.Close()
	}
}

// A body may begin with the mark that editors write into files.
func TestBodyMark(t *testing.T) {
	_, web := newServer(t, Config{})
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"max_tokens":1,"messages":[{"role":"user","content":"hi"}]}`, "/v1/completions": `{"max_tokens":1,"prompt":"hi"}`,
		"/v1/responses": `{"max_output_tokens":1,"input":"hi"}`, "/v1/messages": `{"model":"default","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}`,
		"/api/generate": `{"model":"default","prompt":"hi","options":{"num_predict":1}}`, "/tokenize": `{"content":"hi"}`,
	} {
		if status, text := post(t, web.URL+path, "\ufeff"+body); status != 200 {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"%s","version":"1"}}}`
	for name, want := range map[string]string{"plain": "atenia", "caf\xe9": fmt.Sprintf("not valid UTF-8 at byte %d", strings.Index(hello, "%s")+3)} {
		status, text := post(t, web.URL+"/mcp", "\ufeff"+fmt.Sprintf(hello, name), "Accept", "application/json, text/event-stream")
		if (status == 200) != (name == "plain") || !strings.Contains(text, want) {
			t.Errorf("/mcp from %q: %d %s", name, status, text)
		}
	}
}

// What would change an answer and is not built in a dialect is refused there by its name.
func TestUnbuilt(t *testing.T) {
	_, web := newServer(t, Config{})
	const all = "n best_of bad_words allowed_token_ids truncate_prompt_tokens length_penalty top_n_sigma guided_decoding_backend "
	bodies := map[string]string{
		"/v1/chat/completions": `{"max_tokens":1,"messages":[{"role":"user","content":"hi"}]`, "/v1/completions": `{"max_tokens":1,"prompt":"hi"`, "/v1/responses": `{"max_output_tokens":1,"input":"hi"`,
		"/v1/messages": `{"model":"default","max_tokens":1,"messages":[{"role":"user","content":"hi"}]`,
		"/api/chat":    `{"model":"default","stream":false,"messages":[{"role":"user","content":"hi"}]`, "/api/generate": `{"model":"default","stream":false,"prompt":"hi"`,
	}
	refused := func(path, body, name string) {
		t.Helper()
		if status, text := post(t, web.URL+path, body); status != 400 || !strings.Contains(text, name+" is") {
			t.Errorf("%s %s: %d %s", path, body, status, text)
		}
	}
	for path, body := range bodies {
		names := all
		switch {
		case path == "/v1/messages":
			names += "grammar response_format seed stop mirostat min_p logit_bias repeat_penalty"
		case strings.HasPrefix(path, "/api/"):
			names += "grammar response_format seed stop mirostat temperature"
		default:
			names += "mirostat mirostat_tau"
		}
		if path == "/v1/responses" {
			names += " response_format"
		}
		for name := range strings.FieldsSeq(names) {
			if name != "n" || path != "/v1/chat/completions" && path != "/v1/completions" {
				refused(path, fmt.Sprintf("%s,%q:2}", body, name), name)
			}
		}
		if status, text := post(t, web.URL+path, body+`,"n":1,"min_tokens":null,"guided_json":null}`); status != 200 {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	for _, path := range []string{"/api/chat", "/api/generate"} {
		for name := range strings.FieldsSeq(all + "grammar response_format repetition_penalty logit_bias") {
			refused(path, fmt.Sprintf(`%s,"options":{%q:2}}`, bodies[path], name), "options."+name)
		}
	}
	const object = `{"prompt":"Once","max_tokens":40,"response_format":{"type":"json_object"}`
	if status, text := post(t, web.URL+"/v1/completions", object+`,"n":2,"best_of":2}`); status != 200 || !strings.Contains(text, `"text":"{`) {
		t.Errorf("a completion in JSON: %d %s", status, text)
	}
}
