package hw

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"atenia/internal/golden/await"
	"atenia/internal/machine/cpu"
	"atenia/internal/store/faultfs"
)

func file(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s + "\n")} }

func TestPressure(t *testing.T) {
	for name, c := range map[string]struct {
		m    cpu.Memory
		want float32
		ok   bool
	}{
		"unknown":             {cpu.Memory{Available: 5}, 0, false},
		"half":                {cpu.Memory{Limit: 100, Available: 50}, .5, true},
		"nothing left":        {cpu.Memory{Limit: 100}, 1, true},
		"some wait":           {cpu.Memory{Limit: 100, Available: 50, Stalls: cpu.Stalls{Known: true, Some: 10.5}}, .90, true},
		"some wait a little":  {cpu.Memory{Limit: 100, Available: 50, Stalls: cpu.Stalls{Known: true, Some: 10, Full: 5}}, .5, true},
		"all wait":            {cpu.Memory{Limit: 100, Available: 50, Stalls: cpu.Stalls{Known: true, Some: 20, Full: 5.5}}, .95, true},
		"fuller than stalled": {cpu.Memory{Limit: 100, Available: 1, Stalls: cpu.Stalls{Known: true, Some: 20, Full: 5.5}}, .99, true},
		"more than the limit": {cpu.Memory{Limit: 100, Available: 200}, 0, true},
	} {
		if got, ok := pressure(c.m); got != c.want || ok != c.ok {
			t.Errorf("%s: got %v, %v", name, got, ok)
		}
	}
}

// A gpus is a prober that knows its answer.
type gpus struct {
	devices []Device
	err     error
}

func (g gpus) Devices(context.Context, Depth) ([]Device, error) { return g.devices, g.err }

func device(id string, total, free *uint64) Device {
	return Device{GPU: GPU{ID: id, Backend: BackendCUDA, VRAMTotalBytes: total, VRAMFreeBytes: free}}
}

func TestDevices(t *testing.T) {
	for name, c := range map[string]struct {
		g       gpus
		want    *float32
		warning string
	}{
		"none":           {gpus{}, nil, ""},
		"broken":         {gpus{err: errors.New("driver is broken")}, nil, "devices"},
		"one":            {gpus{devices: []Device{device("a", ptr(uint64(100)), ptr(uint64(25)))}}, ptr(float32(.75)), ""},
		"two":            {gpus{devices: []Device{device("a", ptr(uint64(100)), ptr(uint64(0))), device("b", ptr(uint64(300)), ptr(uint64(300)))}}, ptr(float32(.25)), ""},
		"unknown":        {gpus{devices: []Device{device("a", ptr(uint64(100)), nil)}}, ptr(float32(1)), "vram-unknown"},
		"more than free": {gpus{devices: []Device{device("a", ptr(uint64(100)), ptr(uint64(200)))}}, ptr(float32(0)), ""},
	} {
		s, d, err := fake(fstest.MapFS{}).probe(t.Context(), Options{GPUs: c.g})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Pressure.VRAM; (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: pressure %v", name, got)
		}
		if len(s.GPUs) != len(c.g.devices) {
			t.Errorf("%s: %d devices", name, len(s.GPUs))
		}
		if c.warning != "" && !warned(d, c.warning) || c.warning == "" && len(d.Warnings) > 0 {
			t.Errorf("%s: warnings %v", name, d.Warnings)
		}
	}
}

// TestTried: a device that failed its trial is not reliable.
func TestTried(t *testing.T) {
	good, bad, untried := device("good", nil, nil), device("bad", nil, nil), device("untried", nil, nil)
	good.Tried, bad.Tried, bad.Fault = true, true, "other bytes"
	good.Calls.OK, bad.Calls.OK = 1, 7
	s, d, err := fake(fstest.MapFS{}).probe(t.Context(), Options{GPUs: gpus{devices: []Device{good, bad, untried}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Reliability["untried"]; ok || len(s.Reliability) != 2 || s.Reliability["good"].OK != 1 {
		t.Errorf("got %+v", s.Reliability)
	}
	if r := s.Reliability["bad"]; r.OK != 0 || r.Fail != 1 || r.LastError != "other bytes" || *r.LastErrorEpochMS != s.TimestampEpochMS {
		t.Errorf("got %+v", r)
	}
	var out strings.Builder
	if err := d.Print(&out, s); err != nil || !strings.Contains(out.String(), "faulty: other bytes") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestPrint: all that can be known is said.
func TestPrint(t *testing.T) {
	v := device("cuda:0", ptr(uint64(80<<30)), ptr(uint64(60<<30)))
	v.Name, v.Driver, v.Compute = "Fast", "580.1", "9.0"
	v.BandwidthGBps, v.ComputeScore = ptr(float32(3350)), ptr(float32(67000))
	v.LinkGen, v.LinkWidth, v.LinkMaxGen, v.LinkMaxWidth = ptr(uint32(1)), ptr(uint32(8)), ptr(uint32(5)), ptr(uint32(16))
	v.UploadBytes, v.DownloadBytes, v.Utilization, v.Temperature = ptr(5e10), ptr(4.5e10), ptr(uint32(7)), ptr(uint32(40))
	s := &Snapshot{CPU: CPU{PhysicalCores: ptr(uint32(4)), LogicalCores: ptr(uint32(8)), SIMD: []string{"AVX2"}}, Pressure: Pressure{RAM: ptr(float32(.5)), VRAM: ptr(float32(.25))}}
	d := &Details{
		Processor: Processor{Name: "P", Arch: "amd64", Cores: 2, Allowed: 4, Quota: 1.5, Threads: 2, L1: 32 << 10, L2: 1 << 20, L3: 8 << 20},
		Memory: Memory{
			MachineBytes: ptr(uint64(64 << 30)), LimitBytes: ptr(uint64(8 << 30)), AvailableBytes: ptr(uint64(4 << 30)),
			StallSome: ptr(float32(1)), StallFull: ptr(float32(.5)), LockableBytes: ptr(uint64(64 << 10)),
		},
		Storage: &Storage{
			Dir: "/cache", Filesystem: "ext4", Kind: solid, FreeBytes: ptr(uint64(1 << 40)),
			Profile: &Profile{EpochSeconds: uint64(epoch.Unix()), ReadBytes: 2e9, ReadP99Seconds: .01, WriteBytes: 1e9, RandomReads: 1e5, LatencySeconds: 1e-4, TouchBytes: 5e8},
		},
		Devices:  []Device{v},
		Warnings: []Warning{{"memlock", "raise it"}},
	}
	const want = `machine                bf3f082f787d
processor              P (amd64)
SIMD                   AVX2
cores                  2 cores, 4 processors allowed of 4 and 8, quota 1.50; best with 2 threads
caches                 L1 32.0 KiB, L2 1.0 MiB, L3 8.0 MiB
memory                 4.0 GiB available of 8.0 GiB, the limit of a control group (the machine has 64.0 GiB)
pressure of RAM        0.50
waits for memory       some tasks 1.0 %, all tasks 0.5 % of the last 10 s
lockable memory        64.0 KiB
storage                /cache: ssd, ext4, 1024.0 GiB free
                       reads 2000 MB/s, 99 % of them within 10.0 ms, writes 1000 MB/s, 100000 small reads/s, each 0.10 ms (measured 2027-01-15)
first touch of memory  0.50 GB/s
device                 cuda:0: Fast, 60.0 GiB free of 80.0 GiB, compute capability 9.0, driver 580.1
                       at most 3350 GB/s, 67000 GFLOP/s in float32, PCIe 1 × 8 of 5 × 16, copies 50.0 GB/s there, 45.0 GB/s back, 7 % in use, 40 °C
pressure of VRAM       0.25
warning: memlock: raise it
`
	var out strings.Builder
	if err := d.Print(&out, s); err != nil || out.String() != want {
		t.Errorf("%v: got\n%s", err, out.String())
	}
}

func warned(d *Details, id string) bool {
	return slices.ContainsFunc(d.Warnings, func(w Warning) bool { return w.ID == id })
}

var epoch = time.Unix(1_800_000_000, 0)

func fake(root fstest.MapFS) prober {
	if root["proc/self/status"] == nil {
		root["proc/self/status"] = file("CapEff:\t000001ffffffffff") // whatever the limits here are
	}
	return prober{
		root: root, now: func() time.Time { return epoch },
		memory: func() cpu.Memory { return cpu.Memory{Total: 8 << 30, Limit: 4 << 30, Available: 1 << 30} },
	}
}

func TestProbeMemory(t *testing.T) {
	s, d, err := fake(fstest.MapFS{}).probe(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.TimestampEpochMS != uint64(epoch.UnixMilli()) || *s.RAM.TotalBytes != 4<<30 || *s.RAM.FreeBytes != 1<<30 || *s.Pressure.RAM != .75 || s.Pressure.VRAM != nil {
		t.Errorf("got %+v", s)
	}
	if *d.Memory.MachineBytes != 8<<30 || *d.Memory.LimitBytes != 4<<30 || d.Memory.StallSome != nil || d.Storage != nil {
		t.Errorf("got %+v", d)
	}
	if s.CPU.LogicalCores == nil || d.Processor.Threads < 1 {
		t.Errorf("processor %+v", d.Processor)
	}
}

// TestProbeHere: a probe of this machine is complete and does not disturb it.
func TestProbeHere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	s, d, err := Probe(t.Context(), Options{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if s.SSD.CacheDir != dir || d.Storage == nil || d.Storage.Device == "" {
		t.Errorf("storage %+v", d.Storage)
	}
	if s.SSD.ReadMBps != nil {
		t.Error("a depth of none measured")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a depth of none made the folder")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := Probe(ctx, Options{CacheDir: dir, Depth: Full}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestProfileKept: quick measures once for a device and then uses what it
// kept; full measures again.
func TestProfileKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	p := fake(fstest.MapFS{})
	calls := 0
	p.measure = func(context.Context, string, Depth) (Profile, error) {
		calls++
		return Profile{ReadBytes: 1e9 * float64(calls), WriteBytes: 5e8, LatencySeconds: 1e-4}, nil
	}
	read := func(depth Depth) float32 {
		t.Helper()
		s, d, err := p.probe(t.Context(), Options{CacheDir: dir, Depth: depth})
		if err != nil || len(d.Warnings) > 0 {
			t.Fatal(err, d.Warnings)
		}
		return *s.SSD.ReadMBps
	}
	for i, c := range []struct {
		depth Depth
		want  float32
	}{{Quick, 1000}, {Quick, 1000}, {Full, 2000}, {Quick, 2000}} {
		if got := read(c.depth); got != c.want {
			t.Errorf("step %d: read %v MB/s, want %v", i, got, c.want)
		}
	}
	p.now = func() time.Time { return epoch.Add(31 * 24 * time.Hour) }
	if got := read(Quick); got != 3000 {
		t.Errorf("a profile of last month: %v MB/s", got)
	}
	p.measure = func(context.Context, string, Depth) (Profile, error) { return Profile{}, os.ErrPermission }
	if _, _, err := p.probe(t.Context(), Options{CacheDir: dir, Depth: Full}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a measurement that failed: %v", err)
	}
	if got := read(Quick); got != 3000 {
		t.Errorf("after a failure: %v MB/s", got)
	}
}

func TestProfiles(t *testing.T) {
	list := []Profile{
		{Device: "a b\n", EpochSeconds: 5, Depth: Full, ReadBytes: 1.5e9, TouchBytes: 1},
		{Device: "b", EpochSeconds: 1 << 63, LatencyP99: 1e-300},
	}
	text := printProfiles(list)
	got, err := parseProfiles(text)
	if err != nil || !slices.Equal(got.list, list) {
		t.Fatalf("got %+v, %v", got, err)
	}
	for i := range text { // a flipped bit anywhere is found
		bad := slices.Clone(text)
		bad[i] ^= 1
		if _, err := parseProfiles(bad); err == nil {
			t.Fatalf("a flipped bit at %d was not found", i)
		}
		if _, err := parseProfiles(text[:i]); err == nil {
			t.Fatalf("cut at %d was not found", i)
		}
	}
	path := filepath.Join(t.TempDir(), profilesName)
	newer := []byte("atenia storage profiles 2\nwho knows\n")
	if err := os.WriteFile(path, newer, 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := readProfiles(nil, path)
	if !errors.Is(err, errNewerProfiles) {
		t.Errorf("newer: %v", err)
	}
	if err := p.keep(nil, path, list[0]); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(path); string(b) != string(newer) {
		t.Error("a newer version's file was replaced")
	}
	if err := os.WriteFile(path, text[:50], 0o666); err != nil {
		t.Fatal(err)
	}
	if p, err = readProfiles(nil, path); err == nil || !strings.Contains(err.Error(), "line") {
		t.Errorf("damaged: %v", err)
	}
	for i := range maxProfiles + 5 { // the oldest go
		if err := p.keep(nil, path, Profile{Device: strings.Repeat("d", i+1), EpochSeconds: uint64(i)}); err != nil {
			t.Fatal(err)
		}
		if p, err = readProfiles(nil, path); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.list) != maxProfiles || p.find("d", time.Unix(100, 0)) != nil || p.find(strings.Repeat("d", maxProfiles+5), time.Unix(100, 0)) == nil {
		t.Errorf("%d profiles are kept", len(p.list))
	}
}

func FuzzParseProfiles(f *testing.F) {
	f.Add(printProfiles(nil))
	f.Add(printProfiles([]Profile{{Device: "a", ReadBytes: 3}, {Device: "b c", Depth: Quick}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parseProfiles(b)
		if err != nil {
			if len(p.list) > 0 {
				t.Error("profiles and an error")
			}
			return
		}
		again, err := parseProfiles(printProfiles(p.list))
		if err != nil || !slices.Equal(again.list, p.list) {
			t.Errorf("printed and parsed: %v, %v", again, err)
		}
	})
}

// FuzzParseProfile is one line, which in whole files the checksum protects.
func FuzzParseProfile(f *testing.F) {
	f.Add(`"a" 1 full read=1 read_p99=0 write=0 random=0 latency=0 latency_p99=0 touch=1e+09`)
	f.Fuzz(func(t *testing.T, line string) {
		p, err := parseProfile(line)
		if err != nil {
			return
		}
		got, err := parseProfiles(printProfiles([]Profile{p}))
		if err != nil || got.list[0] != p {
			t.Errorf("%q: got %+v, %v", line, got, err)
		}
	})
}

func TestSampler(t *testing.T) {
	s := NewSampler()
	defer s.Close()
	first := s.Last()
	if n := await.Allocs(10, func() { s.Sample(); s.Last(); s.Peak() }); n != 0 {
		t.Errorf("%v allocations for a sample", n)
	}
	if first.Known && (first.Pressure < 0 || first.Pressure > 1 || first.AvailableBytes > first.LimitBytes) {
		t.Errorf("implausible: %+v", first)
	}
	ctx, stop := context.WithCancel(t.Context())
	seen := 0
	s.Run(ctx, time.Millisecond, func(Sample) {
		if seen++; seen == 3 {
			stop()
		}
	})
	if seen < 3 {
		t.Errorf("%d samples", seen)
	}
	s.Close()
	if got := s.Sample(); got.Known != first.Known {
		t.Errorf("after Close: %+v", got)
	}
}

// BenchmarkProbe is a whole probe without devices and without measuring
// storage.
func BenchmarkProbe(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		if _, _, err := Probe(b.Context(), Options{CacheDir: dir}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestProfileFaults stops and fails the keeping of a profile at each call: the
// old file is there afterwards, or the new one.
func TestProfileFaults(t *testing.T) {
	old, fresh := Profile{Device: "a", EpochSeconds: 1, ReadBytes: 1}, Profile{Device: "b", EpochSeconds: 2, ReadBytes: 2}
	for _, fault := range []faultfs.Fault{faultfs.Fail, faultfs.Stop, faultfs.Torn, faultfs.Full} {
		for n, files := range faultfs.Each(fault) {
			path := filepath.Join(t.TempDir(), profilesName)
			if err := (profiles{}).keep(nil, path, old); err != nil {
				t.Fatal(err)
			}
			p, err := readProfiles(files, path)
			if err == nil {
				err = p.keep(files, path, fresh)
			}
			got, err2 := readProfiles(nil, path)
			if err2 != nil {
				t.Fatalf("fault %d at call %d: %v", fault, n, err2)
			}
			isOld := slices.Equal(got.list, []Profile{old})
			isNew := slices.Equal(got.list, []Profile{old, fresh})
			if !isOld && !isNew || err == nil && !isNew {
				t.Errorf("fault %d at call %d: %+v, %v", fault, n, got.list, err)
			}
		}
	}
}
