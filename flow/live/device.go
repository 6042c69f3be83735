package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Status is the result of a transfer.
type Status uint8

// The results.
const (
	OK      Status = iota
	Xrun           // the frames were moved, but some were lost before them, or silence was played
	End            // a file has ended: the rest is silence
	Stopped        // [DeviceStream.Stop] was called
	Gone           // the device is lost; [DeviceStream.Err] says why
)

// A Config says how to open a device in one direction. A back end that cannot comply chooses what is near, as
// [DeviceStream.Format] says.
type Config struct {
	Name     string // of the device, without its back end
	Rate     int    // frames per second
	Channels int
	Block    int  // frames that the caller moves at a time
	Period   int  // frames that the device moves at a time; 0: as Block
	Depth    int  // blocks that an output keeps ahead; 0: 2
	Free     bool // do not wait for a clock, where the device has none of its own
}

// A Format is what a device was opened with. Samples are float32, ±1 is full scale, channels are interleaved.
type Format struct {
	Rate, Channels int
	Period         int // frames that the device moves at a time
	Buffer         int // frames that the device holds
	// Ahead is how many frames an output holds before the first one of the caller: the round trip from an input of the
	// same clock, in frames.
	Ahead int
}

// A DeviceStream is an open device in one direction.
//
// Start, Close and Err are called by the host; Move is called by one thread, which may be outside Go's scheduler: it
// takes no lock, allocates nothing and stores no pointer (see [Loop]).
type DeviceStream interface {
	Format() Format
	// Start begins to move frames. Input and output of one back end start together, with the first one's call.
	Start() error
	// Move reads the next frames of an input into x, or writes x to an output. It waits until all are moved.
	Move(x []float32) Status
	// Queued returns the frames that an output has still to play, or that an input has captured and nobody read; ok is
	// false where the device does not know. Move's rules hold.
	Queued() (frames int, ok bool)
	// Stop makes Move return. Any goroutine may call it.
	Stop()
	// Err returns why the stream is [Gone], nil before that.
	Err() error
	// Xruns returns how often frames were lost or silence was played. It may be called at any time.
	Xruns() int64
	// Close ends the stream. An output plays or stores what it holds. No call of Move may be in progress.
	Close() error
}

// An Info describes a device.
type Info struct {
	Name    string `json:"name"` // with its back end: "alsa:default"
	Text    string `json:"text,omitempty"`
	Inputs  bool   `json:"inputs"`
	Outputs bool   `json:"outputs"`
}

// A Backend opens the devices of one system.
type Backend interface {
	// Name is the part of a device's name before the colon.
	Name() string
	// List returns the devices. The error says why there are none, such as a library that is not installed.
	List() ([]Info, error)
	// Open opens an input, an output, or both with a common clock. A nil Config opens none.
	Open(in, out *Config) (DeviceStream, DeviceStream, error)
}

// ErrName matches errors about names of devices that no back end has.
var ErrName = errors.New("no such audio device")

// Backends returns the back ends of this system.
func Backends() []Backend { return append(systemBackends(), null{}, file{}) }

// find splits a name into its back end and the rest.
func find(name string) (Backend, string, error) {
	all := Backends()
	head, rest, _ := strings.Cut(name, ":")
	if i := slices.IndexFunc(all, func(b Backend) bool { return b.Name() == head }); i >= 0 {
		return all[i], rest, nil
	}
	var names []string
	for _, b := range all {
		names = append(names, b.Name())
	}
	return nil, "", fmt.Errorf("%w: %q: want BACKEND:NAME with one of %s", ErrName, name, strings.Join(names, ", "))
}

// OpenDevice opens an input and an output; a nil Config opens none. Names begin with the back end: "alsa:hw:0", "jack",
// "null", "file:voice.wav". If both are of one back end that has a common clock for them, shared is true. Otherwise
// each has its own clock, and they drift apart.
func OpenDevice(in, out *Config) (input, output DeviceStream, shared bool, err error) {
	open := func(in, out *Config) (DeviceStream, DeviceStream, error) {
		var b Backend
		for _, c := range []**Config{&in, &out} {
			if *c == nil {
				continue
			}
			found, rest, err := find((*c).Name)
			if err != nil {
				return nil, nil, err
			}
			own := **c
			own.Name = rest
			if own.Depth == 0 {
				own.Depth = 2
			}
			if own.Period == 0 {
				own.Period = own.Block
			}
			if own.Rate < 1 || own.Channels < 1 || own.Channels > maxChannels || own.Block < 1 || own.Block > maxBlock || own.Depth < 0 || own.Depth > 64 || own.Period < 0 || own.Period > maxBlock {
				return nil, nil, fmt.Errorf("%s: %d Hz, %d channels, blocks of %d frames, %d ahead: out of range", (*c).Name, own.Rate, own.Channels, own.Block, own.Depth)
			}
			*c, b = &own, found
		}
		return b.Open(in, out)
	}
	if in != nil && out != nil {
		a, _, _ := strings.Cut(in.Name, ":")
		b, _, _ := strings.Cut(out.Name, ":")
		if a == b || clockless(a) && clockless(b) {
			if a != b { // files and null devices have the system's clock
				i, o, err := openApart(open, in, out)
				return i, o, true, err
			}
			i, o, err := open(in, out)
			return i, o, err == nil && sharesClock(a, in, out), err
		}
		i, o, err := openApart(open, in, out)
		return i, o, false, err
	}
	if in == nil && out == nil {
		return nil, nil, false, fmt.Errorf("%w: neither an input nor an output", ErrName)
	}
	input, output, err = open(in, out)
	return input, output, true, err
}

const (
	maxChannels = 256
	maxBlock    = 1 << 16
)

// clockless reports whether devices of a back end are paced by the system's clock.
func clockless(backend string) bool { return backend == "null" || backend == "file" }

// sharesClock reports whether two devices of a back end have one clock: those of ALSA only if they are the same card.
func sharesClock(backend string, in, out *Config) bool {
	switch backend {
	case "null":
		_, a, _ := strings.Cut(in.Name, "@")
		_, b, _ := strings.Cut(out.Name, "@")
		return a == b
	case "alsa", "wasapi", "coreaudio":
		return in.Name == out.Name
	}
	return true
}

func openApart(open func(in, out *Config) (DeviceStream, DeviceStream, error), in, out *Config) (DeviceStream, DeviceStream, error) {
	i, _, err := open(in, nil)
	if err != nil {
		return nil, nil, err
	}
	_, o, err := open(nil, out)
	if err != nil {
		return nil, nil, errors.Join(err, i.Close())
	}
	return i, o, nil
}

// Free reports whether a device of that name waits for no clock: "null:free", "file:free=PATH".
func Free(name string) bool {
	return strings.HasPrefix(name, "null:free") || strings.HasPrefix(name, "file:free=")
}
