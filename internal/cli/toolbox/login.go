package toolbox

// Logging in to servers that want OAuth 2.1: the authorization code flow with PKCE, as
// MCP's specification of 2025-11-25 has it (basic/authorization). The SDK discovers
// the metadata (RFC 9728, RFC 8414), registers (RFC 7591), and asks for further scopes.

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"atenia/internal/fault"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// A Person is who can be asked while a box is used. Its functions may be nil: nobody can
// be asked.
type Person struct {
	// Visit shows a URL at which the user allows this program to use a server.
	Visit func(ctx context.Context, server, url string) error
	// Ask asks for a line.
	Ask func(ctx context.Context, prompt string) (string, error)
}

const (
	loginTime   = 5 * time.Minute // in which a user logs in
	requestTime = 30 * time.Second
	callback    = "/callback"
)

// A gate gets tokens for one server. It implements [auth.OAuthHandler].
type gate struct {
	name   string
	server Server
	person Person
	tokens *tokenFile
	waits  func() (done func()) // stops the clock of whoever waits while the user logs in
	client *http.Client

	mu     sync.Mutex
	flow   *auth.AuthorizationCodeHandler // of this run; nil = no login was needed so far
	door   net.Listener                   // where browsers are sent after a login; nil = it is opened again at addr
	addr   string
	source oauth2.TokenSource // of tokens that were kept
}

func newGate(name string, s Server, p Person, t *tokenFile, waits func() func()) *gate {
	g := &gate{name: name, server: s, person: p, tokens: t, waits: waits, client: &http.Client{Timeout: requestTime}}
	if k, ok := t.get(s.URL); ok && k.fits(s) {
		c := k.config()
		g.source = g.keep(c, c.TokenSource(g.context(), k.token()))
	}
	return g
}

// context has the HTTP client of requests for tokens. It outlives the call that made it.
func (g *gate) context() context.Context {
	return context.WithValue(context.Background(), oauth2.HTTPClient, g.client)
}

// TokenSource implements [auth.OAuthHandler]. A token that was kept and that the server no
// longer renews is forgotten, so that the user can log in again.
func (g *gate) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	source := g.source
	if g.flow != nil {
		var err error
		if source, err = g.flow.TokenSource(ctx); err != nil {
			return nil, err
		}
	}
	if source == nil {
		return nil, nil
	}
	if _, err := source.Token(); err != nil {
		if _, refused := errors.AsType[*oauth2.RetrieveError](err); !refused && !noRefresh(err) {
			return nil, fmt.Errorf("a token cannot be renewed: %w", err)
		}
		g.source = nil
		g.tokens.remove(g.server.URL)
		return nil, nil
	}
	return source, nil
}

// noRefresh reports whether a token is over and came without one to renew it.
func noRefresh(err error) bool {
	return err.Error() == "oauth2: token expired and refresh token is not set"
}

// Authorize implements [auth.OAuthHandler]: it lets the user log in.
func (g *gate) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	flow, err := g.begin(ctx, resp)
	if err != nil {
		resp.Body.Close()
		return err
	}
	return flow.Authorize(ctx, req, resp)
}

// begin returns the flow, which is made once: it knows which scopes were granted.
func (g *gate) begin(ctx context.Context, resp *http.Response) (*auth.AuthorizationCodeHandler, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flow != nil {
		return g.flow, nil
	}
	if g.person.Visit == nil {
		return nil, errors.New("it wants a login, and nobody can be asked: log in with \"atenia chat --mcp FILE\" in a terminal, as the user who runs this")
	}
	client := g.client
	if c := g.legacyClient(ctx, resp); c != nil {
		client = c
	}
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	redirect := "http://" + door.Addr().String() + callback
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, AuthorizationCodeFetcher: g.fetch, RequestRefreshToken: true, Client: client, InitialTokenSource: g.source,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Atenia", RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}},
		NewTokenSource: func(ctx context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			return g.keep(c, c.TokenSource(ctx, t)), nil
		},
	}
	if o := g.server.OAuth; o != nil && o.isDocument() {
		c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: o.ClientID}
	} else if o != nil && o.ClientID != "" {
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: o.ClientID}
		if o.ClientSecret != "" {
			c.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: o.ClientSecret}
		}
	}
	flow, err := auth.NewAuthorizationCodeHandler(c)
	if err != nil {
		return nil, errors.Join(err, door.Close())
	}
	g.flow, g.door, g.addr = flow, door, door.Addr().String()
	return flow, nil
}

// fetch shows the user where to log in, and waits for the browser to come back with a code.
func (g *gate) fetch(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	defer g.waits()()
	u, err := url.Parse(args.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("the page for a login is no http:// or https:// URL")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loginTime, fmt.Errorf("nobody logged in within %v", loginTime))
	defer cancel()
	back := make(chan url.Values, 1)
	web := &http.Server{ReadHeaderTimeout: requestTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != callback || q.Get("state") != u.Query().Get("state") { // anybody on this machine can ask
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		text := "You are logged in. This page can be closed."
		if e := q.Get("error"); e != "" {
			text = "The login failed: " + e
		}
		fmt.Fprintf(w, "<!doctype html><title>Atenia</title><p>%s", html.EscapeString(text))
		select {
		case back <- q:
		default:
		}
	})}
	door, err := g.open()
	if err != nil {
		return nil, err
	}
	var serving fault.Group
	served := make(chan error, 1)
	serving.Go(func() { served <- web.Serve(door) })
	defer func() {
		web.Close() // and the door
		serving.Wait()
	}()
	if err := g.person.Visit(ctx, g.name, args.URL); err != nil {
		return nil, err
	}
	select {
	case q := <-back:
		shut, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer stop()
		_ = web.Shutdown(shut) // after the browser has its page
		if e := q.Get("error"); e != "" {
			return nil, fmt.Errorf("the login failed: %q", e)
		}
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	case err := <-served:
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// open returns the listener, whose address the server knows.
func (g *gate) open() (net.Listener, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if door := g.door; door != nil {
		g.door = nil
		return door, nil
	}
	return net.Listen("tcp", g.addr)
}

func (g *gate) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.door == nil {
		return nil
	}
	return g.door.Close()
}

// keep returns a source that keeps each new token in the file.
func (g *gate) keep(c *oauth2.Config, s oauth2.TokenSource) oauth2.TokenSource {
	return &keeping{TokenSource: s, gate: g, config: c}
}

type keeping struct {
	oauth2.TokenSource
	gate   *gate
	config *oauth2.Config

	mu   sync.Mutex
	last string // access token
}

// Token implements [oauth2.TokenSource].
func (k *keeping) Token() (*oauth2.Token, error) {
	t, err := k.TokenSource.Token()
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if t.AccessToken != k.last {
		k.last = t.AccessToken
		k.gate.tokens.put(k.gate.server.URL, newKept(k.config, t))
	}
	return t, nil
}
