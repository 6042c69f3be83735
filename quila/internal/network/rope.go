package network

import (
	"errors"
	"fmt"
	"math"

	"atenia/grad"
)

// A Layout is how several axes share an embedding.
type Layout string

// Layouts. The zero value means Kronecker.
const (
	Kronecker Layout = "kronecker"
	Axial     Layout = "axial"
)

// maxAxes is the number of axes of a video: time, row, column.
const maxAxes = 3

// errRopeShape is matched by errors about dimensions that cannot be divided, and
// about operands of the wrong size.
var errRopeShape = errors.New("rope: bad shape")

// A ropeShapeError says what an operand's size has to be.
type ropeShapeError struct {
	Op        string
	Want, Got int
}

func (e *ropeShapeError) Error() string {
	return fmt.Sprintf("rope: %s: want %d, got %d", e.Op, e.Want, e.Got)
}

// Is matches [errRopeShape].
func (e *ropeShapeError) Is(target error) bool { return target == errRopeShape }

// A RopeCode divides the dimensions of an embedding among axes. It is a value that
// never changes and may be shared.
type RopeCode struct {
	dims  int
	axes  int
	parts [maxAxes]int
	axial bool
}

// NewRope divides dims among the axes. Kronecker factors are the most equal even
// ones with larger ones first, such as 128 = 16·8 = 8·4·4; axial segments are
// the most equal even ones.
func NewRope(dims, axes int, layout Layout) (RopeCode, error) {
	c := RopeCode{dims: dims, axes: axes, axial: layout == Axial}
	if axes < 1 || axes > maxAxes {
		return RopeCode{}, &ropeShapeError{"axes, at most", maxAxes, axes}
	}
	if layout != Kronecker && layout != Axial && layout != "" {
		return RopeCode{}, fmt.Errorf("%w: there is no layout %q", errRopeShape, layout)
	}
	if c.axial || axes == 1 {
		if dims < 2*axes || dims%2 != 0 {
			return RopeCode{}, &ropeShapeError{"even dimensions, at least", 2 * axes, dims}
		}
		pairs := dims / 2
		for i := range axes {
			c.parts[i] = 2 * ((pairs + axes - 1 - i) / axes)
		}
		return c, nil
	}
	odd, twos := dims, 0
	for odd > 0 && odd%2 == 0 {
		odd, twos = odd/2, twos+1
	}
	if dims < 1 || twos < axes {
		return RopeCode{}, &ropeShapeError{"dimensions that are a multiple of", 1 << axes, dims}
	}
	for i := range axes {
		c.parts[i] = 1 << ((twos + axes - 1 - i) / axes)
	}
	c.parts[0] *= odd
	return c, nil
}

// Part returns the dimensions of an axis: a factor of all dimensions, or a segment.
func (c RopeCode) Part(axis int) int { return c.parts[axis] }

// check compares operands with the code.
func (c RopeCode) check(op string, y, x, positions, bases int) error {
	for _, p := range [...]struct {
		what      string
		want, got int
	}{{"result", c.dims, y}, {"embedding", c.dims, x}, {"positions", c.axes, positions}, {"bases", c.axes, bases}} {
		if p.want != p.got {
			return &ropeShapeError{op + ": " + p.what, p.want, p.got}
		}
	}
	return nil
}

// ApplyRope writes the embedding x, turned to a position on every axis, to y, which
// may be x. logBases are the natural logarithms of the axes' bases.
func ApplyRope[F grad.Float](c RopeCode, y, x []F, positions []uint64, logBases []float64) error {
	if err := c.check("apply", len(y), len(x), len(positions), len(logBases)); err != nil {
		return err
	}
	if &y[0] != &x[0] {
		copy(y, x)
	}
	for a := range c.axes {
		turn(c, y, a, positions[a], logBases[a], 1)
	}
	return nil
}

// RopeBackward adds the gradients of x and of the logarithms of the bases, given
// the result y and its gradient dy. A nil dx is not computed, nor a nil
// dLogBases.
func RopeBackward[F grad.Float](c RopeCode, dx []F, dLogBases []float64, y, dy []F, positions []uint64, logBases []float64) error {
	if err := c.check("backward", len(y), len(dy), len(positions), len(logBases)); err != nil {
		return err
	}
	if dx != nil && len(dx) != c.dims {
		return &ropeShapeError{"backward: gradient", c.dims, len(dx)}
	}
	if dLogBases != nil && len(dLogBases) != c.axes {
		return &ropeShapeError{"backward: gradients of bases", c.axes, len(dLogBases)}
	}
	for a := range c.axes {
		if dLogBases != nil {
			dLogBases[a] += slope(c, y, dy, a, positions[a], logBases[a])
		}
	}
	if dx == nil {
		return nil
	}
	var small [256]F // keeps ordinary embeddings off the heap
	back := small[:0]
	back = append(back, dy...)
	for a := range c.axes {
		turn(c, back, a, positions[a], logBases[a], -1)
	}
	for i, g := range back {
		dx[i] += g
	}
	return nil
}

// lines describes where an axis has its components: offset + component·stride
// for every combination of outer and inner index.
func (c RopeCode) lines(axis int) (offset, n, stride, outer, outerStride int) {
	n = c.parts[axis]
	if c.axial {
		for i := range axis {
			offset += c.parts[i]
		}
		return offset, n, 1, 1, 0
	}
	stride, outer = 1, 1
	for i := range c.axes {
		switch {
		case i < axis:
			outer *= c.parts[i]
		case i > axis:
			stride *= c.parts[i]
		}
	}
	return 0, n, stride, outer, n * stride
}

// angle is θ of pair k and how fast it grows with the logarithm of the base.
func angle(position uint64, k, n int, logBase float64) (theta, growth float64) {
	at := -2 * float64(k) / float64(n)
	theta = float64(position) * math.Exp(at*logBase)
	return theta, at * theta
}

// turn rotates one axis in place, or back if sign is −1.
func turn[F grad.Float](c RopeCode, x []F, axis int, position uint64, logBase, sign float64) {
	offset, n, stride, outer, outerStride := c.lines(axis)
	for k := range n / 2 {
		theta, _ := angle(position, k, n, logBase)
		s, co := math.Sincos(math.Mod(theta, 2*math.Pi))
		sin, cos := F(sign*s), F(co)
		for o := range outer {
			first := x[offset+o*outerStride+2*k*stride:][:stride]
			second := x[offset+o*outerStride+(2*k+1)*stride:][:stride]
			for i, a := range first {
				b := second[i]
				first[i], second[i] = a*cos-b*sin, a*sin+b*cos
			}
		}
	}
}

// slope is the gradient of one axis's logarithm of the base. Turning a pair a
// little more moves it at right angles to itself, whatever the other axes do,
// since rotations of different axes commute.
func slope[F grad.Float](c RopeCode, y, dy []F, axis int, position uint64, logBase float64) float64 {
	offset, n, stride, outer, outerStride := c.lines(axis)
	var sum float64
	for k := range n / 2 {
		_, growth := angle(position, k, n, logBase)
		var moved float64
		for o := range outer {
			at := offset + o*outerStride + 2*k*stride
			for i := at; i < at+stride; i++ {
				moved += float64(dy[i+stride])*float64(y[i]) - float64(dy[i])*float64(y[i+stride])
			}
		}
		sum += growth * moved
	}
	return sum
}
