//go:build linux && (amd64 || arm64) && !static

package amp

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"atenia/flow/internal/flowtest"
)

// TestLayout compares sizes and offsets with those of the C declarations that
// the plug-ins for tests are built with, which are those of CLAP's own headers.
func TestLayout(t *testing.T) {
	var b strings.Builder
	row := func(name string, size uintptr, at ...any) {
		fmt.Fprintf(&b, "%s %d\n", name, size)
		for i := 0; i < len(at); i += 2 {
			fmt.Fprintf(&b, "%s.%s %d\n", name, at[i], at[i+1])
		}
	}
	var e cEntry
	row("clap_plugin_entry_t", unsafe.Sizeof(e), "init", unsafe.Offsetof(e.Init), "get_factory", unsafe.Offsetof(e.GetFactory))
	var f cFactory
	row("clap_plugin_factory_t", unsafe.Sizeof(f), "create_plugin", unsafe.Offsetof(f.Create))
	var d cDescriptor
	row("clap_plugin_descriptor_t", unsafe.Sizeof(d), "id", unsafe.Offsetof(d.ID), "version", unsafe.Offsetof(d.Own), "features", unsafe.Offsetof(d.Features))
	var p cPlugin
	row("clap_plugin_t", unsafe.Sizeof(p), "init", unsafe.Offsetof(p.Init), "activate", unsafe.Offsetof(p.Activate), "start_processing", unsafe.Offsetof(p.StartProcessing), "reset", unsafe.Offsetof(p.Reset),
		"process", unsafe.Offsetof(p.Process), "get_extension", unsafe.Offsetof(p.Extension), "on_main_thread", unsafe.Offsetof(p.MainThread))
	var h cHost
	row("clap_host_t", unsafe.Sizeof(h), "host_data", unsafe.Offsetof(h.Data), "name", unsafe.Offsetof(h.Name), "version", unsafe.Offsetof(h.Own), "get_extension", unsafe.Offsetof(h.GetExtension),
		"request_restart", unsafe.Offsetof(h.RequestRestart), "request_callback", unsafe.Offsetof(h.Ask))
	var c cProcess
	row("clap_process_t", unsafe.Sizeof(c), "steady_time", unsafe.Offsetof(c.SteadyTime), "frames_count", unsafe.Offsetof(c.Frames), "transport", unsafe.Offsetof(c.Transport), "audio_inputs", unsafe.Offsetof(c.In),
		"audio_outputs", unsafe.Offsetof(c.Out), "audio_inputs_count", unsafe.Offsetof(c.InCount), "audio_outputs_count", unsafe.Offsetof(c.OutCount), "in_events", unsafe.Offsetof(c.InEvents), "out_events", unsafe.Offsetof(c.OutQueue))
	var a cAudio
	row("clap_audio_buffer_t", unsafe.Sizeof(a), "data64", unsafe.Offsetof(a.Data64), "channel_count", unsafe.Offsetof(a.Channels), "latency", unsafe.Offsetof(a.Latency), "constant_mask", unsafe.Offsetof(a.Constant))
	var o cPortInfo
	row("clap_audio_port_info_t", unsafe.Sizeof(o), "name", unsafe.Offsetof(o.Name), "channel_count", unsafe.Offsetof(o.Channels), "port_type", unsafe.Offsetof(o.Type), "in_place_pair", unsafe.Offsetof(o.Pair))
	var i cParamInfo
	row("clap_param_info_t", unsafe.Sizeof(i), "flags", unsafe.Offsetof(i.Flags), "name", unsafe.Offsetof(i.Name), "module", unsafe.Offsetof(i.Module), "min_value", unsafe.Offsetof(i.Min), "default_value", unsafe.Offsetof(i.Default))
	var q cParams
	row("clap_plugin_params_t", unsafe.Sizeof(q), "get_info", unsafe.Offsetof(q.Info), "flush", unsafe.Offsetof(q.Flush))
	row("clap_plugin_state_t", unsafe.Sizeof(cState{}))
	row("clap_plugin_latency_t", unsafe.Sizeof(cLatency{}))
	row("clap_plugin_audio_ports_t", unsafe.Sizeof(cPorts{}))
	row("clap_plugin_note_ports_t", unsafe.Sizeof(cPorts{}))
	var v cEvent
	row("clap_event_header_t", unsafe.Offsetof(v.Body), "time", unsafe.Offsetof(v.Time), "space_id", unsafe.Offsetof(v.Space), "type", unsafe.Offsetof(v.Type), "flags", unsafe.Offsetof(v.Flags))
	body := unsafe.Offsetof(v.Body) // the words that package clap fills in
	row("clap_event_param_value_t", paramBytes, "param_id", body, "cookie", body+8, "note_id", body+16, "port_index", body+20, "channel", body+22, "key", body+24, "value", body+32)
	row("clap_event_note_t", noteBytes, "note_id", body, "port_index", body+4, "channel", body+6, "key", body+8, "velocity", body+16)
	var in cEvents
	row("clap_input_events_t", unsafe.Offsetof(in.Count), "size", unsafe.Offsetof(in.Size), "get", unsafe.Offsetof(in.Get))
	var out cQueue
	row("clap_output_events_t", unsafe.Offsetof(out.Count), "try_push", unsafe.Offsetof(out.Push))
	var s cStream
	row("clap_istream_t", unsafe.Offsetof(s.Data), "read", unsafe.Offsetof(s.Move))
	row("clap_ostream_t", unsafe.Offsetof(s.Data), "write", unsafe.Offsetof(s.Move))
	program := flowtest.Program(t, "testdata/layout.c")
	want, err := exec.CommandContext(t.Context(), program).Output()
	if err != nil {
		t.Fatal(err)
	}
	got, rows := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	if len(got) != len(rows) {
		t.Fatalf("%d rows in Go, %d in C", len(got), len(rows))
	}
	for k := range rows {
		if got[k] != rows[k] {
			t.Errorf("Go: %s, C: %s", got[k], rows[k])
		}
	}
}
