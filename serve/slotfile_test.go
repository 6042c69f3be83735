package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/fault"
)

// TestSlotFiles saves a slot over HTTP and restores it in another server, whose answer
// is that of a server without any of it. Names that are paths are refused.
func TestSlotFiles(t *testing.T) {
	for _, kv := range []string{"", "q8_0"} {
		t.Run("kv "+kv, func(t *testing.T) {
			dir := t.TempDir()
			c := Config{SlotSavePath: dir, Open: atenia.Config{CacheType: kv, Slots: 2}}
			prompt := "Once upon a time there was a little cat who lived in a house by the sea. " + strings.Repeat("Every day the cat saw the birds. ", 6)
			ask := func(url, prompt string) (text string, cached float64) {
				body, _ := json.Marshal(map[string]any{"prompt": prompt, "max_tokens": 16, "temperature": 0})
				status, out := post(t, url+"/v1/completions", string(body))
				if status != 200 {
					t.Fatal(status, out)
				}
				o := object(t, out)
				cached, _ = at(t, o, "usage", "prompt_tokens_details", "cached_tokens").(float64)
				return at(t, o, "choices", 0, "text").(string), cached
			}
			_, first := newServer(t, c)
			begin, _ := ask(first.URL, prompt)
			status, out := post(t, first.URL+"/slots/0?action=save", `{"filename": "cat.kv"}`)
			saved := object(t, out)
			if st, err := os.Stat(filepath.Join(dir, "cat.kv")); status != 200 || err != nil || at(t, saved, "n_written") != float64(st.Size()) {
				t.Fatal(status, out, err)
			}
			more := prompt + begin + " Then"
			want, _ := ask(first.URL, more)

			_, second := newServer(t, c)
			status, out = post(t, second.URL+"/slots/0?action=restore", `{"filename": "cat.kv"}`)
			if restored := object(t, out); status != 200 || at(t, restored, "n_restored") != at(t, saved, "n_saved") || at(t, restored, "n_read") != at(t, saved, "n_written") {
				t.Fatal(status, out)
			}
			got, cached := ask(second.URL, more)
			if got != want || cached < 50 {
				t.Errorf("got %q with %v cached, want %q", got, cached, want)
			}
			victim := filepath.Join(t.TempDir(), "victim")
			err := errors.Join(os.WriteFile(victim, []byte("mine"), 0o600), os.Symlink(victim, filepath.Join(dir, "link.kv")))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
				t.Fatal(err)
			}
			if status, out := post(t, second.URL+"/slots/0?action=save", `{"filename": "taken"}`); status != 400 || !strings.Contains(out, "taken") {
				t.Error("saved over a folder:", status, out)
			}
			status, out = post(t, second.URL+"/slots/0?action=save", `{"filename": "link.kv"}`)
			if b, err := os.ReadFile(victim); status != 200 || string(b) != "mine" {
				t.Errorf("a link was followed: %d %s, %q, %v", status, out, b, err)
			}
			if status, out := post(t, second.URL+"/slots/0?action=erase", ""); status != 200 || at(t, object(t, out), "n_erased").(float64) < 50 {
				t.Error(status, out)
			}
			if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, q := range [][3]string{
				{"/slots/1?action=restore", `{"filename": "folder"}`, "400"},
				{"/slots/0?action=save", `{"filename": "../x"}`, "400"}, {"/slots/0?action=restore", `{"filename": "/etc/passwd"}`, "400"},
				{"/slots/0?action=restore", `{"filename": ".lock"}`, "400"}, {"/slots/0?action=restore", `{"filename": ""}`, "400"},
				{"/slots/0?action=restore", `{"filename": "a\\b"}`, "400"}, {"/slots/0?action=restore", `{"filename": "none"}`, "404"},
				{"/slots/9?action=save", `{"filename": "x"}`, "409"}, {"/slots/x?action=save", `{"filename": "x"}`, "400"},
				{"/slots/1?action=load", `{"filename": "x"}`, "400"}, {"/slots/1?action=save", `{"filename": 1}`, "400"},
			} {
				if status, out := post(t, second.URL+q[0], q[1]); fmt.Sprint(status) != q[2] || strings.Contains(out, dir) {
					t.Errorf("%v: %d %s", q, status, out)
				}
			}
			_, none := newServer(t, Config{})
			if status, _ := post(t, none.URL+"/slots/0?action=save", `{"filename": "x"}`); status != 501 {
				t.Error("without a folder:", status)
			}
		})
	}
}

// TestStepCounts: a server counts what steps do if it is told to, models that were unloaded
// included, and otherwise has no such metrics.
func TestStepCounts(t *testing.T) {
	for _, counts := range []bool{false, true} {
		_, web := newServer(t, Config{Open: atenia.Config{Observe: atenia.Observation{Counters: counts}}})
		var last string
		for range 2 {
			if status, out := post(t, web.URL+"/v1/completions", `{"prompt": "Once", "max_tokens": 3}`); status != 200 {
				t.Fatal(status, out)
			}
			_, metrics := get(t, web.URL+"/metrics")
			_, after, ok := strings.Cut(metrics, "\natenia_dispatches_total ")
			line, _, _ := strings.Cut(after, "\n")
			if ok != counts || counts && (line == "0" || line == last) || strings.Contains(metrics, "atenia_launches_total") != counts {
				t.Errorf("counters asked for: %t, got %q after %q", counts, line, last)
			}
			last = line
		}
	}
}

// TestCacheDir: a server that is started again reads what the one before left, answers
// with the same text, and counts it.
func TestCacheDir(t *testing.T) {
	dir := t.TempDir()
	c := Config{Open: atenia.Config{CacheDir: dir, Slots: 2}}
	body, _ := json.Marshal(map[string]any{"prompt": strings.Repeat("The dog ran after the big red ball. ", 12), "max_tokens": 12, "temperature": 0})
	answer := func(url string) any {
		status, out := post(t, url+"/v1/completions", string(body))
		if status != 200 {
			t.Fatal(status, out)
		}
		return at(t, object(t, out), "choices", 0, "text")
	}
	s, first := newServer(t, c)
	want := answer(first.URL)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, second := newServer(t, c)
	if got := answer(second.URL); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	_, metrics := get(t, second.URL+"/metrics")
	for _, line := range []string{`atenia_prefix_hits_total{from="disk"} 1`, "atenia_cache_disk_failures_total 0"} {
		if !strings.Contains(metrics, line) {
			t.Errorf("no line %s in the metrics", line)
		}
	}
	if _, slots := get(t, second.URL+"/slots"); !strings.Contains(slots, `"disk_prompts":1`) {
		t.Error(slots)
	}
}

// TestQuantizedCache: with keys and values of type q8_0, eight answers at once, forks of
// one prompt and answers that begin with what others left are those of requests alone.
func TestQuantizedCache(t *testing.T) {
	open := func(slots int, keep int64) *atenia.Model {
		m, err := atenia.Open(t.Context(), "", &atenia.Config{CacheType: "q8_0", Slots: slots, KeepBytes: keep, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	prompt := func(i int) atenia.Prompt {
		text := strings.Repeat("The girl and the boy went to the park. ", 3+i%2) + strings.Repeat("It was fun. ", i/2)
		return atenia.Prompt{Text: text, Options: atenia.Options{MaxTokens: 12, IgnoreEnd: true, Sampling: atenia.Sampling{Temperature: 1, Seed: uint64(i % 3)}}}
	}
	answer := func(m *atenia.Model, p atenia.Prompt) (out []int32) {
		for tok, err := range m.Generate(t.Context(), p) {
			if err != nil {
				t.Error(err)
			}
			out = append(out, tok.ID)
		}
		return out
	}
	const n = 8
	var want [n][]int32
	for i := range want {
		m := open(1, -1)
		want[i] = answer(m, prompt(i))
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, slots := range []int{8, 3} {
		m := open(slots, 0)
		for round := range 2 {
			var all fault.Group
			for i := range n {
				all.Go(func() {
					if got := answer(m, prompt(i)); !slices.Equal(got, want[i]) {
						t.Errorf("%d slots, round %d, answer %d: %v, want %v", slots, round, i, got, want[i])
					}
				})
			}
			all.Wait()
		}
		if c := m.CacheStats(); c.MemoryPrompts == 0 {
			t.Error("nothing was reused")
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
