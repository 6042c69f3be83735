package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"atenia/quila/config"
)

func ExampleProfile() {
	c, err := config.Profile("13b")
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(c.Count().Total)
	// Output: 13040908151
}

// TestTextForm: what JSON writes Parse reads, for every profile and with values
// that differ from it, and the second text is the first.
func TestTextForm(t *testing.T) {
	for _, name := range config.Profiles() {
		c, err := config.Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			text := c.JSON()
			back, err := config.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if back != c {
				t.Errorf("%s: read back as %+v", name, back)
			}
			if again := back.JSON(); string(again) != string(text) {
				t.Errorf("%s: %s\nwritten again as %s", name, text, again)
			}
			c.Training()
			c.Tau, c.EvictW[1], c.PersonaGate = 1e-5, .25, 1e20
			c.PersonaGate = 12
		}
	}
}

// TestAllFaults: one error lists all unknown names and values out of range.
func TestAllFaults(t *testing.T) {
	_, err := config.Parse([]byte(`{"name":"nano","wait_maxx":3,"active_cap":0,"V":"many","a":7,"wkv":"rwkv9","lambda_min":1,"evict_w":[0,2,0,0]}`))
	if !errors.Is(err, config.ErrConfig) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{`"wait_maxx"`, "active_cap is 0, want (0,1]", "V is", "a·s is 14, want H = 16", `wkv is "rwkv9"`, "lambda_min is 1", "evict_w is 2"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

// TestProfiles: profiles are without fault.
func TestProfiles(t *testing.T) {
	for _, name := range config.Profiles() {
		c, _ := config.Profile(name)
		if err := c.Check(); err != nil {
			t.Error(err)
		}
		c.Literal()
		if err := c.Check(); err != nil {
			t.Error(name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	c, _ := config.Profile("nano")
	f.Add(c.JSON())
	f.Add([]byte(`{"name":"x","N":1e9}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := config.Parse(text)
		if err != nil {
			return
		}
		if back, err := config.Parse(c.JSON()); err != nil || back != c {
			t.Errorf("%s: %v", c.JSON(), err)
		}
	})
}
