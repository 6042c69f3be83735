package place_test

import (
	"strings"
	"testing"

	"atenia/place"
)

// TestMap: bars are in one proportion, and every part has one; parts of one memory have a
// sum, and what the system counts is told beside it.
func TestMap(t *testing.T) {
	m := place.MemoryMap{Resident: 1000 << 20, Parts: []place.MemoryPart{
		{Memory: "ram", Use: "weights", Bytes: 400 << 20}, {Memory: "ram", Use: "cache", Bytes: 100 << 20}, {Memory: "ram", Use: "scratch", Bytes: 1},
		{Memory: "ssd", Use: "weights", Bytes: 200 << 20},
	}}
	var b strings.Builder
	if err := m.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := "ram                    500 MiB\n" +
		"  weights              400 MiB  " + strings.Repeat("█", 40) + "\n" +
		"  cache                100 MiB  " + strings.Repeat("█", 10) + "\n" +
		"  scratch                  1 B  ▏\n" +
		"ssd                    200 MiB\n" +
		"  weights              200 MiB  " + strings.Repeat("█", 20) + "\n" +
		"resident              1000 MiB  the system's count; ram above is -50.0 %\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
