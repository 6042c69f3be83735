package stores

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"
)

// A Medium is what the vector is kept in.
type Medium uint8

// The media.
const (
	RAM Medium = iota
	File
	NVRAM
)

// String returns ram, file or nvram.
func (m Medium) String() string { return [...]string{"ram", "file", "nvram"}[m] }

// The errors of a vector, for [errors.Is].
var (
	errPersonaShape     = errors.New("wrong length")
	errPersonaNotFinite = errors.New("not finite")
	errPersonaDamaged   = errors.New("no slot of the file is whole")
	errPersonaClosed    = errors.New("it is closed")
)

// A vectorError says which operation on which file failed. It matches its Err.
type vectorError struct {
	Op, Path  string
	Want, Got int // values, where that is the matter
	Err       error
}

func (e *vectorError) Error() string {
	s := fmt.Sprintf("persona %s %s", e.Op, e.Path)
	if e.Want != e.Got {
		s += fmt.Sprintf(": want %d values, got %d", e.Want, e.Got)
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns what the error is matched by.
func (e *vectorError) Unwrap() error { return e.Err }

// A PersonaConfig says where the vector is kept.
type PersonaConfig struct {
	Dim  int
	Path string // of the file without non-volatile memory; "": RAM
	// NVRAM is a folder of a file system on non-volatile memory, or a device of it. ""
	// looks for one that is mounted with direct access.
	NVRAM string
	// Mounts is the list of mounted file systems; "" is /proc/self/mounts.
	Mounts string
	// Warn, if not nil, is told once if there is no non-volatile memory.
	Warn func(message string)
}

// mostDim bounds the vector.
const mostDim = 1 << 20

// A Vector is the persona of a model. Reading and setting wait for each other.
type Vector struct {
	dim    int
	path   string
	medium Medium

	mu     sync.Mutex
	region region
	slot   int // that counts
	number uint64
}

// A slot is a head and the values, on pages of its own.
const (
	slotMagic      = "QPRS"
	personaVersion = 1
	headBytes      = 64 // values begin on a cache line
	slotAlign      = 4096
)

func slotBytes(dim int) int { return (headBytes + 4*dim + slotAlign - 1) &^ (slotAlign - 1) }

// OpenPersona opens the vector, zeros if it is new.
func OpenPersona(c PersonaConfig) (*Vector, error) {
	if c.Dim < 1 || c.Dim > mostDim {
		return nil, &vectorError{"open", c.Path, mostDim, c.Dim, errPersonaShape}
	}
	v := &Vector{dim: c.Dim}
	v.path, v.medium = placeVector(c)
	var err error
	if v.region, err = openRegion(v.path, 2*slotBytes(c.Dim)); err != nil {
		return nil, &vectorError{Op: "open", Path: v.path, Err: err}
	}
	if err := v.find(); err != nil {
		return nil, errors.Join(err, v.region.close())
	}
	if v.medium != NVRAM && c.Warn != nil {
		c.Warn(fmt.Sprintf("persona: no non-volatile memory; kept in %v (%s), with a lower guarantee of persistence", v.medium, v.path))
	}
	return v, nil
}

// personaFile is the vector's file in a folder of non-volatile memory.
const personaFile = "quila.persona"

// placeVector returns where the vector goes.
func placeVector(c PersonaConfig) (path string, m Medium) {
	at := c.NVRAM
	if at == "" {
		at = daxMount(c.Mounts)
	}
	if at != "" {
		if st, err := os.Stat(at); err == nil && st.IsDir() {
			at = filepath.Join(at, personaFile)
		}
		return at, NVRAM
	}
	if c.Path != "" {
		return c.Path, File
	}
	return "", RAM
}

// daxMount returns a writable file system that is mounted with direct access; "" if
// there is none. A device alone, /dev/pmem0 or /dev/dax0.0, is not taken without
// being asked for: it may hold what belongs to others.
func daxMount(mounts string) string {
	if mounts == "" {
		mounts = "/proc/self/mounts"
	}
	text, err := os.ReadFile(mounts)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		dax, writable := false, false
		for option := range strings.SplitSeq(f[3], ",") {
			dax = dax || option == "dax" || option == "dax=always"
			writable = writable || option == "rw"
		}
		if dax && writable {
			return f[1]
		}
	}
	return ""
}

// find looks for the slot that counts. Zeros are a new file.
func (v *Vector) find() error {
	b, fresh := v.region.bytes(), true
	for slot := range 2 {
		s := b[slot*slotBytes(v.dim):][:slotBytes(v.dim)]
		number, dim, ok := read(s)
		fresh = fresh && empty(s[:headBytes])
		if !ok {
			continue
		}
		if dim != v.dim {
			return &vectorError{"open", v.path, v.dim, dim, errPersonaShape}
		}
		if number > v.number {
			v.slot, v.number = slot, number
		}
	}
	if v.number == 0 && !fresh {
		return &vectorError{Op: "open", Path: v.path, Err: errPersonaDamaged}
	}
	return nil
}

func empty(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// read checks a slot.
func read(s []byte) (number uint64, dim int, ok bool) {
	le := binary.LittleEndian
	dim = int(le.Uint32(s[16:]))
	if string(s[:4]) != slotMagic || le.Uint32(s[4:]) != personaVersion || dim > (len(s)-headBytes)/4 {
		return 0, 0, false
	}
	return le.Uint64(s[8:]), dim, le.Uint32(s[20:]) == sum(s, dim)
}

// sum is the checksum of a slot's head and values.
func sum(s []byte, dim int) uint32 {
	return crc32.Update(crc32.Checksum(s[:20], castagnoli), castagnoli, s[headBytes:headBytes+4*dim])
}

// Values returns the values: memory of the file itself, valid until the next Set
// or Close, not to be written.
func (v *Vector) Values() []float32 {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.region == nil {
		return nil
	}
	b := v.region.bytes()[v.slot*slotBytes(v.dim)+headBytes:]
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), v.dim)
}

// Set replaces the values. When it returns, they survive a kill, and a power
// failure if there is a file.
func (v *Vector) Set(x []float32) error {
	if len(x) != v.dim {
		return &vectorError{"set", v.path, v.dim, len(x), errPersonaShape}
	}
	for _, y := range x {
		if y-y != 0 {
			return &vectorError{Op: "set", Path: v.path, Err: errPersonaNotFinite}
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.region == nil {
		return &vectorError{Op: "set", Path: v.path, Err: errPersonaClosed}
	}
	slot := 1 - v.slot
	s := v.region.bytes()[slot*slotBytes(v.dim):][:slotBytes(v.dim)]
	le := binary.LittleEndian
	copy(s, slotMagic)
	le.PutUint32(s[4:], personaVersion)
	le.PutUint64(s[8:], v.number+1)
	le.PutUint32(s[16:], uint32(v.dim))
	for i, y := range x {
		le.PutUint32(s[headBytes+4*i:], math.Float32bits(y))
	}
	le.PutUint32(s[20:], sum(s, v.dim))
	if err := v.region.sync(); err != nil {
		return &vectorError{Op: "set", Path: v.path, Err: err}
	}
	v.slot, v.number = slot, v.number+1
	return nil
}

// Medium returns what the vector is kept in.
func (v *Vector) Medium() Medium { return v.medium }

// Path returns the file; "" if it is in RAM.
func (v *Vector) Path() string { return v.path }

// Close releases the memory. It may be called more than once.
func (v *Vector) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.region == nil {
		return nil
	}
	err := v.region.close()
	v.region = nil
	return err
}

// A region is the bytes of a file.
type region interface {
	bytes() []byte
	sync() error // returns when they are on disk
	close() error
}

// inRAM is a region without a file.
type inRAM []byte

func (r inRAM) bytes() []byte { return r }
func (r inRAM) sync() error   { return nil }
func (r inRAM) close() error  { return nil }
