package plan

import (
	"errors"
	"strings"
	"testing"
)

func TestProgramText(t *testing.T) {
	const text = "n = norm(x) weight=attn_norm\n" +
		"a = attention(n) #attn q=attn_q k=attn_k v=attn_v o=attn_o\n" +
		"y = residual_add(x, a)\n"
	p, err := ParseProgram("// a comment\n\n" + text)
	if err != nil {
		t.Fatal(err)
	}
	if p.String() != text || p[1].Tag != "attn" || p[1].W["o"] != "attn_o" {
		t.Errorf("reads as %+v", p)
	}
	for bad, why := range map[string]string{
		"n norm(x)":                     "want out = op",
		"n = norm x":                    "want out = op",
		"n = nrm(x)":                    "unsupported opcode",
		"n = norm()":                    "without a name",
		"n = norm(x,)":                  "without a name",
		"n = norm(x) colour=w":          "no weight slot",
		"n = norm(x) weight":            "want slot=weight",
		"n = norm(x) weight=":           "want slot=weight",
		"n = norm(x) weight=a #a #b":    "want slot=weight",
		"n = norm(x) weight=a weight=b": "twice",
	} {
		_, err := ParseProgram("\n" + bad)
		e, ok := errors.AsType[*syntaxError](err)
		if !ok || e.Line != 2 || !strings.Contains(e.Why, why) {
			t.Errorf("%q: got %v, want %q", bad, err, why)
		}
	}
}

func FuzzProgram(f *testing.F) {
	f.Add("n = norm(x) weight=attn_norm\na = attention(n) #attn q=a k=b v=c o=d\ny = residual_add(x, a)")
	f.Add("= (")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseProgram(text)
		if err != nil {
			return
		}
		back, err := ParseProgram(p.String())
		if err != nil || back.String() != p.String() {
			t.Fatalf("%q prints as %q: %v", text, p, err)
		}
	})
}
