package convert

import (
	"context"
	"fmt"
	"io"
	"math"

	"atenia/internal/fault"
	"atenia/internal/model/file"
	"atenia/internal/model/quant"
	"atenia/tensor"
)

// Rows are converted in slabs, one after another, and a slab in chunks, in
// parallel. A chunk of float32 fits in a core's cache.
const (
	chunkValues = 1 << 15
	slabChunks  = 8 // per thread
	copyBytes   = 4 << 20
)

// writers returns sources that produce each tensor on demand.
func (j *job) writers(ctx context.Context) []file.TensorSource {
	s := &stream{job: j}
	out := make([]file.TensorSource, len(j.items))
	for i := range j.items {
		it := &j.items[i]
		out[i] = file.TensorSource{Name: it.name, DType: it.to, Shape: it.shape, Write: func(w io.Writer) error {
			return s.tensor(ctx, w, it)
		}}
	}
	return out
}

// A stream writes tensors. It reuses its slab.
type stream struct {
	job  *job
	slab []byte
	done int64
}

func (s *stream) tensor(ctx context.Context, w io.Writer, it *item) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	v, err := it.view()
	if err != nil {
		return err
	}
	if v.DType == it.to {
		err = s.copy(ctx, w, it, v)
	} else {
		err = s.convert(ctx, w, it, v)
	}
	// A model may be larger than memory. The advice is a hint, so errors are
	// ignored.
	if len(it.sources) > 0 {
		_ = s.job.d.Advise(file.DontNeed, it.sources...)
	}
	return err
}

// write writes bytes and reports progress; it returns an error when ctx ends.
func (s *stream) write(ctx context.Context, w io.Writer, it *item, b []byte) error {
	if _, err := w.Write(b); err != nil {
		return err
	}
	s.done += int64(len(b))
	if s.job.o.Progress != nil {
		s.job.o.Progress(s.done, s.job.report.TensorBytes, it.name)
	}
	return ctx.Err()
}

// copy writes the bytes of v after a look at their values: NaN and infinity are
// refused here as they are where values are converted.
func (s *stream) copy(ctx context.Context, w io.Writer, it *item, v tensor.View) error {
	if v.DType.Float() && v.DType != tensor.F64 || v.DType.Quantized() {
		if err := s.finite(ctx, it, v); err != nil {
			return err
		}
	}
	b := v.Data
	for len(b) > 0 {
		n := min(copyBytes, len(b))
		if err := s.write(ctx, w, it, b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// convert writes the rows of v in the wanted type.
func (s *stream) convert(ctx context.Context, w io.Writer, it *item, v tensor.View) error {
	rows, cols := it.shape.Rows(), it.shape.Cols()
	v.Shape = tensor.Shape{rows, cols}
	size, err := it.to.RowBytes(cols)
	if err != nil {
		return err
	}
	chunk := max(1, chunkValues/cols)
	step := chunk * slabChunks * s.job.o.Threads
	if n := min(step, rows) * size; cap(s.slab) < n {
		s.slab = make([]byte, n)
	}
	for lo := 0; lo < rows; lo += step {
		n := min(step, rows-lo)
		out := s.slab[:n*size]
		if row, err := inParallel(out, it.to, v.Rows(lo, lo+n), chunk, s.job.o.Threads, it.weights(lo)); err != nil {
			return fmt.Errorf("from row %d: %w", lo+row, err)
		}
		if err := s.write(ctx, w, it, out); err != nil {
			return err
		}
	}
	return nil
}

// finite returns an error that names the first rows with a value that is NaN or
// infinite.
func (s *stream) finite(ctx context.Context, it *item, v tensor.View) error {
	rows, cols := it.shape.Rows(), it.shape.Cols()
	v.Shape = tensor.Shape{rows, cols}
	chunk := max(1, chunkValues/cols)
	step := chunk * slabChunks * s.job.o.Threads
	for lo := 0; lo < rows; lo += step {
		n := min(step, rows-lo)
		row, err := chunks(v.Rows(lo, lo+n), chunk, s.job.o.Threads, func(x []float32, _, _ int) error { return quant.Finite(x) })
		if err != nil {
			return fmt.Errorf("from row %d: %w", lo+row, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// weights returns a function from a row, counted from first, to the importance of
// its columns and the first row for which another one counts.
func (it *item) weights(first int) func(row int) ([]float32, int) {
	if it.importance == nil {
		return func(int) ([]float32, int) { return nil, math.MaxInt }
	}
	rows := it.shape.Rows() / len(it.importance)
	return func(row int) ([]float32, int) {
		e := (first + row) / rows
		return it.importance[e], (e+1)*rows - first
	}
}

// inParallel converts the rows of v to dst, chunk rows at a time. The bytes do
// not depend on the number of threads.
func inParallel(dst []byte, to tensor.DType, v tensor.View, chunk, threads int, weights func(row int) (imp []float32, end int)) (int, error) {
	cols := v.Shape[1]
	size := len(dst) / v.Shape[0]
	return chunks(v, chunk, threads, func(x []float32, lo, hi int) error {
		for lo < hi {
			imp, end := weights(lo)
			end = min(end, hi)
			n := (end - lo) * cols
			if err := quant.Quantize(dst[lo*size:end*size], to, x[:n], imp); err != nil {
				return err
			}
			lo, x = end, x[n:]
		}
		return nil
	})
}

// chunks calls do for the values of every so many rows of v, on several threads. The
// error does not depend on their number: it is that of the first bad chunk, with its
// first row.
func chunks(v tensor.View, chunk, threads int, do func(x []float32, lo, hi int) error) (int, error) {
	rows, cols := v.Shape[0], v.Shape[1]
	n := (rows + chunk - 1) / chunk
	errs := make([]error, n)
	var wg fault.Group
	threads = min(threads, n)
	for t := range threads {
		wg.Go(func() {
			buf := make([]float32, min(chunk, rows)*cols)
			for c := t; c < n; c += threads {
				lo, hi := c*chunk, min((c+1)*chunk, rows)
				x := buf[:(hi-lo)*cols]
				if errs[c] = quant.Dequantize(x, v.DType, v.Rows(lo, hi).Data); errs[c] == nil {
					errs[c] = do(x, lo, hi)
				}
			}
		})
	}
	wg.Wait()
	for c, err := range errs {
		if err != nil {
			return c * chunk, err
		}
	}
	return 0, nil
}
