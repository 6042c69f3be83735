package tier

import (
	"errors"
	"fmt"
	"strings"
)

// A Tier is a kind of memory that a tensor's bytes, or its work, belong to.
type Tier uint8

// The tiers. CPU is not a store: it says that the work, not the bytes, is the
// processor's, and a tensor there keeps whatever backing it had.
const (
	VRAM Tier = iota
	RAM
	SSD
	CPU
)

var tierNames = [...]string{"Vram", "Ram", "Ssd", "Cpu"}

// String returns the spelling of timelines, traces and reasons: Vram, Ram, Ssd
// or Cpu.
func (t Tier) String() string {
	if int(t) < len(tierNames) {
		return tierNames[t]
	}
	return fmt.Sprintf("Tier(%d)", uint8(t))
}

// Lower returns the spelling of checkpoints and transfers: vram, ram, ssd or
// cpu.
func (t Tier) Lower() string { return strings.ToLower(t.String()) }

// Parse reads either spelling.
func Parse(s string) (Tier, bool) {
	for i, n := range tierNames {
		if s == n || s == strings.ToLower(n) {
			return Tier(i), true
		}
	}
	return 0, false
}

// MarshalText writes the spelling of [Tier.String].
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads either spelling.
func (t *Tier) UnmarshalText(b []byte) error {
	v, ok := Parse(string(b))
	if !ok {
		return fmt.Errorf("no tier %q; there are Vram, Ram, Ssd and Cpu", b)
	}
	*t = v
	return nil
}

// The kinds of a failed move, for [errors.Is].
var (
	ErrUnsupported        = errors.New("unsupported")
	ErrIO                 = errors.New("input or output failed")
	ErrBackendUnavailable = errors.New("backend unavailable")
)

// A MoveError says why a tensor could not be registered, moved or read.
type MoveError struct {
	Kind error // [ErrUnsupported], [ErrIO] or [ErrBackendUnavailable]
	ID   string
	Why  string
	Err  error // the cause; nil if there is none
}

func (e *MoveError) Error() string {
	s := e.Why
	if e.ID != "" {
		s = fmt.Sprintf("%q: %s", e.ID, s)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the kind and the cause.
func (e *MoveError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// A Status is what is known of one tier. Absent is not zero.
type Status struct {
	Total    *uint64  `json:"total,omitempty"`    // bytes
	Free     *uint64  `json:"free,omitempty"`     // bytes
	Pressure *float32 `json:"pressure,omitempty"` // 0 to 1
}

// A Snapshot is the state of the tiers that a decision looks at.
type Snapshot struct {
	VRAM Status `json:"vram"`
	RAM  Status `json:"ram"`
	SSD  Status `json:"ssd"`
}

// An Adapter moves bytes to the memory of a device and back. Calls may come
// from several goroutines; ids are those of tensors.
type Adapter interface {
	Available() bool
	// Upload copies data, which the caller keeps, and replaces what id had. One
	// that fails leaves what id had.
	Upload(id string, data []byte) error
	// Download returns a copy that the caller owns.
	Download(id string) ([]byte, error)
	Free(id string) error
}

// NoVRAM is the adapter of a machine without a device: it is not available and
// refuses everything with [ErrBackendUnavailable].
type NoVRAM struct{}

// Available reports false.
func (NoVRAM) Available() bool { return false }

// Upload refuses.
func (NoVRAM) Upload(id string, _ []byte) error { return noVRAM(id) }

// Download refuses.
func (NoVRAM) Download(id string) ([]byte, error) { return nil, noVRAM(id) }

// Free refuses.
func (NoVRAM) Free(id string) error { return noVRAM(id) }

func noVRAM(id string) error {
	return &MoveError{Kind: ErrBackendUnavailable, ID: id, Why: "VRAM adapter not available"}
}
