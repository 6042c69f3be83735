package serve

import "testing"

// TestEcho: a response has every field that Open Responses requires of one (ResponseResource,
// version 2.4), with what the request says.
func TestEcho(t *testing.T) {
	_, web := newServer(t, Config{})
	plain := create(t, web.URL+"/v1/responses", `{"input":"a","max_output_tokens":2}`)
	for _, name := range []string{
		"id", "object", "created_at", "completed_at", "status", "incomplete_details", "model", "previous_response_id", "instructions", "output", "error", "tools", "tool_choice",
		"truncation", "parallel_tool_calls", "text", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs", "temperature", "reasoning", "usage", "max_output_tokens",
		"max_tool_calls", "store", "background", "service_tier", "metadata", "safety_identifier", "prompt_cache_key",
	} {
		if _, ok := plain[name]; !ok {
			t.Errorf("a response has no %s", name)
		}
	}
	for _, name := range []string{"temperature", "top_p"} { // of the model's makers
		if _, ok := plain[name].(float64); !ok {
			t.Errorf("%s is %v", name, plain[name])
		}
	}
	const tool = `{"description":null,"name":"now","parameters":{"type":"object"},"strict":true,"type":"function"}`
	format := `{"description":null,"name":"x","schema":{"type":"boolean"},"strict":true,"type":"json_schema"}`
	for request, want := range map[string]string{
		`"temperature":0.5`: `0.5`, `"presence_penalty":0.25`: `0.25`, `"frequency_penalty":0.5`: `0.5`, `"top_p":0.5`: `0.5`, `"prompt_cache_key":"k"`: `"k"`,
		`"safety_identifier":"s"`: `"s"`, `"max_tool_calls":3`: `3`, `"top_logprobs":2`: `2`, `"tool_choice":"none"`: `"none"`, `"tools":[` + tool + `]`: `[` + tool + `]`,
		`"tool_choice":{"name":"now","type":"function"}`: `{"name":"now","type":"function"}`, `"text":{"format":` + format + `}`: `{"format":` + format + `}`,
		`"reasoning":{"effort":"low"}`: `{"effort":"low","summary":null}`,
	} {
		name := object(t, "{"+request+"}")
		body := `{"input":"a","max_output_tokens":30,` + request
		if _, own := name["tools"]; !own && name["text"] == nil {
			body += `,"tools":[` + tool + `]`
		}
		o := create(t, web.URL+"/v1/responses", body+`}`)
		for key := range name {
			if got := jsonOf(t, o[key]); got != want {
				t.Errorf("%s: the response says %s, want %s", request, got, want)
			}
		}
	}
	done := create(t, web.URL+"/v1/responses", `{"input":"a","text":{"format":`+format+`}}`)
	if done["status"] != "completed" || done["completed_at"] == nil || plain["completed_at"] != nil {
		t.Errorf("completed at %v, %v", done["completed_at"], plain["completed_at"])
	}
}
