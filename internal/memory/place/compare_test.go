package place_test

import (
	"strings"
	"testing"

	"atenia/internal/memory/place"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	p := small(t)
	c := place.Compare(p, place.Actual{
		RAM: float64(p.RAM()), SSDBytes: p.Decode.SSDBytes, Seconds: 1.2 * p.Decode.Seconds, Overlap: 0.97,
	})
	var b strings.Builder
	if err := c.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `                          planned         actual      off
ram bytes               207650816      207650816   +0.0 %
ssd bytes a pass         35653632       35653632   +0.0 %
s a pass                   0.0246         0.0295  +20.0 %
overlap                      0.80           0.97  +17.4 %
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
	if off := c.Off(); len(off) != 1 || off[0].What != "s a pass" {
		t.Errorf("off: %v", off)
	}
	if c := place.Compare(p, place.Actual{}); len(c) != 0 {
		t.Errorf("nothing was measured: %v", c)
	}
}
