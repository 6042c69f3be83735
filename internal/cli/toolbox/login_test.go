package toolbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An office is an MCP server that wants OAuth, and its authorization server.
type office struct {
	*httptest.Server
	mu         sync.Mutex
	challenges map[string]string // of PKCE, by code
	valid      map[string]bool   // access tokens
	refresh    map[string]bool
	grants     []string
}

func newOffice(t *testing.T) *office {
	o := &office{challenges: map[string]string{}, valid: map[string]bool{}, refresh: map[string]bool{}}
	mux := http.NewServeMux()
	o.Server = httptest.NewServer(mux)
	t.Cleanup(o.Close)
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return testServer() }, nil)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		ok := o.valid[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		o.mu.Unlock()
		if !ok {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+o.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"resource": o.URL + "/mcp", "authorization_servers": []string{o.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": o.URL, "authorization_endpoint": o.URL + "/authorize", "token_endpoint": o.URL + "/token", "registration_endpoint": o.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"client_id": "client-7", "redirect_uris": in["redirect_uris"], "token_endpoint_auth_method": "none"})
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		code := rand.Text()
		o.mu.Lock()
		o.challenges[code] = q.Get("code_challenge")
		o.mu.Unlock()
		http.Redirect(w, r, q.Get("redirect_uri")+"?code="+code+"&state="+q.Get("state"), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		kind := r.FormValue("grant_type")
		o.grants = append(o.grants, kind)
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		challenge, known := o.challenges[r.FormValue("code")]
		ok := kind == "authorization_code" && known && challenge == base64.RawURLEncoding.EncodeToString(sum[:])
		if kind == "refresh_token" {
			ok = o.refresh[r.FormValue("refresh_token")]
		}
		if !ok {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
			return
		}
		access, again := "access-"+rand.Text(), "refresh-"+rand.Text()
		o.valid[access], o.refresh[again] = true, true
		answer(w, map[string]any{"access_token": access, "refresh_token": again, "token_type": "Bearer", "expires_in": 3600})
	})
	return o
}

func (o *office) asked() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	g := strings.Join(o.grants, " ")
	o.grants = nil
	return g
}

// TestLogin: the user logs in once, in a browser; later runs use the token that was
// kept, renew it, and ask the user again when it is refused. Nobody else can read it.
func TestLogin(t *testing.T) {
	o := newOffice(t)
	file := filepath.Join(t.TempDir(), "atenia", "tokens.json")
	visits := 0
	var shown bytes.Buffer
	var browser sync.WaitGroup
	defer browser.Wait()
	person := Person{Visit: func(_ context.Context, _, url string) error {
		visits++
		browser.Go(func() {
			if res, err := http.Get(url); err == nil {
				res.Body.Close()
			}
		})
		return nil
	}}
	use := func(p Person) error {
		t.Helper()
		b, err := Open(t.Context(), map[string]Server{"office": {URL: o.URL + "/mcp"}}, Options{Version: "test", Err: &shown, Tokens: file, Person: p})
		if err != nil {
			return err
		}
		defer b.Close()
		if got, err := b.Call(t.Context(), "add", json.RawMessage(`{"a":20,"b":3}`)); err != nil || got != "23" {
			t.Errorf("%q, %v", got, err)
		}
		return nil
	}
	step := func(what string, p Person, wantVisits int, wantGrants string) {
		t.Helper()
		if err := use(p); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := o.asked(); visits != wantVisits || got != wantGrants {
			t.Errorf("%s: %d visits, grants %q; want %d, %q", what, visits, got, wantVisits, wantGrants)
		}
		visits = 0
	}
	if err := use(Person{}); err == nil || !strings.Contains(err.Error(), "wants a login") {
		t.Errorf("nobody can be asked: %v", err)
	}
	step("first", person, 1, "authorization_code")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	step("kept", Person{}, 0, "")
	change := func(f func(k *kept)) {
		k := (&tokenFile{path: file, warn: &shown}).read()
		one := k[o.URL+"/mcp"]
		f(&one)
		(&tokenFile{path: file, warn: &shown}).put(o.URL+"/mcp", one)
	}
	change(func(k *kept) { k.Expiry = time.Now().Add(-time.Hour) })
	step("renewed", Person{}, 0, "refresh_token")
	step("kept again", Person{}, 0, "")
	change(func(k *kept) { k.Expiry, k.Refresh = time.Now().Add(-time.Hour), "wrong" })
	step("refused", person, 1, "refresh_token authorization_code")
	change(func(k *kept) { k.Access = "revoked" })
	step("revoked", person, 1, "authorization_code")
	if err := os.WriteFile(file, []byte("no JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	step("damaged", person, 1, "authorization_code")
	if s := shown.String(); strings.Contains(s, "access-") || strings.Contains(s, "refresh-") {
		t.Errorf("messages have tokens: %s", s)
	}
}

// TestDoor: the page that browsers are sent back to takes the answer of this login alone.
func TestDoor(t *testing.T) {
	o := newOffice(t)
	got := make(chan int, 10)
	person := Person{Visit: func(ctx context.Context, _, at string) error {
		q, err := http.NewRequest("GET", at, nil)
		if err != nil {
			return err
		}
		back := q.URL.Query().Get("redirect_uri")
		go func() {
			for _, bad := range []string{"?code=x&state=wrong", "?code=x", "/other?code=x&state=" + q.URL.Query().Get("state")} {
				res, err := http.Get(back + bad)
				if err != nil {
					got <- 0
					continue
				}
				res.Body.Close()
				got <- res.StatusCode
			}
			if res, err := http.Get(at); err == nil {
				res.Body.Close()
			}
		}()
		return nil
	}}
	b, err := Open(t.Context(), map[string]Server{"office": {URL: o.URL + "/mcp"}}, Options{Version: "test", Person: person})
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	for range 3 {
		if code := <-got; code != http.StatusNotFound {
			t.Errorf("a wrong answer got %d", code)
		}
	}
}

// TestRedirect: keys of a configuration do not follow a redirect to another host.
func TestRedirect(t *testing.T) {
	leaked := make(chan string, 100)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked <- r.Header.Get("X-Key")
		w.WriteHeader(http.StatusNotFound)
	}))
	defer other.Close()
	web := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer web.Close()
	_, err := Open(t.Context(), map[string]Server{"x": {URL: web.URL, Headers: map[string]string{"X-Key": "secret"}}}, Options{Version: "test"})
	if err == nil {
		t.Error("a server that is none was opened")
	}
	for len(leaked) > 0 {
		if k := <-leaked; k != "" {
			t.Errorf("the other host got key %q", k)
		}
	}
}

// TestElicit: a form gets values of their types, defaults for empty lines, and is declined
// or canceled as the user says.
func TestElicit(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","default":3},"b":{"type":"string","enum":["x","y"]},"c":{"type":"boolean"},"d":{"type":"array","items":{"enum":["p","q"]}}}}`)
	for lines, want := range map[string]string{
		"y||x|true|p, q":         `accept {"a":3,"b":"x","c":true,"d":["p","q"]}`,
		"y|no number|7|z|y||r|p": `accept {"a":7,"b":"y","d":["p"]}`,
		"n":                      `decline null`,
		"y|1":                    `cancel null`,
		"":                       `decline null`,
	} {
		left := strings.Split(lines, "|")
		p := Person{Ask: func(context.Context, string) (string, error) {
			if len(left) == 0 {
				return "", io.EOF
			}
			line := left[0]
			left = left[1:]
			return line, nil
		}}
		res, err := p.elicit(t.Context(), "x", &sdk.ElicitParams{Message: "m", RequestedSchema: schema})
		if err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(res.Content)
		if got := fmt.Sprintf("%s %s", res.Action, b); got != want {
			t.Errorf("%q: %s, want %s", lines, got, want)
		}
	}
}

func FuzzTokens(f *testing.F) {
	f.Add([]byte(`{"https://x/mcp":{"client_id":"a","token_url":"https://x/token","access_token":"b","expiry":"2026-01-02T03:04:05Z"}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for url, k := range parseTokens(b) {
			if k.fits(Server{URL: url}) != (k.Access != "") {
				t.Errorf("%q: %+v", url, k)
			}
			_ = k.config()
		}
	})
}

func FuzzForm(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"integer","default":3},"d":{"type":"array","items":{"enum":["p","q"]}}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		asked := 0
		p := Person{Ask: func(context.Context, string) (string, error) {
			if asked++; asked > mostFields+1 {
				t.Fatal("too many questions")
			}
			return map[bool]string{true: "y"}[asked == 1], nil
		}}
		if _, err := p.elicit(t.Context(), "x", &sdk.ElicitParams{RequestedSchema: json.RawMessage(b)}); err != nil {
			t.Error(err)
		}
	})
}
