package serve

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// goName finds names of the library and flags, which no client sends.
var goName = regexp.MustCompile(`config:|sampling:|Truncate|Speculate|Pooling|MaxTokens|MustCall|LogProbs|RepeatPenalty|Mirostat\.|Continue|--[a-z]`)

// An error about a field has the name by which it was sent, in every dialect, as its param
// too, and neither a name of the library nor a flag.
func TestNamesOfFields(t *testing.T) {
	_, web := newServer(t, Config{})
	const (
		sampling = "temperature=-1 top_p=2 min_p=2 typical_p=2 repeat_penalty=-7 repetition_penalty=-7 "
		limits   = `logit_bias={"1":101} stop=[""] speculate="zz" grammar="x" `
		schema   = `{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","required":5}}}`
		flat     = `{"type":"json_schema","name":"x","schema":{"type":"object","required":5}}`
		wrong    = `{"type":"object","properties":{"a":{"type":"object","required":5}}}`
	)
	dialects := []struct{ path, body, fields string }{
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"hi"}]`, sampling + limits + `n=0 max_tokens=-5 max_completion_tokens=-5 continue_final_message=true tool_choice="zz" top_logprobs=50,"logprobs":true messages=[{"role":"zz"}]:messages[0].role ` +
			`response_format=` + schema + ` tools=[{"type":"function","function":{"name":"g"}},{"type":"function","function":{"name":"f","parameters":` + wrong + `}}],"tool_choice":"required":tools[1].function.parameters:/properties/a/required tool_choice="required","tools":[{"type":"function","function":{"name":"f"}}],"grammar":"x"`},
		{"/v1/completions", `"prompt":"hi"`, sampling + limits + "n=0 max_tokens=-5 logprobs=50 best_of=5 suffix=\"x\" prompt=[-1] response_format=" + schema},
		{"/v1/responses", `"input":"hi"`, sampling + limits + `max_tokens=-5 max_output_tokens=-5 n=2 truncation="zz" conversation=5 metadata={"a":5} top_logprobs=50,"include":["message.output_text.logprobs"] top_logprobs=50 text={"format":` + flat + `}:text.format ` +
			`input=[{"role":"user","content":"hi"},{"role":"zz","content":"hi"}]:input[1].role ` +
			`tools=[{"type":"function","name":"f","parameters":` + wrong + `}],"tool_choice":"required":tools[0].parameters:/properties/a/required`},
		{"/v1/embeddings", `"input":"hi"`, `pooling="zz" prompt="zz" encoding_format="zz" dimensions=3`},
		{"/v1/messages", `"model":"default","max_tokens":1,"messages":[{"role":"user","content":"hi"}]`, `temperature=-1 top_p=2 max_tokens=-5 stop_sequences=[""] tool_choice={"type":"zz"} output_config={"format":{"type":"json_schema","schema":{"type":"object","required":5}}}:output_config.format ` +
			`tools=[{"name":"f","input_schema":` + wrong + `}],"tool_choice":{"type":"any"}:tools[0].input_schema:/properties/a/required`},
		{"/api/chat", `"model":"default","messages":[{"role":"user","content":"hi"}]`, `format={"type":"object","required":5} think="zz" top_logprobs=50,"logprobs":true ` +
			strings.ReplaceAll("temperature=-1 top_p=2 min_p=2 typical_p=2 repeat_penalty=-7 ", "=", `=}`) + `mirostat_tau=}-1,"mirostat":1 mirostat_eta=}-1,"mirostat":1 num_ctx=}99999999`},
	}
	for _, d := range dialects {
		for field := range strings.FieldsSeq(d.fields) {
			name, value, _ := strings.Cut(field, "=")
			pointer := ""
			if i := strings.LastIndex(value, ":/"); i > 0 {
				value, pointer = value[:i], value[i+1:]
			}
			want := name
			if m := regexp.MustCompile(`:([a-z]+[][a-z_.0-9]*)$`).FindStringSubmatch(value); m != nil && !strings.HasSuffix(value, ":true") {
				value, want = strings.TrimSuffix(value, m[0]), m[1]
			}
			sent := fmt.Sprintf("%q:%s", name, value)
			if inner, ok := strings.CutPrefix(value, "}"); ok {
				sent, want = fmt.Sprintf(`"options":{%q:%s}`, name, inner), "options."+name
				if name == "num_ctx" {
					want = name
				}
			}
			status, text := post(t, web.URL+d.path, "{"+d.body+","+sent+"}")
			var out struct{ Error json.RawMessage }
			if err := json.Unmarshal([]byte(text), &out); err != nil {
				t.Fatal(text)
			}
			var e struct{ Message, Param string }
			if json.Unmarshal(out.Error, &e) != nil {
				if json.Unmarshal(out.Error, &e.Message) != nil {
					t.Fatal(text)
				}
			}
			if status != 400 || !strings.Contains(e.Message, want) || !strings.Contains(e.Message, pointer) || goName.MatchString(strings.ReplaceAll(e.Message, "--ctx", "")) { // which the operator gave
				t.Errorf("%s %s: want %s: %d %s", d.path, sent, want, status, text)
			}
			if strings.HasPrefix(d.path, "/v1/") && d.path != "/v1/messages" && e.Param != want {
				t.Errorf("%s %s: param is %q, want %q", d.path, sent, e.Param, want)
			}
		}
	}
	long := strings.Repeat("dog ", 3000)
	for path, body := range map[string]string{
		"/api/embed": `{"model":"default","truncate":false,"input":[%q]}`, "/v1/embeddings": `{"input":[%q]}`,
	} {
		if status, text := post(t, web.URL+path, fmt.Sprintf(body, long)); status != 400 || !strings.Contains(text, `\"truncate\": true`) || goName.MatchString(text) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}
