package live

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
)

// A timer is a clock that can be waited for. Tests pass one that does not wait, but advances.
type timer interface {
	now() int64
	until(t int64) // returns at t or before
}

type system struct{}

func (system) now() int64    { return Now() }
func (system) until(t int64) { SleepUntil(t) }

// A clocked stream is a device made of a clock: it moves whole periods at the times at which hardware would, and keeps
// to the size of its buffer. fill makes the captured frames, drain takes the played ones.
type clocked struct {
	Format
	timer   timer
	input   bool
	free    bool    // there is no clock: frames are there, and room is, at any time
	rate    float64 // frames per second of timer
	began   *int64  // time of the first frame, shared by input and output; 0 before it
	moved   int64   // frames that the caller moved, with those ahead
	ahead   int64
	stopped atomic.Bool
	xruns   atomic.Int64
	fill    func(x []float32, frame int64) Status
	drain   func(x []float32, frame int64) Status
	close   func() error
	err     func() error
}

// newClocked returns a stream of the system's clock.
func newClocked(c *Config, input bool, began *int64) *clocked {
	s := &clocked{timer: system{}, input: input, free: c.Free, rate: float64(c.Rate), began: began}
	s.Format = Format{Rate: c.Rate, Channels: c.Channels, Period: c.Period, Buffer: 4 * max(c.Block, c.Period)}
	if !input && !c.Free {
		if s.Ahead = c.Depth * c.Block; c.Period != c.Block { // the block that a period ends in, and the period
			s.Ahead = max(s.Ahead, c.Period+c.Block)
		}
		s.ahead, s.Buffer = int64(s.Ahead), max(s.Buffer, 2*s.Ahead)
	}
	return s
}

// second is in nanoseconds.
const second = 1e9

func (s *clocked) Start() error {
	if !s.input {
		s.moved = s.ahead
	}
	return nil
}

// at is the time at which the device has moved n frames: whole periods.
func (s *clocked) at(n int64) int64 {
	p := int64(s.Period)
	return *s.began + int64(float64((n+p-1)/p*p)/s.rate*second)
}

// done is the number of frames that the device has moved.
func (s *clocked) done(now int64) int64 {
	p := int64(s.Period)
	return int64(float64(now-*s.began)*s.rate/second+1e-3) / p * p
}

func (s *clocked) Queued() (int, bool) {
	n := s.moved - int64(float64(s.timer.now()-*s.began)*s.rate/second)
	if s.input {
		n = -n
	}
	return int(max(n, 0)), !s.free
}

func (s *clocked) Move(x []float32) Status {
	if *s.began == 0 { // the thread that moves frames is there from now on
		*s.began = max(s.timer.now(), 1)
	}
	result := OK
	for part := s.Buffer / 2 * s.Channels; len(x) > 0 && result != Stopped && result != Gone; {
		n := min(len(x), max(part, s.Channels))
		result = max(result, s.move(x[:n]))
		x = x[n:]
	}
	return result
}

// move moves at most half of the device's buffer.
func (s *clocked) move(x []float32) Status {
	n := int64(len(x) / s.Channels)
	result := OK
	if !s.free {
		due := s.at(s.moved + n) // captured, or there is room for it
		if !s.input {
			due = s.at(s.moved - max(s.ahead-n, 0)) // no further ahead than asked for
		}
		for s.timer.now() < due {
			if s.stopped.Load() {
				return Stopped
			}
			s.timer.until(min(due, s.timer.now()+second/20))
		}
		now := s.done(s.timer.now())
		if s.input && now-s.moved > int64(s.Buffer) || !s.input && now > s.moved {
			s.xruns.Add(1) // frames were overwritten, or silence was played
			result = Xrun
			if s.moved = now; s.input {
				s.moved -= n
			} else {
				s.moved += s.ahead
			}
		}
	}
	if s.stopped.Load() {
		return Stopped
	}
	move := s.drain
	if s.input {
		move = s.fill
	}
	result = max(result, move(x, s.moved))
	s.moved += n
	return result
}

func (s *clocked) Stop()        { s.stopped.Store(true) }
func (s *clocked) Xruns() int64 { return s.xruns.Load() }
func (s *clocked) Close() error {
	if s.close != nil {
		return s.close()
	}
	return nil
}

func (s *clocked) Err() error {
	if s.err != nil {
		return s.err()
	}
	return nil
}

// Format returns the stream's format.
func (s *clocked) form() Format { return s.Format }

// null is the back end of devices that are silent, and play into nothing.
type null struct{}

func (null) Name() string { return "null" }

func (null) List() ([]Info, error) {
	return []Info{{"null", "silence, and nothing; null:free does not wait for the clock, null:@200 runs 200 ppm fast", true, true}}, nil
}

// Open reads the name [free][@PPM].
func (null) Open(in, out *Config) (DeviceStream, DeviceStream, error) {
	var began int64
	open := func(c *Config, input bool) (DeviceStream, error) {
		if c == nil {
			return nil, nil
		}
		kind, ppm, skewed := strings.Cut(c.Name, "@")
		if kind != "" && kind != "free" {
			return nil, fmt.Errorf("%w: null:%s: want null, null:free or null:@PPM", ErrName, c.Name)
		}
		c.Free = c.Free || kind == "free"
		s := newClocked(c, input, &began)
		if skewed {
			v, err := strconv.ParseFloat(ppm, 64)
			if err != nil || !(v > -1e5 && v < 1e5) {
				return nil, fmt.Errorf("%w: null:%s: want parts per million after @", ErrName, c.Name)
			}
			s.rate *= 1 + v/1e6
		}
		s.fill = func(x []float32, _ int64) Status { clear(x); return OK }
		s.drain = func([]float32, int64) Status { return OK }
		return stream{s}, nil
	}
	i, err := open(in, true)
	if err != nil {
		return nil, nil, err
	}
	o, err := open(out, false)
	return i, o, errors.Join(err)
}

// A stream makes a clocked stream a [DeviceStream].
type stream struct{ *clocked }

func (s stream) Format() Format { return s.form() }
