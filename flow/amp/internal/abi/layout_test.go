//go:build linux && (amd64 || arm64) && !static

package abi

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
)

func TestMain(m *testing.M) { os.Exit(flowtest.Main(m)) }

// goLayout returns the output of layout.c for the structures in Go.
func goLayout() string {
	var b strings.Builder
	size := func(name string, n uintptr) { fmt.Fprintf(&b, "%s %d\n", name, n) }
	var m Metrics
	var u Buffer
	var d Descriptor
	var h Host
	var n NodeInfo
	var l LibraryInfo
	var e node.Event
	var x Events
	size("amp_node_metrics_t", unsafe.Sizeof(m))
	size("amp_buffer_t", unsafe.Sizeof(u))
	size("amp_node_descriptor_t", unsafe.Sizeof(d))
	size("amp_host_t", unsafe.Sizeof(h))
	size("amp_node_info_t", unsafe.Sizeof(n))
	size("amp_library_info_t", unsafe.Sizeof(l))
	size("amp_event_t", unsafe.Sizeof(e))
	size("amp_events_t", unsafe.Sizeof(x))
	b.WriteString("amp_execution_mode_t 4\nalign metrics 4\nreserved 6\nmodes 0 1\nlast codes -11 -67\n")
	fields := func(name string, at ...any) {
		for i := 0; i < len(at); i += 2 {
			fmt.Fprintf(&b, "%s.%s %d\n", name, at[i], at[i+1])
		}
	}
	fields("amp_node_metrics_t", "measured_delay_frames", unsafe.Offsetof(m.MeasuredDelayFrames), "accumulated_heat", unsafe.Offsetof(m.AccumulatedHeat), "reserved", unsafe.Offsetof(m.Reserved))
	fields("amp_buffer_t", "data", unsafe.Offsetof(u.Data), "batches", unsafe.Offsetof(u.Batches), "channels", unsafe.Offsetof(u.Channels),
		"frames", unsafe.Offsetof(u.Frames), "dtype", unsafe.Offsetof(u.DType), "stride_b", unsafe.Offsetof(u.StrideB), "stride_c", unsafe.Offsetof(u.StrideC),
		"frame0", unsafe.Offsetof(u.Frame0), "role", unsafe.Offsetof(u.Role), "flags", unsafe.Offsetof(u.Flags), "rate_num", unsafe.Offsetof(u.RateNum), "rate_den", unsafe.Offsetof(u.RateDen))
	fields("amp_node_descriptor_t", "struct_size", unsafe.Offsetof(d.StructSize), "descriptor_version", unsafe.Offsetof(d.Version), "name", unsafe.Offsetof(d.Name),
		"name_len", unsafe.Offsetof(d.NameLen), "type", unsafe.Offsetof(d.Type), "type_len", unsafe.Offsetof(d.TypeLen), "params_json", unsafe.Offsetof(d.Params),
		"params_len", unsafe.Offsetof(d.ParamsLen), "input_count", unsafe.Offsetof(d.Inputs), "param_count", unsafe.Offsetof(d.ParamCount), "output_count", unsafe.Offsetof(d.Outputs),
		"oversample_ratio", unsafe.Offsetof(d.OversampleRatio), "declared_delay", unsafe.Offsetof(d.DeclaredDelay), "flags", unsafe.Offsetof(d.Flags), "max_frames", unsafe.Offsetof(d.MaxFrames),
		"dtype", unsafe.Offsetof(d.DType), "sample_rate", unsafe.Offsetof(d.SampleRate), "host", unsafe.Offsetof(d.Host), "reserved", unsafe.Offsetof(d.Reserved))
	fields("amp_host_t", "struct_size", unsafe.Offsetof(h.StructSize), "abi_major", unsafe.Offsetof(h.Major), "abi_minor", unsafe.Offsetof(h.Minor), "flags", unsafe.Offsetof(h.Flags),
		"ctx", unsafe.Offsetof(h.Context), "alloc", unsafe.Offsetof(h.Alloc), "free", unsafe.Offsetof(h.Free), "log", unsafe.Offsetof(h.Log))
	fields("amp_node_info_t", "struct_size", unsafe.Offsetof(n.StructSize), "caps", unsafe.Offsetof(n.Caps), "type", unsafe.Offsetof(n.Type), "inputs", unsafe.Offsetof(n.Inputs),
		"params", unsafe.Offsetof(n.Params), "outputs", unsafe.Offsetof(n.Outputs), "oversample_ratio", unsafe.Offsetof(n.OversampleRatio), "declared_delay", unsafe.Offsetof(n.DeclaredDelay),
		"jacobian", unsafe.Offsetof(n.Jacobian), "param_names", unsafe.Offsetof(n.ParamNames), "port_names", unsafe.Offsetof(n.PortNames))
	fields("amp_library_info_t", "struct_size", unsafe.Offsetof(l.StructSize), "abi_major", unsafe.Offsetof(l.Major), "abi_minor", unsafe.Offsetof(l.Minor), "node_count", unsafe.Offsetof(l.NodeCount),
		"vendor", unsafe.Offsetof(l.Vendor), "version", unsafe.Offsetof(l.Version), "nodes", unsafe.Offsetof(l.Nodes))
	fields("amp_event_t", "offset", unsafe.Offsetof(e.Offset), "kind", unsafe.Offsetof(e.Kind), "channel", unsafe.Offsetof(e.Channel), "key", unsafe.Offsetof(e.Key),
		"value", unsafe.Offsetof(e.Value), "tune", unsafe.Offsetof(e.Tune))
	fields("amp_events_t", "struct_size", unsafe.Offsetof(x.StructSize), "version", unsafe.Offsetof(x.Version), "count", unsafe.Offsetof(x.Count),
		"event_size", unsafe.Offsetof(x.EventSize), "events", unsafe.Offsetof(x.Events))
	fmt.Fprintf(&b, "events %d %d\n", node.NoteOn, node.PitchBend)
	return b.String()
}

// TestLayout compares sizes, alignment and offsets of the header, as three
// languages compile it, with the mirrors, and with the numbers that the ABI
// fixes.
func TestLayout(t *testing.T) {
	t.Parallel()
	want := goLayout()
	for _, l := range []struct{ compiler, std, language string }{{"gcc", "c99", "c"}, {"gcc", "c11", "c"}, {"g++", "c++11", "c++"}} {
		t.Run(l.std, func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "layout")
			out, err := exec.Command(flowtest.Compiler(t, l.compiler), "-std="+l.std, "-x", l.language, "-Wall", "-Wextra", "-pedantic", "-Werror",
				"-I", flowtest.Include(t), "-o", exe, "testdata/layout.c").CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got, err := exec.Command(exe).Output()
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != want {
				t.Errorf("C:\n%s\nGo:\n%s", got, want)
			}
		})
	}
	t.Run("A01", func(t *testing.T) {
		for _, line := range []string{"amp_node_metrics_t 32\n", "align metrics 4\n", "measured_delay_frames 0\n", "accumulated_heat 4\n",
			"amp_node_metrics_t.reserved 8\n", "reserved 6\n", "amp_buffer_t 64\n", "amp_node_descriptor_t 136\n", "amp_host_t 48\n",
			"amp_node_info_t 56\n", "amp_library_info_t 40\n", "dtype 20\n", "stride_b 24\n", "frame0 40\n", "role 48\n", "rate_num 56\n"} {
			if !strings.Contains(want, line) {
				t.Errorf("there is no %q", line)
			}
		}
		if unsafe.Sizeof(Record{}) != 64 || unsafe.Sizeof(List{}) != 32 || unsafe.Sizeof(slot{}) != 256 {
			t.Error("the assembly knows other sizes")
		}
	})
	t.Run("A02", func(t *testing.T) {
		if !strings.Contains(want, "amp_execution_mode_t 4\n") || Forward != 0 || Backward != 1 {
			t.Error("modes")
		}
	})
}
