package tier

// Residences: what the manager knows of one tensor. Tier and backing cannot
// disagree, because the tier follows from the state:
//
//	state     backing     tiers            left by
//	logical   None        any              moves change the tier alone
//	inRAM     Ram         RAM, or CPU      moves to SSD and VRAM
//	onSSD     SsdFile     SSD, or CPU      moves to RAM and VRAM
//	inVRAM    VramHandle  VRAM             moves to RAM, SSD and CPU
//
// A tensor of tier CPU keeps the backing that it had in RAM or on SSD, and its
// next move is the real one from there.

import (
	"fmt"

	"atenia/tier/blob"
)

// A Backing says what holds a tensor's bytes.
type Backing uint8

// The backings.
const (
	BackingNone       Backing = iota // a name and a length, no bytes
	BackingRAM                       // bytes in the memory of the process
	BackingSSDFile                   // a file in the manager's folder
	BackingVRAMHandle                // a buffer of the adapter
)

var backingNames = [...]string{"None", "Ram", "SsdFile", "VramHandle"}

// String returns None, Ram, SsdFile or VramHandle.
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

// A residence is one tensor. The holder of busy may read all of it; changing
// it takes the manager's mutex as well, and reading it that mutex or busy.
type residence struct {
	id      string
	busy    chan struct{} // holds one token while somebody moves, reads or replaces the bytes
	st      state         // nil until the first registration is done
	bytes   uint64        // the length it was registered with
	gen     uint64        // of the state; no two states of a manager share one
	version uint64        // of the content; moves keep it
	leases  int
	lazy    *lazySource // nil: not restored lazily
}

func newResidence(id string) *residence { return &residence{id: id, busy: make(chan struct{}, 1)} }

// A Residence is what the manager says of one tensor.
type Residence struct {
	Tier    Tier
	Backing Backing
	Bytes   uint64 // the length it was registered with
	// Version of the content: registering gives a new one, greater than all
	// before it in this manager; moves keep it.
	Version uint64
	Leases  int
	Hash    blob.Hash // of the bytes, where that is known without reading them; else zero
}

// A LazyState says whether a tensor that was restored lazily has its bytes.
type LazyState uint8

// The states of lazy tensors.
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

// A lazySource is where the bytes of a lazily restored tensor come from.
type lazySource struct {
	state LazyState
	kind  blob.Kind
	key   string
	at    Tier // where the bytes go
}
