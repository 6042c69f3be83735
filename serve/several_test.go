package serve

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// TestSeveralConstrained: several answers that follow a schema or call a tool are those of
// single requests with their seeds, whole and streamed, although they share their prompt.
func TestSeveralConstrained(t *testing.T) {
	noLeaks(t)
	_, web := newServer(t, Config{})
	url := web.URL + "/v1/chat/completions"
	schema := `{"type":"object","properties":{"name":{"type":"string","maxLength":8},"age":{"type":"integer","minimum":0,"maximum":99}},"required":["name","age"],"additionalProperties":false}`
	rng := rand.New(rand.NewPCG(3, 4))
	for _, more := range []string{
		`"response_format":{"type":"json_schema","json_schema":{"name":"dog","schema":` + schema + `}}`,
		`"tools":[{"type":"function","function":{"name":"note","parameters":` + schema + `}},{"type":"function","function":{"name":"call","parameters":` + schema + `}}],"tool_choice":"required"`,
	} {
		seed, n := rng.IntN(1000), 2+rng.IntN(3)
		body := func(seed, n int) string {
			return fmt.Sprintf(`{%s,"temperature":1.5,"max_tokens":150,%s,"seed":%d,"n":%d`, hello, more, seed, n)
		}
		status, text := post(t, url, body(seed, n)+"}")
		if status != 200 {
			t.Fatal(status, text)
		}
		choices := object(t, text)["choices"].([]any)
		if len(choices) != n {
			t.Fatalf("%d choices, want %d", len(choices), n)
		}
		said := make([]string, n)
		for i, c := range choices {
			if _, text := post(t, url, body(seed+i, 1)+"}"); fmt.Sprint(spoken(t, at(t, object(t, text), "choices", 0, "message"))) != fmt.Sprint(spoken(t, at(t, c, "message"))) {
				t.Errorf("choice %d is %v, alone %s", i, c, text)
			}
			said[i] = spoken(t, at(t, c, "message"))
			_, arguments, called := strings.Cut(said[i], "\x00")
			if !called {
				arguments = said[i]
			}
			if o := object(t, arguments); len(o) != 2 || at(t, c, "finish_reason") == "length" {
				t.Errorf("choice %d is %q", i, said[i])
			}
		}
		_, text = post(t, url, body(seed, n)+`,"stream":true}`)
		streamed := make([]string, n)
		for _, e := range events(t, text) {
			if e == "[DONE]" {
				break
			}
			c := at(t, object(t, e), "choices", 0)
			streamed[int(at(t, c, "index").(float64))] += spoken(t, at(t, c, "delta"))
		}
		if fmt.Sprintf("%q", streamed) != fmt.Sprintf("%q", said) {
			t.Errorf("the stream is %q, want %q", streamed, said)
		}
	}
}

// spoken returns the content of a message or a piece of one, or the name of its call, a NUL
// and the arguments.
func spoken(t *testing.T, message any) string {
	t.Helper()
	text, _ := at(t, message, "content").(string)
	calls, _ := at(t, message, "tool_calls").([]any)
	for _, c := range calls {
		if name, _ := at(t, c, "function", "name").(string); name != "" {
			text += name + "\x00"
		}
		more, _ := at(t, c, "function", "arguments").(string)
		text += more
	}
	return text
}

// TestWhySeveral: the decisions about all answers of a request are found by its id, each
// under its own number, and another request's are not among them.
func TestWhySeveral(t *testing.T) {
	_, web := newServer(t, Config{})
	var ids []string
	for range 12 {
		resp, err := http.Post(web.URL+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"Once","max_tokens":2,"n":3}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		ids = append(ids, resp.Header.Get("X-Request-Id"))
	}
	_, text := get(t, web.URL+"/why/"+ids[0]) // the first of 12 begins as the tenth does
	admitted := map[string]int{}
	for _, d := range at(t, object(t, text), "models", 0, "decisions").([]any) {
		if at(t, d, "action") == "admit" {
			admitted[at(t, d, "request").(string)]++
		}
	}
	if len(admitted) != 3 || admitted[ids[0]] != 1 || admitted[ids[0]+".2"] != 1 || admitted[ids[0]+".3"] != 1 {
		t.Errorf("%v", admitted)
	}
}
