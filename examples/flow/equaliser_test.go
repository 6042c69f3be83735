package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestLearn holds what README.md states.
func TestLearn(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l, err := learn(t.Context(), &out)
	if err != nil {
		t.Fatal(err)
	}
	if l.Steps > 300 || l.error > 0.02 || l.Loss > 1e-9 {
		t.Errorf("after %d steps the response is wrong by %.4f dB, the squared error is %g\n%s", l.Steps, l.error, l.Loss, &out)
	}
	if !strings.HasPrefix(out.String(), "largest error of the response: 6.68 dB\n") {
		t.Errorf("it starts elsewhere:\n%s", &out)
	}
}
