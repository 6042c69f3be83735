package media

// This file computes features frame by frame as samples arrive.

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// A MelStream takes samples through [MelStream.Push] and gives frames through
// [MelStream.Next] as soon as they are determined; [MelStream.Flush] ends the signal.
// With a clamp, the maximum is that of the frames so far, unless [MelSettings] Peak
// is the word "global": then all frames come after Flush. [NewMelStream] makes one.
//
//	s.Push(block)
//	for s.Next(frame) {
//		use(frame)
//	}
type MelStream[F MelFloat] struct {
	e     *engine
	buf   []float64 // [n] the signal from sample total - n on, without padding
	n     int
	total int // samples pushed
	next  int // next frame
	peak  float64
	ended bool
	held  []F // [next, Mels] levels, while they wait for the global maximum
	given int // frames of them that Next gave
	frame []float64
	level []float64
}

// NewMelStream returns a stream with those settings.
func NewMelStream[F MelFloat](s MelSettings) (*MelStream[F], error) {
	e, err := newEngine(s)
	if err != nil {
		return nil, err
	}
	length, _ := s.span()
	st := &MelStream[F]{e: e, buf: make([]float64, 2*length+2*s.Hop), frame: make([]float64, length), level: make([]float64, s.Mels)}
	st.Reset()
	return st, nil
}

// Reset discards the signal so far.
func (s *MelStream[F]) Reset() {
	s.n, s.total, s.next, s.given, s.ended, s.held = 0, 0, 0, 0, false, s.held[:0]
	s.peak = math.Inf(-1)
}

// waits reports whether no frame is final before the end of the signal.
func (s *MelStream[F]) waits() bool { return s.e.waits() }

func (s MelSettings) waits() bool { return s.Peak == "global" && s.Clamp > 0 }

// Held returns the number of frames that wait for the global maximum.
func (s *MelStream[F]) Held() int { return len(s.held) / s.e.Mels }

// Reserve allocates what that many frames take while they wait, so that later
// calls do not.
func (s *MelStream[F]) Reserve(frames int) {
	if n := frames*s.e.Mels - len(s.held); s.waits() && n > 0 {
		s.held = slices.Grow(s.held, n)
	}
}

// Latency returns by how many frames the stream lags: once hop times (t +
// Latency + 1) samples were pushed, frames 0..t are available.
func (s *MelStream[F]) Latency() int { return s.e.latency() }

func (s MelSettings) latency() int {
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

// Push appends samples. If at most one hop is pushed at a time and every frame
// fetched, the stream never allocates.
func (s *MelStream[F]) Push(x []F) {
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

// drop discards samples that no later frame and no mirror at the end reads.
func (s *MelStream[F]) drop() {
	_, half := s.e.span()
	keep := min(s.next*s.e.Hop-half, s.total-half-1)
	if gone := min(keep-(s.total-s.n), s.n); gone > 0 {
		s.n = copy(s.buf, s.buf[gone:s.n])
	}
}

// Flush ends the signal: frames that extend past its end become available.
func (s *MelStream[F]) Flush() { s.ended = true }

// Next writes the next frame to dst, a value for each band, and reports true, or
// returns false if more samples are needed.
func (s *MelStream[F]) Next(dst []F) bool {
	if !s.waits() {
		if !s.ready() {
			return false
		}
		s.step()
		for m, v := range s.level {
			dst[m] = F(s.e.finish(v, s.peak))
		}
		return true
	}
	s.wait()
	if !s.ended || s.given == s.next {
		return false
	}
	for m, v := range s.held[s.given*s.e.Mels:][:s.e.Mels] {
		dst[m] = F(s.e.finish(float64(v), s.peak))
	}
	s.given++
	return true
}

// wait computes the frames that are determined but for the maximum.
func (s *MelStream[F]) wait() {
	for s.ready() {
		s.step()
		for _, v := range s.level {
			s.held = append(s.held, F(v))
		}
	}
}

// ready reports whether the samples of the next frame are there.
func (s *MelStream[F]) ready() bool {
	if s.ended {
		return s.next < s.e.Frames(s.total)
	}
	length, half := s.e.span()
	return s.total >= s.need(s.next*s.e.Hop-half+length)
}

// step computes the levels of the next frame.
func (s *MelStream[F]) step() {
	s.fill(s.next)
	s.peak = s.e.frame(s.level, s.frame, s.peak)
	s.next++
}

// fill loads the samples of frame t.
func (s *MelStream[F]) fill(t int) {
	_, half := s.e.span()
	for i := range s.frame {
		s.frame[i] = 0
		if j, ok := s.e.source(t*s.e.Hop-half+i, s.total); ok {
			s.frame[i] = s.buf[j-s.total+s.n]
		}
	}
}

// need returns how many samples determine the next frame, whose last sample is
// before end: those it reads, those that the mirror before the signal reads,
// and, if the last frame is dropped, those that prove it is not the last.
func (s *MelStream[F]) need(end int) int {
	length, half := s.e.span()
	if s.e.Pad == "reflect" && s.next*s.e.Hop < half {
		// The mirror at the start must not overlap the mirror at the end.
		end = max(end, half-s.next*s.e.Hop+1)
	}
	if s.e.DropLast {
		end = max(end, (s.next+1)*s.e.Hop+length-2*half)
	}
	return end
}

// stateHeader is the number of words of a saved state before its samples.
const stateHeader = 7

// StateBytes returns the size of the state as Save would write it now: it
// depends on how many samples and frames the stream holds.
func (s *MelStream[F]) StateBytes() int { return 8 * (stateHeader + s.n + len(s.held)) }

// Save writes the state to dst and returns its size, 0 if dst is too short.
func (s *MelStream[F]) Save(dst []byte) int {
	if len(dst) < s.StateBytes() {
		return 0
	}
	word := func(i int, v uint64) { binary.LittleEndian.PutUint64(dst[8*i:], v) }
	ended := uint64(0)
	if s.ended {
		ended = 1
	}
	for i, v := range [stateHeader]uint64{uint64(s.n), uint64(s.total), uint64(s.next), math.Float64bits(s.peak), ended, uint64(s.given), uint64(len(s.held))} {
		word(i, v)
	}
	for i, v := range s.buf[:s.n] {
		word(stateHeader+i, math.Float64bits(v))
	}
	for i, v := range s.held {
		word(stateHeader+s.n+i, math.Float64bits(float64(v)))
	}
	return s.StateBytes()
}

// ErrMelState is the error of [MelStream.Load] for a state of another kind of stream.
var ErrMelState = errors.New("mel: the saved state belongs to another kind of stream")

// Load restores a state that Save wrote on a stream with the same settings.
func (s *MelStream[F]) Load(src []byte) error {
	if len(src) < 8*stateHeader || len(src)%8 != 0 {
		return ErrMelState
	}
	words := uint64(len(src)/8 - stateHeader)
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(src[8*i:]) }
	n, total, next, given, held := word(0), word(1), word(2), word(5), word(6)
	if n > total || total > 1<<62 || next > total/uint64(s.e.Hop)+1 || word(4) > 1 || n > words || held != words-n {
		return ErrMelState
	}
	if s.waits() && (held != next*uint64(s.e.Mels) || given > next) || !s.waits() && held+given != 0 {
		return ErrMelState
	}
	// The samples for the next frame and for a mirror at the end must be
	// present.
	_, half := s.e.span()
	if first := int(total - n); first > max(0, min(int(next)*s.e.Hop-half, int(total)-half-1)) {
		return ErrMelState
	}
	s.n, s.total, s.next, s.peak, s.ended = int(n), int(total), int(next), math.Float64frombits(word(3)), word(4) != 0
	if more := s.n - len(s.buf); more > 0 {
		s.buf = append(s.buf, make([]float64, more)...)
	}
	for i := range s.n {
		s.buf[i] = math.Float64frombits(word(stateHeader + i))
	}
	s.given, s.held = int(given), s.held[:0]
	for i := range int(held) {
		s.held = append(s.held, F(math.Float64frombits(word(stateHeader+s.n+i))))
	}
	return nil
}
