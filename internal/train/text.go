package train

import (
	"fmt"
	"strings"
)

// dots are the bits of a braille character by row and column, from U+2800.
var dots = [4][2]byte{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

// PlotText plots lines in columns × rows characters, with the highest, the lowest
// and the last value beside and below. The first line is drawn as its running
// mean.
func PlotText(lines []PlotLine, columns, rows int) string {
	x, y, ok := spans(lines)
	if !ok || columns < 1 || rows < 1 {
		return ""
	}
	cells := make([][]byte, rows)
	for i := range cells {
		cells[i] = make([]byte, columns)
	}
	for i, l := range lines {
		ps := l.Points
		if i == 0 {
			ps = smooth(ps)
		}
		for _, p := range fill(ps, x, 2*columns) {
			col := min(2*columns-1, int(x.at(p.X)*float64(2*columns)))
			row := min(4*rows-1, int((1-min(1, y.at(p.Y)))*float64(4*rows)))
			cells[row/4][col/2] |= dots[row%4][col%2]
		}
	}
	var b strings.Builder
	for i, row := range cells {
		mark := ""
		switch i {
		case 0:
			mark = fmt.Sprintf("%.3g", y.hi)
		case rows - 1:
			mark = fmt.Sprintf("%.3g", y.lo)
		}
		fmt.Fprintf(&b, "%8s ", mark)
		for _, c := range row {
			b.WriteRune(0x2800 + rune(c))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%8s %-*s%*s\n", "step", columns/2, label(x.lo), columns-columns/2, label(x.hi))
	return b.String()
}

// fill interpolates, so that a line with few points has no gaps.
func fill(ps []PlotPoint, x span, n int) (out []PlotPoint) {
	step := (x.hi - x.lo) / float64(n)
	for i, p := range ps {
		if i > 0 {
			q := ps[i-1]
			for at := q.X + step; at < p.X; at += step {
				out = append(out, PlotPoint{at, q.Y + (p.Y-q.Y)*(at-q.X)/(p.X-q.X)})
			}
		}
		if finite(p) {
			out = append(out, p)
		}
	}
	return out
}
