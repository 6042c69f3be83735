package exec

// An Encoded is an image, or a video, as its tower leaves it: the rows that the
// places of its tokens in a prompt take.
type Encoded struct {
	Grid [3]int      // frames, rows and columns of tokens
	Rows []float32   // [tokens, width of the decoder]
	Deep [][]float32 // of each inner layer that the decoder also reads, as Rows
}

// Tokens returns how many tokens of a prompt the image takes.
func (e *Encoded) Tokens() int { return e.Grid[0] * e.Grid[1] * e.Grid[2] }

// Bytes returns the memory of the rows.
func (e *Encoded) Bytes() int64 {
	n := len(e.Rows)
	for _, d := range e.Deep {
		n += len(d)
	}
	return 4 * int64(n)
}

// A Span is a stretch of a sequence that an image takes, whole or in part.
type Span struct {
	At, Len int // positions
	// Grid is the frames, rows and columns of tokens, whose positions in the model
	// are then places of this grid. The zero grid counts up as text does.
	Grid [3]int
	// Step is the distance of two frames in positions; 0 for an image.
	Step float64
	// Image has the rows, the first of them at From. It may be nil in runs that
	// have none of the positions.
	Image *Encoded
	From  int
}

func (p *Span) end() int { return p.At + p.Len }

// place returns where token i of a span that begins at start is: time, row and
// column (arXiv 2409.12191, section 2.1).
func (p *Span) place(start, i int) [3]int32 {
	h, w := p.Grid[1], p.Grid[2]
	if h == 0 || w == 0 {
		return [3]int32{int32(start + i), int32(start + i), int32(start + i)}
	}
	t := p.time(i / (h * w))
	return [3]int32{int32(start + t), int32(start + i/w%h), int32(start + i%w)}
}

// time returns the positions from the first frame to another: as those that the
// model was trained with, which are computed in 32 bits.
func (p *Span) time(frame int) int { return int(float32(frame) * float32(p.Step)) }

// next returns the position in the model of what follows a span that begins at
// start: one more than the largest inside.
func (p *Span) next(start int) int {
	if p.Grid[1] == 0 || p.Grid[2] == 0 {
		return start + p.Len
	}
	t := p.time(p.Grid[0] - 1)
	return start + max(t, p.Grid[1]-1, p.Grid[2]-1) + 1
}

// spanAt returns the span that has a position, or nil.
func (r *Run) spanAt(pos int) *Span {
	for i := range r.Spans {
		if p := &r.Spans[i]; p.At <= pos && pos < p.end() {
			return p
		}
	}
	return nil
}

// An imageRow is what replaces the row of a token; image nil = nothing does.
type imageRow struct {
	image *Encoded
	row   int
}

// layImages checks the spans of a step and finds the image row of each token row.
func (s *Step) layImages(x *Executor) error {
	s.imageRows, s.images = s.imageRows[:0], 0
	for i := range s.Runs {
		r := &s.Runs[i]
		last := 0
		for j := range r.Spans {
			p := &r.Spans[j]
			if p.At < last || p.Len < 1 {
				return stepErrorf("run %d: image %d takes positions %d to %d, want at least %d", i, j, p.At, p.end(), last)
			}
			last = p.end()
			if p.end() <= r.Pos || p.At >= r.Pos+r.Len {
				continue
			}
			if err := x.checkImage(i, r, p); err != nil {
				return err
			}
		}
		for k := range r.Len {
			var at imageRow
			if p := r.spanAt(r.Pos + k); p != nil {
				at = imageRow{p.Image, p.From + r.Pos + k - p.At}
				s.images++
			}
			s.imageRows = append(s.imageRows, at)
		}
	}
	return nil
}

// checkImage verifies a span that has rows in a run.
func (x *Executor) checkImage(i int, r *Run, p *Span) error {
	switch {
	case x.scatter == nil:
		return stepErrorf("run %d has an image, the model reads text alone", i)
	case p.Image == nil || p.From < 0 || p.From+p.Len > p.Image.Tokens():
		return stepErrorf("run %d: the image at position %d has not the rows of its %d tokens", i, p.At, p.Len)
	case len(p.Image.Rows) != p.Image.Tokens()*x.width:
		return stepErrorf("run %d: the image at position %d has %d values, want %d rows of %d", i, p.At, len(p.Image.Rows), p.Image.Tokens(), x.width)
	case len(p.Image.Deep) != x.deep:
		return stepErrorf("run %d: the image at position %d has %d inner layers, the plan reads %d", i, p.At, len(p.Image.Deep), x.deep)
	case x.whole && (p.At < r.Pos || p.end() > r.Pos+r.Len):
		return stepErrorf("run %d cuts the image at positions %d to %d, whose tokens attend to each other", i, p.At, p.end())
	}
	return nil
}

// placeRows finds the places of a step's rows, for rotations by time, row and
// column.
func (s *Step) placeRows() {
	s.places = s.places[:0]
	for i := range s.Runs {
		s.places = s.Runs[i].Places(s.places)
	}
}

// Places appends the time, row and column of each row of a run, of which Pos, Len
// and Spans are used.
func (r *Run) Places(dst [][3]int32) [][3]int32 {
	ahead, k := 0, 0 // position in the model minus position in the sequence
	for pos := r.Pos; pos < r.Pos+r.Len; pos++ {
		for k < len(r.Spans) && pos >= r.Spans[k].end() {
			p := &r.Spans[k]
			ahead = p.next(p.At+ahead) - p.end()
			k++
		}
		if k < len(r.Spans) && pos >= r.Spans[k].At {
			p := &r.Spans[k]
			dst = append(dst, p.place(p.At+ahead, pos-p.At))
			continue
		}
		at := int32(pos + ahead)
		dst = append(dst, [3]int32{at, at, at})
	}
	return dst
}
