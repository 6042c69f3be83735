package toolbox

// How servers are spoken to.

import (
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os/exec"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// transport returns how a server is spoken to. G may be nil. Messages of more than
// mostMessage bytes end the connection: the library bounds lines and events.
func (s Server) transport(g *gate, errw io.Writer) sdk.Transport {
	if s.URL != "" {
		t := &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: &http.Client{Transport: newWithHeaders(s)}, MaxEventSize: mostMessage}
		if g != nil {
			t.OAuthHandler = g
		}
		return t
	}
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Env, cmd.Stderr = cmd.Environ(), errw
	for _, k := range slices.Sorted(maps.Keys(s.Env)) {
		cmd.Env = append(cmd.Env, k+"="+s.Env[k])
	}
	return &sdk.CommandTransport{Command: cmd}
}

// withHeaders adds headers to the requests of a transport to one host: what is redirected
// elsewhere must not take the keys along. It bounds responses that are one JSON value, which
// the library reads whole.
type withHeaders struct {
	headers map[string]string
	host    string
	http.RoundTripper
}

func newWithHeaders(s Server) withHeaders {
	u, _ := url.Parse(s.URL) // which was checked
	return withHeaders{s.Headers, u.Host, http.DefaultTransport}
}

// RoundTrip implements [http.RoundTripper].
func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == h.host {
		r = r.Clone(r.Context())
		for k, v := range h.headers {
			r.Header.Set(k, v)
		}
	}
	res, err := h.RoundTripper.RoundTrip(r)
	if n, ok := r.Context().Value(noticeKey{}).(*notice); ok && isCancel(r) {
		n.end()
	}
	if err != nil {
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "text/event-stream" {
		res.Body = &bounded{res.Body, mostMessage}
	}
	return res, nil
}

// bounded is a body that may not be longer than left.
type bounded struct {
	io.ReadCloser
	left int
}

// Read implements [io.Reader].
func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, fmt.Errorf("a response has more than %d bytes", mostMessage)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	b.left -= n
	return n, err
}
