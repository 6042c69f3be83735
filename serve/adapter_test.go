package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"atenia"
	"atenia/train"
)

// trainedAdapter trains an adapter for a few steps, enough to change answers.
func trainedAdapter(t *testing.T, base, dir string, seed uint64) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data.jsonl")
	line := fmt.Sprintf("{\"text\":\"%s\"}\n", strings.Repeat(string(rune('a'+seed)), 40))
	if err := os.WriteFile(data, []byte(strings.Repeat(line, 8)), 0o666); err != nil {
		t.Fatal(err)
	}
	r := &train.Recipe{}
	r.Model.From, r.Data.Files, r.Data.Row, r.Data.Rows = base, []string{data}, 32, 4
	r.LoRA.Rank, r.LoRA.Alpha, r.Optimizer.Rate, r.Train.Steps, r.Train.Seed, r.Train.Out = 4, 32, 3e-2, 12, seed, dir
	if err := r.Complete(); err != nil {
		t.Fatal(err)
	}
	if _, err := train.Run(context.Background(), r, train.Options{}); err != nil {
		t.Fatal(err)
	}
}

// TestAdaptersByName: clients ask for adapters as for models, by all dialects and by
// llama-server's field; answers of several at once are those that each has alone; and
// adapters come and go while the server runs.
func TestAdaptersByName(t *testing.T) {
	base := filepath.Join("..", "testdata", "golden", "parity", "llama3")
	dir := t.TempDir()
	for i, name := range []string{"one", "two"} {
		trainedAdapter(t, base, filepath.Join(dir, name), uint64(i))
	}
	_, web := newServer(t, Config{
		Models: []Model{{Name: "base", Path: base, Adapters: []atenia.Adapter{{Name: "one", Path: filepath.Join(dir, "one")}}}}, AdapterDir: dir,
	})
	complete := func(model, more string) string {
		code, body := post(t, web.URL+"/v1/completions", fmt.Sprintf(`{"model":%q,"prompt":"Once upon a time","max_tokens":12,"temperature":0,"ignore_eos":true%s}`, model, more))
		if code != 200 {
			t.Errorf("%s %s: %d %s", model, more, code, body)
		}
		_, text, _ := strings.Cut(body, `"text":`)
		text, _, _ = strings.Cut(text, `"finish_reason"`)
		return text
	}
	plain, one := complete("base", ""), complete("one", "")
	if plain == one || plain == "" {
		t.Fatalf("the adapter changes nothing: %s", plain)
	}
	if code, body := post(t, web.URL+"/v1/load_lora_adapter", `{"lora_name":"two","lora_path":"two"}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	two := complete("two", "")
	if two == one || two == plain {
		t.Fatal("the second adapter changes nothing")
	}
	if got := complete("base", `,"lora":[{"id":0,"scale":0},{"id":1,"scale":1}]`); got != two {
		t.Errorf("by number: %s, want %s", got, two)
	}
	want := map[string]string{"base": plain, "one": one, "two": two, "default": plain}
	var all sync.WaitGroup
	for range 3 {
		for model, text := range want {
			all.Go(func() {
				if got := complete(model, ""); got != text {
					t.Errorf("%s beside others: %s, want %s", model, got, text)
				}
			})
		}
	}
	all.Wait()
	for path, wants := range map[string][]string{
		"/v1/models":     {`"id":"one"`, `"parent":"base"`, `"root":"two"`},
		"/v1/models/one": {`"id":"one"`, `"parent":"base"`},
		"/api/tags":      {`"name":"two"`, `"parent_model":"base"`},
		"/lora-adapters": {`"id":1,"name":"two"`},
	} {
		code, body := get(t, web.URL+path)
		for _, s := range wants {
			if code != 200 || !strings.Contains(body, s) {
				t.Errorf("%s: %d %s, want %s", path, code, body, s)
			}
		}
	}
	if code, body := post(t, web.URL+"/api/generate", `{"model":"one","prompt":"Once upon a time","raw":true,"stream":false,"options":{"num_predict":4}}`); code != 200 || !strings.Contains(body, `"model":"one"`) {
		t.Errorf("%d %s", code, body)
	}
	// Links may lead through the folder, not out of it: neither an adapter nor a file of one.
	outside, half := t.TempDir(), filepath.Join(dir, "half")
	trainedAdapter(t, base, filepath.Join(outside, "three"), 3)
	err := errors.Join(os.Symlink(filepath.Join(dir, "two"), filepath.Join(dir, "again")), os.Symlink(filepath.Join(outside, "three"), filepath.Join(dir, "out")),
		os.Mkdir(half, 0o755), os.Symlink(filepath.Join(outside, "three", "adapter_model.safetensors"), filepath.Join(half, "adapter_model.safetensors")))
	if err != nil {
		t.Fatal(err)
	}
	if code, body := post(t, web.URL+"/v1/load_lora_adapter", `{"lora_name":"again","lora_path":"again"}`); code != 200 {
		t.Errorf("a link within the folder: %d %s", code, body)
	}
	for _, path := range []string{"out", "half"} {
		if code, body := post(t, web.URL+"/v1/load_lora_adapter", fmt.Sprintf(`{"lora_name":"x","lora_path":%q}`, path)); code != 400 || !strings.Contains(body, "leads out of") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	for _, bad := range []struct {
		path, body string
		code       int
	}{
		{"/v1/load_lora_adapter", `{"lora_name":"two","lora_path":"two"}`, 400},
		{"/v1/load_lora_adapter", `{"lora_name":"three","lora_path":"../two"}`, 400},
		{"/v1/load_lora_adapter", `{"lora_name":"three","lora_path":"/etc"}`, 400},
		{"/v1/load_lora_adapter", `{"lora_name":"three","lora_path":"none"}`, 400},
		{"/v1/load_lora_adapter", `{"lora_name":"","lora_path":"two"}`, 400},
		{"/v1/unload_lora_adapter", `{"lora_name":"base"}`, 404},
		{"/v1/completions", `{"model":"base","prompt":"a","lora":[{"id":9,"scale":1}]}`, 400},
		{"/v1/completions", `{"model":"base","prompt":"a","lora":[{"id":0,"scale":1},{"id":1,"scale":1}]}`, 400},
		{"/v1/unload_lora_adapter", `{"lora_name":"two"}`, 200},
		{"/v1/completions", `{"model":"two","prompt":"a"}`, 404},
	} {
		if code, body := post(t, web.URL+bad.path, bad.body); code != bad.code {
			t.Errorf("%s %s: %d %s, want %d", bad.path, bad.body, code, body, bad.code)
		}
	}
	_, shut := newServer(t, Config{Models: []Model{{Path: base}}})
	if code, body := post(t, shut.URL+"/v1/load_lora_adapter", `{"lora_name":"two","lora_path":"two"}`); code != 403 {
		t.Errorf("%d %s", code, body)
	}
}

// TestAdapterNames: a name that two have, or that cannot be read, is an error at the
// start.
func TestAdapterNames(t *testing.T) {
	for _, list := range [][]atenia.Adapter{{{Name: "a", Path: "none"}}, {{Name: "atenia-story", Path: "none"}}, {{Name: "a"}}} {
		if s, err := New(Config{Models: []Model{{Adapters: list}}}); err == nil {
			s.Close()
			t.Errorf("%+v is accepted", list)
		}
	}
}
