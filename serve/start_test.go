package serve

import (
	"atenia/internal/golden"
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia"
)

// TestStart: one model that cannot be read does not keep the others from being served;
// without any, and without a folder that was asked for, there is no server.
func TestStart(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.gguf")
	if err := os.WriteFile(bad, []byte("GGUF"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s, err := New(Config{Models: []Model{{Path: bad}, {Name: "story"}}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	<-s.ready
	if _, err := s.pool.Lookup("story"); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil || !strings.Contains(log.String(), "model left out") || !strings.Contains(log.String(), bad) {
		t.Errorf("%v, log %s", err, &log)
	}
	for want, c := range map[string]Config{
		"the file is cut":                  {Models: []Model{{Path: bad}, {Path: bad}}},
		"two models are named":             {Models: []Model{{Path: bad}, {}, {}}},
		"folder of cached keys and values": {Open: atenia.Config{CacheDir: filepath.Join(bad, "folder")}},
		"folder of slots":                  {SlotSavePath: filepath.Join(bad, "folder")},
		"folder of adapters":               {AdapterDir: filepath.Join(t.TempDir(), "none")},
		"keys and values: open /proc":      {Open: atenia.Config{CacheDir: "/proc/self"}}, // where nobody can make a file
	} {
		if _, err := os.Stat("/proc/self"); err != nil && strings.Contains(want, "/proc") {
			continue
		}
		if s, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
			if err == nil {
				s.Close()
			}
		}
	}
}

// TestHealthOfLoaded: a model that has answered is healthy, also before the one who waits
// for its load was told.
func TestHealthOfLoaded(t *testing.T) {
	s, web := newServer(t, Config{})
	s.ready = make(chan struct{})
	if status, text := get(t, web.URL+"/health/ready"); status != 200 || !strings.Contains(text, `"ok"`) {
		t.Error(status, text)
	}
	if err := s.pool.Unload(""); err != nil {
		t.Fatal(err)
	}
	if status, text := get(t, web.URL+"/health/ready"); status != 503 || !strings.Contains(text, `"loading"`) {
		t.Error(status, text)
	}
}

// TestNoTokenizer: what needs text of a model whose tokenizer cannot be run is the client's
// choice of a model, not a fault of the server.
func TestNoTokenizer(t *testing.T) {
	path := filepath.Join(golden.Family(t, "foreign"), "modern_bert_rerank", "model.gguf")
	_, web := newServer(t, Config{Models: []Model{{Path: path}}})
	for _, body := range []string{`{"query":"a","documents":["b"]}`, `{"model":"default","query":"a","documents":["b"]}`} {
		status, text := post(t, web.URL+"/v1/rerank", body)
		if status != 400 || !strings.Contains(text, "unsupported_value") || !strings.Contains(text, "tokenizer") {
			t.Error(status, text)
		}
	}
}
