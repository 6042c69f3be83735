package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"atenia/tools/internal/story"
)

// Every line is a document, and a later start gives the later lines.
func TestWrite(t *testing.T) {
	t.Parallel()
	var all, tail, plain bytes.Buffer
	for _, err := range []error{write(&all, story.At, 3, 0, 12, false), write(&tail, story.At, 3, 8, 4, false), write(&plain, story.Asked, 3, 0, 2, true)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.SplitAfter(all.String(), "\n")
	if len(lines) != 13 || strings.Join(lines[8:], "") != tail.String() {
		t.Errorf("%d lines", len(lines)-1)
	}
	for _, line := range lines[:12] {
		var d story.Document
		if err := json.Unmarshal([]byte(line), &d); err != nil || (d.Text == "") == (d.Messages == nil) {
			t.Errorf("%v: %s", err, line)
		}
	}
	if strings.Count(plain.String(), "\n<|im_start|>user\n") < 2 {
		t.Error(plain.String())
	}
}
