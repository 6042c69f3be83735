package flow_test

import (
	"fmt"
	"strings"
	"testing"

	"atenia/flow"
)

func Example_control() {
	tokens, err := flow.ParseControl(strings.NewReader("3 open 9\n5 set eq.low.f0 1000 1e3\n8 clear eq.thermo.heat\n"))
	for _, t := range tokens {
		fmt.Println(t)
	}
	_, bad := flow.ParseControl(strings.NewReader("3 shut 9"))
	fmt.Println(err, bad)
	// Output:
	// 3 open 9
	// 5 set eq.low.f0 1000 1000
	// 8 clear eq.thermo.heat
	// <nil> control tokens: line 1: "shut 9": want set NODE.PARAM VALUE… or clear NODE.PARAM
}

// FuzzParse: tokens survive printing and parsing.
func FuzzParse(f *testing.F) {
	f.Add("3 open 9\n5 set eq.f0 1000\n8 clear eq.f0\n0 set a.thermo.heat 0 0")
	f.Add("@480 set eq.f0 1000 96000\n@1 clear eq.thermo.heat 3\n@7 on * 0 69 0.8 -0.25\n@8 bend synth 15 0 -1")
	f.Add("@0 set 0. 0\n0 clear 0.")
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := flow.ParseControl(strings.NewReader(text))
		if err != nil {
			return
		}
		var b strings.Builder
		for _, k := range tokens {
			fmt.Fprintln(&b, k)
		}
		again, err := flow.ParseControl(strings.NewReader(b.String()))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(tokens) {
			t.Fatalf("%q read again: %v, %v", b.String(), again, err)
		}
	})
}
