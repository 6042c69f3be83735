package train

import (
	"bytes"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func lines(n int) []PlotLine {
	l := []PlotLine{{Name: "train"}, {Name: "held out"}}
	for i := range n {
		l[0].Points = append(l[0].Points, PlotPoint{float64(i + 1), 1 + 3*math.Exp(-float64(i)/float64(n)*4)})
		if i%10 == 0 {
			l[1].Points = append(l[1].Points, PlotPoint{float64(i + 1), 1.2 + 3*math.Exp(-float64(i)/float64(n)*4)})
		}
	}
	return l
}

func TestPNG(t *testing.T) {
	t.Parallel()
	for _, l := range [][]PlotLine{nil, lines(1), lines(3), lines(500), {{Points: []PlotPoint{{1, math.NaN()}, {2, 3}, {3, math.Inf(1)}}}}} {
		var b, again bytes.Buffer
		if err := PlotPNG(&b, l); err != nil {
			t.Fatal(err)
		}
		if err := PlotPNG(&again, l); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Error("two drawings differ", err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for y := range height {
			for x := range width {
				if r, _, b, _ := img.At(x, y).RGBA(); r>>8 < 100 && b>>8 > 130 {
					seen++
				}
			}
		}
		if (len(l) > 0) != (seen > 20) {
			t.Errorf("%d lines: %d pixels of the first", len(l), seen)
		}
	}
}

// All characters of ticks and legends can be drawn.
func TestLetters(t *testing.T) {
	t.Parallel()
	text := "loss step train held out"
	for _, x := range []float64{0, -1.5, 3e6, 12e3, 0.0625} {
		text += label(x)
	}
	for _, r := range text {
		if _, ok := letters[r]; !ok && r != ' ' {
			t.Errorf("there is no letter %q", r)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	got := PlotText(lines(200), 30, 5)
	rows := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if len(rows) != 6 || utf8.RuneCountInString(rows[0]) != 9+30 || !strings.HasPrefix(strings.TrimSpace(rows[0]), "4.2") {
		t.Errorf("got\n%s", got)
	}
	// A falling curve: the first row has dots only on the left.
	first := []rune(rows[0])[9:]
	if first[0] == 0x2800 || first[29] != 0x2800 {
		t.Errorf("got\n%s", got)
	}
	if PlotText(nil, 10, 3) != "" {
		t.Error("nothing is drawn")
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	if got := (span{0, 100}).ticks(5); !slices.Equal(got, []float64{0, 20, 40, 60, 80, 100}) {
		t.Error(got)
	}
	if got := (span{1.13, 1.61}).ticks(5); len(got) != 5 || math.Abs(got[0]-1.2) > 1e-12 {
		t.Error(got)
	}
}
