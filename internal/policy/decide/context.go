package decide

import (
	"fmt"
	"strings"
)

// A Backend is where work executes: the processor or the device.
type Backend uint8

// The backends, in the order of files and snapshots.
const (
	CPU Backend = iota
	GPU
)

var backendNames = [...]string{"Cpu", "Gpu"}

// String returns Cpu or Gpu.
func (b Backend) String() string {
	if int(b) < len(backendNames) {
		return backendNames[b]
	}
	return fmt.Sprintf("Backend(%d)", uint8(b))
}

// Lower returns the spelling used in files and reasons: cpu or gpu.
func (b Backend) Lower() string { return strings.ToLower(b.String()) }

// Upper returns the spelling used in sentences: CPU or GPU.
func (b Backend) Upper() string { return strings.ToUpper(b.String()) }

// MarshalText writes the spelling of [Backend.String].
func (b Backend) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads a backend, ignoring case.
func (b *Backend) UnmarshalText(text []byte) error {
	for i, n := range backendNames {
		if strings.EqualFold(n, string(text)) {
			*b = Backend(i)
			return nil
		}
	}
	return fmt.Errorf("no backend %q; there are Cpu and Gpu", text)
}

// A Band is a range of pressure, 0 (empty) to 3 (nearly full).
type Band uint8

// bands is the number of bands.
const bands = 4

// BandOf returns the band of a pressure. Comparisons with NaN are false, so NaN
// is in band 3; see [NewContext].
func BandOf(pressure float32) Band {
	switch {
	case pressure < 0.50:
		return 0
	case pressure < 0.75:
		return 1
	case pressure < 0.90:
		return 2
	}
	return 3
}

// Pressure returns a representative pressure of the band.
func (b Band) Pressure() float32 {
	return [bands]float32{0.2, 0.5, 0.8, 0.95}[min(b, bands-1)]
}

// A Context is the machine state in which work ran.
type Context struct {
	GPU  bool    // there is a device
	VRAM float32 // pressures, 0 to 1
	RAM  float32
}

// NewContext clamps pressures to 0 to 1; NaN, an unknown pressure, becomes 0.
func NewContext(gpu bool, vram, ram float32) Context {
	fix := func(p float32) float32 {
		if p != p {
			return 0
		}
		return clamp(p)
	}
	return Context{GPU: gpu, VRAM: fix(vram), RAM: fix(ram)}
}

// clamp limits x to 0 to 1.
func clamp(x float32) float32 {
	switch {
	case x < 0:
		return 0
	case x > 1:
		return 1
	}
	return x
}

// Bucket returns the bucket in which the context's episodes are counted.
func (c Context) Bucket() Bucket { return Bucket{GPU: c.GPU, VRAM: BandOf(c.VRAM), RAM: BandOf(c.RAM)} }

// A Bucket is a set of contexts that share statistics.
type Bucket struct {
	GPU  bool `json:"gpu_available"`
	VRAM Band `json:"vram_band"`
	RAM  Band `json:"ram_band"`
}

// buckets is the number of buckets.
const buckets = 2 * bands * bands

// index orders buckets by (GPU, VRAM, RAM).
func (b Bucket) index() int {
	i := int(min(b.VRAM, bands-1))*bands + int(min(b.RAM, bands-1))
	if b.GPU {
		i += bands * bands
	}
	return i
}

// bucketAt is the inverse of index.
func bucketAt(i int) Bucket {
	return Bucket{GPU: i >= bands*bands, VRAM: Band(i / bands % bands), RAM: Band(i % bands)}
}
