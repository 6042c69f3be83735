package grad

import (
	"errors"
	"strings"
	"testing"
)

const listed = `tape float64 recording
%1 [4 3] grad = param
%2 [2 3] = const
%3 [2 4] grad = matmult(%2, %1)
%5 [2] = hidden
%4 [2 4] grad = opaque "twice"(%3; %5, %0)
%6 [1 3] grad = slice(%4) offset=2
%7 [1 3] = const
%8 [1 3] grad = klretention(%6, %7) alpha=0.9 theta=0.125
%9 [3 3] grad = embed(%1) numbers=[3,0,3]
%10 [4 3] grad = concat(%8, %9) axis=0
%11 [4] = hidden
%12 [] grad = crossentropy(%10; %11) numbers=[0,-1,2,-1]
`

func TestListing(t *testing.T) {
	t.Parallel()
	reg := register("twice", func(b *OpaqueBack[float64]) {})
	tape := New(reg)
	w := tape.Param(make([]float64, 12), 4, 3)
	y := tape.MatMulT(tape.Const(make([]float64, 6), 2, 3), w)
	out := tape.Alloc(2, 4)
	saved := tape.AllocSaved(2)
	if err := tape.Opaque("twice", []Ref{y}, []Ref{out}, []Ref{saved, 0}, nil); err != nil {
		t.Fatal(err)
	}
	kl := tape.KLRetention(tape.Slice(out, 2, 1, 3), tape.Const(make([]float64, 3), 1, 3), 0.9, 0.125)
	all := tape.Concat(0, kl, tape.Embed(w, []int32{3, 0, 3}))
	tape.CrossEntropy(all, []int32{0, -100, 2, 3})
	if err := tape.Err(); err != nil {
		t.Fatal(err)
	}
	if got := tape.Listing().String(); got != listed {
		t.Errorf("got\n%s\nwant\n%s", got, listed)
	}
	l, err := ParseListing(listed)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.String(); got != listed {
		t.Errorf("read back:\n%s", got)
	}
}

// TestExamplesAsText: every operation prints, and parses back to the same text.
func TestExamplesAsText(t *testing.T) {
	t.Parallel()
	tape := New[float64](nil)
	for i, e := range examples {
		in := make([][]float64, len(e.shapes))
		for j, s := range e.shapes {
			in[j] = make([]float64, dimsOf(s).size())
		}
		e.run(t, tape, in)
		text := tape.Listing().String()
		if !strings.Contains(text, "= "+tape.rules[e.op].name+"(") {
			t.Errorf("%s is not in\n%s", e.name(tape, i), text)
		}
		if l, err := ParseListing(text); err != nil || l.String() != text {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

func dimsOf(shape []int) dims { s, _ := checked(shape); return s }

func TestParseListingErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", "line 1: empty"},
		{"tape float16\n", "line 1: want"},
		{"tape float32", "line 1: no end of line"},
		{"tape float32\n%1 [2] = sum(%2)\n", "line 2: %2 is used before it is defined"},
		{"tape float32\n%1 [2] = wish\n", `line 2: no operation "wish"`},
		{"tape float32\n%1 [2,3] = param\n", `line 2: "2,3" is not a number`},
		{"tape float32\n%1 [1 2 3 4 5] = param\n", "line 2: no shape"},
		{"tape float32\n%0 [1] = param\n", "line 2: %0 cannot be defined here"},
		{"tape float32\n%1 [1] = param\n%2 [1] = scale(%1) by=1.50\n", "line 3: no constant"},
		{"tape float32\n%1 [1] = param\n%2 [1] = opaque \"\"(%1)\n", "line 3: no key"},
	} {
		_, err := ParseListing(c.text)
		if !errors.Is(err, ErrText) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
}

func FuzzParseListing(f *testing.F) {
	f.Add(listed)
	f.Add("tape float32\n%1 [] = param\n%2 [1], %3 [0] grad = opaque \"a\\n\"(; %0)\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseListing(text)
		if err != nil {
			if !errors.Is(err, ErrText) {
				t.Fatalf("untyped: %v", err)
			}
			return
		}
		if got := l.String(); got != text {
			t.Fatalf("%q prints as %q", text, got)
		}
	})
}
