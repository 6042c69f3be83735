package memory

// Residences: what the manager knows of one tensor. The tier is derived from the
// state, so that tier and backing cannot disagree:
//
//	state     backing     tiers            left by
//	logical   None        any              moves change the tier alone
//	inRAM     Ram         RAM, or CPU      moves to SSD and VRAM
//	onSSD     SsdFile     SSD, or CPU      moves to RAM and VRAM
//	inVRAM    VramHandle  VRAM             moves to RAM, SSD and CPU
//	owned     Owner       RAM, SSD         moves that its owner makes
//
// A tensor of tier CPU keeps the backing that it had in RAM or on SSD; its next
// move copies from there.

import (
	"fmt"

	"atenia/internal/store/blob"
)

// A Backing says what holds a tensor's bytes.
type Backing uint8

// The backings.
const (
	BackingNone       Backing = iota // a name and a length, no bytes
	BackingRAM                       // bytes in the memory of the process
	BackingSSDFile                   // a file in the manager's directory
	BackingVRAMHandle                // a buffer of the adapter
	BackingOwner                     // whoever registered it
)

var backingNames = [...]string{"None", "Ram", "SsdFile", "VramHandle", "Owner"}

// String returns None, Ram, SsdFile, VramHandle or Owner.
func (b Backing) String() string {
	if int(b) < len(backingNames) {
		return backingNames[b]
	}
	return fmt.Sprintf("Backing(%d)", uint8(b))
}

// A state is what holds the bytes of a tensor; see the table above.
type state interface {
	tier() Tier
	backing() Backing
}

type (
	logical struct{ at Tier }
	inRAM   struct {
		data []byte
		cpu  bool // its tier is CPU
	}
	onSSD struct {
		file file
		cpu  bool // its tier is CPU
	}
	inVRAM struct{ bytes uint64 } // the handle's key is the tensor's id
)

func (s logical) tier() Tier { return s.at }
func (s inRAM) tier() Tier   { return unless(s.cpu, RAM) }
func (s onSSD) tier() Tier   { return unless(s.cpu, SSD) }
func (inVRAM) tier() Tier    { return VRAM }

func unless(cpu bool, t Tier) Tier {
	if cpu {
		return CPU
	}
	return t
}

func (logical) backing() Backing { return BackingNone }
func (inRAM) backing() Backing   { return BackingRAM }
func (onSSD) backing() Backing   { return BackingSSDFile }
func (inVRAM) backing() Backing  { return BackingVRAMHandle }

// A residence is one tensor. The holder of busy may read all of it. Writing
// needs busy and the manager's mutex, reading needs either.
type residence struct {
	id      string
	busy    chan struct{} // a lock: holds one token while a goroutine moves, reads or replaces the bytes
	st      state         // nil until the first registration is done
	bytes   uint64        // the length it was registered with
	gen     uint64        // generation of the state; unique within a manager
	version uint64        // version of the content; moves keep it
	leases  int
	lazy    *lazySource // nil: not registered lazily
}

func newResidence(id string) *residence { return &residence{id: id, busy: make(chan struct{}, 1)} }

// A Residence describes one tensor of a [Manager].
type Residence struct {
	Tier    Tier
	Backing Backing
	Bytes   uint64 // the length it was registered with
	// Version of the content: registering assigns a new one, greater than any
	// before it in this manager; moves keep it.
	Version uint64
	Leases  int
	Hash    blob.Hash // of the bytes, if known without reading them; else zero
}

// A LazyState says whether a lazily registered tensor has its bytes.
type LazyState uint8

// The states of a lazily registered tensor.
const (
	Unmaterialized LazyState = iota
	Materialized
)

// String returns Unmaterialized or Materialized.
func (s LazyState) String() string {
	if s == Unmaterialized {
		return "Unmaterialized"
	}
	return "Materialized"
}

// A lazySource is the cache entry that holds the bytes of a lazily registered
// tensor.
type lazySource struct {
	state LazyState
	kind  blob.Kind
	key   string
	at    Tier    // the tier to put the bytes in
	from  *Source // a file that has them instead of the cache; nil: none
}

// A Source is a span of a file that has the bytes of a lazily registered tensor,
// such as the file of a model.
type Source struct {
	Path   string
	Offset int64
	// View is the span where it is mapped already, nil if it is not. It is read in
	// place then and must stay mapped as long as the tensor is registered.
	View []byte
}
