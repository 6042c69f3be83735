package fit

import (
	"maps"
	"slices"

	"atenia/flow/node"
)

// Streams holds the streams of probes or inputs by node name: [B, C, frames].
type Streams[F node.Float] = map[string]node.Tensor[F]

// A Loss maps the probes' streams to a number, and to its derivatives by every
// frame.
type Loss[F node.Float] func(out Streams[F]) (float64, Streams[F], error)

// like returns zeros of the shape of each stream.
func like[F node.Float](out Streams[F]) Streams[F] {
	d := make(Streams[F], len(out))
	for name, y := range out {
		d[name] = node.Tensor[F]{Data: make([]F, y.B*y.C*y.N), B: y.B, C: y.C, N: y.N}
	}
	return d
}

// Sum is a [Loss]: the sum of all frames of all probes.
func Sum[F node.Float](out Streams[F]) (float64, Streams[F], error) {
	d, sum := like(out), 0.0
	for _, name := range slices.Sorted(maps.Keys(out)) {
		for i, v := range out[name].Data[:len(d[name].Data)] {
			sum += float64(v)
			d[name].Data[i] = 1
		}
	}
	return sum, d, nil
}

// Energy is a [Loss]: half the sum of squares of all frames of all probes.
func Energy[F node.Float](out Streams[F]) (float64, Streams[F], error) {
	d, sum := like(out), 0.0
	for _, name := range slices.Sorted(maps.Keys(out)) {
		for i, v := range out[name].Data[:len(d[name].Data)] {
			sum += float64(float64(v)*float64(v)) / 2
			d[name].Data[i] = v
		}
	}
	return sum, d, nil
}

// SquaredError returns a [Loss]: the mean squared difference between the
// probes' streams and their targets. The shorter of both streams determines the
// length; probes without a target do not count.
func SquaredError[F node.Float](target Streams[F]) Loss[F] {
	return func(out Streams[F]) (float64, Streams[F], error) {
		d, sum, count := like(out), 0.0, 0
		names := slices.Sorted(maps.Keys(target))
		for _, name := range names {
			t := target[name]
			y, err := match(out, name, t)
			if err != nil {
				return 0, nil, err
			}
			count += y.B * y.C * min(y.N, t.N)
		}
		if count == 0 {
			return 0, d, nil
		}
		for _, name := range names {
			y, t, g := out[name], target[name], d[name]
			n := min(y.N, t.N)
			for r := range y.B * y.C {
				a, b, c := y.Row(r), t.Row(r), g.Row(r)
				for i := range n {
					e := float64(a[i]) - float64(b[i])
					sum += float64(e * e) // explicit rounding prevents fused multiply-add, so that all machines agree
					c[i] = F(2 * e / float64(count))
				}
			}
		}
		return sum / float64(count), d, nil
	}
}
