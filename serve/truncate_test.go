package serve

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"atenia"
)

// TestParallelCalls: without parallel calls the first one ends the answer, whole and
// streamed, also where a grammar wants a second.
func TestParallelCalls(t *testing.T) {
	_, web := newServer(t, Config{})
	one := `<tool_call>{"name": "now", "arguments": {"zone": "UTC"}}</tool_call>`
	body := `{"model":"default","max_tokens":200,"grammar":` + strconv.Quote(fmt.Sprintf(`root ::= %q`, one+one)) + `,"parallel_tool_calls":%s,`
	function := `"name":"now","parameters":{"type":"object"}`
	for _, c := range []struct{ path, body, list, kind string }{
		{"/v1/chat/completions", body + hello + `,"tools":[{"type":"function","function":{` + function + `}}]}`, "choices.0.message.tool_calls", `"type":"function"`},
		{"/v1/responses", body + `"input":"Hello!","tools":[{"type":"function",` + function + `}]}`, "output", `"type":"function_call"`},
	} {
		for parallel, want := range map[string]int{"true": 2, "null": 2, "false": 1} {
			status, text := post(t, web.URL+c.path, fmt.Sprintf(c.body, parallel))
			if status != 200 || strings.Count(text, `"call_id"`)+strings.Count(text, c.kind) == 0 {
				t.Fatalf("%s: %d %s", c.path, status, text)
			}
			if n := strings.Count(text, c.kind); n != want {
				t.Errorf("%s, %s: %d calls, want %d: %s", c.path, parallel, n, want, text)
			}
			if c.path == "/v1/responses" && strings.Contains(text, `"parallel_tool_calls":true`) != (want == 2) {
				t.Errorf("%s is not said: %s", parallel, text)
			}
		}
	}
}

// TestTruncation: with truncation auto the oldest turns of a conversation that is too long go,
// and the answer is that to what is left.
func TestTruncation(t *testing.T) {
	_, web := newServer(t, Config{})
	message := func(role, text string) string {
		return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text)
	}
	call := `{"type":"function_call","call_id":"c%d","name":"now","arguments":"{}"}`
	result := `{"type":"function_call_output","call_id":"c%d","output":%q}`
	long := strings.Repeat("one two three. ", 20)
	turns := []string{message("system", "Be kind.")}
	for i := range 40 {
		turns = append(turns, message("user", fmt.Sprint("Question ", i, ". ", long)), message("assistant", "Answer."))
	}
	steps := []string{message("system", "Be kind."), message("user", "First. "+long), message("assistant", "Yes."), message("user", "What time is it?")}
	for i := range 40 {
		steps = append(steps, fmt.Sprintf(call, i), fmt.Sprintf(result, i, long))
	}
	room := 24
	ask := func(truncation string, items []string) (int, string) {
		return post(t, web.URL+"/v1/responses", `{"model":"default","seed":1,"max_output_tokens":`+fmt.Sprint(room)+`,"truncation":"`+truncation+`","input":[`+strings.Join(items, ",")+`]}`)
	}
	length := func(text string) float64 { return at(t, object(t, text), "usage", "input_tokens").(float64) }
	for i := range 12 {
		name, items := "turns", append(turns, message("user", "Who are you?"))
		if i%2 == 0 {
			name, items = "steps", steps
		}
		room = 1 + 17*i
		if status, text := ask("disabled", items); status != 400 || !strings.Contains(text, "context_length_exceeded") {
			t.Errorf("%s, too long: %d %s", name, status, text)
		}
		status, text := ask("auto", items)
		if status != 200 || at(t, object(t, text), "truncation") != "auto" {
			t.Fatalf("%s, cut: %d %s", name, status, text)
		}
		// The same by hand: what is left is a suffix of whole steps behind what stays, with
		// room for the answer.
		found := false
		head, from := items[:1], 1
		if name == "steps" {
			head, from = append(head[:1:1], items[3]), 4
		}
		for ; from < len(items) && !found; from += 2 {
			status, by := ask("disabled", append(head[:len(head):len(head)], items[from:]...))
			if status == 200 && length(by)+float64(room) <= 512 {
				found = true
				if length(by) != length(text) || at(t, object(t, by), "output", 0, "content", 0, "text") != at(t, object(t, text), "output", 0, "content", 0, "text") {
					t.Errorf("%s: %s, by hand from %d: %s", name, text, from, by)
				}
			}
		}
		if !found {
			t.Errorf("%s: nothing fits", name)
		}
	}
	if status, text := ask("auto", []string{message("user", strings.Repeat(long, 60))}); status != 400 || !strings.Contains(text, "context_length_exceeded") {
		t.Errorf("a question that is too long: %d %s", status, text)
	}
	if status, text := ask("some", turns[:2]); status != 400 || !strings.Contains(text, "auto or disabled") {
		t.Errorf("some: %d %s", status, text)
	}
}

// TestSmallCache: a cache that holds less than the context ends answers as the context would,
// and refuses prompts with both numbers, alone and beside others; one without a page of each
// state is refused with what is needed.
func TestSmallCache(t *testing.T) {
	const page = 64 << 10 // of 16 tokens of the embedded model
	for pages := 1; pages <= 8; pages += 7 {
		_, web := newServer(t, Config{Open: atenia.Config{CacheBytes: int64(pages * page)}})
		ask := func(words, most int) (int, string) {
			return post(t, web.URL+"/v1/completions", fmt.Sprintf(`{"model":"default","ignore_eos":true,"max_tokens":%d,"prompt":%q}`, most, strings.Repeat("one ", words)))
		}
		holds := 16 * pages
		status, text := ask(3, 1000)
		if status != 200 || at(t, object(t, text), "usage", "total_tokens") != float64(holds) || at(t, object(t, text), "choices", 0, "finish_reason") != "length" {
			t.Errorf("%d pages: %d %s", pages, status, text)
		}
		if status, text = ask(holds+20, 2); status != 400 || !strings.Contains(text, fmt.Sprintf("keys and values of %d tokens", holds)) || !strings.Contains(text, "--cache-size") {
			t.Errorf("%d pages, a long prompt: %d %s", pages, status, text)
		}
	}
	_, err := atenia.Open(t.Context(), "", &atenia.Config{CacheBytes: page - 1})
	if e, ok := errors.AsType[*atenia.ConfigError](err); !ok || e.Field != "CacheBytes" || !strings.Contains(e.Want, strconv.Itoa(page)) {
		t.Errorf("less than a page: %v", err)
	}
}
