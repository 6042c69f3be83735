package serve

import (
	"fmt"
	"strings"
	"testing"

	"atenia/internal/await"
)

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
		{"/v1/completions", `{"prompt":"` + strings.Repeat("word ", size/5) + `"}`, "maximum context length"},
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
