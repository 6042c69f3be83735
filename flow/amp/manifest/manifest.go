package manifest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Manifest is what a library says of itself.
type Manifest struct {
	ABI     [2]int `json:"abi"`              // major, minor
	SHA256  string `json:"sha256,omitempty"` // of the library, in hex; "" when not told
	Vendor  string `json:"vendor,omitempty"`
	Version string `json:"version,omitempty"`
	Isolate bool   `json:"isolate,omitempty"` // the library itself asks for a process of its own
	Nodes   []Node `json:"nodes"`
}

// A Node is one type of a library.
type Node struct {
	Type            string   `json:"type"`
	Inputs          Names    `json:"inputs"`  // signal inputs
	Outputs         Names    `json:"outputs"` // at least one
	Params          Names    `json:"params"`  // in the order in which they are passed
	Caps            Caps     `json:"caps"`
	OversampleRatio int      `json:"oversample_ratio"` // at least 1
	DeclaredDelay   int      `json:"declared_delay"`   // frames
	Jacobian        Jacobian `json:"jacobian"`
}

// Names are names of ports or parameters. In a manifest they may be their
// number instead.
type Names []string

// Caps are the capability bits of amp.h.
type Caps uint32

// A Jacobian is the class of a node's derivative, numbered as in amp.h.
type Jacobian int

// Bounds of what a manifest may say.
const (
	maxBytes = 1 << 20
	maxNodes = 1024
	maxPorts = 64
	maxText  = 256
	maxDelay = 1 << 24
	maxRatio = 1 << 10
)

// An Error says what is wrong with a manifest and where.
type Error struct {
	Path string // JSON path, "" when it is not JSON
	Text string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return "manifest: " + e.Text
	}
	return "manifest: " + e.Path + ": " + e.Text
}

// Parse reads a manifest and checks it. Errors are of type *[Error].
func Parse(text []byte) (*Manifest, error) {
	if len(text) > maxBytes {
		return nil, &Error{"", fmt.Sprintf("more than %d bytes", maxBytes)}
	}
	m := &Manifest{ABI: [2]int{-1, -1}}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(m); err != nil {
		return nil, &Error{"", fmt.Sprintf("at byte %d: %v", d.InputOffset(), err)}
	}
	if d.More() {
		return nil, &Error{"", fmt.Sprintf("at byte %d: more than one value", d.InputOffset())}
	}
	return m, m.Check()
}

// Encode writes a manifest as Parse reads it.
func (m *Manifest) Encode() []byte {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil { // there is nothing in it that JSON cannot say
		return nil
	}
	return append(b, '\n')
}

// Check reports the first thing that no library may say of itself.
func (m *Manifest) Check() error {
	fault := func(path, text string, args ...any) error { return &Error{path, fmt.Sprintf(text, args...)} }
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

// UnmarshalJSON reads a node; a ratio that is not given is one.
func (n *Node) UnmarshalJSON(text []byte) error {
	type plain Node
	p := plain{OversampleRatio: 1}
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	*n = Node(p)
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

// UnmarshalJSON reads names, or a number of them, which stay without text.
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

// MarshalJSON writes a list, also of no names.
func (n Names) MarshalJSON() ([]byte, error) { return json.Marshal(append([]string{}, n...)) }

// capNames are the names of the bits, lowest first.
var capNames = []string{"v2", "backward", "strided", "inplace", "stateless", "linear", "timeinv", "f64",
	"rt_safe", "batch_fuse", "snapshot", "need_x", "need_y", "need_s0"}

// String names the bits that this version knows.
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

// UnmarshalJSON reads a list of names; those it does not know are of a later
// version and left out.
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

// UnmarshalJSON reads a class's name or number; what it does not know is dense.
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
