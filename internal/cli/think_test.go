package cli

import (
	"bytes"
	"testing"

	"atenia"
)

// TestThinking dims reasoning in a terminal and leaves it out elsewhere.
func TestThinking(t *testing.T) {
	tokens := []atenia.Token{{Reasoning: "Let me "}, {Reasoning: "see."}, {}, {Text: "Yes"}, {Text: "."}}
	for terminal, want := range map[bool]string{true: "\x1b[2mLet me see.\x1b[22m\n\nYes.", false: "Yes."} {
		var out bytes.Buffer
		talk := &talk{a: &app{out: &out}, lines: &lineReader{Terminal: terminal}}
		for _, tok := range tokens {
			if err := talk.print(tok); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != want {
			t.Errorf("terminal %v: %q, want %q", terminal, out.String(), want)
		}
	}
}
