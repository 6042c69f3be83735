package hw

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"atenia/internal/machine/cpu"
	"atenia/internal/store/durable"
)

// A Depth limits how much time [Probe] may take.
type Depth uint8

// The depths. Only storage and the links to devices take time to measure.
const (
	None  Depth = iota // measure nothing: a few milliseconds
	Quick              // use the kept profile of storage, or measure for about a second
	Full               // measure storage, for some seconds, and the links to devices
)

var depthNames = [...]string{"none", "quick", "full"}

// String returns none, quick or full.
func (d Depth) String() string {
	if int(d) < len(depthNames) {
		return depthNames[d]
	}
	return fmt.Sprintf("Depth(%d)", uint8(d))
}

// MarshalText writes the name.
func (d Depth) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the name.
func (d *Depth) UnmarshalText(b []byte) error {
	for i, n := range depthNames {
		if string(b) == n {
			*d = Depth(i)
			return nil
		}
	}
	return fmt.Errorf("no depth %q; there are none, quick and full", b)
}

// A GPUProber finds the devices of one interface. If its library is missing
// there are no devices and no error. With [Full] it may measure.
type GPUProber interface {
	Devices(ctx context.Context, d Depth) ([]Device, error)
}

// Options select what to probe. The zero value probes processor and memory.
type Options struct {
	// CacheDir is the directory whose storage is probed; empty for none. It need
	// not exist.
	CacheDir string
	Depth    Depth
	// GPUs finds devices; nil for none.
	GPUs GPUProber
	// Calls is a file of how often calls of devices succeeded, which this probe extends; ""
	// = those of this probe alone count. Its folder must be there.
	Calls string
}

// Probe describes the machine. What cannot be determined stays unknown; the
// errors are those of ctx and of measuring storage. The snapshot and the details
// are valid even then.
func Probe(ctx context.Context, o Options) (*Snapshot, *Details, error) {
	return prober{root: os.DirFS("/"), memory: readMemory, measure: measureStorage, now: time.Now}.probe(ctx, o)
}

// A prober is [Probe] with its dependencies, replaced in tests.
type prober struct {
	root    fs.FS // has proc and sys
	memory  func() cpu.Memory
	measure func(ctx context.Context, dir string, d Depth) (Profile, error) // nil: not supported
	now     func() time.Time
	files   durable.FS // for profiles; nil is the operating system's
}

func readMemory() cpu.Memory {
	r := cpu.OpenMemory()
	defer r.Close()
	return r.Read()
}

func (p prober) probe(ctx context.Context, o Options) (*Snapshot, *Details, error) {
	s := &Snapshot{TimestampEpochMS: uint64(p.now().UnixMilli())}
	d := &Details{}
	info := cpu.Detect()
	s.CPU = CPU{PhysicalCores: count(info.Physical), LogicalCores: count(info.Logical), SIMD: info.Features}
	d.Processor = Processor{
		Name: info.Name, Arch: info.Arch, Cores: info.Cores, Allowed: info.Allowed, Quota: info.Quota,
		Threads: info.Threads(), L1: info.L1, L2: info.L2, L3: info.L3,
	}
	p.lookAtMemory(s, d)
	err := p.lookAtStorage(ctx, o, s, d)
	p.lookAtDevices(ctx, o, s, d)
	p.remember(o.Calls, s, d)
	p.lookAround(d)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return s, d, err
}

// count returns n, or nil if it is not positive.
func count(n int) *uint32 {
	if n <= 0 {
		return nil
	}
	u := uint32(n)
	return &u
}

// known returns n, or nil if it is not positive.
func known(n int64) *uint64 {
	u := uint64(max(0, n))
	return &u
}

func (p prober) lookAtMemory(s *Snapshot, d *Details) {
	m := p.memory()
	if m.Limit > 0 {
		s.RAM = RAM{TotalBytes: known(m.Limit), FreeBytes: known(m.Available)}
		d.Memory.LimitBytes, d.Memory.AvailableBytes = known(m.Limit), known(m.Available)
	}
	if m.Total > 0 {
		d.Memory.MachineBytes = known(m.Total)
	}
	if m.Stalls.Known {
		some, full := float32(m.Stalls.Some), float32(m.Stalls.Full)
		d.Memory.StallSome, d.Memory.StallFull = &some, &full
	}
	if v, ok := pressure(m); ok {
		s.Pressure.RAM = &v
	}
	d.Memory.PageReporting = pageReporting(p.root)
	if d.Memory.PageReporting {
		d.warn("page-reporting", "this virtual machine hands freed memory back to its host, so memory that is touched for the first time is slow: buffers should be kept and used again")
	}
	if limit, limited := lockLimit(p.root); limited {
		d.Memory.LockableBytes = &limit
		if limit < minLockable {
			d.warn("memlock", fmt.Sprintf("only %s of memory may be locked (RLIMIT_MEMLOCK): buffers that should stay in memory may be swapped out; raise it with ulimit -l", size(limit)))
		}
	}
}

// minLockable is the least that the buffers of a streamed model take.
const minLockable = 256 << 20

// The stall percentages at which tasks waiting for memory raise the pressure,
// and the pressures they raise it to: the system is then fuller than its
// counters say.
const (
	stalledSome, pressureSome = 10, .90
	stalledFull, pressureFull = 5, .95
)

// pressure returns how full memory is; false if unknown.
func pressure(m cpu.Memory) (float32, bool) {
	if m.Limit <= 0 {
		return 0, false
	}
	v := min(1, max(0, 1-float32(float64(m.Available)/float64(m.Limit))))
	if m.Stalls.Some > stalledSome {
		v = max(v, pressureSome)
	}
	if m.Stalls.Full > stalledFull {
		v = max(v, pressureFull)
	}
	return v, true
}

func (p prober) lookAtStorage(ctx context.Context, o Options, s *Snapshot, d *Details) error {
	if o.CacheDir == "" {
		return nil
	}
	s.SSD.CacheDir = o.CacheDir
	dir, err := filepath.Abs(o.CacheDir)
	if err != nil {
		return err
	}
	st := storageOf(p.root, dir)
	st.Dir = o.CacheDir
	d.Storage = st
	if text := storageWarnings[st.Kind]; text != "" {
		d.warn("cache-on-"+string(st.Kind), fmt.Sprintf("%s is on %s (%s): %s", o.CacheDir, st.Kind, st.Filesystem, text))
	}
	if o.Depth == None || ctx.Err() != nil {
		return nil
	}
	st.Profile, err = p.profile(ctx, o, st, d)
	if pr := st.Profile; pr != nil {
		s.SSD.ReadMBps, s.SSD.WriteMBps, s.SSD.LatencyMS = rate(pr.ReadBytes), rate(pr.WriteBytes), milliseconds(pr.LatencySeconds)
	}
	return err
}

// rate converts bytes to megabytes per second; nil if unknown.
func rate(bytesPerSecond float64) *float32 {
	if bytesPerSecond <= 0 {
		return nil
	}
	v := float32(bytesPerSecond / 1e6)
	return &v
}

func milliseconds(seconds float64) *float32 {
	if seconds <= 0 {
		return nil
	}
	v := float32(seconds * 1e3)
	return &v
}

// profile returns the speeds of storage: the kept ones of the device, or new
// ones, which it keeps.
func (p prober) profile(ctx context.Context, o Options, st *Storage, d *Details) (*Profile, error) {
	path := filepath.Join(o.CacheDir, profilesName)
	kept, err := readProfiles(p.files, path)
	if err != nil {
		d.warn("profiles", err.Error())
	}
	if o.Depth == Quick {
		if pr := kept.find(st.Device, p.now()); pr != nil {
			st.Measured = false
			return pr, nil
		}
	}
	if p.measure == nil {
		return nil, nil
	}
	if err := os.MkdirAll(o.CacheDir, 0o777); err != nil {
		return nil, err
	}
	pr, err := p.measure(ctx, o.CacheDir, o.Depth)
	if err != nil {
		return nil, fmt.Errorf("measure the storage of %s: %w", o.CacheDir, err)
	}
	st.Measured = true
	pr.Device, pr.EpochSeconds, pr.Depth = st.Device, uint64(p.now().Unix()), o.Depth
	if err := kept.keep(p.files, path, pr); err != nil {
		d.warn("profiles", err.Error())
	}
	return &pr, nil
}

func (p prober) lookAtDevices(ctx context.Context, o Options, s *Snapshot, d *Details) {
	if o.GPUs == nil || ctx.Err() != nil {
		return
	}
	devices, err := o.GPUs.Devices(ctx, o.Depth)
	if err != nil {
		d.warn("devices", err.Error())
	}
	d.Devices = devices
	var total, free uint64
	unknown := false
	for _, g := range devices {
		s.GPUs = append(s.GPUs, g.GPU)
		s.called(&g)
		if g.VRAMTotalBytes == nil || g.VRAMFreeBytes == nil || *g.VRAMTotalBytes == 0 {
			unknown = true
			d.warn("vram-unknown", g.ID+" does not say how much of its memory is free: it counts as full")
			continue
		}
		total += *g.VRAMTotalBytes
		free += min(*g.VRAMFreeBytes, *g.VRAMTotalBytes)
	}
	switch { // with a device the pressure is never nil, because placement and planner treat nil differently
	case total > 0:
		v := float32(1 - float64(free)/float64(total))
		s.Pressure.VRAM = &v
	case unknown:
		v := float32(1)
		s.Pressure.VRAM = &v
	}
}

// called records the calls of a device. One that failed its trial counts as unreliable, and
// nothing is placed there.
func (s *Snapshot) called(g *Device) {
	r := g.Calls
	if g.Tried && g.Fault != "" { // whatever else succeeded
		r = Reliability{Fail: max(r.Fail, 1), LastError: g.Fault}
	}
	if r.OK+r.Fail == 0 {
		return
	}
	if r.Fail > 0 {
		r.LastErrorEpochMS = &s.TimestampEpochMS
	}
	if s.Reliability == nil {
		s.Reliability = map[string]Reliability{}
	}
	s.Reliability[g.ID] = r
}
