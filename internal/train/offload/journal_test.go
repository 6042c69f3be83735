package offload

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func testJournal() *journal {
	return &journal{
		step: 3, written: 98765, chunkElements: 1024, opt: Optimizer{0.9, 0.999, 1e-8, 0.01}, note: "epoch \"1\"\n",
		layers: []layerState{
			{Layer{"blk.0", 1500, false}, 1, []chunkSum{{0x123abcd, 0x4567ef00}, {1, 2}}},
			{Layer{"nörm", 1, true}, 0, []chunkSum{{0, 0xffffffff}}},
		},
	}
}

func TestJournalText(t *testing.T) {
	t.Parallel()
	text := string(testJournal().text())
	for _, want := range []string{"version=1\nstep=3\n", "epsilon=1e-08\n", `note="epoch \"1\"\n"`, "sums=0123abcd:4567ef00 00000001:00000002\n", "name=\"n\\u00f6rm\"\nelements=1\nno_decay=1\nversion=0\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if j, err := parseJournal([]byte(text)); err != nil || !bytes.Equal(j.text(), []byte(text)) {
		t.Errorf("%v\n%s", err, j.text())
	}
	for i := range text { // any byte that is missing, and any that is another
		if _, err := parseJournal([]byte(text[:i])); !errors.Is(err, errFormat) {
			t.Fatalf("cut at %d: %v", i, err)
		}
		if _, err := parseJournal([]byte(text[:i] + "~" + text[i+1:])); !errors.Is(err, errFormat) {
			t.Fatalf("changed at %d: %v", i, err)
		}
	}
	if _, err := parseJournal([]byte(text + "\n")); !errors.Is(err, errFormat) {
		t.Error(err)
	}
	_, err := parseJournal([]byte("version=2\n"))
	if err == nil || !strings.Contains(err.Error(), "line 1: version 2; this program knows version 1") {
		t.Error(err)
	}
}

func FuzzJournal(f *testing.F) {
	f.Add(testJournal().text())
	f.Add([]byte("version=1\nstep=0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := parseJournal(data)
		if err != nil {
			if !errors.Is(err, errFormat) {
				t.Errorf("another kind of error: %v", err)
			}
			return
		}
		if !bytes.Equal(j.text(), data) {
			t.Errorf("%q is printed as %q", data, j.text())
		}
	})
}
