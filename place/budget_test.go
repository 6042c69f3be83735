package place_test

import (
	"errors"
	"testing"

	"atenia/place"
)

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "17": 17, "4GiB": 4 << 30, "1.5 gib": 3 << 29, "512MiB": 512 << 20, "2GB": 2e9, "3k": 3 << 10, "1kB": 1000, "7B": 7, "0.5KiB": 512,
	} {
		if got, err := place.ParseSize(s); err != nil || got != want {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
	for _, bad := range []string{"", "GiB", "-1", "1e3", "1..5GiB", "0x10", "99999999TiB", "4 apples", "nanGiB", "infGB", "auto"} {
		if n, err := place.ParseSize(bad); !errors.As(err, new(*place.SizeError)) {
			t.Errorf("%q: %d, %v", bad, n, err)
		}
	}
}

// TestBudget: a budget is set by names, says so, and each fault names its size; what is
// there is for the machine to say.
func TestBudget(t *testing.T) {
	var b place.Budget
	for name, size := range map[string]string{"ram": "2GiB", "kv": "1MiB", "runtime": "5"} {
		if err := b.Set(name, size); err != nil {
			t.Error(err)
		}
	}
	if s := b.String(); s != "ram=2147483648,kv=1048576,runtime=5" || b.Faults() != "" {
		t.Errorf("%s: %q", s, b.Faults())
	}
	for name, size := range map[string]string{"ram": "0", "tape": "1", "vram": "auto"} {
		if err := b.Set(name, size); err == nil {
			t.Errorf("%s is %s", name, size)
		}
	}
	if b.Reserve.KV = -1; b.Faults() != "kv is below 0" {
		t.Errorf("%q", b.Faults())
	}
}
