package serve

import (
	"net/http"
	"strings"
	"testing"

	"atenia/serve/internal/host"

	"github.com/coder/websocket"
)

// TestKeys: without one of the keys nothing but health is answered.
func TestKeys(t *testing.T) {
	_, web := newServer(t, Config{Keys: []string{"first-key", "second-key"}})
	for _, c := range []struct {
		header []string
		want   int
	}{
		{nil, 401}, {[]string{"Authorization", "Bearer wrong-key"}, 401}, {[]string{"Authorization", "Bearer first-ke"}, 401},
		{[]string{"Authorization", "Basic first-key"}, 401}, {[]string{"Authorization", "Bearer first-key"}, 200},
		{[]string{"Authorization", "bearer  second-key"}, 200}, {[]string{"X-Api-Key", "second-key"}, 200},
	} {
		if status, text := get(t, web.URL+"/v1/models", c.header...); status != c.want {
			t.Errorf("%v: %d %s, want %d", c.header, status, text, c.want)
		}
		if status, _ := get(t, web.URL+"/health", c.header...); status != 200 {
			t.Errorf("%v: health says %d", c.header, status)
		}
	}
	if status, _ := get(t, web.URL+"/metrics"); status != 401 {
		t.Errorf("metrics without a key: %d", status)
	}
	if _, err := New(Config{Keys: []string{""}}); err == nil {
		t.Error("an empty key is accepted")
	}
}

// TestSites: a page can use the server under its own names and from allowed origins
// alone.
func TestSites(t *testing.T) {
	_, web := newServer(t, Config{Hosts: []string{"models.example"}, Origins: []string{"https://app.example", "vscode-webview://"}})
	own := strings.TrimPrefix(web.URL, "http://")
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{own, "", 200}, {"localhost", "", 200}, {"LOCALHOST.:1", "", 200}, {"[::1]:80", "", 200}, {"models.example:80", "", 200},
		{"evil.example", "", 403}, {"localhost.evil.example", "", 403}, {"127.0.0.1.evil.example", "", 403},
		{own, "https://app.example", 200}, {own, "http://" + own, 200}, {own, "https://evil.example", 403}, {own, "null", 403},
		{"evil.example", "http://evil.example", 403}, {"evilmodels.example", "", 403}, {"models.example.", "", 200},
		{own, "https://app.example.evil.example", 403}, {own, "https://app.exampl", 403}, {own, "http://127.0.0.1:1", 403}, {own, "http://127.0.0.1", 403},
		{own, "vscode-webview://0a1b", 200}, {own, "app://obsidian.md", 403}, {own, "vscode-webviews://0a1b", 403},
	} {
		header := []string{"Host", c.host}
		if c.origin != "" {
			header = append(header, "Origin", c.origin)
		}
		for _, path := range []string{"/v1/models", "/health"} {
			if status, text := get(t, web.URL+path, header...); status != c.want {
				t.Errorf("%+v %s: %d %s", c, path, status, text)
			}
		}
	}
	if _, text := get(t, web.URL+"/v1/models", "Host", own, "Origin", "app://obsidian.md"); !strings.Contains(text, "--cors app://.") {
		t.Errorf("what allows it: %s", text)
	}
	for origin, want := range map[string]bool{"https://app.example": true, "vscode-webview://0a1b": true, "app://obsidian.md": false, "": true} {
		o := &websocket.DialOptions{HTTPHeader: http.Header{}}
		if origin != "" {
			o.HTTPHeader.Set("Origin", origin)
		}
		c, resp, err := websocket.Dial(t.Context(), web.URL+"/ws", o)
		if (err == nil) != want {
			t.Errorf("a socket of %q: %v", origin, err)
		}
		if err == nil {
			c.CloseNow()
		} else if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
	}
	q, _ := http.NewRequest("OPTIONS", web.URL+"/v1/chat/completions", nil)
	q.Header.Set("Origin", "https://app.example")
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	// A cache must not give one page what was allowed to another.
	if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example" || resp.Header.Get("Vary") != "Origin" {
		t.Errorf("preflight: %d %v", resp.StatusCode, resp.Header)
	}
}

// TestCrossSite: what a page of another site asks for without reading it is refused, a link that is
// followed is not.
func TestCrossSite(t *testing.T) {
	_, web := newServer(t, Config{})
	for _, c := range []struct {
		site, mode string
		want       int
	}{{"", "", 200}, {"same-origin", "cors", 200}, {"none", "navigate", 200}, {"cross-site", "navigate", 200}, {"cross-site", "no-cors", 403}, {"cross-site", "", 403}} {
		if status, text := get(t, web.URL+"/v1/models", "Sec-Fetch-Site", c.site, "Sec-Fetch-Mode", c.mode); status != c.want {
			t.Errorf("%+v: %d %s", c, status, text)
		}
		if status, text := post(t, web.URL+"/tokenize", `{"content":"a"}`, "Sec-Fetch-Site", c.site, "Sec-Fetch-Mode", c.mode); status != c.want && !(c.site == "cross-site" && status == 403) {
			t.Errorf("%+v, posted: %d %s", c, status, text)
		}
	}
}

// TestTickets: a ticket opens a WebSocket once without a key, and nothing else.
func TestTickets(t *testing.T) {
	_, web := newServer(t, Config{Keys: []string{"first-key"}})
	if status, text := post(t, web.URL+"/v1/tickets", "{}"); status != 401 {
		t.Errorf("a ticket without a key: %d %s", status, text)
	}
	open := func(query string) bool {
		t.Helper()
		c, resp, err := websocket.Dial(t.Context(), web.URL+"/ws"+query, nil)
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
		if err == nil {
			c.CloseNow()
		}
		return err == nil
	}
	status, text := post(t, web.URL+"/v1/tickets", "{}", "Authorization", "Bearer first-key")
	ticket := object(t, text)["ticket"].(string)
	if status != 200 || len(ticket) != 32 {
		t.Fatal(status, text)
	}
	if status, _ := get(t, web.URL+"/v1/models?ticket="+ticket); status != 401 {
		t.Errorf("models by a ticket: %d", status)
	}
	if open("") || open("?ticket=x") || !open("?ticket="+ticket) || open("?ticket="+ticket) {
		t.Error("a ticket opens a socket other than once")
	}
}

// TestHeaders: a refused key is told which kind is wanted, and what depends on who asks is
// kept by no cache.
func TestHeaders(t *testing.T) {
	_, web := newServer(t, Config{Keys: []string{"first-key"}})
	for _, c := range []struct{ key, name, want string }{
		{"wrong-key", "Www-Authenticate", "Bearer"}, {"first-key", "Cache-Control", "no-cache"}, {"first-key", "X-Content-Type-Options", "nosniff"},
	} {
		for _, path := range []string{"/v1/models", "/metrics"} {
			if path == "/metrics" && c.name == "Cache-Control" { // Prometheus' own
				continue
			}
			q, _ := http.NewRequest("GET", web.URL+path, nil)
			q.Header.Set("Authorization", "Bearer "+c.key)
			resp, err := http.DefaultClient.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := resp.Header.Get(c.name); got != c.want {
				t.Errorf("%s: %s is %q, want %q", path, c.name, got, c.want)
			}
		}
	}
}

// TestClients: requests share what their key is given: with one key from anywhere, with
// different ones not even from one address; without keys the address counts.
func TestClients(t *testing.T) {
	for _, keys := range [][]string{{"first-key", "second-key"}, nil} {
		s, web := newServer(t, Config{Keys: keys})
		var who string
		s.host.Mount(s.mux, []host.Route{{Pattern: "GET /who", Serve: func(_ http.ResponseWriter, r *host.Request) error {
			who = r.Client()
			return r.WriteJSON(200, "")
		}}})
		var got []string
		for _, key := range []string{"first-key", "second-key", "first-key"} {
			if status, text := get(t, web.URL+"/who", "Authorization", "Bearer "+key); status != 200 {
				t.Fatal(status, text)
			}
			http.DefaultClient.CloseIdleConnections() // the next one comes from another port
			got = append(got, who)
		}
		if got[0] == "" || got[0] != got[2] || (got[0] != got[1]) != (keys != nil) || strings.Contains(got[0], "key") {
			t.Errorf("keys %q: the clients are %q", keys, got)
		}
	}
}
