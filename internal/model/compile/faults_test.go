package compile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestList(t *testing.T) {
	var f List
	if f.Err() != nil {
		t.Fatal("an empty list is an error")
	}
	last := errors.New("fault 0")
	f.Add(last)
	for i := range 100 {
		f.Add(fmt.Errorf("fault %d", i+1))
	}
	err := f.Err()
	if !errors.Is(err, last) || len(f.Errs) != maxFaults || f.More != 101-maxFaults {
		t.Fatalf("%d kept, %d more", len(f.Errs), f.More)
	}
	if n := strings.Count(err.Error(), "\n"); n != maxFaults {
		t.Fatalf("%d lines", n)
	}
	if len(clip(strings.Repeat("x", 1000))) > 200 {
		t.Fatal("not clipped")
	}
}
