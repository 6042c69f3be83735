package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"atenia/internal/cli/command"
	"atenia/internal/golden/await"
	"atenia/serve"

	"github.com/spf13/pflag"
)

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// address waits until a server has printed its address.
func (l *lockedBuffer) address(t *testing.T) (url string) {
	t.Helper()
	defer func() {
		if url == "" {
			t.Log(l.String())
		}
	}()
	address := regexp.MustCompile(`http://[0-9.:]+`)
	await.Until(t, "the server's address", func() bool {
		url = address.FindString(l.String())
		return url != ""
	})
	return url
}

// TestServe: the command answers at the address that it prints, with a file of settings,
// and ends without an error when it is told to.
func TestServe(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "serve.toml")
	if err := os.WriteFile(file, []byte("port = 0\nmodels = [\"tale=atenia-story\"]\napi-key = [\"one-of-two\", \"two-of-two\"]\nmax-body = \"1MiB\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log lockedBuffer
	a := &app{in: strings.NewReader(""), out: io.Discard, err: &log}
	root := a.root()
	root.SetArgs([]string{"serve", "--config", file, "--threads", "1", "--json"})
	done := make(chan error, 1)
	go func() { done <- root.ExecuteContext(ctx) }()
	url := log.address(t)
	ask := func(key string) (int, string) {
		q, _ := http.NewRequestWithContext(ctx, "POST", url+"/v1/completions", strings.NewReader(`{"model":"tale","prompt":"Once secretly","max_tokens":2}`))
		q.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	if status, text := ask("two-of-two"); status != http.StatusOK || !strings.Contains(text, `"model":"tale"`) {
		t.Error(status, text)
	}
	if status, text := ask("wrong"); status != http.StatusUnauthorized {
		t.Error(status, text)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), "secretly") || !strings.Contains(log.String(), `"msg":"request"`) {
		t.Errorf("the log is\n%s", log.String())
	}
}

// TestServeMistakes: what cannot be served is bad usage, and says what would do.
func TestServeMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "serve.toml")
	for _, c := range []struct{ args, toml, want string }{
		{"--host 0.0.0.0", "", "--api-key"},
		{"--host example.com", "", "--insecure"},
		{"--api-key short", "", "keys of at least 8 characters"},
		{"--max-requests -1", "", "MaxRequests"},
		{"atenia-story a=atenia-story a=atenia-story", "", `two models are named "a"`},
		{"", "prot = 1", `no key "prot"; did you mean port?`},
		{"", "[port]", "port is a map"},
		{"", "port = [1, 2]", "port has one value"},
		{"", "port =", "expected value"},
		{"", "max-body = \"many\"", "max-body"},
	} {
		args := append([]string{"serve", "--port", "0"}, strings.Fields(c.args)...)
		if c.toml != "" {
			if err := os.WriteFile(file, []byte(c.toml), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, "--config", file)
			args = append(args[:1], args[3:]...) // without --port
		}
		var errw bytes.Buffer
		code := Main(args, strings.NewReader(""), io.Discard, &errw)
		if code == command.OK || !strings.Contains(errw.String(), c.want) {
			t.Errorf("%v %s: %d, %q, want %q", args, c.toml, code, errw.String(), c.want)
		}
	}
}

// TestNamedModel: a name is what stands before "=", unless that is part of a path.
func TestNamedModel(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a=b.gguf", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]serve.Model{
		"a=b.gguf": {Path: "a=b.gguf"}, "x=b.gguf": {Name: "x", Path: "b.gguf"}, "dir/x=b": {Path: "dir/x=b"}, "b": {Path: "b"}, "=b": {Path: "=b"},
	} {
		if got := namedModel(arg); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v, want %+v", arg, got, want)
		}
	}
}

// TestDeploy: what the files of deploy say exists: flags, endpoints, variables.
func TestDeploy(t *testing.T) {
	c, _, err := (&app{}).root().Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	flags, paths, vars := regexp.MustCompile(`--([a-z][a-z-]+)`), regexp.MustCompile(`path: (/[a-z/]+)`), regexp.MustCompile(`ATENIA_[A-Z_]+`)
	others := map[string]bool{"from": true, "chown": true, "now": true, "from-literal": true} // of podman, systemctl and kubectl
	found := 0
	for _, name := range []string{"atenia.service", "Containerfile", "kubernetes.yaml"} {
		b, err := os.ReadFile(filepath.Join("../../deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range flags.FindAllStringSubmatch(string(b), -1) {
			found++
			if c.Flags().Lookup(m[1]) == nil && c.InheritedFlags().Lookup(m[1]) == nil && !others[m[1]] {
				t.Errorf("%s: atenia serve has no flag --%s", name, m[1])
			}
		}
		for _, m := range paths.FindAllStringSubmatch(string(b), -1) {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+m[1], nil))
			if w.Code == http.StatusNotFound {
				t.Errorf("%s: the server has no %s", name, m[1])
			}
			found++
		}
		for _, v := range vars.FindAllString(string(b), -1) {
			if v != keyVar {
				t.Errorf("%s: there is no variable %s", name, v)
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d names were found", found)
	}
}

// FuzzServeSettings: no file of settings makes the command panic.
func FuzzServeSettings(f *testing.F) {
	for _, s := range []string{"port = 1", "models = ['a']", "[a]\nb=1", "cors = [['a']]", "budget = 'ram=1'", "port = 1e999", "timeout = 1979-05-27"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var sf serveFlags
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		sf.register(flags)
		_, err := setFlags([]byte(s), flags)
		if _, usage := errors.AsType[*command.UsageError](err); err != nil && !usage {
			t.Errorf("%q: %v is no mistake of usage", s, err)
		}
	})
}
