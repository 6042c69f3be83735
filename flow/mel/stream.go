package mel

// stream.go computes features frame by frame as samples come.

import (
	"encoding/binary"
	"errors"
	"math"
)

// A Stream takes samples by [Stream.Push] and gives frames by [Stream.Next] as
// soon as their samples are there; [Stream.Flush] ends the signal. With a clamp
// the maximum is that of the frames so far.
type Stream[F Float] struct {
	e     *engine
	buf   []float64 // [n] of it: the signal from sample total - n on, no padding
	n     int
	total int // samples so far
	next  int // frame
	peak  float64
	ended bool
	frame []float64
	level []float64
}

// NewStream returns a stream with those settings.
func NewStream[F Float](s Settings) (*Stream[F], error) {
	e, err := newEngine(s)
	if err != nil {
		return nil, err
	}
	length, _ := s.span()
	st := &Stream[F]{e: e, buf: make([]float64, 2*length+2*s.Hop), frame: make([]float64, length), level: make([]float64, s.Mels)}
	st.Reset()
	return st, nil
}

// Reset forgets the signal so far.
func (s *Stream[F]) Reset() {
	s.n, s.total, s.next, s.ended = 0, 0, 0, false
	s.peak = math.Inf(-1)
}

// Latency is how many frames behind the samples the stream is: once h = hop
// times (t + Latency + 1) samples were pushed, frames 0..t can be had.
func (s *Stream[F]) Latency() int { return s.e.latency() }

func (s Settings) latency() int {
	length, half := s.span()
	need := length - half
	if s.Pad == "reflect" {
		need = max(need, half+1)
	}
	if s.DropLast {
		need = max(need, s.Hop+length-2*half)
	}
	return (need+s.Hop-1)/s.Hop - 1
}

// Push takes samples. Up to one hop at a time with every frame fetched, the
// stream never allocates.
func (s *Stream[F]) Push(x []F) {
	s.drop()
	if s.n+len(x) > len(s.buf) {
		s.buf = append(s.buf, make([]float64, s.n+len(x)-len(s.buf))...)
	}
	for i, v := range x {
		s.buf[s.n+i] = float64(v)
	}
	s.n += len(x)
	s.total += len(x)
}

// drop forgets what no frame and no mirror at the end looks at any more.
func (s *Stream[F]) drop() {
	_, half := s.e.span()
	keep := min(s.next*s.e.Hop-half, s.total-half-1)
	if gone := min(keep-(s.total-s.n), s.n); gone > 0 {
		s.n = copy(s.buf, s.buf[gone:s.n])
	}
}

// Flush ends the signal: the frames that reach beyond it become available.
func (s *Stream[F]) Flush() { s.ended = true }

// Next writes the next frame to dst [Mels] and reports true, or false while it
// takes more samples.
func (s *Stream[F]) Next(dst []F) bool {
	length, half := s.e.span()
	from := s.next*s.e.Hop - half
	if s.ended {
		if s.next >= s.e.Frames(s.total) {
			return false
		}
	} else if s.total < s.need(from+length) {
		return false
	}
	for i := range s.frame {
		s.frame[i] = 0
		if j, ok := s.e.source(from+i, s.total); ok {
			s.frame[i] = s.buf[j-s.total+s.n]
		}
	}
	s.peak = s.e.frame(s.level, s.frame, s.peak)
	for m, v := range s.level {
		dst[m] = F(s.e.finish(v, s.peak))
	}
	s.next++
	return true
}

// need is how many samples determine the next frame, whose last sample is
// before end: those it looks at, those that the mirror before the signal shows,
// and, when the last frame is dropped, those that show it is not the last.
func (s *Stream[F]) need(end int) int {
	length, half := s.e.span()
	if s.e.Pad == "reflect" && s.next*s.e.Hop < half {
		// The mirror at the start must not meet the mirror at the end.
		end = max(end, half-s.next*s.e.Hop+1)
	}
	if s.e.DropLast {
		end = max(end, (s.next+1)*s.e.Hop+length-2*half)
	}
	return end
}

// StateBytes is the size of a saved state. It grows when more samples are
// pushed at a time than ever before, over a hop.
func (s *Stream[F]) StateBytes() int { return 8 * (5 + len(s.buf)) }

// Save writes the state to dst and returns its size, 0 when dst is too short.
func (s *Stream[F]) Save(dst []byte) int {
	if len(dst) < s.StateBytes() {
		return 0
	}
	word := func(i int, v uint64) { binary.LittleEndian.PutUint64(dst[8*i:], v) }
	ended := uint64(0)
	if s.ended {
		ended = 1
	}
	for i, v := range [...]uint64{uint64(s.n), uint64(s.total), uint64(s.next), math.Float64bits(s.peak), ended} {
		word(i, v)
	}
	clear(s.buf[s.n:])
	for i, v := range s.buf {
		word(5+i, math.Float64bits(v))
	}
	return s.StateBytes()
}

// ErrState is the error of a saved state that is not one of this stream's.
var ErrState = errors.New("mel: the saved state is of another kind of stream")

// Load takes a state that Save wrote on a stream with the same settings.
func (s *Stream[F]) Load(src []byte) error {
	if len(src) != s.StateBytes() {
		return ErrState
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(src[8*i:]) }
	n, total, next := word(0), word(1), word(2)
	if n > uint64(len(s.buf)) || n > total || total > 1<<62 || next > total/uint64(s.e.Hop)+1 {
		return ErrState
	}
	// What the next frame and a mirror at the end look at must be there.
	_, half := s.e.span()
	if first := int(total - n); first > max(0, min(int(next)*s.e.Hop-half, int(total)-half-1)) {
		return ErrState
	}
	s.n, s.total, s.next, s.peak, s.ended = int(n), int(total), int(next), math.Float64frombits(word(3)), word(4) != 0
	for i := range s.buf {
		s.buf[i] = math.Float64frombits(word(5 + i))
	}
	return nil
}
