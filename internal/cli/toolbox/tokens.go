package toolbox

// Tokens that outlive a run, in a file that only its user can read.

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"atenia/internal/store/durable"

	"golang.org/x/oauth2"
)

// mostTokens bounds the file, in bytes.
const mostTokens = 1 << 20

// A kept is what is needed to use a server again without a login.
type kept struct {
	ClientID     string    `json:"client_id"`
	ClientSecret string    `json:"client_secret,omitempty"`
	TokenURL     string    `json:"token_url"`
	Style        int       `json:"auth_style"`
	Access       string    `json:"access_token"`
	Refresh      string    `json:"refresh_token,omitempty"`
	Type         string    `json:"token_type,omitempty"`
	Expiry       time.Time `json:"expiry"`
}

func newKept(c *oauth2.Config, t *oauth2.Token) kept {
	return kept{c.ClientID, c.ClientSecret, c.Endpoint.TokenURL, int(c.Endpoint.AuthStyle), t.AccessToken, t.RefreshToken, t.TokenType, t.Expiry}
}

func (k kept) config() *oauth2.Config {
	return &oauth2.Config{ClientID: k.ClientID, ClientSecret: k.ClientSecret, Endpoint: oauth2.Endpoint{TokenURL: k.TokenURL, AuthStyle: oauth2.AuthStyle(k.Style)}}
}

func (k kept) token() *oauth2.Token {
	return &oauth2.Token{AccessToken: k.Access, RefreshToken: k.Refresh, TokenType: k.Type, Expiry: k.Expiry}
}

// fits reports whether a token is of the client that the configuration names, if it does.
func (k kept) fits(s Server) bool {
	return k.Access != "" && (s.OAuth == nil || s.OAuth.ClientID == "" || s.OAuth.ClientID == k.ClientID)
}

// A tokenFile is the file. One that is nil, or whose path is "", keeps nothing.
type tokenFile struct {
	path string
	warn io.Writer
	mu   sync.Mutex
}

// read returns what is in the file: nothing, if it is missing or damaged, because then the
// user can log in again.
func (f *tokenFile) read() map[string]kept {
	b, err := durable.ReadRegular(f.path, mostTokens)
	if err != nil {
		return map[string]kept{}
	}
	return parseTokens(b)
}

func parseTokens(b []byte) map[string]kept {
	all := map[string]kept{}
	if json.Unmarshal(b, &all) != nil || all == nil {
		return map[string]kept{}
	}
	return all
}

func (f *tokenFile) get(url string) (kept, bool) {
	if f == nil || f.path == "" {
		return kept{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	k, ok := f.read()[url]
	return k, ok
}

func (f *tokenFile) put(url string, k kept) { f.change(func(all map[string]kept) { all[url] = k }) }

func (f *tokenFile) remove(url string) { f.change(func(all map[string]kept) { delete(all, url) }) }

// change rewrites the file. What cannot be written is a login more, and a warning now.
func (f *tokenFile) change(how func(map[string]kept)) {
	if f == nil || f.path == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.rewrite(how); err != nil {
		fmt.Fprintf(f.warn, "atenia: warning: the token of an MCP server is not kept: %v\n", err)
	}
}

func (f *tokenFile) rewrite(how func(map[string]kept)) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	release, err := durable.Lock(f.path + ".lock") // other programs of the user have tokens, too
	if err != nil {
		return err
	}
	defer release()
	all := f.read()
	how(all)
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFileAt(nil, f.path, func(w durable.File) error {
		if err := w.Chmod(0o600); err != nil { // before anything is in it
			return err
		}
		_, err := w.Write(b)
		return err
	})
}
