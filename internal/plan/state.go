package plan

import "atenia/tensor"

// A StateKind is how a state's bytes are addressed; it determines the allowed
// actions.
type StateKind uint8

// The state kinds.
const (
	StateKV        StateKind = iota // paged, addressed by position
	StateRecurrent                  // fixed size, not addressed by position
	StateConv                       // a short window of inputs
	StateCrossKV                    // written once per request
	NumStateKinds
)

var stateNames = [NumStateKinds]string{"kv", "recurrent", "conv", "cross_kv"}

// String returns the kind's name.
func (k StateKind) String() string {
	if k < NumStateKinds {
		return stateNames[k]
	}
	return "state?"
}

// A StateKindSet is a set of state kinds.
type StateKindSet uint8

// kinds returns the set of the given kinds.
func kinds(ks ...StateKind) (s StateKindSet) {
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

// Has reports whether k is in the set.
func (s StateKindSet) Has(k StateKind) bool { return s&(1<<k) != 0 }

// ModeStates says which kinds of state the plan of a mode may declare: the
// vision stages keep nothing between steps.
var ModeStates = [NumModes]StateKindSet{
	ModeDecode:  kinds(StateKV, StateRecurrent, StateConv, StateCrossKV),
	ModePrefill: kinds(StateKV, StateRecurrent, StateConv, StateCrossKV),
}

// A StateKey names one state of a model: a kind and a group inside it, because
// full and sliding-window layers keep separate caches.
type StateKey struct {
	Kind  StateKind
	Group uint8
}

// A Lifecycle is how long a state lives. There is none for one step: what a kernel
// needs no longer than that is scratch, which belongs to the executor and not to a
// sequence, so that no scheduler has to place it.
type Lifecycle uint8

// The lifecycles.
const (
	SlotPersistent Lifecycle = iota
	RequestScoped
	NumLifecycles
)

var lifecycleNames = [NumLifecycles]string{"slot_persistent", "request_scoped"}

// String returns the lifecycle's name.
func (l Lifecycle) String() string {
	if l < NumLifecycles {
		return lifecycleNames[l]
	}
	return "lifecycle?"
}

// An Action is something a scheduler does to a state.
type Action uint8

// The actions.
const (
	ActAlloc Action = iota
	ActReset
	ActReuse
	ActEvict
	ActCloneForFork
	ActDeinit
	NumActions
)

var actionNames = [NumActions]string{"alloc", "reset", "reuse", "evict", "clone_for_fork", "deinit"}

// String returns the action's name.
func (a Action) String() string {
	if a < NumActions {
		return actionNames[a]
	}
	return "action?"
}

// A StateDescriptor describes one state of the whole model for one slot. For a
// paged state SizeBytes is the size of a page over all its layers; for a fixed
// one it covers all layers. Either way Layers·LayerStride = SizeBytes.
type StateDescriptor struct {
	ID          uint8     `json:"-"`
	Kind        StateKind `json:"kind"`
	Group       uint8     `json:"group"`
	SizeBytes   uint64    `json:"size_bytes"`
	AlignBytes  uint16    `json:"align_bytes"`
	ZeroInit    bool      `json:"zero_init"`
	Lifecycle   Lifecycle `json:"lifecycle"`
	Layers      uint16    `json:"layers"`
	LayerStride uint64    `json:"layer_stride"`
	PageTokens  uint32    `json:"page_tokens"` // 0 = fixed size
	Window      uint32    `json:"window"`      // 0 = all positions, else the last Window
	Sections    []Section `json:"sections,omitempty"`
}

// A Section names one part of a layer's stride ("k", "v", "conv", "ssm"), so
// that snapshot, fork and dump need no kernel knowledge.
type Section struct {
	Name   string       `json:"name"`
	Offset uint64       `json:"offset"` // inside a layer's stride
	Bytes  uint64       `json:"bytes"`
	DType  tensor.DType `json:"dtype"`
}

// An effect is the effect of one action on states of one lifecycle.
type effect struct {
	Allowed bool
	Zero    bool // bytes read as zero afterwards
	Release bool // storage goes back to the pool
}

// Matrix is complete over lifecycle × action.
var Matrix = [NumLifecycles][NumActions]effect{
	SlotPersistent: {
		ActAlloc:        {Allowed: true},
		ActReset:        {Allowed: true},
		ActReuse:        {Allowed: true},
		ActEvict:        {Allowed: true, Release: true},
		ActCloneForFork: {Allowed: true},
		ActDeinit:       {Allowed: true, Release: true},
	},
	RequestScoped: {
		ActAlloc:        {Allowed: true, Zero: true},
		ActReset:        {},
		ActReuse:        {},
		ActEvict:        {Allowed: true, Release: true},
		ActCloneForFork: {Allowed: true},
		ActDeinit:       {Allowed: true, Release: true},
	},
}

// ZeroOn reports whether the bytes must read as zero after the action; it fails
// with [ErrStateLifecycle] if the lifecycle forbids it. A state with ZeroInit
// is not addressed by position, so a stale value would leak into the next
// request: it is zeroed on alloc, reset and reuse alike.
func (d *StateDescriptor) ZeroOn(a Action) (bool, error) {
	if d.Lifecycle >= NumLifecycles || a >= NumActions {
		return false, Errorf(ErrStateLifecycle, Whole, "%s of a %s state", a, d.Lifecycle)
	}
	e := Matrix[d.Lifecycle][a]
	if !e.Allowed {
		return false, Errorf(ErrStateLifecycle, Whole, "%s of a %s state", a, d.Lifecycle)
	}
	switch a {
	case ActAlloc, ActReset, ActReuse:
		return e.Zero || d.ZeroInit, nil
	}
	return false, nil
}
