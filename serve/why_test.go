package serve

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"atenia/internal/golden/await"
)

// TestWhy: the decisions behind an answer are found by its id, and the slots say which
// request each had last. Looking does not keep an idle model loaded.
func TestWhy(t *testing.T) {
	s, web := newServer(t, Config{Models: []Model{{Name: "a"}, {Name: "b"}}, Idle: 200 * time.Millisecond})
	for _, ask := range []struct{ path, body string }{
		{"/v1/completions", `{"prompt":"Once upon a time","max_tokens":4}`},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"A dog."}],"max_tokens":4}`},
		{"/v1/messages", `{"model":"a","messages":[{"role":"user","content":"A dog."}],"max_tokens":4}`},
		{"/api/generate", `{"model":"a","prompt":"Once upon a time","options":{"num_predict":4}}`},
	} {
		resp, err := http.Post(web.URL+ask.path, "application/json", strings.NewReader(ask.body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		id := resp.Header.Get("X-Request-Id")
		ended := func(body string) bool {
			return strings.Contains(body, `"action":"finish"`) || strings.Contains(body, `"action":"cancel"`)
		}
		var code int
		var body string
		await.Until(t, "the end of "+id, func() bool { // an answer that is cut short ends after the next step
			code, body = get(t, web.URL+"/why/"+id)
			return ended(body)
		})
		if code != 200 || !strings.Contains(body, `"model":"a"`) || !strings.Contains(body, `"action":"admit"`) {
			t.Errorf("%s: %d %s", ask.path, code, body)
		}
		if code, body := get(t, web.URL+"/slots"); code != 200 || !strings.Contains(body, id) {
			t.Errorf("%s: slots without %s: %s", ask.path, id, body)
		}
	}
	if code, body := get(t, web.URL+"/why/none"); code != 404 || !strings.Contains(body, "none") {
		t.Errorf("%d %s", code, body)
	}
	if code, body := post(t, web.URL+"/v1/completions", `{"model":"b","prompt":"Once","max_tokens":1}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	await.Until(t, "the end of a model that is only looked at", func() bool {
		get(t, web.URL+"/slots")
		return !s.pool.List()[1].Loaded
	})
}
