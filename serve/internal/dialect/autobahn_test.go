package dialect

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestAutobahn lets the fuzzing client of Autobahn's test suite try an endpoint that
// echoes, made of the handler's own handshake. ATENIA_AUTOBAHN is the command of its
// wstest; the suite needs Python 2.7.
//
// Compression (12, 13) is not offered, so its cases have nothing to try. The others are OK
// or informational, which says what an endpoint does where the RFC leaves the choice.
func TestAutobahn(t *testing.T) {
	wstest := os.Getenv("ATENIA_AUTOBAHN")
	if wstest == "" {
		t.Skip("ATENIA_AUTOBAHN is not set: docs/serving.md says how to get it")
	}
	h := New(Config{Message: 32 << 20})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := h.accept(w, r)
		if err != nil {
			return
		}
		defer s.CloseNow()
		ctx := context.Background()
		for {
			typ, b, err := readAny(ctx, s)
			if err != nil {
				return
			}
			if s.Write(ctx, typ, b) != nil {
				return
			}
		}
	}))
	defer web.Close()
	dir := t.TempDir()
	spec, _ := json.Marshal(map[string]any{
		"outdir": dir, "servers": []any{map[string]any{"agent": "atenia", "url": "ws" + web.URL[len("http"):]}},
		"cases": []string{"*"}, "exclude-cases": []string{"12.*", "13.*"}, "exclude-agent-cases": map[string]any{},
	})
	file := filepath.Join(dir, "spec.json")
	if err := os.WriteFile(file, spec, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", wstest+" -m fuzzingclient -s "+file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out[max(0, len(out)-2000):])
	}
	b, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report map[string]map[string]struct{ Behavior, BehaviorClose string }
	if err := json.Unmarshal(b, &report); err != nil {
		t.Fatal(err)
	}
	good := []string{"OK", "INFORMATIONAL"}
	count := map[string]int{}
	for name, c := range report["atenia"] {
		count[c.Behavior]++
		if !slices.Contains(good, c.Behavior) || !slices.Contains(good, c.BehaviorClose) {
			t.Errorf("case %s: %s, its end %s", name, c.Behavior, c.BehaviorClose)
		}
	}
	t.Logf("%v", count)
	if len(report["atenia"]) < 240 {
		t.Errorf("%d cases ran", len(report["atenia"]))
	}
}
