package abi

// The structures of include/amp.h on 64-bit systems. Pointers are uintptr: what
// they point to is in a [Memory] or in the library, never on Go's heap, except
// for the data of a call, which the caller keeps alive.

// Metrics is amp_node_metrics_t, 32 bytes.
type Metrics struct {
	MeasuredDelayFrames uint32
	AccumulatedHeat     float32
	Reserved            [6]float32
}

// Buffer is amp_buffer_t, 64 bytes.
type Buffer struct {
	Data                      uintptr
	Batches, Channels, Frames uint32
	DType                     uint32
	StrideB, StrideC          int64
	Frame0                    int64
	Role, Flags               uint32
	RateNum, RateDen          uint32
}

// Descriptor is amp_node_descriptor_t, 136 bytes.
type Descriptor struct {
	StructSize, Version         uint32
	Name                        uintptr
	NameLen                     uint64
	Type                        uintptr
	TypeLen                     uint64
	Params                      uintptr
	ParamsLen                   uint64
	Inputs, ParamCount, Outputs uint32
	OversampleRatio             uint32
	DeclaredDelay               uint32
	Flags                       uint32
	MaxFrames                   uint32
	DType                       uint32
	SampleRate                  float64
	Host                        uintptr
	Reserved                    [4]uintptr
}

// Events is amp_events_t, 24 bytes: the extension that [Descriptor].Reserved[0] points to.
type Events struct {
	StructSize, Version, Count, EventSize uint32
	Events                                uintptr
}

// Host is amp_host_t, 48 bytes.
type Host struct {
	StructSize, Major, Minor, Flags uint32
	Context                         uintptr
	Alloc, Free, Log                uintptr
}

// NodeInfo is amp_node_info_t, 56 bytes.
type NodeInfo struct {
	StructSize, Caps               uint32
	Type                           uintptr
	Inputs, Params, Outputs        uint32
	OversampleRatio, DeclaredDelay uint32
	Jacobian                       uint32
	ParamNames, PortNames          uintptr
}

// LibraryInfo is amp_library_info_t, 40 bytes.
type LibraryInfo struct {
	StructSize, Major, Minor, NodeCount uint32
	Vendor, Version, Nodes              uintptr
}

// A Record is one call, 64 bytes. The assembly depends on the order of its
// fields.
type Record struct {
	Fn, Desc, State uintptr // State is the address of the slot that holds the state
	In, Out         uintptr
	Mode            uint64 // a C int
	Metrics         uintptr
	Result          int32
	_               uint32
}

// A List is a sequence of calls. EnvChanged is set if one of them left the
// floating-point environment changed, after which it was restored.
type List struct {
	Records    uintptr
	Count      uint64
	EnvChanged uint64
	_          uint64
}

// Modes of a call.
const (
	Forward  = 0
	Backward = 1
)

// Number types of a [Buffer].
const (
	F32 = 0
	F64 = 1
	U8  = 9
)

// Roles of a [Buffer].
const (
	RoleSignal = iota
	RoleParam
	RoleGrad
	RolePrimalIn
	RolePrimalOut
	RoleState0
)

// Flags of a [Buffer].
const (
	Absent = 1 << iota
	Const
	Silent
	SweepBegin
	Final
	Accumulate
)

// Flags of a [Descriptor].
const (
	DescV2       = 1 << 0
	DescTraining = 1 << 1
)

// Capability bits of a [NodeInfo].
const (
	CapV2 = 1 << iota
	CapBackward
	CapStrided
	CapInplace
	CapStateless
	CapLinear
	CapTimeInvariant
	CapF64
	CapRTSafe
	CapBatchFuse
	CapSnapshot
	CapNeedX
	CapNeedY
	CapNeedS0
	CapEvents
)
