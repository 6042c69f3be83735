package memory

import (
	"errors"
	"fmt"
	"strings"
)

// A Tier is the kind of memory that a tensor's bytes are in, or CPU for work
// that stays on the processor.
type Tier uint8

// The tiers. CPU is not a memory: it says that the tensor's work runs on the
// processor; its bytes keep the backing they had.
const (
	VRAM Tier = iota
	RAM
	SSD
	CPU
)

var tierNames = [...]string{"Vram", "Ram", "Ssd", "Cpu"}

// String returns the spelling used in timelines, traces and reasons: Vram, Ram,
// Ssd or Cpu.
func (t Tier) String() string {
	if int(t) < len(tierNames) {
		return tierNames[t]
	}
	return fmt.Sprintf("Tier(%d)", uint8(t))
}

// Lower returns the spelling used in checkpoints and transfers: vram, ram, ssd
// or cpu.
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
	errUnsupported        = errors.New("unsupported")
	errIO                 = errors.New("input or output failed")
	ErrBackendUnavailable = errors.New("backend unavailable")
)

// A MoveError says why a tensor could not be registered, moved or read. Test its
// kind with [errors.Is].
type MoveError struct {
	Kind error // [errUnsupported], [errIO] or [ErrBackendUnavailable]
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

// A Status is the state of one tier; a nil field is unknown, not zero.
type Status struct {
	Total    *uint64  `json:"total,omitempty"`    // bytes
	Free     *uint64  `json:"free,omitempty"`     // bytes
	Pressure *float32 `json:"pressure,omitempty"` // 0 to 1
}

// A Snapshot is the state of all tiers at the time of a decision.
type Snapshot struct {
	VRAM Status `json:"vram"`
	RAM  Status `json:"ram"`
	SSD  Status `json:"ssd"`
}

// An Adapter copies bytes to the memory of a device and back, one buffer for
// each tensor id. It must be safe for concurrent use.
type Adapter interface {
	Available() bool
	// Upload copies data, which the caller keeps, and replaces the buffer of id. A
	// failed upload leaves the old buffer.
	Upload(id string, data []byte) error
	// Download returns a copy that the caller owns.
	Download(id string) ([]byte, error)
	Free(id string) error
}

// NoVRAM is the adapter of a machine without a device: Available is false and
// every other call returns [ErrBackendUnavailable].
type NoVRAM struct{}

// Available reports false.
func (NoVRAM) Available() bool { return false }

// Upload returns [ErrBackendUnavailable].
func (NoVRAM) Upload(id string, _ []byte) error { return noVRAM(id) }

// Download returns [ErrBackendUnavailable].
func (NoVRAM) Download(id string) ([]byte, error) { return nil, noVRAM(id) }

// Free returns [ErrBackendUnavailable].
func (NoVRAM) Free(id string) error { return noVRAM(id) }

func noVRAM(id string) error {
	return &MoveError{Kind: ErrBackendUnavailable, ID: id, Why: "VRAM adapter not available"}
}
