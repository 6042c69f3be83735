package hw

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"atenia/internal/spelling"
)

// Machine returns a short name of the machine to label results with; equal for
// equal processors, cores and memory sizes.
func (d *Details) Machine() string {
	memory := uint64(0)
	if d.Memory.MachineBytes != nil {
		memory = *d.Memory.MachineBytes
	}
	p := &d.Processor
	sum := sha256.Sum256(fmt.Appendf(nil, "%s|%s|%d|%d|%d", p.Name, p.Arch, p.Cores, p.Allowed, memory>>20))
	return fmt.Sprintf("%x", sum[:6])
}

// Print writes the snapshot and the details for people: a line for each part,
// then the warnings.
func (d *Details) Print(out io.Writer, s *Snapshot) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "machine\t%s\n", d.Machine())
	d.printProcessor(w, s)
	d.printMemory(w, s)
	if d.Storage != nil {
		d.printStorage(w)
	}
	d.printAround(w)
	if len(d.Devices)+len(d.Unused) == 0 {
		fmt.Fprintln(w, "devices\tnone")
	}
	for i := range d.Devices {
		d.Devices[i].print(w)
		s.Reliability[d.Devices[i].ID].print(w)
	}
	if s.Pressure.VRAM != nil {
		fmt.Fprintf(w, "pressure of VRAM\t%.2f\n", *s.Pressure.VRAM)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, x := range d.Warnings {
		if _, err := fmt.Fprintf(out, "warning: %s: %s\n", x.ID, x.Text); err != nil {
			return err
		}
	}
	return nil
}

func (d *Details) printProcessor(w io.Writer, s *Snapshot) {
	p := &d.Processor
	fmt.Fprintf(w, "processor\t%s (%s)\n", p.Name, p.Arch)
	fmt.Fprintf(w, "SIMD\t%s\n", strings.Join(s.CPU.SIMD, " "))
	cores := fmt.Sprintf("%s, %s allowed", spelling.Count(p.Cores, "core"), spelling.Count(p.Allowed, "processor"))
	if s.CPU.PhysicalCores != nil && s.CPU.LogicalCores != nil {
		cores += fmt.Sprintf(" of %d and %d", *s.CPU.PhysicalCores, *s.CPU.LogicalCores)
	}
	if p.Quota > 0 {
		cores += fmt.Sprintf(", quota %.2f", p.Quota)
	}
	fmt.Fprintf(w, "cores\t%s; best with %s\n", cores, spelling.Count(p.Threads, "thread"))
	fmt.Fprintf(w, "caches\tL1 %s, L2 %s, L3 %s\n", size(uint64(p.L1)), size(uint64(p.L2)), size(uint64(p.L3)))
}

func (d *Details) printMemory(w io.Writer, s *Snapshot) {
	m := &d.Memory
	switch {
	case m.LimitBytes == nil:
		fmt.Fprintln(w, "memory\tunknown")
	case m.MachineBytes != nil && *m.LimitBytes < *m.MachineBytes:
		fmt.Fprintf(w, "memory\t%s available of %s, the limit of a control group (the machine has %s)\n", size(*m.AvailableBytes), size(*m.LimitBytes), size(*m.MachineBytes))
	default:
		fmt.Fprintf(w, "memory\t%s available of %s\n", size(*m.AvailableBytes), size(*m.LimitBytes))
	}
	if s.Pressure.RAM != nil {
		fmt.Fprintf(w, "pressure of RAM\t%.2f\n", *s.Pressure.RAM)
	}
	if m.StallSome != nil && m.StallFull != nil {
		fmt.Fprintf(w, "waits for memory\tsome tasks %.1f %%, all tasks %.1f %% of the last 10 s\n", *m.StallSome, *m.StallFull)
	}
	if m.LockableBytes != nil {
		fmt.Fprintf(w, "lockable memory\t%s\n", size(*m.LockableBytes))
	}
}

func (d *Details) printStorage(w io.Writer) {
	st := d.Storage
	line := fmt.Sprintf("%s: %s", st.Dir, st.Kind)
	if st.Filesystem != "" {
		line += ", " + st.Filesystem
	}
	if st.FreeBytes != nil {
		line += ", " + size(*st.FreeBytes) + " free"
	}
	fmt.Fprintf(w, "storage\t%s\n", line)
	p := st.Profile
	if p == nil {
		return
	}
	when := "measured now"
	if !st.Measured {
		when = "measured " + time.Unix(int64(p.EpochSeconds), 0).UTC().Format(time.DateOnly)
	}
	fmt.Fprintf(w, "\t%s (%s)\n", p, when)
	if p.TouchBytes > 0 {
		fmt.Fprintf(w, "first touch of memory\t%.2f GB/s\n", p.TouchBytes/1e9)
	}
}

// String lists the known speeds of storage.
func (p *Profile) String() string {
	var parts []string
	add := func(known float64, format string, args ...any) {
		if known > 0 {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(p.ReadBytes, "reads %.0f MB/s", p.ReadBytes/1e6)
	add(p.ReadP99Seconds, "99 %% of them within %.1f ms", p.ReadP99Seconds*1e3)
	add(p.WriteBytes, "writes %.0f MB/s", p.WriteBytes/1e6)
	add(p.RandomReads, "%.0f small reads/s", p.RandomReads)
	add(p.LatencySeconds, "each %.2f ms", p.LatencySeconds*1e3)
	return strings.Join(parts, ", ")
}

func (v *Device) print(w io.Writer) {
	line := fmt.Sprintf("%s: %s", v.ID, v.Name)
	if v.VRAMTotalBytes != nil && v.VRAMFreeBytes != nil {
		line += fmt.Sprintf(", %s free of %s", size(*v.VRAMFreeBytes), size(*v.VRAMTotalBytes))
	}
	if v.Compute != "" {
		line += ", compute capability " + v.Compute
	}
	if v.Driver != "" {
		line += ", driver " + v.Driver
	}
	fmt.Fprintf(w, "device\t%s\n", line)
	var parts []string
	if v.BandwidthGBps != nil {
		parts = append(parts, fmt.Sprintf("at most %.0f GB/s", *v.BandwidthGBps))
	}
	if v.ComputeScore != nil {
		parts = append(parts, fmt.Sprintf("%.0f GFLOP/s in float32", *v.ComputeScore))
	}
	if v.LinkGen != nil && v.LinkWidth != nil && v.LinkMaxGen != nil && v.LinkMaxWidth != nil {
		parts = append(parts, fmt.Sprintf("PCIe %d × %d of %d × %d", *v.LinkGen, *v.LinkWidth, *v.LinkMaxGen, *v.LinkMaxWidth))
	}
	if v.UploadBytes != nil && v.DownloadBytes != nil {
		parts = append(parts, fmt.Sprintf("copies %.1f GB/s there, %.1f GB/s back", *v.UploadBytes/1e9, *v.DownloadBytes/1e9))
	}
	if v.Utilization != nil {
		parts = append(parts, fmt.Sprintf("%d %% in use", *v.Utilization))
	}
	if v.Temperature != nil {
		parts = append(parts, fmt.Sprintf("%d °C", *v.Temperature))
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, "\t%s\n", strings.Join(parts, ", "))
	}
	if v.Fault != "" {
		fmt.Fprintf(w, "\tfaulty: %s\n", v.Fault)
	}
}

// print says how often calls of a device failed so far.
func (r Reliability) print(w io.Writer) {
	switch {
	case r.OK+r.Fail == 0:
	case r.Fail == 0:
		fmt.Fprintf(w, "\tcalls so far: %d, none failed\n", r.OK)
	default:
		fmt.Fprintf(w, "\tcalls so far: %d succeeded, %d failed: %s\n", r.OK, r.Fail, spelling.Line(r.LastError))
	}
}
