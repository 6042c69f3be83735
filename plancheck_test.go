package atenia_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden"
)

// printed returns the plan of a model as text and as JSON.
func printed(t testing.TB, path string) (text, document []byte) {
	t.Helper()
	p, err := atenia.OpenPlan(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.WriteText(&b, atenia.PlanView{Unfold: true}); err != nil {
		t.Fatal(err)
	}
	if document, err = json.Marshal(p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), document
}

// TestCheckPlan: what was printed of a plan is read again, as text and as JSON, and takes what
// the plan says; what was edited is checked, and the place of a fault is named.
func TestCheckPlan(t *testing.T) {
	for _, name := range []string{"llama3", "gemma3", "granite_hybrid", "bert_rerank", "gpt_oss"} {
		text, document := printed(t, filepath.Join(golden.Family(t, "parity"), name))
		a, err := atenia.CheckPlan(text, nil)
		if err != nil {
			t.Errorf("%s, text: %v", name, err)
			continue
		}
		b, err := atenia.CheckPlan(document, nil)
		if err != nil || len(b) < len(a) || !slices.Equal(a, b[:len(a)]) {
			t.Errorf("%s: %+v as text, %+v as JSON, %v", name, a, b, err)
		}
		for _, p := range a { // as the summary below the programs has it
			want := fmt.Sprintf("%d instructions, %d buffers, %d bytes (one each: %d)", p.Instructions, p.Buffers, p.Bytes, p.NaiveBytes)
			if !strings.Contains(string(text), want) || p.Alive == 0 {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
	text, document := printed(t, "")
	for _, c := range []struct{ was, is, want string }{
		{"attention      r3@b1!", "attention      r4@b1!", "the plan of line 3: instruction 2: invalid plan: attention reads r4"},
		{"scale=1}", "scale=x}", "line 10, column "},
		{"plan mode=prefill", "plan mode=cook", "line 3, column "},
		{"   3 L0   residual_add", "     layer 1 as layer 0\n   3 L0   residual_add", "line 13: \"layer 1 as layer 0\" stands for"},
		{"plan mode=", "a plan of ", "there is no plan"},
	} {
		n := 1
		if c.want == "there is no plan" {
			n = -1
		}
		if _, err := atenia.CheckPlan([]byte(strings.Replace(string(text), c.was, c.is, n)), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in place of %q: %v, want %q", c.is, c.was, err, c.want)
		}
	}
	// JSON that was edited has no id of its own, and is proved all the same.
	var d map[string]any
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	first := d["plans"].(map[string]any)["prefill"].(map[string]any)["instructions"].([]any)[0].(map[string]any)
	first["layer"] = 3.0
	edited, _ := json.Marshal(d)
	if _, err := atenia.CheckPlan(edited, nil); err == nil || !strings.Contains(err.Error(), "edited") {
		t.Errorf("an id of other content: %v", err)
	}
	delete(d, "id")
	edited, _ = json.Marshal(d)
	if _, err := atenia.CheckPlan(edited, nil); err != nil {
		t.Errorf("edited: %v", err)
	}
	first["op"] = "norm"
	edited, _ = json.Marshal(d)
	if _, err := atenia.CheckPlan(edited, nil); err == nil {
		t.Error("an embedding became a norm")
	}
	delete(d["plans"].(map[string]any), "prefill")
	delete(d, "diagnostics")
	edited, _ = json.Marshal(d)
	if all, err := atenia.CheckPlan(edited, nil); err != nil || len(all) != 1 || all[0].Mode != "decode" {
		t.Errorf("of the program for decoding alone: %+v, %v", all, err)
	}
	if few, err := atenia.CheckPlan(text, &atenia.Config{BatchTokens: 8}); err != nil || few[0].Bytes >= 786432 {
		t.Errorf("with steps of 8 tokens: %+v, %v", few, err)
	}
}

// FuzzCheckPlan: a plan that is taken is one of text or JSON that is taken again.
func FuzzCheckPlan(f *testing.F) {
	text, document := printed(f, "")
	f.Add(text)
	f.Add(document)
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := atenia.CheckPlan(b, nil)
		if err == nil && len(all) == 0 {
			t.Error("no plan and no error")
		}
	})
}
