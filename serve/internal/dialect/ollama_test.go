package dialect

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// askOllama sends a body, or gets if there is none, and returns the lines of the response.
func askOllama(t *testing.T, url, body string) (int, http.Header, []map[string]any) {
	t.Helper()
	method := "POST"
	if body == "" {
		method = "GET"
	}
	q, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	status, header, b := send(t, q)
	var out []map[string]any
	for line := range bytes.Lines(b) {
		var o map[string]any
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, o)
	}
	return status, header, out
}

// ollamaText is what a line says.
func ollamaText(t *testing.T, line map[string]any) string {
	t.Helper()
	if m, ok := line["message"].(map[string]any); ok {
		if m["role"] != "assistant" {
			t.Fatalf("message %v", m)
		}
		return m["content"].(string)
	}
	return line["response"].(string)
}

var finalKeys = []string{"created_at", "done", "done_reason", "eval_count", "eval_duration", "load_duration", "model", "prompt_eval_count", "prompt_eval_duration", "total_duration"}

// TestOllamaAnswers asks the embedded model, as a whole and as a stream: they say the same, with
// a seed also when they are sampled.
func TestOllamaAnswers(t *testing.T) {
	url := server(t)
	const options = `"options": {"seed": 7, "temperature": 1, "num_predict": 20, "num_gpu": 3}`
	for _, c := range []struct{ path, body, key string }{
		{"/api/chat", `{"model": "default", "messages": [{"role": "user", "content": "Tell me a story."}], ` + options, "message"},
		{"/api/generate", `{"model": "default:latest", "prompt": "Tell me a story.", ` + options, "response"},
		{"/api/generate", `{"model": "default", "prompt": "Once upon a time", "raw": true, ` + options, "response"},
		{"/api/chat", `{"model": "default", "logprobs": true, "top_logprobs": 2, "messages": [{"role": "user", "content": "Tell me a story."}], ` + options, "message"},
	} {
		status, h, whole := askOllama(t, url+c.path, c.body+`, "stream": false}`)
		if status != http.StatusOK || len(whole) != 1 || h.Get("Content-Type") != "application/json" {
			t.Fatalf("%s: %d %v %v", c.body, status, h, whole)
		}
		keys := append([]string{c.key}, finalKeys...)
		if strings.Contains(c.body, "logprobs") {
			keys = append(keys, "logprobs")
			if list := whole[0]["logprobs"].([]any); len(list) != 20 || len(list[0].(map[string]any)["top_logprobs"].([]any)) != 2 {
				t.Errorf("%s: %v", c.body, list)
			}
		}
		if got := sorted(whole[0]); !reflect.DeepEqual(got, slices.Sorted(slices.Values(keys))) {
			t.Errorf("%s: fields %v, want %v", c.body, got, keys)
		}
		if whole[0]["done_reason"] != "length" || whole[0]["eval_count"] != 20.0 || whole[0]["prompt_eval_count"].(float64) < 4 || whole[0]["total_duration"].(float64) <= 0 {
			t.Errorf("%s: %v", c.body, whole[0])
		}
		status, h, lines := askOllama(t, url+c.path, c.body+"}")
		if status != http.StatusOK || h.Get("Content-Type") != "application/x-ndjson" {
			t.Fatalf("%s: %d %v", c.body, status, h)
		}
		said := ""
		for i, l := range lines {
			said += ollamaText(t, l)
			if l["done"] != (i == len(lines)-1) || l["model"] == "" {
				t.Errorf("%s: line %d is %v", c.body, i, l)
			}
		}
		if len(lines) < 10 || said != ollamaText(t, whole[0]) || len(said) < 20 {
			t.Errorf("%s: %d lines say %q, as a whole %q", c.body, len(lines), said, ollamaText(t, whole[0]))
		}
		if got := sorted(lines[len(lines)-1]); !reflect.DeepEqual(got, slices.Sorted(slices.Values(append([]string{c.key}, finalKeys...)))) {
			t.Errorf("%s: the last line has fields %v", c.body, got)
		}
	}
}

func sorted(m map[string]any) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// TestFormat: an answer is JSON, of a schema or any object.
func TestOllamaFormat(t *testing.T) {
	url := server(t)
	for _, format := range []string{`"json"`, `{"type": "object", "properties": {"old": {"type": "boolean"}}, "required": ["old"], "additionalProperties": false}`} {
		_, _, l := askOllama(t, url+"/api/chat", `{"model": "default", "stream": false, "format": `+format+`, "options": {"num_predict": 60, "seed": 1}, "messages": [{"role": "user", "content": "A dog."}]}`)
		var o map[string]any
		if err := json.Unmarshal([]byte(ollamaText(t, l[0])), &o); err != nil || format != `"json"` && o["old"] == nil {
			t.Errorf("%s: %v (%v)", format, l, err)
		}
	}
}

// TestLoad: a request that says nothing loads the model.
func TestOllamaLoad(t *testing.T) {
	url := server(t)
	for path, reason := range map[string]string{
		`/api/chat {"model": "default", "messages": []}`:         "load",
		`/api/generate {"model": "default"}`:                     "load",
		`/api/generate {"model": "default", "keep_alive": 0}`:    "unload",
		`/api/generate {"model": "default", "keep_alive": "5m"}`: "load",
	} {
		path, body, _ := strings.Cut(path, " ")
		if status, _, l := askOllama(t, url+path, body); status != http.StatusOK || len(l) != 1 || l[0]["done"] != true || l[0]["done_reason"] != reason || ollamaText(t, l[0]) != "" {
			t.Errorf("%s %s: %d %v, want %s", path, body, status, l, reason)
		}
	}
}

// TestModels: what the server has, how it is shown, what is loaded.
func TestOllamaModels(t *testing.T) {
	url := server(t)
	if _, _, l := askOllama(t, url+"/api/ps", ""); len(l[0]["models"].([]any)) != 0 {
		t.Errorf("loaded before the first request: %v", l)
	}
	if _, _, l := askOllama(t, url+"/api/version", ""); l[0]["version"] != apiVersion {
		t.Errorf("version %v", l)
	}
	_, _, l := askOllama(t, url+"/api/tags", "")
	tag := l[0]["models"].([]any)[0].(map[string]any)
	d := tag["details"].(map[string]any)
	if tag["name"] != "atenia-story" || tag["model"] != tag["name"] || tag["size"].(float64) < 1e5 || len(tag["digest"].(string)) != 64 || d["format"] != "gguf" || d["family"] != "llama" {
		t.Errorf("tags: %v", tag)
	}
	_, _, l = askOllama(t, url+"/api/show", `{"model": "atenia-story"}`)
	info := l[0]["model_info"].(map[string]any)
	if c := l[0]["capabilities"].([]any); c[0] != "completion" || !strings.Contains(l[0]["template"].(string), "im_start") || info["llama.context_length"] == nil || info["general.parameter_count"].(float64) < 1e5 {
		t.Errorf("show: %v", l)
	}
	askOllama(t, url+"/api/generate", `{"model": "atenia-story"}`)
	_, _, l = askOllama(t, url+"/api/ps", "")
	p := l[0]["models"].([]any)
	if len(p) != 1 || p[0].(map[string]any)["context_length"].(float64) < 100 || p[0].(map[string]any)["expires_at"] == nil {
		t.Errorf("ps: %v", l)
	}
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || !strings.HasPrefix(string(b), "Ollama is running") {
		t.Errorf("root: %q %v", b, err)
	}
}

// TestEmbed: one vector for each text, the same as alone.
func TestOllamaEmbed(t *testing.T) {
	url := server(t)
	status, _, l := askOllama(t, url+"/api/embed", `{"model": "default", "input": ["A cat.", "A dog sleeps."]}`)
	if status != http.StatusOK {
		t.Fatal(l)
	}
	rows := l[0]["embeddings"].([]any)
	if len(rows) != 2 || len(rows[0].([]any)) < 32 || l[0]["prompt_eval_count"].(float64) < 5 || l[0]["model"] != "default" {
		t.Errorf("%v", l)
	}
	_, _, l = askOllama(t, url+"/api/embed", `{"model": "default", "input": "A dog sleeps."}`)
	if !reflect.DeepEqual(l[0]["embeddings"].([]any)[0], rows[1]) {
		t.Error("a text alone has another vector")
	}
	_, _, l = askOllama(t, url+"/api/embeddings", `{"model": "default", "prompt": "A dog sleeps."}`)
	if !reflect.DeepEqual(l[0]["embedding"], rows[1]) {
		t.Error("embeddings has another vector")
	}
	_, _, l = askOllama(t, url+"/api/embed", `{"model": "default", "input": "A dog sleeps.", "dimensions": 8}`)
	short := l[0]["embeddings"].([]any)[0].([]any)
	var sum float64
	for _, x := range short {
		sum += x.(float64) * x.(float64)
	}
	if len(short) != 8 || sum < 0.999 || sum > 1.001 {
		t.Errorf("8 dimensions: %d of length %v", len(short), sum)
	}
}

// TestErrors: every error is {"error": "…"}.
func TestOllamaErrors(t *testing.T) {
	url := server(t)
	long := strings.Repeat("all the words of a long story ", 2000)
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/api/chat", `{"model"`, 400, "not JSON"},
		{"/api/chat", `{"messages": []}`, 400, "model is required"},
		{"/api/chat", `{"model": "other", "messages": []}`, 404, `"other"`},
		{"/api/chat", `{"model": "default", "messages": "a"}`, 400, "messages"},
		{"/api/chat", `{"model": "default", "messages": [{"role": "user", "content": "` + long + `"}]}`, 400, "maximum context length"},
		{"/api/chat", `{"model": "default", "messages": [{"role": "user", "content": "a"}], "options": {"num_ctx": 1000000}}`, 400, "1000000 is more than"},
		{"/api/chat", `{"model": "default", "messages": [{"role": "user", "content": "a", "images": ["AAEC"]}]}`, 400, "image"},
		{"/api/generate", `{"model": "default", "prompt": "a", "options": {"temperature": -1}}`, 400, "emperature"},
		{"/api/generate", `{"model": "default", "prompt": "a", "suffix": "b"}`, 400, "suffix"},
		{"/api/embed", `{"model": "default", "input": 5}`, 400, "neither a string"},
		{"/api/embed", `{"model": "default", "input": "a", "dimensions": 100000}`, 400, "dimensions"},
		{"/api/embed", `{"model": "default", "input": "` + long + `", "truncate": false}`, 400, "tokens"},
		{"/api/show", `{"model": "other"}`, 404, `"other"`},
		{"/api/pull", `{"model": "llama3"}`, 501, "atenia serve"},
	} {
		status, _, l := askOllama(t, url+c.path, c.body)
		if status != c.status || len(l) != 1 || len(l[0]) != 1 || !strings.Contains(l[0]["error"].(string), c.want) {
			t.Errorf("%s %.80s: %d %v, want %d …%s…", c.path, c.body, status, l, c.status, c.want)
		}
	}
}
