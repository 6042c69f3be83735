package serve

import (
	"fmt"
	"strings"
	"testing"

	"atenia"
	"atenia/place"
)

// TestContexts: a model is served with its own context up to 32,768 tokens, whole if that is
// wanted, and with less where the budget would have no room for its weights then.
func TestContexts(t *testing.T) {
	long := edited(t, "config.json", map[string]any{"max_position_embeddings": 65536})
	budget := func(ram int64) atenia.Config {
		return atenia.Config{Budget: place.Budget{RAM: ram, Reserve: place.Reserve{Runtime: 1000}}, Slots: 1, BatchTokens: 32}
	}
	for _, c := range []struct {
		name string
		c    Config
		want float64
	}{
		{"usual", Config{}, 32768},
		{"whole", Config{WholeContext: true}, 65536},
		{"said", Config{Open: atenia.Config{Context: 100}}, 100},
		{"a budget with room", Config{Open: budget(1 << 30)}, 32768},
		{"a budget with some", Config{Open: budget(20 << 20)}, 16384},
		{"a budget with little", Config{Open: budget(5 << 20)}, 4096},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.c.Models = []Model{{Name: "m", Path: long}}
			_, web := newServer(t, c.c)
			_, text := get(t, web.URL+"/v1/models/m")
			o := object(t, text)
			_, shown := post(t, web.URL+"/api/show", `{"model":"m"}`)
			if o["context_length"] != c.want || o["max_model_len"] != c.want || at(t, object(t, shown), "model_info", "llama.context_length") != c.want {
				t.Errorf("%s, %s, want %v", text, shown, c.want)
			}
			_, text = post(t, web.URL+"/completion", `{"prompt":"`+strings.Repeat("a b ", 40000)+`","n_predict":1}`)
			if !strings.Contains(text, fmt.Sprintf("maximum context length is %v tokens", c.want)) {
				t.Errorf("%.300s", text)
			}
		})
	}
}

// TestAliases: models answer to further names, which are listed, and to patterns of them.
func TestAliases(t *testing.T) {
	_, web := newServer(t, Config{Models: []Model{{Name: "a"}, {Name: "b"}}, Aliases: []string{"gpt-4o, claude-*=b"}})
	for name, want := range map[string]string{"gpt-4o": "b", "claude-sonnet-9": "b", "a": "a", "default": "a", "gpt-4": "", "claude": ""} {
		status, text := post(t, web.URL+"/v1/chat/completions", `{"model":"`+name+`","messages":[{"role":"user","content":"Hello."}],"max_tokens":1}`)
		if want == "" && status != 404 || want != "" && (status != 200 || object(t, text)["model"] != want) {
			t.Errorf("%s: %d %s, want %q", name, status, text, want)
		}
	}
	_, text := get(t, web.URL+"/v1/models")
	var names []string
	for _, m := range object(t, text)["data"].([]any) {
		names = append(names, m.(map[string]any)["id"].(string))
	}
	if fmt.Sprint(names) != "[a b gpt-4o]" {
		t.Errorf("listed: %v", names)
	}
	for _, wrong := range []string{"gpt", "x=nothing", "a=b", "=b", "[=b"} {
		if _, err := New(Config{Models: []Model{{Name: "a"}, {Name: "b"}}, Aliases: []string{wrong}}); err == nil {
			t.Errorf("%q is an alias", wrong)
		}
	}
}

// TestShown: what Ollama's clients read of a model is what it is: strings without quotes, its
// template, and what it samples with.
func TestShown(t *testing.T) {
	const template = `{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}`
	_, web := newServer(t, Config{Models: []Model{{Name: "m", Path: templated(t, template)}, {Name: "atenia-story"}}})
	for name, want := range map[string]string{"m": template, "atenia-story": "{%"} {
		status, text := post(t, web.URL+"/api/show", `{"model":"`+name+`"}`)
		o := object(t, text)
		info := o["model_info"].(map[string]any)
		family, _ := info["general.architecture"].(string)
		if status != 200 || !strings.Contains(o["template"].(string), want) || family == "" || info[family+".context_length"] == nil || !strings.Contains(o["parameters"].(string), "num_ctx") {
			t.Errorf("%s: %d %.2000s", name, status, text)
		}
		for key, v := range info {
			if s, ok := v.(string); ok && strings.HasPrefix(s, `"`) {
				t.Errorf("%s: %s is quoted: %s", name, key, s)
			}
		}
	}
}

// TestLlamaServer: clients of llama-server find its own endpoints.
func TestLlamaServer(t *testing.T) {
	_, web := newServer(t, Config{Models: []Model{{Name: "a"}, {Name: "b"}}})
	_, text := get(t, web.URL+"/props")
	props := object(t, text)
	if props["total_slots"] != 4.0 || !strings.Contains(props["chat_template"].(string), "{%") || at(t, props, "default_generation_settings", "n_ctx").(float64) < 64 {
		t.Errorf("props: %s", text)
	}
	state := func() string {
		_, text := get(t, web.URL+"/models")
		var all []string
		for _, m := range object(t, text)["data"].([]any) {
			all = append(all, m.(map[string]any)["id"].(string)+" "+at(t, m, "status", "value").(string))
		}
		return strings.Join(all, ", ")
	}
	if got := state(); got != "a loaded, b unloaded" {
		t.Errorf("at first %s", got)
	}
	for _, step := range [][2]string{{"load", "a loaded, b loaded"}, {"unload", "a loaded, b unloaded"}} {
		if status, text := post(t, web.URL+"/models/"+step[0], `{"model":"b"}`); status != 200 || state() != step[1] {
			t.Errorf("%s: %d %s, %s", step[0], status, text, state())
		}
	}
	body := `{"prompt":"Once upon a time","n_predict":8,"temperature":0,"seed":1`
	status, text := post(t, web.URL+"/completion", body+"}")
	whole := object(t, text)
	if status != 200 || whole["content"] == "" || whole["stop"] != true || whole["stop_type"] != "limit" || whole["tokens_predicted"] != 8.0 || whole["tokens_evaluated"].(float64) < 2 {
		t.Errorf("%d %s", status, text)
	}
	_, text = post(t, web.URL+"/completion", body+`,"stream":true}`)
	content, ended := "", 0
	for _, e := range events(t, text) {
		o := object(t, e)
		content += o["content"].(string)
		if o["stop"] == true {
			ended++
		}
	}
	if content != whole["content"] || ended != 1 {
		t.Errorf("the stream has %q and %d ends, want %q", content, ended, whole["content"])
	}
	status, text = post(t, web.URL+"/completion", `{"prompt":"Give a number:","n_predict":40,"json_schema":{"type":"integer","minimum":10,"maximum":99}}`)
	if n := object(t, text)["content"]; status != 200 || len(fmt.Sprint(n)) != 2 {
		t.Errorf("%d %s", status, text)
	}
	for _, wrong := range []string{`{"prompt":["a","b"]}`, `{"n_predict":4}`, `{"prompt":"a","samplers":["top"]}`, `{"prompt":"a","n_probs":3}`} {
		if status, text := post(t, web.URL+"/completion", wrong); status != 400 {
			t.Errorf("%s: %d %s", wrong, status, text)
		}
	}
	status, text = post(t, web.URL+"/embedding", `{"content":["a","b"]}`)
	if status != 200 || !strings.Contains(text, `"index":1`) {
		t.Errorf("%d %.200s", status, text)
	}
}
