package live

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"atenia/internal/machine/library"
)

// The functions of libasound that are used (alsa-lib, include/pcm.h, control.h).
const (
	pcmOpen = iota
	pcmClose
	pcmPrepare
	pcmStart
	pcmDrop
	pcmDrain
	pcmResume
	pcmWait
	pcmReadi
	pcmWritei
	pcmDelay
	pcmAvail
	hwMalloc
	hwFree
	hwAny
	hwAccess
	hwFormat
	hwChannels
	hwRate
	hwPeriod
	hwBuffer
	hwSet
	hwGetPeriod
	hwGetBuffer
	swMalloc
	swFree
	swCurrent
	swStart
	swAvailMin
	swSet
	alsaError
	hintList
	hintGet
	hintFree
	alsaFunctions
)

var alsaNames = [alsaFunctions]string{
	pcmOpen: "snd_pcm_open", pcmClose: "snd_pcm_close", pcmPrepare: "snd_pcm_prepare", pcmStart: "snd_pcm_start", pcmDrop: "snd_pcm_drop",
	pcmDrain: "snd_pcm_drain", pcmResume: "snd_pcm_resume", pcmWait: "snd_pcm_wait", pcmReadi: "snd_pcm_readi", pcmWritei: "snd_pcm_writei",
	pcmDelay: "snd_pcm_delay", pcmAvail: "snd_pcm_avail",
	hwMalloc: "snd_pcm_hw_params_malloc", hwFree: "snd_pcm_hw_params_free", hwAny: "snd_pcm_hw_params_any", hwAccess: "snd_pcm_hw_params_set_access",
	hwFormat: "snd_pcm_hw_params_set_format", hwChannels: "snd_pcm_hw_params_set_channels", hwRate: "snd_pcm_hw_params_set_rate_near",
	hwPeriod: "snd_pcm_hw_params_set_period_size_near", hwBuffer: "snd_pcm_hw_params_set_buffer_size_near", hwSet: "snd_pcm_hw_params",
	hwGetPeriod: "snd_pcm_hw_params_get_period_size", hwGetBuffer: "snd_pcm_hw_params_get_buffer_size",
	swMalloc: "snd_pcm_sw_params_malloc", swFree: "snd_pcm_sw_params_free", swCurrent: "snd_pcm_sw_params_current",
	swStart: "snd_pcm_sw_params_set_start_threshold", swAvailMin: "snd_pcm_sw_params_set_avail_min", swSet: "snd_pcm_sw_params",
	alsaError: "snd_strerror", hintList: "snd_device_name_hint", hintGet: "snd_device_name_get_hint", hintFree: "snd_device_name_free_hint",
}

// Constants of alsa/pcm.h and errors that a transfer handles.
const (
	pcmPlayback, pcmCapture = 0, 1
	pcmNonblock             = 1
	accessInterleaved       = 3
	formatS16, formatS32    = 2, 10
	formatFloat             = 14

	eINTR, eAGAIN, ePIPE, eSTRPIPE = -4, -11, -32, -86
)

// libasound loads the library once.
var libasound = sync.OnceValues(func() (f [alsaFunctions]uintptr, err error) {
	return f, bind(f[:], alsaNames[:], "libasound.so.2")
})

// bind looks up functions of a library.
func bind(f []uintptr, names []string, libraries ...string) error {
	h, err := library.Open(libraries...)
	if err != nil {
		return fmt.Errorf("%s: %w", libraries[0], err)
	}
	for i, name := range names {
		if f[i], err = h.Symbol(name); err != nil {
			return fmt.Errorf("%s: %w", libraries[0], err)
		}
	}
	return nil
}

// alsa is the back end of ALSA. A device is a PCM of the configuration: default, hw:0, plughw:1,0. As pipewire it is
// PipeWire's PCM.
type alsa struct{ pipewire bool }

func (a alsa) Name() string {
	if a.pipewire {
		return "pipewire"
	}
	return "alsa"
}

func (a alsa) List() ([]Info, error) {
	f, err := libasound()
	if err != nil {
		return nil, err
	}
	var hints uintptr
	kind := cstring("pcm")
	if code := int32(library.Call(f[hintList], ^uintptr(0), uintptr(unsafe.Pointer(&kind[0])), uintptr(unsafe.Pointer(&hints)))); code < 0 {
		return nil, alsaFault(f, "list", code)
	}
	runtime.KeepAlive(kind)
	defer library.Call(f[hintFree], hints)
	var all []Info
	for at := hints; ; at += unsafe.Sizeof(at) {
		h := *(*uintptr)(foreign(at))
		if h == 0 {
			break
		}
		name, text, way := a.hint(f, h, "NAME"), a.hint(f, h, "DESC"), a.hint(f, h, "IOID")
		if name == "" || name == "null" || a.pipewire != (name == "pipewire") {
			continue
		}
		if name = "alsa:" + name; a.pipewire {
			name = "pipewire"
		}
		all = append(all, Info{name, oneLine(text), way != "Output", way != "Input"})
	}
	if len(all) == 0 && a.pipewire {
		return nil, errors.New("ALSA has no PCM named pipewire: PipeWire's plug-in for ALSA is not installed")
	}
	if len(all) == 0 {
		return nil, errors.New("ALSA knows no sound card")
	}
	return all, nil
}

// hint reads one word about a device.
func (alsa) hint(f [alsaFunctions]uintptr, h uintptr, key string) string {
	k := cstring(key)
	p := library.Call(f[hintGet], h, uintptr(unsafe.Pointer(&k[0])))
	runtime.KeepAlive(k)
	return gostring(p) // it stays allocated: some bytes for each device
}

func (a alsa) Open(in, out *Config) (DeviceStream, DeviceStream, error) {
	var i, o DeviceStream
	f, err := libasound()
	if err != nil {
		return nil, nil, err
	}
	if in != nil {
		if i, err = a.open(f, in, pcmCapture); err != nil {
			return nil, nil, err
		}
	}
	if out != nil {
		if o, err = a.open(f, out, pcmPlayback); err != nil {
			if i != nil {
				err = errors.Join(err, i.Close())
			}
			return nil, nil, err
		}
	}
	return i, o, nil
}

// A pcm is an open device. Its calls are made by prepared frames, whose arguments point to memory that the pcm keeps.
type pcm struct {
	form    Format
	name    string
	input   bool
	f       [alsaFunctions]uintptr
	handle  uintptr
	sample  int // format
	ahead   []byte
	buffer  []byte // what is moved, in the device's format
	delay   *int64
	call    library.Frame
	stopped atomic.Bool
	xruns   atomic.Int64
	code    atomic.Int32 // why the device is gone
	first   bool
}

func (a alsa) open(f [alsaFunctions]uintptr, c *Config, way uintptr) (DeviceStream, error) {
	name := c.Name
	if name == "" {
		if name = "default"; a.pipewire {
			name = "pipewire"
		}
	}
	p := &pcm{f: f, name: name, input: way == pcmCapture, delay: new(int64), first: true}
	text := cstring(name)
	if code := int32(library.Call(f[pcmOpen], uintptr(unsafe.Pointer(&p.handle)), uintptr(unsafe.Pointer(&text[0])), way, pcmNonblock)); code < 0 {
		return nil, fmt.Errorf("%s:%w", a.Name(), alsaFault(f, name, code))
	}
	runtime.KeepAlive(text)
	if err := p.configure(c); err != nil {
		library.Call(f[pcmClose], p.handle)
		return nil, fmt.Errorf("%s:%w", a.Name(), err)
	}
	return p, nil
}

// configure chooses format, rate and sizes near those wanted.
func (p *pcm) configure(c *Config) error {
	f := &p.f
	var hw, sw uintptr
	library.Call(f[hwMalloc], uintptr(unsafe.Pointer(&hw)))
	defer func() { library.Call(f[hwFree], hw) }()
	library.Call(f[swMalloc], uintptr(unsafe.Pointer(&sw)))
	defer func() { library.Call(f[swFree], sw) }()
	step := func(what string, fn int, args ...uintptr) error {
		if code := int32(library.Call(f[fn], append([]uintptr{p.handle}, args...)...)); code < 0 {
			return alsaFault(*f, p.name+": "+what, code)
		}
		return nil
	}
	if err := errors.Join(step("parameters", hwAny, hw), step("interleaved access", hwAccess, hw, accessInterleaved)); err != nil {
		return err
	}
	for _, p.sample = range []int{formatFloat, formatS32, formatS16, -1} {
		if p.sample < 0 {
			return fmt.Errorf("%s: none of the sample formats float, 32 and 16 bits: try plug%s", p.name, p.name)
		}
		if step("", hwFormat, hw, uintptr(p.sample)) == nil {
			break
		}
	}
	rate := uint32(c.Rate)
	ahead := c.Depth * c.Block
	period, buffer := uint64(c.Period), uint64(max(2*c.Period, ahead+c.Block, 2*c.Block))
	if p.input {
		buffer = uint64(8 * max(c.Period, c.Block))
	}
	if err := errors.Join(step(fmt.Sprintf("%d channels", c.Channels), hwChannels, hw, uintptr(c.Channels)),
		step("rate", hwRate, hw, uintptr(unsafe.Pointer(&rate)), 0), step("period", hwPeriod, hw, uintptr(unsafe.Pointer(&period)), 0),
		step("buffer", hwBuffer, hw, uintptr(unsafe.Pointer(&buffer))), step("set-up", hwSet, hw)); err != nil {
		return err
	}
	library.Call(f[hwGetPeriod], hw, uintptr(unsafe.Pointer(&period)), 0)
	library.Call(f[hwGetBuffer], hw, uintptr(unsafe.Pointer(&buffer)))
	if period < 1 || buffer < period || buffer > 1<<26 {
		return fmt.Errorf("%s: a period of %d frames and a buffer of %d", p.name, period, buffer)
	}
	if p.input {
		ahead = 0
	} else {
		if int(period) != c.Block {
			ahead = max(ahead, int(period)+c.Block)
		}
		ahead = min(ahead, int(buffer))
	}
	// The stream starts when it is told to, and a wait ends when a block can be moved.
	if err := errors.Join(step("software", swCurrent, sw), step("start", swStart, sw, uintptr(1)<<30), step("wait", swAvailMin, sw, uintptr(min(c.Block, int(buffer)))),
		step("software set-up", swSet, sw)); err != nil {
		return err
	}
	p.form = Format{Rate: int(rate), Channels: c.Channels, Period: int(period), Buffer: int(buffer), Ahead: ahead}
	p.ahead = make([]byte, max(ahead, 1)*p.frame())
	p.buffer = make([]byte, max(c.Block, 1024)*p.frame())
	return nil
}

// frame is the size of a frame in bytes.
func (p *pcm) frame() int {
	if p.sample == formatS16 {
		return 2 * p.form.Channels
	}
	return 4 * p.form.Channels
}

func (p *pcm) Format() Format { return p.form }

// do calls a function of the device. Move's rules hold.
func (p *pcm) do(fn int, a, b uintptr) int64 {
	p.call.Fn, p.call.Args[0], p.call.Args[1], p.call.Args[2] = p.f[fn], p.handle, a, b
	return int64(p.call.Do())
}

func (p *pcm) Start() error {
	if code := int32(p.do(pcmPrepare, 0, 0)); code < 0 {
		return alsaFault(p.f, p.name, code)
	}
	return nil
}

// begin starts the device in its first transfer, an output with silence ahead: the round trip then does not depend on
// how long the thread took to come.
func (p *pcm) begin() Status {
	p.first = false
	if !p.input {
		clear(p.ahead)
		if s := p.transfer(p.ahead[:p.form.Ahead*p.frame()], false); s > Xrun {
			return s
		}
	}
	if code := int32(p.do(pcmStart, 0, 0)); code < 0 && code != ePIPE && code != -77 { // EBADFD: it runs already
		return p.gone(code)
	}
	return OK
}

func (p *pcm) gone(code int32) Status {
	p.code.Store(code)
	return Gone
}

// Move moves frames through a buffer of the device's format.
func (p *pcm) Move(x []float32) Status {
	result := OK
	if p.first {
		if result = p.begin(); result > Xrun {
			return result
		}
	}
	for part := len(p.buffer) / p.frame() * p.form.Channels; len(x) > 0; {
		n := min(part, len(x))
		b := p.buffer[:n/p.form.Channels*p.frame()]
		if !p.input {
			encode(b, x[:n], p.sample)
		}
		if result = max(result, p.transfer(b, true)); result > Xrun {
			return result
		}
		if p.input {
			decode(x[:n], b, p.sample)
		}
		x = x[n:]
	}
	return result
}

// patience is how often a wait of waitMillis may end without a frame until the device counts as lost.
const (
	waitMillis = 100
	patience   = 50
)

// transfer moves all of b, whatever the device takes or gives at a time.
func (p *pcm) transfer(b []byte, running bool) Status {
	fn, result, idle := pcmWritei, OK, 0
	if p.input {
		fn = pcmReadi
	}
	for len(b) > 0 {
		if p.stopped.Load() {
			return Stopped
		}
		frames := len(b) / p.frame()
		n := p.do(fn, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(frames))
		switch {
		case n > int64(frames):
			return p.gone(-5) // EIO
		case n > 0:
			b, idle = b[int(n)*p.frame():], 0
			continue
		case n == 0 || n == eAGAIN:
			if idle++; idle > patience {
				return p.gone(-110) // ETIMEDOUT
			}
			n = int64(int32(p.do(pcmWait, waitMillis, 0)))
			if n >= 0 || n == eINTR || n == eAGAIN {
				continue
			}
		case n == eINTR:
			continue
		}
		if s := p.recover(int32(n), running); s > Xrun {
			return s
		}
		if idle++; idle > patience {
			return p.gone(int32(n))
		}
		result = Xrun
	}
	return result
}

// recover starts a device again that has run out of frames, or was suspended.
func (p *pcm) recover(code int32, running bool) Status {
	if code != ePIPE && code != eSTRPIPE || !running {
		return p.gone(code)
	}
	p.xruns.Add(1)
	if code == eSTRPIPE {
		if r := int32(p.do(pcmResume, 0, 0)); r >= 0 || r == eAGAIN {
			return Xrun
		}
	}
	if c := int32(p.do(pcmPrepare, 0, 0)); c < 0 {
		return p.gone(c)
	}
	if s := p.begin(); s > Xrun {
		return s
	}
	return Xrun
}

func (p *pcm) Queued() (int, bool) {
	if p.first {
		return 0, false
	}
	if n := int32(p.do(pcmDelay, uintptr(unsafe.Pointer(p.delay)), 0)); n < 0 || *p.delay < 0 {
		return 0, false
	}
	return int(*p.delay), true
}

func (p *pcm) Stop()        { p.stopped.Store(true) }
func (p *pcm) Xruns() int64 { return p.xruns.Load() }

func (p *pcm) Err() error {
	if code := p.code.Load(); code != 0 {
		return alsaFault(p.f, p.name, code)
	}
	return nil
}

// Close waits until an output has played what it holds, unless it was stopped or lost.
func (p *pcm) Close() error {
	fn := pcmDrop
	if !p.input && !p.first && !p.stopped.Load() && p.code.Load() == 0 {
		for range patience { // not blocking, it says when it is done
			if n := int32(p.do(pcmDrain, 0, 0)); n != eAGAIN {
				break
			}
			p.do(pcmWait, waitMillis, 0)
		}
	}
	p.do(fn, 0, 0)
	if code := int32(p.do(pcmClose, 0, 0)); code < 0 && p.code.Load() == 0 {
		return alsaFault(p.f, p.name, code)
	}
	return nil
}

// alsaFault is an error of the library.
func alsaFault(f [alsaFunctions]uintptr, what string, code int32) error {
	return fmt.Errorf("%s: %s", what, gostring(library.Call(f[alsaError], uintptr(code))))
}
