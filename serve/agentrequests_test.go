package serve

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
)

// postHead is post, which also returns a header of the response.
func postHead(t *testing.T, url, body, header string) (int, string, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(b), a.Header.Get(header)
}

// TestClaudeCode: what Claude Code sends is answered: a billing header that changes, a message of
// the system in mid-conversation, tools of Anthropic's service.
func TestClaudeCode(t *testing.T) {
	_, web := newServer(t, Config{})
	long := strings.Repeat("Once upon a time there was a small dog. ", 8)
	body := func(billing, more string) string {
		return `{"model":"default","max_tokens":4,"temperature":0,"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=` + billing + `; cch=` + billing + `;"},
			{"type":"text","text":"` + long + `","cache_control":{"type":"ephemeral"}}],
			"messages":[{"role":"user","content":[{"type":"text","text":"Hello."}]},{"role":"assistant","content":"Hi."},
			{"role":"system","content":[{"type":"text","text":"Be brief."}]},{"role":"user","content":"Go on."}` + more + `],
			"tools":[{"name":"Bash","description":"runs","input_schema":{"type":"object","properties":{"command":{"type":"string"}}},"defer_loading":true},
			{"type":"web_search_20250305","name":"web_search","max_uses":8},{"type":"bash_20250124","name":"bash"}],
			"tool_choice":{"type":"auto"},"metadata":{"user_id":"u"},"context_management":{"edits":[]},"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}}`
	}
	status, text, left := postHead(t, web.URL+"/v1/messages?beta=true", body("1", ""), "X-Unsupported-Tools")
	if status != 200 || left != "web_search_20250305, bash_20250124" {
		t.Fatalf("%d, left out %q: %s", status, left, text)
	}
	first := at(t, object(t, text), "usage")
	status, text, _ = postHead(t, web.URL+"/v1/messages?beta=true", body("2", `,{"role":"assistant","content":"A"},{"role":"user","content":"More."}`), "")
	second := at(t, object(t, text), "usage")
	whole := at(t, first, "input_tokens").(float64)
	if cached := at(t, second, "cache_read_input_tokens").(float64); status != 200 || cached < 0.9*whole {
		t.Errorf("of %v, and then %v tokens with another billing header %v were reused: %s", first, second, cached, text)
	}
	if status, text, _ := postHead(t, web.URL+"/v1/messages", `{"model":"default","max_tokens":4,"messages":[{"role":"system","content":"x-anthropic-billing-header: 1"}]}`, ""); status != 400 {
		t.Errorf("nothing said: %d %s", status, text)
	}
	_, web = newServer(t, Config{StrictFields: true})
	if status, text, _ := postHead(t, web.URL+"/v1/messages", body("1", ""), ""); status != 400 || !strings.Contains(text, "tools.1") || !strings.Contains(text, "web_search_20250305") {
		t.Errorf("strict: %d %s", status, text)
	}
}

// codexTools are some of those that Codex offers.
const codexTools = `"tools":[{"type":"function","name":"shell","description":"runs","strict":false,"parameters":{"type":"object","properties":{"command":{"enum":["ls","pwd"]}},"required":["command"],"additionalProperties":false}},
	{"type":"custom","name":"apply_patch","description":"edits files","format":{"type":"grammar","syntax":"lark","definition":"start: \"a\""}},
	{"type":"custom","name":"count","format":{"type":"grammar","syntax":"regex","definition":"[0-9]{2,4}"}},
	{"type":"namespace","name":"mcp__hub","description":"a server","tools":[{"type":"function","name":"search","parameters":{"type":"object","properties":{"q":{"enum":["a","b"]}},"required":["q"],"additionalProperties":false}},
	{"type":"function","name":"shell","parameters":{"type":"object","properties":{"n":{"enum":[1,2]}},"required":["n"],"additionalProperties":false}}]},
	{"type":"web_search","external_web_access":true},{"type":"image_generation"},{"type":"local_shell"}]`

// TestCodex: what Codex sends is answered: custom tools, namespaces, tools that only OpenAI's
// service has, and the choice among some.
func TestCodex(t *testing.T) {
	_, web := newServer(t, Config{})
	url := web.URL + "/v1/responses"
	ask := func(more string) string {
		return `{"model":"default","instructions":"You are a helper.","input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"Be brief."}]},
			{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello."}]}],"parallel_tool_calls":true,"store":false,"include":["reasoning.encrypted_content"],
			"prompt_cache_key":"k","text":{"verbosity":"low"},"temperature":1.2,"seed":3,"max_output_tokens":120,` + codexTools + more + `}`
	}
	status, text, left := postHead(t, url, ask(`,"tool_choice":"auto"`), "X-Unsupported-Tools")
	if status != 200 || left != "web_search, image_generation, local_shell" {
		t.Fatalf("%d, left out %q: %s", status, left, text)
	}
	for _, c := range []struct {
		choice, kind, name, space string
		fits                      func(map[string]any) bool
	}{
		{`{"type":"custom","name":"count"}`, "custom_tool_call", "count", "", func(o map[string]any) bool {
			in := o["input"].(string)
			return len(in) >= 2 && len(in) <= 4 && strings.Trim(in, "0123456789") == ""
		}},
		{`{"type":"function","name":"search","namespace":"mcp__hub"}`, "function_call", "search", "mcp__hub", func(o map[string]any) bool {
			return slices.Contains([]string{`{"q":"a"}`, `{"q":"b"}`}, strings.ReplaceAll(o["arguments"].(string), " ", ""))
		}},
		{`{"type":"function","name":"shell","namespace":"mcp__hub"}`, "function_call", "shell", "mcp__hub", func(o map[string]any) bool {
			return strings.Contains(o["arguments"].(string), `"n"`)
		}},
		{`{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"shell"},{"type":"web_search"}]}`, "function_call", "shell", "", func(o map[string]any) bool {
			return strings.Contains(o["arguments"].(string), `"command"`)
		}},
	} {
		status, text, _ := postHead(t, url, ask(`,"tool_choice":`+c.choice), "")
		if status != 200 {
			t.Errorf("%s: %d %s", c.choice, status, text)
			continue
		}
		item := ofType(t, object(t, text), c.kind)
		if len(item) != 1 || item[0]["name"] != c.name || item[0]["namespace"] != c.space && (c.space != "" || item[0]["namespace"] != nil) || !c.fits(item[0]) {
			t.Errorf("%s: %s", c.choice, text)
			continue
		}
		// The stream says the same, piece by piece, and the call and its output are taken back.
		_, streamed, _ := postHead(t, url, ask(`,"stream":true,"tool_choice":`+c.choice), "")
		pieces := ""
		for _, e := range events(t, streamed) {
			if o := object(t, e); strings.HasSuffix(o["type"].(string), "_input.delta") || strings.HasSuffix(o["type"].(string), "_arguments.delta") {
				pieces += o["delta"].(string)
			}
		}
		want, _ := item[0]["input"].(string)
		if c.kind == "function_call" {
			want = item[0]["arguments"].(string)
		}
		if pieces != want {
			t.Errorf("%s: the stream has %q, want %q", c.choice, pieces, want)
		}
		back, err := json.Marshal(item[0])
		if err != nil {
			t.Fatal(err)
		}
		again := strings.Replace(ask(""), `"text":"Hello."}]}`, `"text":"Hello."}]},`+string(back)+`,{"type":"`+c.kind+`_output","call_id":"`+item[0]["call_id"].(string)+`","output":"done"}`, 1)
		if status, text, _ := postHead(t, url, again, ""); status != 200 {
			t.Errorf("%s, taken back: %d %s", c.choice, status, text)
		}
	}
	for _, choice := range []string{`{"type":"web_search"}`, `{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"missing"}]}`, `{"type":"allowed_tools","mode":"any","tools":[]}`, `{"type":"custom","name":"missing"}`} {
		if status, text, _ := postHead(t, url, ask(`,"tool_choice":`+choice), ""); status != 400 || !strings.Contains(text, "tool_choice") {
			t.Errorf("%s: %d %s", choice, status, text)
		}
	}
}

// TestCustomOfChat: chat has custom tools, too, and the choice among some.
func TestCustomOfChat(t *testing.T) {
	_, web := newServer(t, Config{})
	url := web.URL + "/v1/chat/completions"
	body := func(choice, more string) string {
		return `{` + hello + `,"temperature":1.2,"seed":5,"max_tokens":120,"tools":[{"type":"custom","custom":{"name":"count","format":{"type":"grammar","grammar":{"syntax":"regex","definition":"[0-9]{2,4}"}}}},
			{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{},"additionalProperties":false}}},{"type":"web_search"}],"tool_choice":` + choice + more + `}`
	}
	for _, choice := range []string{`{"type":"custom","custom":{"name":"count"}}`, `{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"custom","custom":{"name":"count"}}]}}`} {
		status, text, left := postHead(t, url, body(choice, ""), "X-Unsupported-Tools")
		if status != 200 || left != "web_search" {
			t.Fatalf("%d, left out %q: %s", status, left, text)
		}
		call := at(t, object(t, text), "choices", 0, "message", "tool_calls", 0).(map[string]any)
		input := at(t, call, "custom", "input").(string)
		if call["type"] != "custom" || call["function"] != nil || at(t, call, "custom", "name") != "count" || len(input) < 2 || strings.Trim(input, "0123456789") != "" {
			t.Errorf("%s: %s", choice, text)
		}
		_, streamed, _ := postHead(t, url, body(choice, `,"stream":true`), "")
		pieces := ""
		for _, e := range events(t, streamed) {
			if !strings.Contains(e, `"custom"`) {
				continue
			}
			piece := at(t, object(t, e), "choices", 0, "delta", "tool_calls", 0).(map[string]any)
			more := at(t, piece, "custom", "input").(string)
			if pieces += more; piece["id"] != nil && more != "" {
				t.Errorf("%s: a call begins with %q", choice, more)
			}
		}
		if pieces != input {
			t.Errorf("%s: the stream has %q, want %q", choice, pieces, input)
		}
	}
}

// edited returns a small model of which fields of a file are others.
func edited(t *testing.T, file string, fields map[string]any) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(golden.Family(t, "parity"), "llama3"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	config := map[string]any{}
	if err := json.Unmarshal(b, &config); err != nil {
		t.Fatal(err)
	}
	maps.Copy(config, fields)
	if b, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// templated returns a model with a chat template.
func templated(t *testing.T, template string) string {
	t.Helper()
	return edited(t, "tokenizer_config.json", map[string]any{"chat_template": template})
}

// TestSystemTurns: what the system says in mid-conversation stands where the template has a place
// for it, and is never left out.
func TestSystemTurns(t *testing.T) {
	const all = `{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}`
	const first = `{% if messages[0].role == 'system' %}<S>{{ messages[0].content }}{% endif %}{% for m in messages %}{% if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}`
	const none = `{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('turns must alternate') }}{% endif %}<{{ m.role }}>{{ m.content }}{% endfor %}`
	const talk = `[{"role":"system","content":"A"},{"role":"developer","content":"B"},{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"system","content":"C"},{"role":"user","content":"three"}]`
	const twice = `[{"role":"user","content":"one"},{"role":"system","content":"C"},{"role":"user","content":"two"},{"role":"system","content":"D"}]`
	for _, c := range []struct{ name, template, messages, want string }{
		{"all", all, talk, "<system>A<system>B<user>one<assistant>two<system>C<user>three"},
		{"all, twice", all, twice, "<user>one<system>C<user>two<system>D"},
		{"first", first, talk, "<S>A\n\nB<user>one<assistant>two<user>C\n\nthree"},
		{"none", none, talk, "<user>A\n\nB\n\none<assistant>two<user>C\n\nthree"},
		{"none, twice", none, twice, "<user>one\n\nC\n\ntwo\n\nD"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, web := newServer(t, Config{Models: []Model{{Name: "m", Path: templated(t, c.template)}}})
			status, text := post(t, web.URL+"/apply-template", `{"messages":`+c.messages+`}`)
			if got := object(t, text)["prompt"]; status != 200 || got != c.want {
				t.Errorf("%d %s, want %q", status, text, c.want)
			}
			for path, more := range map[string]string{"/v1/chat/completions": "messages", "/v1/responses": "input", "/api/chat": "messages"} {
				if status, text := post(t, web.URL+path, `{"model":"m","stream":false,"`+more+`":`+strings.ReplaceAll(c.messages, "developer", "system")+`,"max_tokens":1,"options":{"num_predict":1}}`); status != 200 {
					t.Errorf("%s: %d %s", path, status, text)
				}
			}
		})
	}
}
