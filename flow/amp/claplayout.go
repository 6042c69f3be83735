package amp

// The structures of CLAP on 64-bit systems. Pointers are uintptr: they lead out
// of Go's heap, into an abi.Memory or into the plug-in.

// cVersion is clap_version_t, 12 bytes.
type cVersion struct{ Major, Minor, Revision uint32 }

// implemented is the version of CLAP that this host was written for.
var implemented = cVersion{1, 2, 0}

// cEntry is clap_plugin_entry_t, 40 bytes.
type cEntry struct {
	Version                  cVersion
	_                        uint32
	Init, Deinit, GetFactory uintptr
}

// cFactory is clap_plugin_factory_t, 24 bytes.
type cFactory struct{ Count, Descriptor, Create uintptr }

// cDescriptor is clap_plugin_descriptor_t, 88 bytes.
type cDescriptor struct {
	Version                                              cVersion
	_                                                    uint32
	ID, Name, Vendor, URL, Manual, Support, Own, Purpose uintptr // texts; Own is the plug-in's version
	Features                                             uintptr
}

// cPlugin is clap_plugin_t, 96 bytes.
type cPlugin struct {
	Descriptor, Data                      uintptr
	Init, Destroy, Activate, Deactivate   uintptr
	StartProcessing, StopProcessing       uintptr
	Reset, Process, Extension, MainThread uintptr
}

// cHost is clap_host_t, 88 bytes. Data is the address of a [cContext].
type cHost struct {
	Version                             cVersion
	_                                   uint32
	Data                                uintptr
	Name, Vendor, URL, Own              uintptr
	GetExtension                        uintptr
	RequestRestart, RequestProcess, Ask uintptr // Ask is request_callback
}

// cProcess is clap_process_t, 64 bytes.
type cProcess struct {
	SteadyTime         int64
	Frames             uint32
	_                  uint32
	Transport          uintptr
	In, Out            uintptr // of [cAudio]
	InCount, OutCount  uint32
	InEvents, OutQueue uintptr
}

// cAudio is clap_audio_buffer_t, 32 bytes.
type cAudio struct {
	Data32, Data64    uintptr // arrays of pointers, one a channel
	Channels, Latency uint32
	Constant          uint64
}

// cPortInfo is clap_audio_port_info_t, 288 bytes.
type cPortInfo struct {
	ID              uint32
	Name            [256]byte
	Flags, Channels uint32
	_               uint32
	Type            uintptr
	Pair            uint32
	_               uint32
}

// cParamInfo is clap_param_info_t, 1320 bytes.
type cParamInfo struct {
	ID, Flags         uint32
	Cookie            uintptr
	Name              [256]byte
	Module            [1024]byte
	Min, Max, Default float64
}

// Flags of a [cParamInfo].
const (
	stepped  = 1 << 0
	hidden   = 1 << 2
	readOnly = 1 << 3
)

// cPorts is clap_plugin_audio_ports_t and clap_plugin_note_ports_t, 16 bytes.
type cPorts struct{ Count, Get uintptr }

// cParams is clap_plugin_params_t, 48 bytes.
type cParams struct{ Count, Info, Value, Text, Parse, Flush uintptr }

// cState is clap_plugin_state_t, 16 bytes.
type cState struct{ Save, Load uintptr }

// cLatency is clap_plugin_latency_t, 8 bytes.
type cLatency struct{ Get uintptr }

// An cEvent is a clap_event_param_value_t or a clap_event_note_t in the 64
// bytes that [cEvents] steps by. Notes have other fields after the header.
type cEvent struct {
	Size, Time  uint32
	Space, Type uint16
	Flags       uint32
	Body        [6]uint64
}

// Types of an [cEvent], and the sizes of the structures.
const (
	noteOn     = 0
	noteOff    = 1
	paramValue = 5

	noteBytes  = 40
	paramBytes = 56
)

// cEvents is clap_input_events_t, followed by what the assembly reads.
type cEvents struct {
	Context, Size, Get uintptr
	Count              uint64
	List               uintptr // of [cEvent]
}

// cQueue is clap_output_events_t, followed by the number of events pushed. They
// are accepted and dropped.
type cQueue struct {
	Context, Push uintptr
	Count         uint64
}

// cStream is clap_istream_t or clap_ostream_t, followed by the bytes. A write
// that does not fit fails and sets Failed, a read at Len returns 0.
type cStream struct {
	Failed, Move uintptr // clap's ctx; read or write
	Data         uintptr
	Len, At      uint64
}

// A cContext is what the host's callbacks read and set. The assembly depends on
// the order of its fields.
type cContext struct {
	Main, Audio      uint64  // system thread ids; 0: none
	Restart          uint64  // the plug-in asked to be restarted
	Started          uint64  // it asked to process; it always does
	Asked            uint64  // it asked for a call of on_main_thread
	Changed          uint64  // it said that its latency changed
	Extensions       uintptr // of [cExtension], the last one empty
	LogData, LogFunc uintptr // amp_host_t's
}

// An cExtension is one entry of the table that get_extension searches.
type cExtension struct{ Name, Table uintptr }

// An cActivation is the argument of the function at [cCallbacks.Activate], which
// calls clap_plugin.activate: a system's convention has floating-point
// arguments in registers of their own.
type cActivation struct {
	Plugin, Func uintptr
	Rate         float64
	Min, Max     uint32
}

// Statuses that process returns.
const (
	statusError = 0
	statusSleep = 4 // the largest known
)
