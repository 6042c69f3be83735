package serve

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestOtherNames: an answer has the form that vLLM's and llama-server's fields ask for, in every
// dialect, and only one field may say it.
func TestOtherNames(t *testing.T) {
	_, web := newServer(t, Config{})
	bodies := map[string]string{
		"/v1/chat/completions": `{"max_tokens":60,"temperature":1.2,` + hello, "/v1/completions": `{"max_tokens":60,"temperature":1.2,"prompt":"hi"`,
		"/v1/responses": `{"max_output_tokens":60,"temperature":1.2,"input":"hi"`, "/completion": `{"n_predict":60,"temperature":1.2,"prompt":"hi"`,
		"/v1/messages": `{"model":"default","max_tokens":60,"temperature":1.2,"messages":[{"role":"user","content":"hi"}]`,
		"/api/chat":    `{"model":"default","stream":false,"messages":[{"role":"user","content":"hi"}],"options":{"num_predict":60,"temperature":1.2`,
	}
	said := func(path, text string) string {
		t.Helper()
		o := object(t, text)
		switch path {
		case "/v1/chat/completions":
			return at(t, o, "choices", 0, "message", "content").(string)
		case "/v1/completions":
			return at(t, o, "choices", 0, "text").(string)
		case "/v1/responses":
			return at(t, o, "output", 0, "content", 0, "text").(string)
		case "/completion":
			return o["content"].(string)
		case "/v1/messages":
			return at(t, o, "content", 0, "text").(string)
		}
		return at(t, o, "message", "content").(string)
	}
	number := `{"type":"integer","minimum":10,"maximum":99}`
	for _, c := range []struct{ fields, want string }{
		{`"guided_json":` + number, `[0-9]{2}`}, {`"json_schema":` + number, `[0-9]{2}`}, {`"structured_outputs":{"json":` + number + `}`, `[0-9]{2}`},
		{`"guided_json":"{\"type\":\"boolean\"}"`, `true|false`},
		{`"guided_regex":"[a-c]{3}-\\d"`, `[a-c]{3}-\d`}, {`"structured_outputs":{"regex":"x|yy"}`, `x|yy`},
		{`"guided_choice":["yes","no \"maybe\"","a\\b\n"]`, `yes|no "maybe"|a\\b\n`}, {`"structured_outputs":{"choice":["left","right"]}`, `left|right`},
		{`"guided_grammar":"root ::= \"a\" [0-9]"`, `a[0-9]`}, {`"structured_outputs":{"grammar":"root ::= \"b\""}`, `b`},
	} {
		whole := regexp.MustCompile(`^(?:` + c.want + `)$`)
		for path, body := range bodies {
			end := "}"
			if path == "/api/chat" {
				end = "}}"
			}
			status, text := post(t, web.URL+path, body+","+c.fields+end)
			if status != 200 || !whole.MatchString(said(path, text)) {
				t.Errorf("%s %s: %d %s", path, c.fields, status, text)
			}
			if status, text := post(t, web.URL+path, body+","+c.fields+`,"guided_regex":"q","guided_choice":["r"]`+end); status != 400 || !strings.Contains(text, "leave one") {
				t.Errorf("%s %s and another: %d %s", path, c.fields, status, text)
			}
		}
	}
	for format, want := range map[string]string{`{"type":"regex","pattern":"[ab]{4}"}`: `[ab]{4}`, `{"type":"grammar","grammar":"root ::= \"z\""}`: `z`} {
		status, text := post(t, web.URL+"/v1/chat/completions", bodies["/v1/chat/completions"]+`,"response_format":`+format+"}")
		if status != 200 || !regexp.MustCompile(`^(?:`+want+`)$`).MatchString(said("/v1/chat/completions", text)) {
			t.Errorf("%s: %d %s", format, status, text)
		}
	}
}

// TestSamplingNames: min_tokens, stop_token_ids, samplers, dry_* and xtc_* do what they say, and an
// answer with them is verified by its receipt.
func TestSamplingNames(t *testing.T) {
	_, web := newServer(t, Config{})
	url := web.URL + "/v1/completions"
	ask := func(more string) (text string, tokens float64, ids []any) {
		t.Helper()
		status, body := post(t, url, `{"prompt":"Once upon a time","temperature":0,"receipt":true,`+more+`}`)
		if status != 200 {
			t.Fatalf("%s: %d %s", more, status, body)
		}
		receipt := receiptOf(t, body)
		if _, v, text := verdictOf(t, web.URL, receipt, ""); v["equal"] != true {
			t.Errorf("%s: %s of %s", more, text, receipt)
		}
		o := object(t, body)
		return at(t, o, "choices", 0, "text").(string), at(t, o, "usage", "completion_tokens").(float64), object(t, string(receipt))["answer"].([]any)
	}
	plain, _, ids := ask(`"max_tokens":16`)
	third := int(ids[2].(float64))
	if text, n, _ := ask(fmt.Sprintf(`"max_tokens":16,"stop_token_ids":[%d]`, third)); n != 3 || !strings.HasPrefix(plain, text) {
		t.Errorf("stopped by its third token %d: %q of %v tokens", third, text, n)
	}
	if text, n, now := ask(fmt.Sprintf(`"max_tokens":16,"min_tokens":5,"stop_token_ids":[%d]`, third)); n < 6 || int(now[2].(float64)) == third {
		t.Errorf("the third token may not come before five: %q of %v tokens", text, n)
	}
	if text, _, _ := ask(`"max_tokens":60,"dry_multiplier":5,"dry_allowed_length":1,"dry_sequence_breakers":[]`); text == "" {
		t.Error("nothing said without repetitions")
	}
	// Almost greedy, without what is probable: the second most probable, at least.
	if _, _, odd := ask(`"max_tokens":4,"temperature":0.01,"seed":1,"xtc_probability":1,"xtc_threshold":0.000000001,"top_p":1,"top_k":0`); odd[0] == ids[0] {
		t.Errorf("what is probable was not excluded: %v", odd)
	}
	if one, _, _ := ask(`"max_tokens":16,"temperature":3,"seed":2,"samplers":["top_k","temperature"],"top_k":1`); one != plain {
		t.Errorf("one of one token: %q, want %q", one, plain)
	}
	if text, _, _ := ask(`"max_tokens":16,"temperature":3,"seed":2,"samplers":"temperature","top_k":1`); text == plain {
		t.Errorf("without the stage top-k: %q", text)
	}
}
