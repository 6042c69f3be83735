package toolbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"

	"atenia/internal/store/durable"
)

// A Server is an MCP server of a configuration: a command, or a URL.
type Server struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"` // added to the environment of this program
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"` // of requests to URL
	OAuth   *OAuth            `json:"oauth"`   // how to log in at URL; nil = as the server says
}

// OAuth names the client that a server knows this program as. Without a name the program
// registers itself, if the server lets it.
type OAuth struct {
	ClientID     string `json:"client_id"` // that was registered, or the https:// URL of a client ID metadata document
	ClientSecret string `json:"client_secret"`
}

// isDocument reports whether the name of the client is the URL of what describes it.
func (o *OAuth) isDocument() bool {
	u, err := url.Parse(o.ClientID)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.Path != ""
}

// A configError says what is wrong with a configuration.
type configError struct {
	Server string // "" = the file as a whole
	Want   string
}

// Error implements error.
func (e *configError) Error() string {
	if e.Server == "" {
		return "MCP configuration: " + e.Want
	}
	return fmt.Sprintf("MCP configuration: server %q: %s", e.Server, e.Want)
}

// Limits of a configuration.
const (
	mostConfig  = 1 << 20 // bytes
	mostServers = 64
)

// ReadConfig reads a configuration: servers by name. Keys that other clients have for
// themselves are ignored.
func ReadConfig(path string) (map[string]Server, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostConfig+1))
	if err != nil {
		return nil, err
	}
	servers, err := parse(bytes.TrimPrefix(b, []byte("\ufeff")))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return servers, nil
}

func parse(b []byte) (map[string]Server, error) {
	if len(b) > mostConfig {
		return nil, &configError{"", fmt.Sprintf("more than %d bytes", mostConfig)}
	}
	var c struct {
		Servers map[string]Server `json:"mcpServers"`
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, &configError{"", err.Error()}
	}
	if n := len(c.Servers); n == 0 || n > mostServers {
		return nil, &configError{"", fmt.Sprintf(`want {"mcpServers": {NAME: {"command": …} or {"url": …}}} with 1 to %d servers, got %d`, mostServers, n)}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		if want := c.Servers[name].check(); want != "" {
			return nil, &configError{name, want}
		}
	}
	return c.Servers, nil
}

// check returns what is missing, "" if nothing is.
func (s Server) check() string {
	switch {
	case (s.Command == "") == (s.URL == ""):
		return "want either a command or a url"
	case s.URL == "" && s.OAuth != nil:
		return "oauth: want it with a url"
	case s.OAuth != nil && s.OAuth.ClientID == "" && s.OAuth.ClientSecret != "":
		return "oauth: a client_secret wants a client_id"
	case s.URL == "":
		return ""
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "url: want http://HOST/PATH or https://HOST/PATH"
	}
	return ""
}
