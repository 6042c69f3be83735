package host

// The structures of CLAP on 64-bit systems. Pointers are uintptr: they lead out
// of Go's heap, into an abi.Memory or into the plug-in.

// Version is clap_version_t, 12 bytes.
type Version struct{ Major, Minor, Revision uint32 }

// Implemented is the version of CLAP that this host was written for.
var Implemented = Version{1, 2, 0}

// Entry is clap_plugin_entry_t, 40 bytes.
type Entry struct {
	Version                  Version
	_                        uint32
	Init, Deinit, GetFactory uintptr
}

// Factory is clap_plugin_factory_t, 24 bytes.
type Factory struct{ Count, Descriptor, Create uintptr }

// Descriptor is clap_plugin_descriptor_t, 88 bytes.
type Descriptor struct {
	Version                                              Version
	_                                                    uint32
	ID, Name, Vendor, URL, Manual, Support, Own, Purpose uintptr // texts; Own is the plug-in's version
	Features                                             uintptr
}

// Plugin is clap_plugin_t, 96 bytes.
type Plugin struct {
	Descriptor, Data                      uintptr
	Init, Destroy, Activate, Deactivate   uintptr
	StartProcessing, StopProcessing       uintptr
	Reset, Process, Extension, MainThread uintptr
}

// Host is clap_host_t, 88 bytes. Data is the address of a [Context].
type Host struct {
	Version                             Version
	_                                   uint32
	Data                                uintptr
	Name, Vendor, URL, Own              uintptr
	GetExtension                        uintptr
	RequestRestart, RequestProcess, Ask uintptr // Ask is request_callback
}

// Process is clap_process_t, 64 bytes.
type Process struct {
	SteadyTime         int64
	Frames             uint32
	_                  uint32
	Transport          uintptr
	In, Out            uintptr // of [Audio]
	InCount, OutCount  uint32
	InEvents, OutQueue uintptr
}

// Audio is clap_audio_buffer_t, 32 bytes.
type Audio struct {
	Data32, Data64    uintptr // arrays of pointers, one a channel
	Channels, Latency uint32
	Constant          uint64
}

// PortInfo is clap_audio_port_info_t, 288 bytes.
type PortInfo struct {
	ID              uint32
	Name            [256]byte
	Flags, Channels uint32
	_               uint32
	Type            uintptr
	Pair            uint32
	_               uint32
}

// ParamInfo is clap_param_info_t, 1320 bytes.
type ParamInfo struct {
	ID, Flags         uint32
	Cookie            uintptr
	Name              [256]byte
	Module            [1024]byte
	Min, Max, Default float64
}

// Flags of a [ParamInfo].
const (
	Stepped  = 1 << 0
	Hidden   = 1 << 2
	ReadOnly = 1 << 3
)

// Ports is clap_plugin_audio_ports_t and clap_plugin_note_ports_t, 16 bytes.
type Ports struct{ Count, Get uintptr }

// Params is clap_plugin_params_t, 48 bytes.
type Params struct{ Count, Info, Value, Text, Parse, Flush uintptr }

// State is clap_plugin_state_t, 16 bytes.
type State struct{ Save, Load uintptr }

// Latency is clap_plugin_latency_t, 8 bytes.
type Latency struct{ Get uintptr }

// An Event is a clap_event_param_value_t or a clap_event_note_t in the 64
// bytes that [Events] steps by. Notes have other fields after the header.
type Event struct {
	Size, Time  uint32
	Space, Type uint16
	Flags       uint32
	Body        [6]uint64
}

// Types of an [Event], and the sizes of the structures.
const (
	NoteOn     = 0
	NoteOff    = 1
	ParamValue = 5

	NoteBytes  = 40
	ParamBytes = 56
)

// Events is clap_input_events_t, followed by what the assembly reads.
type Events struct {
	Context, Size, Get uintptr
	Count              uint64
	List               uintptr // of [Event]
}

// Queue is clap_output_events_t, followed by the number of events pushed. They
// are accepted and dropped.
type Queue struct {
	Context, Push uintptr
	Count         uint64
}

// Stream is clap_istream_t or clap_ostream_t, followed by the bytes. A write
// that does not fit fails and sets Failed, a read at Len returns 0.
type Stream struct {
	Failed, Move uintptr // clap's ctx; read or write
	Data         uintptr
	Len, At      uint64
}

// A Context is what the host's callbacks read and set. The assembly depends on
// the order of its fields.
type Context struct {
	Main, Audio      uint64  // system thread ids; 0: none
	Restart          uint64  // the plug-in asked to be restarted
	Started          uint64  // it asked to process; it always does
	Asked            uint64  // it asked for a call of on_main_thread
	Changed          uint64  // it said that its latency changed
	Extensions       uintptr // of [Extension], the last one empty
	LogData, LogFunc uintptr // amp_host_t's
}

// An Extension is one entry of the table that get_extension searches.
type Extension struct{ Name, Table uintptr }

// An Activation is the argument of the function at [Callbacks.Activate], which
// calls clap_plugin.activate: a system's convention has floating-point
// arguments in registers of their own.
type Activation struct {
	Plugin, Func uintptr
	Rate         float64
	Min, Max     uint32
}

// Statuses that process returns.
const (
	StatusError = 0
	StatusSleep = 4 // the largest known
)
