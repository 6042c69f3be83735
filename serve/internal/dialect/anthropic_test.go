package dialect

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"atenia/serve/internal/host"
)

// server serves the embedded model over HTTP.
func server(t *testing.T) string {
	t.Helper()
	pool, err := host.NewPool(host.PoolConfig{})
	if err != nil {
		t.Fatal(err)
	}
	store, err := NewStore(StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	host.New(host.Config{Pool: pool, Keys: []string{"secret-key"}}).Mount(mux, Routes(store))
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.Close()
		pool.Close()
	})
	return s.URL
}

func post(t *testing.T, url, body string) (int, http.Header, []byte) {
	t.Helper()
	q, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return send(t, q)
}

// send sends a request with the server's key.
func send(t *testing.T, q *http.Request) (int, http.Header, []byte) {
	t.Helper()
	q.Header.Set("X-Api-Key", "secret-key")
	q.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, b
}

// TestMessages asks the embedded model, as a whole and as a stream: they say the same.
func TestMessages(t *testing.T) {
	url := server(t)
	for _, c := range []struct{ name, body, reason string }{
		{"greedy", `"max_tokens": 20, "temperature": 0`, "max_tokens"},
		{"stop", `"max_tokens": 200, "temperature": 0, "stop_sequences": ["zzz", "."]`, "stop_sequence"},
		{"tools", `"max_tokens": 20, "temperature": 0, "tools": [{"name": "now", "input_schema": {"type": "object"}}]`, "max_tokens"},
	} {
		body := `{"model": "default", "messages": [{"role": "user", "content": "Tell me a story."}], ` + c.body
		status, _, b := post(t, url+"/v1/messages", body+"}")
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", c.name, status, b)
		}
		whole := plainOf(t, json.RawMessage(b))
		if whole["stop_reason"] != c.reason || !strings.HasPrefix(whole["id"].(string), "msg_") || (c.reason == "stop_sequence") != (whole["stop_sequence"] == ".") {
			t.Errorf("%s: %s", c.name, b)
		}
		blocks := whole["content"].([]any)
		if text := blocks[0].(map[string]any)["text"].(string); len(blocks) != 1 || len(text) < 10 {
			t.Errorf("%s: %v", c.name, blocks)
		}
		status, h, b := post(t, url+"/v1/messages", body+`, "stream": true}`)
		if status != http.StatusOK || !strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") {
			t.Fatalf("%s: %d %v %s", c.name, status, h, b)
		}
		streamed := assemble(t, eventsOf(t, b))
		if u := streamed["usage"].(map[string]any); u["input_tokens"].(float64)+u["cache_read_input_tokens"].(float64) != whole["usage"].(map[string]any)["input_tokens"].(float64)+whole["usage"].(map[string]any)["cache_read_input_tokens"].(float64) {
			t.Errorf("%s: usage %v, as a whole %v", c.name, u, whole["usage"])
		}
		for _, m := range []map[string]any{whole, streamed} {
			delete(m, "id")
			delete(m["usage"].(map[string]any), "input_tokens") // the second time they are cached
			delete(m["usage"].(map[string]any), "cache_read_input_tokens")
		}
		if !reflect.DeepEqual(streamed, whole) {
			t.Errorf("%s: streamed\n%v, as a whole\n%v", c.name, streamed, whole)
		}
	}
}

// TestFormat: an answer is valid JSON of the schema, though the model writes stories.
func TestAnthropicFormat(t *testing.T) {
	url := server(t)
	const body = `{"model": "default", "max_tokens": 60, "messages": [{"role": "user", "content": "A dog."}], "output_config": {"format": {"type": "json_schema", "schema": `
	status, _, b := post(t, url+"/v1/messages", body+`{"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}, "old": {"type": "boolean"}}, "required": ["name", "old"], "additionalProperties": false}}}}`)
	var m anthropicReply
	if err := json.Unmarshal(b, &m); err != nil || status != http.StatusOK || len(m.Content) != 1 {
		t.Fatalf("%d %s: %v", status, b, err)
	}
	var dog struct {
		Name *string
		Old  *bool
	}
	if err := json.Unmarshal([]byte(*m.Content[0].Text), &dog); err != nil || dog.Name == nil || dog.Old == nil {
		t.Errorf("%s: %v", *m.Content[0].Text, err)
	}
	if status, _, b = post(t, url+"/v1/messages", body+`{"type": 7}}}}`); status != http.StatusBadRequest || !strings.Contains(string(b), "invalid_request_error") {
		t.Errorf("a schema that is none: %d %s", status, b)
	}
}

// eventsOf reads a stream.
func eventsOf(t *testing.T, b []byte) (out []any) {
	t.Helper()
	s := bufio.NewScanner(strings.NewReader(string(b)))
	name := ""
	for s.Scan() {
		if n, ok := strings.CutPrefix(s.Text(), "event: "); ok {
			name = n
		} else if d, ok := strings.CutPrefix(s.Text(), "data: "); ok {
			o := plainOf(t, json.RawMessage(d))
			if o["type"] != name {
				t.Fatalf("event %s has data %s", name, d)
			}
			out = append(out, o)
		}
	}
	return out
}

// TestPrefill: the answer goes on where the last message ends.
func TestPrefill(t *testing.T) {
	url := server(t)
	ask := func(messages string) string {
		_, _, b := post(t, url+"/v1/messages", `{"model": "default", "max_tokens": 12, "temperature": 0, "messages": `+messages+"}")
		var m anthropicReply
		if err := json.Unmarshal(b, &m); err != nil || len(m.Content) != 1 {
			t.Fatalf("%s: %v", b, err)
		}
		return *m.Content[0].Text
	}
	const user = `{"role": "user", "content": "Tell me a story."}`
	whole := ask("[" + user + "]")
	half := whole[:len(whole)/2]
	half = half[:strings.LastIndex(half, " ")]
	said, err := json.Marshal(half)
	if err != nil {
		t.Fatal(err)
	}
	if more := ask("[" + user + `, {"role": "assistant", "content": ` + string(said) + "}]"); !strings.HasPrefix(half+more, whole) {
		t.Errorf("%q goes on with %q, the whole answer is %q", half, more, whole)
	}
}

// TestCountTokens counts what an answer then says of its prompt.
func TestCountTokens(t *testing.T) {
	url := server(t)
	const body = `{"model": "default", "system": "Be kind.", "messages": [{"role": "user", "content": "Tell me a story."}]`
	status, _, b := post(t, url+"/v1/messages/count_tokens", body+"}")
	var n struct {
		Input int `json:"input_tokens"`
	}
	if err := json.Unmarshal(b, &n); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s: %v", status, b, err)
	}
	_, _, b = post(t, url+"/v1/messages", body+`, "max_tokens": 1}`)
	var m anthropicReply
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if n.Input == 0 || n.Input != m.Usage.Input+m.Usage.CacheRead {
		t.Errorf("%d tokens are counted, the answer says %+v", n.Input, m.Usage)
	}
}

// TestErrors: every error is one of Anthropic's.
func TestAnthropicErrors(t *testing.T) {
	url := server(t)
	const user = `"messages": [{"role": "user", "content": "Hi."}]}`
	long := strings.Repeat("all the words of a long story ", 2000)
	for _, c := range []struct {
		body   string
		status int
		kind   string
		want   string
	}{
		{`{"model"`, 400, "invalid_request_error", "not JSON"},
		{`{"model": 1}`, 400, "invalid_request_error", "model"},
		{`{"model": "default", "max_tokens": "many", ` + user, 400, "invalid_request_error", "max_tokens"},
		{`{"model": "default", "messages": [{"role": "user", "content": 7}]}`, 400, "invalid_request_error", "neither a string nor an array"},
		{`{"model": "default", ` + user, 400, "invalid_request_error", "max_tokens: field required"},
		{`{"model": "default", "max_tokens": 5, "temperature": -1, ` + user, 400, "invalid_request_error", "emperature"},
		{`{"model": "default", "max_tokens": 5, "stream": true, "messages": [{"role": "user", "content": "` + long + `"}]}`, 400, "invalid_request_error", "prompt is too long: "},
		{`{"model": "other", "max_tokens": 5, ` + user, 404, "not_found_error", `"other"`},
		{`{"model": "default", "max_tokens": 5, "messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "AAEC"}}]}]}`, 400, "invalid_request_error", "image"},
	} {
		status, _, b := post(t, url+"/v1/messages", c.body)
		var f anthropicFailure
		if err := json.Unmarshal(b, &f); err != nil {
			t.Fatalf("%.80s: %s: %v", c.body, b, err)
		}
		if status != c.status || f.Type != "error" || f.Error.Type != c.kind || !strings.Contains(f.Error.Message, c.want) || f.RequestID == "" {
			t.Errorf("%.80s: %d %s, want %d %s …%s…", c.body, status, b, c.status, c.kind, c.want)
		}
	}
	resp, err := http.Post(url+"/v1/messages", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusUnauthorized || !strings.Contains(string(b), "authentication_error") {
		t.Errorf("without a key: %d %s %v", resp.StatusCode, b, err)
	}
}
