package amp

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Manifest is the description of a library.
type Manifest struct {
	ABI     [2]int         `json:"abi"`              // major, minor
	SHA256  string         `json:"sha256,omitempty"` // of the library, in hex; "" if unknown
	Vendor  string         `json:"vendor,omitempty"`
	Version string         `json:"version,omitempty"`
	Isolate bool           `json:"isolate,omitempty"` // the library requests a separate process
	Nodes   []ManifestNode `json:"nodes"`
}

// A ManifestNode is one type of a library.
type ManifestNode struct {
	Type            string   `json:"type"`
	Inputs          Names    `json:"inputs"`  // signal inputs
	Outputs         Names    `json:"outputs"` // at least one
	Params          Names    `json:"params"`  // in the order in which they are passed
	Caps            Caps     `json:"caps"`
	OversampleRatio int      `json:"oversample_ratio"` // at least 1
	DeclaredDelay   int      `json:"declared_delay"`   // frames
	Jacobian        Jacobian `json:"jacobian"`
}

// Names are names of ports or parameters. A manifest may give their number
// instead.
type Names []string

// Caps are the capability bits of amp.h.
type Caps uint32

// A Jacobian is the class of a node's derivative, numbered as in amp.h.
type Jacobian int

// Bounds of a manifest.
const (
	maxBytes = 1 << 20
	maxNodes = 1024
	maxPorts = 64
	maxText  = 256
	maxDelay = 1 << 24
	maxRatio = 1 << 10
)

// A ManifestError says what is wrong with a manifest and where.
type ManifestError struct {
	Path string // JSON path, "" when it is not JSON
	Text string
}

// Error implements error.
func (e *ManifestError) Error() string {
	if e.Path == "" {
		return "manifest: " + e.Text
	}
	return "manifest: " + e.Path + ": " + e.Text
}

// ParseManifest reads and checks a manifest. Errors are of type *[ManifestError].
func ParseManifest(text []byte) (*Manifest, error) {
	if len(text) > maxBytes {
		return nil, &ManifestError{"", fmt.Sprintf("more than %d bytes", maxBytes)}
	}
	m := &Manifest{ABI: [2]int{-1, -1}}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(m); err != nil {
		return nil, &ManifestError{"", fmt.Sprintf("at byte %d: %v", d.InputOffset(), err)}
	}
	if d.More() {
		return nil, &ManifestError{"", fmt.Sprintf("at byte %d: more than one value", d.InputOffset())}
	}
	return m, m.Check()
}

// Encode writes a manifest in the form that Parse reads.
func (m *Manifest) Encode() []byte {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil { // a manifest can always be encoded
		return nil
	}
	return append(b, '\n')
}

// Check reports the first fault of a manifest.
func (m *Manifest) Check() error {
	fault := func(path, text string, args ...any) error { return &ManifestError{path, fmt.Sprintf(text, args...)} }
	if m.ABI[0] < 0 || m.ABI[1] < 0 {
		return fault("$.abi", "two integers [major, minor] wanted")
	}
	if b, err := hex.DecodeString(m.SHA256); err != nil || len(b) != 32 && len(b) != 0 {
		return fault("$.sha256", "64 hexadecimal digits wanted")
	}
	if len(m.Nodes) > maxNodes {
		return fault("$.nodes", "more than %d types", maxNodes)
	}
	types := map[string]bool{}
	for i := range m.Nodes {
		n := &m.Nodes[i]
		at := fmt.Sprintf("$.nodes[%d]", i)
		switch {
		case n.Type == "" || len(n.Type) > maxText || strings.ContainsRune(n.Type, 0):
			return fault(at+".type", "a name of 1 to %d bytes wanted", maxText)
		case types[n.Type]:
			return fault(at+".type", "%s is there twice", n.Type)
		case len(n.Outputs) == 0:
			return fault(at+".outputs", "at least one wanted")
		case n.OversampleRatio < 1 || n.OversampleRatio > maxRatio || n.OversampleRatio&(n.OversampleRatio-1) != 0:
			return fault(at+".oversample_ratio", "a power of two from 1 to %d wanted", maxRatio)
		case n.DeclaredDelay < 0 || n.DeclaredDelay > maxDelay:
			return fault(at+".declared_delay", "frames from 0 to %d wanted", maxDelay)
		case n.Jacobian < 0:
			return fault(at+".jacobian", "a class wanted")
		}
		types[n.Type] = true
		for _, list := range []struct {
			key   string
			names Names
		}{{".inputs", n.Inputs}, {".outputs", n.Outputs}, {".params", n.Params}} {
			if len(list.names) > maxPorts {
				return fault(at+list.key, "more than %d", maxPorts)
			}
			for j, name := range list.names {
				if name == "" || len(name) > maxText || strings.ContainsRune(name, 0) || slices.Contains(list.names[:j], name) {
					return fault(fmt.Sprintf("%s%s[%d]", at, list.key, j), "a name of its own wanted, of 1 to %d bytes", maxText)
				}
			}
		}
	}
	return nil
}

// UnmarshalJSON reads a node. The default of the ratio is one.
func (n *ManifestNode) UnmarshalJSON(text []byte) error {
	type plain ManifestNode
	p := plain{OversampleRatio: 1}
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	*n = ManifestNode(p)
	for _, l := range []struct {
		names  Names
		prefix string
	}{{n.Inputs, "in"}, {n.Outputs, "out"}, {n.Params, "p"}} {
		for i := range l.names {
			if l.names[i] == "" {
				l.names[i] = fmt.Sprint(l.prefix, i)
			}
		}
	}
	return nil
}

// UnmarshalJSON reads names, or their number, which gives empty names.
func (n *Names) UnmarshalJSON(text []byte) error {
	var count int
	if json.Unmarshal(text, &count) == nil {
		if count < 0 || count > maxPorts {
			return fmt.Errorf("%d ports", count)
		}
		*n = make(Names, count)
		return nil
	}
	return json.Unmarshal(text, (*[]string)(n))
}

// MarshalJSON writes a list, an empty one for no names.
func (n Names) MarshalJSON() ([]byte, error) { return json.Marshal(append([]string{}, n...)) }

// capNames are the names of the bits, lowest first.
var capNames = []string{"v2", "backward", "strided", "inplace", "stateless", "linear", "timeinv", "f64",
	"rt_safe", "batch_fuse", "snapshot", "need_x", "need_y", "need_s0", "events"}

// String returns the names of the bits known to this version.
func (c Caps) String() string {
	var list []string
	for i, name := range capNames {
		if c>>i&1 != 0 {
			list = append(list, name)
		}
	}
	return strings.Join(list, " ")
}

// MarshalJSON writes a list of names.
func (c Caps) MarshalJSON() ([]byte, error) { return json.Marshal(strings.Fields(c.String())) }

// UnmarshalJSON reads a list of names. Unknown names belong to a later version
// and are ignored.
func (c *Caps) UnmarshalJSON(text []byte) error {
	var list []string
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	for _, name := range list {
		if i := slices.Index(capNames, name); i >= 0 {
			*c |= 1 << i
		}
	}
	return nil
}

// jacobians are the classes in the order of amp.h.
var jacobians = []string{"dense", "zero", "identity", "diagonal", "toeplitz", "banded", "block", "scalar"}

// String returns the class's name.
func (j Jacobian) String() string {
	if j >= 0 && int(j) < len(jacobians) {
		return jacobians[j]
	}
	return jacobians[0] // of a later version: assume nothing
}

// MarshalJSON writes the class's name.
func (j Jacobian) MarshalJSON() ([]byte, error) { return json.Marshal(j.String()) }

// UnmarshalJSON reads a class's name or number; an unknown one becomes dense.
func (j *Jacobian) UnmarshalJSON(text []byte) error {
	var number int
	if json.Unmarshal(text, &number) == nil {
		if *j = 0; number >= 0 && number < len(jacobians) {
			*j = Jacobian(number)
		}
		return nil
	}
	var name string
	if err := json.Unmarshal(text, &name); err != nil {
		return err
	}
	*j = Jacobian(max(0, slices.Index(jacobians, name)))
	return nil
}
