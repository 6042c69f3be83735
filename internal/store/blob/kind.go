package blob

import "fmt"

// A Kind is a namespace of a [Cache].
type Kind uint8

// The kinds.
const (
	Tensor Kind = iota
	Gradient
	KernelMeta // of other programs: it is listed, verified and collected, and never written
)

// Kinds lists all kinds in order.
var Kinds = []Kind{Tensor, Gradient, KernelMeta}

var kindNames = [...]struct{ name, folder string }{{"Tensor", "tensor"}, {"Gradient", "gradient"}, {"KernelMeta", "kernel_meta"}}

// String returns Tensor, Gradient or KernelMeta.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k].name
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Folder returns the spelling used in files and directories: tensor, gradient or
// kernel_meta.
func (k Kind) Folder() string {
	if int(k) < len(kindNames) {
		return kindNames[k].folder
	}
	return k.String()
}

// ParseKind reads the spelling used in files, and kernelmeta.
func ParseKind(s string) (Kind, bool) {
	if s == "kernelmeta" {
		return KernelMeta, true
	}
	for i, n := range kindNames {
		if s == n.folder {
			return Kind(i), true
		}
	}
	return 0, false
}

// MarshalText writes the spelling of files.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.Folder()), nil }

// UnmarshalText reads the spelling of files.
func (k *Kind) UnmarshalText(b []byte) error {
	v, ok := ParseKind(string(b))
	if !ok {
		return fmt.Errorf("no kind of cache entry %q; there are tensor, gradient and kernel_meta", b)
	}
	*k = v
	return nil
}
