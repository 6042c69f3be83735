package amp_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"atenia/flow/amp"
)

const text = `{"abi": [2, 1], "vendor": "v", "version": "3", "later": {"x": 1}, "isolate": true, "nodes": [
 {"type": "OnePole", "inputs": ["in"], "outputs": 2, "params": ["a", "thermo.heat"], "caps": ["v2", "f64", "of a later version"], "jacobian": "toeplitz"},
 {"type": "Gen", "inputs": 0, "outputs": ["out"], "declared_delay": 7, "oversample_ratio": 4, "jacobian": 99}]}`

func ExampleParse() {
	m, err := amp.ParseManifest([]byte(`{"abi": [2, 0], "nodes": [{"type": "Gain", "inputs": ["in"], "outputs": 1, "caps": ["v2", "backward"]}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	n := m.Nodes[0]
	fmt.Println(n.Type, n.Inputs, n.Outputs, n.Caps, n.Jacobian)
	_, err = amp.ParseManifest([]byte(`{"abi": [2, 0], "nodes": [{"type": "Gain", "outputs": ["y", "y"]}]}`))
	fmt.Println(err)
	// Output:
	// Gain [in] [out0] v2 backward dense
	// manifest: $.nodes[0].outputs[1]: a name of its own wanted, of 1 to 256 bytes
}

// TestRoundTrip: a manifest survives writing and reading.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	m, err := amp.ParseManifest([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if n := m.Nodes[0]; n.Outputs[1] != "out1" || n.Caps.String() != "v2 f64" || n.OversampleRatio != 1 || n.Jacobian != 4 {
		t.Errorf("%+v", n)
	}
	if n := m.Nodes[1]; len(n.Inputs) != 0 || n.OversampleRatio != 4 || n.DeclaredDelay != 7 || n.Jacobian != 0 {
		t.Errorf("%+v", n)
	}
	again, err := amp.ParseManifest(m.Encode())
	if err != nil {
		t.Fatalf("%v in\n%s", err, m.Encode())
	}
	m.Nodes[1].Params, m.Nodes[1].Inputs = amp.Names{}, amp.Names{} // not nil
	if !reflect.DeepEqual(m, again) {
		t.Errorf("%+v\n%+v", m, again)
	}
}

// TestRefused: invalid manifests, with the positions of their faults.
func TestRefused(t *testing.T) {
	t.Parallel()
	node := func(more string) string {
		return `{"abi": [2, 0], "nodes": [{"type": "T", "outputs": 1` + more + `}]}`
	}
	for text, path := range map[string]string{
		``:                              "",
		`[]`:                            "",
		`{"abi": [2, 0]} {}`:            "",
		`{"nodes": []}`:                 "$.abi",
		`{"abi": [2, -1]}`:              "$.abi",
		`{"abi": "2"}`:                  "",
		node(`, "type": ""`):            "$.nodes[0].type",
		node(`, "outputs": 0`):          "$.nodes[0].outputs",
		node(`, "outputs": 65`):         "",
		node(`, "outputs": -1`):         "",
		node(`, "outputs": null`):       "$.nodes[0].outputs",
		node(`, "oversample_ratio": 3`): "$.nodes[0].oversample_ratio",
		node(`, "declared_delay": -1`):  "$.nodes[0].declared_delay",
		node(`, "params": ["` + strings.Repeat("x", 300) + `"]`): "$.nodes[0].params[0]",
		node(`, "caps": 5`):                                                             "",
		`{"abi": [2, 0], "sha256": "12"}`:                                               "$.sha256",
		`{"abi": [2, 0], "sha256": "zz"}`:                                               "$.sha256",
		`{"abi": [2, 0], "nodes": [` + strings.Repeat("{},", 2000) + `{}]}`:             "$.nodes",
		`{"abi": [2, 0], "nodes": [{"type":"A","outputs":1},{"type":"A","outputs":1}]}`: "$.nodes[1].type",
		strings.Repeat(" ", 1<<20+1):                                                    "",
	} {
		m, err := amp.ParseManifest([]byte(text))
		e, ok := errors.AsType[*amp.ManifestError](err)
		if !ok || e.Path != path {
			t.Errorf("%.60q: %v, %+v", text, err, m)
		}
	}
}

// FuzzParse: no text panics, and accepted manifests survive writing and reading.
func FuzzParse(f *testing.F) {
	f.Add([]byte(text))
	f.Add([]byte(`{"abi":[2,0],"nodes":[{"type":"a","inputs":64,"outputs":["",""]}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := amp.ParseManifest(in)
		if err != nil {
			if _, ok := errors.AsType[*amp.ManifestError](err); !ok {
				t.Fatalf("%T", err)
			}
			return
		}
		out := m.Encode()
		again, err := amp.ParseManifest(out)
		if err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		if !bytes.Equal(out, again.Encode()) {
			t.Fatalf("%s\n%s", out, again.Encode())
		}
	})
}
