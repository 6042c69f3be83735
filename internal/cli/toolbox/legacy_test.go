package toolbox

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// oldOffice is an office of the specification of 2025-03-26, without metadata of the resource unless
// resource has it; says: the challenge has its place. Its other metadata is what change makes of it.
func oldOffice(t *testing.T, says bool, change func(o *office, m map[string]any), resource func(o *office, w http.ResponseWriter, r *http.Request) bool) *office {
	o := newOffice(t)
	inner := o.Config.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource"):
			if resource == nil || !resource(o, w, r) {
				http.NotFound(w, r)
			}
		case r.URL.Path == "/.well-known/oauth-authorization-server":
			m := map[string]any{
				"issuer": o.URL + "/oauth", "authorization_endpoint": o.URL + "/authorize", "token_endpoint": o.URL + "/token", "registration_endpoint": o.URL + "/register",
				"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
			}
			change(o, m)
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(m)
		case r.URL.Path == "/mcp" && !says:
			inner.ServeHTTP(plainChallenge{w}, r)
		default:
			inner.ServeHTTP(w, r)
		}
	}))
	o.Server = front
	t.Cleanup(front.Close)
	return o
}

// plainChallenge does not say where the metadata of the resource is.
type plainChallenge struct{ http.ResponseWriter }

func (p plainChallenge) WriteHeader(status int) {
	if status == http.StatusUnauthorized {
		p.Header().Set("WWW-Authenticate", "Bearer")
	}
	p.ResponseWriter.WriteHeader(status)
}

func (p plainChallenge) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p plainChallenge) Flush() { _ = http.NewResponseController(p.ResponseWriter).Flush() }

// TestLegacyLogin: an issuer below the root of a server of 2025-03-26 is taken, and none of
// another origin, nor one of a server that has metadata of the resource.
func TestLegacyLogin(t *testing.T) {
	var strayed atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		strayed.Add(1)
		http.NotFound(w, r)
	}))
	defer other.Close()
	same := func(*office, map[string]any) {}
	to := func(key, path string) func(*office, map[string]any) {
		return func(_ *office, m map[string]any) { m[key] = other.URL + path }
	}
	described := func(o *office, w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"resource": o.URL + "/mcp", "authorization_servers": []string{o.URL}})
		return true
	}
	broken := func(_ *office, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusInternalServerError)
		return true
	}
	for _, c := range []struct {
		what     string
		change   func(*office, map[string]any)
		resource func(*office, http.ResponseWriter, *http.Request) bool
		ok       bool
	}{
		{"an issuer below the root", same, nil, true},
		{"the root", func(o *office, m map[string]any) { m["issuer"] = o.URL }, nil, true},
		{"another issuer", to("issuer", ""), nil, false},
		{"another place to log in", to("authorization_endpoint", "/authorize"), nil, false},
		{"another place for tokens", to("token_endpoint", "/token"), nil, false},
		{"another place to register", to("registration_endpoint", "/register"), nil, false},
		{"no PKCE", func(_ *office, m map[string]any) { delete(m, "code_challenge_methods_supported") }, nil, false},
		{"metadata of the resource", same, described, false},
		{"metadata of the resource that the challenge names", same, described, false},
		{"a challenge that names metadata", same, nil, false},
		{"metadata of the resource that cannot be read", same, broken, false},
	} {
		o := oldOffice(t, strings.Contains(c.what, "challenge"), c.change, c.resource)
		visits := 0
		var browser sync.WaitGroup
		person := Person{Visit: func(_ context.Context, _, url string) error {
			visits++
			browser.Go(func() {
				if res, err := http.Get(url); err == nil {
					res.Body.Close()
				}
			})
			return nil
		}}
		b, err := Open(t.Context(), map[string]Server{"office": {URL: o.URL + "/mcp"}}, Options{Version: "test", Person: person})
		browser.Wait()
		if (err == nil) != c.ok || (visits > 0) != c.ok {
			t.Errorf("%s: %d visits, %v", c.what, visits, err)
		}
		if err == nil {
			if got, err := b.Call(t.Context(), "add", json.RawMessage(`{"a":20,"b":3}`)); err != nil || got != "23" {
				t.Errorf("%s: %q, %v", c.what, got, err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if n := strayed.Load(); n != 0 {
		t.Errorf("%d requests went to another origin", n)
	}
}

func FuzzMetadata(f *testing.F) {
	f.Add([]byte(`{"issuer":"http://a/oauth","token_endpoint":"http://a/token","registration_endpoint":"http://a/register"}`))
	f.Add([]byte(`{"issuer":"http://a@b/oauth","token_endpoint":"//a/token"}`))
	f.Add([]byte(`{"issuer":"http://a/oauth","TOKEN_endpoint":"http://b/token"}`))
	at, err := url.Parse("http://a/mcp")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		out, ok := rootMetadata(b, at)
		if !ok {
			return
		}
		var m struct {
			Issuer    string
			Authorize string `json:"authorization_endpoint"`
			Token     string `json:"token_endpoint"`
			Register  string `json:"registration_endpoint"`
		}
		if err := json.Unmarshal(out, &m); err != nil {
			return // another field is of a type that the library refuses
		}
		if m.Issuer != "http://a" {
			t.Errorf("issuer %q", m.Issuer)
		}
		for _, e := range []string{m.Authorize, m.Token, m.Register} {
			if e != "" && !strings.HasPrefix(strings.ToLower(e), "http://a") {
				t.Errorf("endpoint %q", e)
			}
		}
	})
}
