package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Text compares a text with a file of testdata. With update it writes the file;
// else the error shows the lines that were removed and added.
func Text(t testing.TB, path, got string, update bool) {
	t.Helper()
	if update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if d := diff(string(want), got); d != "" {
		t.Errorf("%s:\n%s(-update rewrites; review the difference)", path, d)
	}
}

// mostLines bounds the lines of a difference that are shown.
const mostLines = 60

// diff returns the lines of a that are not in b, marked with -, and those of b
// that are not in a, marked with +, after the number of the line in a; "" if
// there are none. Lines are matched by their longest common subsequence.
func diff(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	from := 0
	for from < len(x) && from < len(y) && x[from] == y[from] {
		from++
	}
	x, y = x[from:], y[from:]
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	common := make([][]int32, len(x)+1) // common[i][j] is that of x[i:] and y[j:]
	for i := range common {
		common[i] = make([]int32, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out strings.Builder
	lines := 0
	put := func(i int, mark, line string) {
		if lines++; lines <= mostLines {
			fmt.Fprintf(&out, "%5d %s %s\n", from+i+1, mark, line)
		}
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[i+1][j] >= common[i][j+1]:
			put(i, "-", x[i])
			i++
		default:
			put(i, "+", y[j])
			j++
		}
	}
	if lines > mostLines {
		fmt.Fprintf(&out, "and %d lines more\n", lines-mostLines)
	}
	return out.String()
}
