package atenia_test

import (
	"errors"
	"testing"

	"atenia"
	"atenia/place"
)

func TestParseBudget(t *testing.T) {
	for s, want := range map[string]place.Budget{
		"ram=2GiB,vram=0": {RAM: 2 << 30}, "ram=1.5 GiB": {RAM: 3 << 29}, "vram=1KiB, ram=7": {RAM: 7, VRAM: 1024},
	} {
		got, err := atenia.ParseBudget(s)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
		if again, err := atenia.ParseBudget(got.String()); err != nil || again != got {
			t.Errorf("%q prints as %q: %+v, %v", s, got, again, err)
		}
	}
	for _, s := range []string{"", "ram", "ram=", "ram=-1", "ram=1GiB,disk=3", "2GiB", "ram=0", "ram=9999999TiB"} {
		_, err := atenia.ParseBudget(s)
		if _, ok := errors.AsType[*atenia.ConfigError](err); !ok {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// A budget that cannot be kept is refused when the model is opened, with the
// least that would do; so is memory of a device that is not there.
func TestBudgetRefused(t *testing.T) {
	for _, b := range []place.Budget{{RAM: 1}, {RAM: -1}, {RAM: 1 << 40, VRAM: 1}} {
		_, err := atenia.Open(t.Context(), "", &atenia.Config{Budget: b})
		if e, ok := errors.AsType[*place.FloorError](err); ok && b.RAM == 1 && e.Floor > 1 {
			continue
		}
		if _, ok := errors.AsType[*atenia.ConfigError](err); !ok {
			t.Errorf("%+v: %v", b, err)
		}
	}
	m, err := atenia.Open(t.Context(), "", &atenia.Config{Budget: place.Budget{RAM: 1 << 40}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if s, pl := m.Streaming(), m.Placement(); pl == nil || pl.Spills() || s.Streamed != 0 {
		t.Errorf("a budget with room for everything: %+v", s)
	}
}
