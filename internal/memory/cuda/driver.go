package cuda

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"atenia/internal/machine/hw"
	"atenia/internal/machine/library"
)

// A driver holds the loaded libraries. It is a [hw.GPUProber].
type driver struct {
	cuda  *table // nil without devices
	nvml  *table // nil without the library
	count int
}

// openDriver loads and initializes the driver. If there is no driver, or no device,
// the Driver has no devices and there is no error; a driver that is installed
// but does not work is an error.
func openDriver() (*driver, error) { return open(driverLibraries, nvmlLibraries) }

func open(cudaLibraries, nvmlLibraries []string) (*driver, error) {
	d := &driver{}
	t, err := load(cudaLibraries, driverNames)
	if errors.Is(err, library.ErrAbsent) {
		return d, nil
	}
	if err == nil {
		err = t.do(cuInit, 0)
	}
	var n int32
	if err == nil {
		err = t.do(cuDeviceGetCount, uintptr(unsafe.Pointer(&n)))
	}
	if e, ok := errors.AsType[*callError](err); ok && e.Code == codeNoDevice {
		return d, nil
	}
	if err != nil {
		return d, fmt.Errorf("the NVIDIA driver is there but does not work: %w", err)
	}
	d.cuda, d.count = t, int(max(0, n))
	if d.count == 0 {
		return d, nil
	}
	if m, err := load(nvmlLibraries, nvmlNames); err == nil && m.do(nvmlInit) == nil {
		d.nvml = m
	}
	return d, nil
}

// Close unloads the libraries. Devices must be closed separately.
func (d *driver) Close() error {
	if d.nvml == nil {
		return nil
	}
	m := d.nvml
	d.nvml = nil
	return m.do(nvmlShutdown)
}

// Devices describes the devices. With [hw.Full] it also tests each one and
// measures its link.
func (d *driver) Devices(ctx context.Context, depth hw.Depth) (list []hw.Device, err error) {
	for i := range d.count {
		if ctx.Err() != nil {
			return list, ctx.Err()
		}
		v, err2 := d.describe(i, depth)
		if err2 != nil {
			err = errors.Join(err, fmt.Errorf("cuda:%d: %w", i, err2))
		}
		list = append(list, v)
	}
	return list, err
}

// describe describes a device. What cannot be read is left out; the first error
// is returned.
func (d *driver) describe(ordinal int, depth hw.Depth) (v hw.Device, err error) {
	v = hw.Device{GPU: hw.GPU{ID: fmt.Sprintf("cuda:%d", ordinal), Backend: hw.BackendCUDA}}
	d.cuda.countFor(&v.Calls)
	defer d.cuda.countFor(nil)
	device, err := d.handle(ordinal)
	if err != nil {
		return v, err
	}
	var name [128]byte
	if err = d.cuda.do(cuDeviceGetName, uintptr(unsafe.Pointer(&name)), uintptr(len(name)), device); err == nil {
		v.Name = text(name[:])
	}
	var total uint64
	if err2 := d.cuda.do(cuDeviceTotalMem, uintptr(unsafe.Pointer(&total)), device); err2 == nil {
		v.VRAMTotalBytes = &total
	} else if err == nil {
		err = err2
	}
	d.estimates(device, &v)
	d.monitor(device, &v)
	if v.VRAMFreeBytes != nil && depth != hw.Full {
		return v, err
	}
	// The following queries need a context on the device.
	if err2 := d.ask(ordinal, depth, &v); err == nil {
		err = err2
	}
	return v, err
}

func (d *driver) handle(ordinal int) (device uintptr, err error) {
	var n int32
	err = d.cuda.do(cuDeviceGet, uintptr(unsafe.Pointer(&n)), uintptr(ordinal))
	return uintptr(n), err
}

// The attributes of devices that are read, from cuda.h.
const (
	attrClock      = 13 // kHz
	attrProcessors = 16
	attrMemClock   = 36 // kHz
	attrBusWidth   = 37 // bits
	attrMajor      = 75
	attrMinor      = 76
)

// estimates computes a device's peak memory bandwidth in bytes per second and,
// as its score, peak GFLOP/s in float32.
func (d *driver) estimates(device uintptr, v *hw.Device) {
	attr := func(a uintptr) float64 {
		var n int32
		if d.cuda.do(cuDeviceGetAttribute, uintptr(unsafe.Pointer(&n)), a, device) != nil {
			return 0
		}
		return float64(n)
	}
	major, minor := attr(attrMajor), attr(attrMinor)
	if major > 0 {
		v.Compute = fmt.Sprintf("%.0f.%.0f", major, minor)
	}
	if b := float32(2 * attr(attrMemClock) * attr(attrBusWidth) / 8 / 1e6); b > 0 { // two transfers a clock
		v.BandwidthGBps = &b
	}
	if s := float32(2 * attr(attrProcessors) * attr(attrClock) * lanes(int(major), int(minor)) / 1e6); s > 0 {
		v.ComputeScore = &s
	}
}

// lanes returns the float32 multiply-adds per clock of a multiprocessor of a
// compute capability.
func lanes(major, minor int) float64 {
	switch {
	case major == 3:
		return 192
	case major == 7, major == 6 && minor == 0, major == 8 && minor == 0:
		return 64
	}
	return 128
}

// monitor reads NVML. What a device does not support stays nil.
func (d *driver) monitor(device uintptr, v *hw.Device) {
	if d.nvml == nil {
		return
	}
	var version [96]byte
	if d.nvml.do(nvmlDriverVersion, uintptr(unsafe.Pointer(&version)), uintptr(len(version))) == nil {
		v.Driver = text(version[:])
	}
	var bus [64]byte // "00000000:01:00.0"
	var h uintptr
	if d.cuda.do(cuDeviceGetPCIBusId, uintptr(unsafe.Pointer(&bus)), uintptr(len(bus)), device) != nil ||
		d.nvml.do(nvmlHandle, uintptr(unsafe.Pointer(&bus)), uintptr(unsafe.Pointer(&h))) != nil {
		return
	}
	var memory struct{ total, free, used uint64 }
	if d.nvml.do(nvmlMemory, h, uintptr(unsafe.Pointer(&memory))) == nil {
		v.VRAMFreeBytes = &memory.free
	}
	var use struct{ gpu, memory uint32 }
	if d.nvml.do(nvmlUtilization, h, uintptr(unsafe.Pointer(&use))) == nil {
		v.Utilization = &use.gpu
	}
	const sensorGPU = 0
	var degrees uint32
	if d.nvml.do(nvmlTemperature, h, sensorGPU, uintptr(unsafe.Pointer(&degrees))) == nil {
		v.Temperature = &degrees
	}
	for _, link := range []struct {
		f  int
		to **uint32
	}{{nvmlLinkGen, &v.LinkGen}, {nvmlLinkWidth, &v.LinkWidth}, {nvmlLinkMaxGen, &v.LinkMaxGen}, {nvmlLinkMaxWidth, &v.LinkMaxWidth}} {
		var n uint32
		if d.nvml.do(link.f, h, uintptr(unsafe.Pointer(&n))) == nil {
			*link.to = &n
		}
	}
}

// ask opens the device for the queries that need a context.
func (d *driver) ask(ordinal int, depth hw.Depth, v *hw.Device) (err error) {
	dev, err := d.Device(ordinal)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	free, total, err := dev.Memory()
	if err != nil {
		return err
	}
	v.VRAMFreeBytes, v.VRAMTotalBytes = &free, &total
	if depth != hw.Full {
		return nil
	}
	err = dev.Check()
	if v.Tried = !errors.Is(err, errOutOfMemory); v.Tried && err != nil { // a device out of memory is not faulty
		v.Fault = err.Error()
	}
	if err != nil {
		return err
	}
	up, down, err := dev.Link()
	if err != nil {
		return err
	}
	v.UploadBytes, v.DownloadBytes = &up, &down
	return nil
}

// text returns a C string.
func text(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

// A Prober finds the devices of this machine for package hw.
type Prober struct{}

// Devices implements [hw.GPUProber]. The driver is loaded for as long as it
// takes to ask.
func (Prober) Devices(ctx context.Context, depth hw.Depth) ([]hw.Device, error) {
	d, err := openDriver()
	if err != nil {
		return nil, err
	}
	list, err := d.Devices(ctx, depth)
	return list, errors.Join(err, d.Close())
}
