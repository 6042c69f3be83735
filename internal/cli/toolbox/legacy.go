package toolbox

// Servers of MCP's specification of 2025-03-26: they have no metadata of the resource, and are
// their own authorization server. The metadata that such a server has at its root may name
// an issuer below the root, which RFC 8414 (section 3.3) forbids to use.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// mostMetadata bounds metadata in bytes, as the library does.
const mostMetadata = 1 << 20

// legacyClient returns the client for logins at a server of 2025-03-26 whose metadata names
// an issuer below the server's root, and nil for every other server: what the later
// specifications ask for is then checked as they say.
//
// The issuer protects against a server that poses as another authorization server. Here
// it is taken only if it and all endpoints are of the server's own origin, whose metadata
// and default endpoints the specification of 2025-03-26 trusts anyway; and the
// client speaks to that origin alone.
func (g *gate) legacyClient(ctx context.Context, resp *http.Response) *http.Client {
	at, err := url.Parse(g.server.URL)
	if err != nil {
		return nil
	}
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil
	}
	for _, c := range challenges {
		if c.Params["resource_metadata"] != "" {
			return nil
		}
	}
	const resource = "/.well-known/oauth-protected-resource"
	origin := at.Scheme + "://" + at.Host
	for _, path := range []string{resource + "/" + strings.TrimLeft(at.Path, "/"), resource} {
		if status, _ := g.read(ctx, origin+path); status < 400 || status >= 500 { // there is some, or it cannot be known
			return nil
		}
	}
	metadata := origin + "/.well-known/oauth-authorization-server"
	status, body := g.read(ctx, metadata)
	if status != http.StatusOK {
		return nil
	}
	body, ok := rootMetadata(body, at)
	if !ok {
		return nil
	}
	return &http.Client{Timeout: requestTime, Transport: &legacy{at, metadata, string(body)}, CheckRedirect: noRedirect}
}

// rootMetadata returns metadata whose issuer is below the root of a server as that of the root.
// It returns false for any other, among it what names another origin.
func rootMetadata(body []byte, at *url.URL) ([]byte, bool) {
	var m map[string]any
	if json.Unmarshal(body, &m) != nil {
		return nil, false
	}
	origin := at.Scheme + "://" + at.Host
	issuer, _ := m["issuer"].(string)
	if strings.TrimRight(issuer, "/") == origin || !ofOrigin(issuer, at) {
		return nil, false
	}
	for key, v := range m {
		for _, name := range []string{"issuer", "authorization_endpoint", "token_endpoint", "registration_endpoint"} {
			// The library reads names in any case: one spelled otherwise is refused, not let by.
			if e, _ := v.(string); strings.EqualFold(key, name) && (key != name || !ofOrigin(e, at)) {
				return nil, false
			}
		}
	}
	m["issuer"] = origin
	out, err := json.Marshal(m)
	return out, err == nil
}

func ofOrigin(s string, at *url.URL) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == at.Scheme && u.Host == at.Host
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// read returns what the server has at a URL of its own; status 0 = nothing.
func (g *gate) read(ctx context.Context, at string) (status int, body []byte) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return 0, nil
	}
	c := &http.Client{Timeout: requestTime, CheckRedirect: noRedirect}
	res, err := c.Do(q)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(res.Body, mostMetadata)); err != nil {
		return 0, nil
	}
	return res.StatusCode, body
}

// legacy answers requests for the metadata with what was read and checked, and lets
// others through to the server's own origin.
type legacy struct {
	at       *url.URL
	metadata string // URL
	body     string
}

// RoundTrip implements [http.RoundTripper].
func (l *legacy) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.String() == l.metadata {
		return &http.Response{
			Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(l.body)), ContentLength: int64(len(l.body)),
		}, nil
	}
	if !ofOrigin(r.URL.String(), l.at) {
		return nil, fmt.Errorf("a login at %s may not go to %s", l.at.Host, r.URL.Host)
	}
	return http.DefaultTransport.RoundTrip(r)
}
