package serve

import (
	"fmt"
	"testing"
	"time"

	"atenia/internal/golden/await"
)

// expires returns when /api/ps says that a model is unloaded; false if it is not loaded.
func expires(t *testing.T, url, name string) (time.Time, bool) {
	t.Helper()
	_, text := get(t, url+"/api/ps")
	for _, m := range object(t, text)["models"].([]any) {
		if at(t, m, "name") == name {
			when, err := time.Parse(time.RFC3339Nano, at(t, m, "expires_at").(string))
			if err != nil {
				t.Fatal(err)
			}
			return when, true
		}
	}
	return time.Time{}, false
}

// TestKeepAlive: a request of Ollama's says how long its model stays, the first one
// included, until another says otherwise; other requests change nothing.
func TestKeepAlive(t *testing.T) {
	noLeaks(t)
	s, web := newServer(t, Config{Models: []Model{{Name: "a"}, {Name: "b"}}, Idle: time.Hour})
	ask := func(name, keep string) {
		t.Helper()
		if status, text := post(t, web.URL+"/api/generate", fmt.Sprintf(`{"model":%q,"prompt":"A","options":{"num_predict":1}%s}`, name, keep)); status != 200 {
			t.Fatal(status, text)
		}
	}
	released := func(name string) {
		await.Until(t, "it is released", func() bool { i, err := s.pool.Lookup(name); return err == nil && i.Users == 0 })
	}
	const years = 10 * 365 * 24 * time.Hour
	for _, c := range []struct {
		keep string
		want map[string]time.Duration // until a model is unloaded
	}{
		{"", map[string]time.Duration{"a": years, "b": time.Hour}},
		{`,"keep_alive":"20m"`, map[string]time.Duration{"a": 20 * time.Minute, "b": 20 * time.Minute}},
		{"", map[string]time.Duration{"a": 20 * time.Minute, "b": 20 * time.Minute}},
		{`,"keep_alive":7200`, map[string]time.Duration{"a": 2 * time.Hour, "b": 2 * time.Hour}},
		{`,"keep_alive":-1`, map[string]time.Duration{"a": years, "b": years}},
		{`,"keep_alive":"-5m"`, map[string]time.Duration{"a": years, "b": years}},
		{`,"keep_alive":0`, nil},
		{"", map[string]time.Duration{"a": years, "b": time.Hour}}, // loaded again
	} {
		for _, name := range []string{"a", "b"} {
			begun := time.Now()
			ask(name, c.keep)
			released(name)
			ended := time.Now()
			want, stays := c.want[name]
			when, loaded := expires(t, web.URL, name)
			if loaded != stays || stays && (when.Before(begun.Add(want)) || want != years && when.After(ended.Add(want))) {
				t.Errorf("%s after %q: loaded %v until %v after it, want %v %v", name, c.keep, loaded, when.Sub(begun), stays, want)
			}
		}
	}
	ask("b", `,"keep_alive":"30ms"`)
	await.Until(t, "b is unloaded", func() bool { _, loaded := expires(t, web.URL, "b"); return !loaded })
	// A request that says nothing and keeps nothing loads nothing, and what is in use is
	// unloaded at its end.
	if _, text := post(t, web.URL+"/api/generate", `{"model":"b","keep_alive":0}`); at(t, object(t, text), "done_reason") != "unload" {
		t.Error(text)
	}
	if _, loaded := expires(t, web.URL, "b"); loaded {
		t.Error("a model was loaded to be unloaded")
	}
	l, err := s.pool.Borrow(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	if status, text := post(t, web.URL+"/api/chat", `{"model":"b","messages":[],"keep_alive":"0s"}`); status != 200 || at(t, object(t, text), "done_reason") != "unload" {
		t.Error(status, text)
	}
	if _, loaded := expires(t, web.URL, "b"); !loaded {
		t.Error("a model in use was unloaded")
	}
	l.Release()
	if _, loaded := expires(t, web.URL, "b"); loaded {
		t.Error("a model stays that should not")
	}
	if status, text := post(t, web.URL+"/api/embed", `{"model":"b","input":"A dog.","keep_alive":0}`); status != 200 {
		t.Error(status, text)
	}
	await.Until(t, "the model of vectors is unloaded", func() bool { _, loaded := expires(t, web.URL, "b"); return !loaded })
	if status, text := post(t, web.URL+"/api/generate", `{"model":"none","keep_alive":0}`); status != 404 {
		t.Error(status, text)
	}
}
