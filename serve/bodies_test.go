package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"atenia/internal/golden/await"
)

// calling returns a body with a call that has arguments.
func calling(arguments string) string {
	return `{"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":` + quoted(arguments) + `}}]}]}`
}

// blocks returns a body of so many messages, each of them of one block or of 3,000.
func blocks(role string, messages, size int) string {
	block := `{"type":"text","text":` + quoted(strings.Repeat("a ", size/6000)) + `}`
	n := 3000 / messages
	message := `{"role":"` + role + `","content":[` + strings.Repeat(block+",", n-1) + block + `]}`
	return `{"model":"default","max_tokens":1,"messages":[` + strings.Repeat(message+",", messages-1) + message + `]}`
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // of a text
	return string(b)
}

// TestBodiesThatCost: a body of a few megabytes does not cost hundreds of them, in any
// dialect. It is refused, with the field that is to blame, before it is decoded.
func TestBodiesThatCost(t *testing.T) {
	_, web := newServer(t, Config{})
	const size = 2 << 20
	list := func(before, element, after string) string {
		n := size / (len(element) + 1)
		return before + "[" + strings.Repeat(element+",", n) + element + "]" + after
	}
	for _, c := range []struct{ path, body, want string }{
		{"/v1/chat/completions", list(`{"messages":`, `{}`, `}`), "messages has at most 4096 elements"},
		{"/v1/chat/completions", list(`{"messages":[{"role":"user","content":`, `{}`, `}]}`), "content has at most 4096 elements"},
		{"/v1/chat/completions", list(`{"tools":`, `{}`, `}`), "tools has at most 256 elements"},
		{"/v1/completions", list(`{"prompt":"a","stop":`, `""`, `}`), "stop has at most 64 elements"},
		{"/v1/completions", list(`{"prompt":`, `[]`, `}`), "prompt has at most 2048 elements"},
		{"/v1/responses", list(`{"input":`, `{}`, `}`), "input has at most 2048 elements"},
		{"/v1/embeddings", list(`{"input":`, `"a"`, `}`), "input has at most 2048 elements"},
		{"/v1/rerank", list(`{"query":"a","documents":`, `"a"`, `}`), "documents has at most 2048 elements"},
		{"/v1/messages", list(`{"max_tokens":1,"messages":`, `{}`, `}`), "messages has at most 4096 elements"},
		{"/api/chat", list(`{"model":"default","messages":`, `{}`, `}`), "messages has at most 4096 elements"},
		{"/api/embed", list(`{"model":"default","input":`, `"a"`, `}`), "input has at most 2048 elements"},
		{"/tokenize", `{"content":"` + strings.Repeat("a", size) + `"}`, "the most is 1048576"},
		{"/v1/completions", `{"prompt":"` + strings.Repeat("word ", size/5) + `"}`, "maximum context length is 512 tokens, and the prompt has at least "},
		{"/v1/chat/completions", calling(`{"a":[` + strings.Repeat("1,", size/2) + `1]}`), "more than 262144 values, at byte 524266 of the arguments at byte 140 of the body"},
		{"/v1/chat/completions", calling(`{"input":[` + strings.Repeat("1,", size/2) + `1]}`), "more than 262144 values, at byte 524270 of the arguments at byte 140 of the body"}, // no tokens there
		{"/v1/chat/completions", calling(`{"a":[` + strings.Repeat("{},", size/3) + `1]}`), "more than 65536 objects, at byte 196596 of the arguments at byte 140 of the body"},
		{"/v1/responses", `{"input":[{"type":"function_call","call_id":"c","name":"f","ARGU\u006dENTS":` + quoted(`{"a":`+strings.Repeat("[", size/2)) + `}]}`, "nested more than 64 deep at byte 65 of the arguments at byte 76"},
		{"/v1/chat/completions", calling(`{"a":` + strings.Repeat("1", size) + `}`), "number of 2097152 digits, at most 4300"},
		{"/v1/chat/completions", `{` + hello + `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","x":` + strings.Repeat("1", size) + `}}}]}`, "number of 2097152 digits, at most 4300"},
		{"/v1/embeddings", `{"input":` + quoted(strings.Repeat("a", size)) + `}`, "too many to read them all"},
		{"/v1/embeddings", `{"input":` + quoted(strings.Repeat("a ", size/2)) + `}`, "text 0 has at least"},
		{"/api/embed", `{"model":"default","input":` + quoted(strings.Repeat("a", size)) + `}`, "and up to no space or end of a line the 512 tokens"},
		{"/v1/completions", `{"prompt":"a","stop":` + quoted(strings.Repeat("a", size)) + `}`, "stop has a text of 2097152 bytes, the most is 4096"},
		{"/api/generate", `{"model":"default","prompt":"a","options":{"stop":[` + quoted(strings.Repeat("a", size)) + `]}}`, "stop has a text of 2097152 bytes, the most is 4096"},
		// Blocks, and messages of one role, become one text.
		{"/v1/messages", blocks("user", 1, size), "prompt is too long: "},
		{"/v1/messages", blocks("user", 3000, size), "prompt is too long: "},
		{"/v1/messages", blocks("assistant", 1, size), "prompt is too long: "},
	} {
		var status int
		var text string
		cost := await.Bytes(func() { status, text = post(t, web.URL+c.path, c.body) })
		if status != 400 || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %.200s, want %s", c.path, status, text, c.want)
		}
		// Bytes that were allocated, garbage among them: a buffer that grows is several.
		if n := cost / size; n > 32 {
			t.Errorf("%s: %s of 2 MiB cost %d times as much", c.path, fmt.Sprintf("%.40s", c.body), n)
		}
	}
}

// TestLongTextsAreCut: a long text that may be cut to the context costs no more than its
// body does, and its vector is that of what is left. What is counted is what is read.
func TestLongTextsAreCut(t *testing.T) {
	_, web := newServer(t, Config{})
	const size = 2 << 20
	ask := func(n int) (text string, cost int64) {
		body := `{"model":"default","input":` + quoted(strings.Repeat("Once upon a time. \"No!\"\n", n/24)) + `}`
		cost = await.Bytes(func() { _, text = post(t, web.URL+"/api/embed", body) })
		text, _, _ = strings.Cut(text, `"total_duration"`)
		return text, cost
	}
	short, _ := ask(6000) // which is read to its end
	long, cost := ask(size)
	if long != short || !strings.Contains(long, `"embeddings":[[`) {
		t.Errorf("%d bytes: %.200s, of 6000: %.200s", size, long, short)
	}
	if n := cost / size; n > 16 {
		t.Errorf("%d bytes cost %d times as much", size, n)
	}
	_, text := post(t, web.URL+"/api/embed", `{"model":"default","input":`+quoted(strings.Repeat("Once upon a time ", size/17))+`}`)
	if !strings.Contains(text, `"prompt_eval_count":512`) {
		t.Errorf("%.100s…%s, want a count of 512", text, text[max(0, len(text)-100):])
	}
}

// TestQuotes: what a client calls things is in no message and in no line of the log as a
// whole: a client without a key would fill the disk.
func TestQuotes(t *testing.T) {
	var mu sync.Mutex
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(b)
	}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	_, web := newServer(t, Config{Logger: logger, SlotSavePath: t.TempDir()})
	name := quoted(strings.Repeat("n", 1<<20))
	for _, c := range []struct{ path, body string }{
		{"/api/show", `{"model":` + name + `}`},
		{"/v1/chat/completions", `{"model":` + name + `,` + hello + `}`},
		{"/v1/chat/completions", `{"messages":[{"role":` + name + `,"content":"a"}]}`},
		{"/v1/chat/completions", `{` + hello + `,"chat_template_kwargs":` + strings.Repeat("1", 1<<20) + `}`},
		{"/v1/chat/completions", `{` + hello + `,"chat_template_kwargs":{"a":` + strings.Repeat("1", 1<<20) + `}}`},
		{"/v1/chat/completions", `{` + hello + `,"tool_choice":` + name + `}`},
		{"/v1/chat/completions", `{` + hello + `,"max_tokens":1,` + name + `:1,"n":"a"}`},
		{"/v1/chat/completions", `{` + name + `:[` + strings.Repeat("{},", 5000) + `{}]}`},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":{"a":` + name + `}}]}`},
		{"/api/chat", `{"model":"default",` + hello + `,"think":` + name + `}`},
		{"/api/chat", `{"model":"default",` + hello + `,"keep_alive":` + name + `}`},
		{"/api/chat", `{"model":"default",` + hello + `,"format":` + name + `}`},
		{"/v1/completions", `{"prompt":"a","lora":` + name + `}`},
		{"/v1/completions", `{"prompt":"a","logit_bias":{` + name + `:1}}`},
		{"/v1/embeddings", `{"input":"a","encoding_format":` + name + `}`},
		{"/v1/embeddings", `{"input":"a","pooling":` + name + `}`},
		{"/v1/embeddings", `{"input":"a","prompt":` + name + `}`},
		{"/v1/messages", `{"model":"default","max_tokens":1,"messages":[{"role":` + name + `,"content":"a"}]}`},
		{"/v1/responses", `{"input":[{"type":` + name + `}]}`},
		{"/slots/1?action=save", `{"filename":` + name + `}`},
	} {
		mu.Lock()
		log.Reset()
		mu.Unlock()
		status, text := post(t, web.URL+c.path, c.body)
		mu.Lock()
		lines := log.String()
		mu.Unlock()
		for where, s := range map[string]string{"the answer": text, "the log": lines} {
			if most := longestRun(s); most > 40 || len(s) > 2000 {
				t.Errorf("%s %.90s: %d, %s has %d bytes and quotes %d: %.200s", c.path, c.body, status, where, len(s), most, s)
			}
		}
		if status < 400 || status >= 500 {
			t.Errorf("%s %.90s: %d %.200s", c.path, c.body, status, text)
		}
	}
}

// longestRun returns how often a byte follows itself at the most.
func longestRun(s string) (most int) {
	for i, n := 1, 1; i < len(s); i++ {
		if n++; s[i] != s[i-1] {
			n = 1
		}
		most = max(most, n)
	}
	return most
}
