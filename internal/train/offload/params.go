package offload

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"os"
	"slices"

	"atenia/internal/fault"
	"atenia/tensor"
)

// Params are a layer's parameters as used by a pass.
type Params struct {
	Layer  int
	Values []byte // bfloat16, little endian, valid until the next iteration
}

// Params streams parameters in the order of the given layers, by default first
// to last, and prefetches the next layer while one is used. An error comes last.
// If a step commits meanwhile, the stream ends with [errBusy], because it would
// mix two steps.
func (s *State) Params(ctx context.Context, layers ...int) iter.Seq2[Params, error] {
	return func(yield func(Params, error) bool) {
		j := s.journal.Load()
		if len(layers) == 0 {
			layers = backward(len(j.layers))
			slices.Reverse(layers)
		}
		ctx, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		type result struct {
			p   Params
			err error
		}
		results, buffers := make(chan result), make(chan []byte, 2)
		buffers <- s.spare()
		buffers <- s.spare()
		last := []byte(nil) // yielded before
		defer func() {
			stop()
			<-done
			s.keep(last)
			for len(buffers) > 0 {
				s.keep(<-buffers)
			}
		}()
		go func() {
			defer close(done)
			defer close(results)
			for _, i := range layers {
				var b []byte
				select {
				case b = <-buffers:
				case <-ctx.Done():
				}
				r := result{p: Params{Layer: i}, err: ctx.Err()}
				if r.err == nil {
					r.err = fault.Call(func() (err error) {
						r.p.Values, err = s.params(j, i, b)
						return err
					})
				}
				select {
				case results <- r:
				case <-ctx.Done():
					return
				}
				if r.err != nil {
					return
				}
			}
		}()
		for {
			var r result
			var ok bool
			select {
			case r, ok = <-results:
			case <-ctx.Done():
				r.err, ok = ctx.Err(), true
			}
			last = r.p.Values
			if !ok || !yield(r.p, r.err) || r.err != nil {
				return
			}
			buffers <- last
			last = nil
		}
	}
}

// params reads a layer's parameters, into b if it is large enough.
func (s *State) params(j *journal, layer int, b []byte) ([]byte, error) {
	if layer < 0 || layer >= len(j.layers) {
		return nil, fmt.Errorf("%w: no layer %d; there are %d", errConfig, layer, len(j.layers))
	}
	if s.dir == "" {
		return s.memory[layer].params, nil
	}
	l := &j.layers[layer]
	if n := pages(l.Elements * paramBytes); cap(b) < n {
		b = paged(n)
	}
	name := s.file(layer, l.version, "params")
	if err := readFull(s.cfg.FS, name, b[:pages(l.Elements*paramBytes)]); err != nil {
		return nil, err
	}
	b = b[:l.Elements*paramBytes]
	if s.journal.Load() != j {
		return nil, errBusy
	}
	for k, sum := range l.sums {
		first, n := span(l.Elements, j.chunkElements, k)
		if crc32.Checksum(b[first*paramBytes:(first+n)*paramBytes], castagnoli) != sum.params {
			return nil, fmt.Errorf("%w: %s: parameters %d to %d of layer %q are not those of step %d", errCorrupt, name, first, first+n-1, l.Name, j.step)
		}
	}
	return b, nil
}

// ReadBytes returns the size of the buffer that [State.Read] needs.
func (s *State) ReadBytes() int { return pages(s.journal.Load().chunkElements * momentBytes) }

// Read reads the parameters of a layer into dst: those that passes use, widened
// from bfloat16, or the float32 originals. buffer is aligned to a page and has
// [State.ReadBytes]. It may run concurrently with a step: the step that was
// committed when it began is read. It ends between chunks when ctx does.
func (s *State) Read(ctx context.Context, layer int, dst []float32, rounded bool, buffer []byte) error {
	j := s.journal.Load()
	if err := s.check(layer, dst); err != nil {
		return err
	}
	l := &j.layers[layer]
	what, each, stride := "state", momentBytes, stateBytes
	if rounded {
		what, each, stride = "params", paramBytes, paramBytes
	}
	name := s.file(layer, l.version, what)
	f, err := open(s.cfg.FS, name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for k, sum := range l.sums {
		first, n := span(l.Elements, j.chunkElements, k)
		if err := ctx.Err(); err != nil {
			return err
		}
		b := buffer[:pages(n*each)]
		if m, err := f.ReadAt(b, int64(first)*int64(stride)); m < n*each {
			return short(name, err)
		}
		part := dst[first : first+n]
		if !rounded {
			for i := range part {
				part[i] = load(b, i)
			}
			continue
		}
		if crc32.Checksum(b[:n*paramBytes], castagnoli) != sum.params {
			return fmt.Errorf("%w: %s: parameters %d to %d of layer %q are not those of step %d", errCorrupt, name, first, first+n-1, l.Name, j.step)
		}
		for i := range part {
			part[i] = tensor.BF16ToF32(binary.LittleEndian.Uint16(b[paramBytes*i:]))
		}
	}
	return nil
}

// spare returns a buffer of an earlier stream, or nil.
func (s *State) spare() []byte {
	select {
	case b := <-s.spares:
		return b
	default:
		return nil
	}
}

// keep saves a buffer for later streams, up to enough for two concurrent ones.
func (s *State) keep(b []byte) {
	if s.dir == "" || cap(b) == 0 {
		return
	}
	select {
	case s.spares <- b:
	default:
	}
}

// start runs f in a goroutine. Its error, or its panic, comes from the channel, which is
// closed then.
func start(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		defer close(done)
		done <- fault.Call(f)
	}()
	return done
}
