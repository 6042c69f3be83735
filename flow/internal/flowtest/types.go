package flowtest

import (
	"encoding/binary"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// Types returns types that an executor must ask how many frames they give, to be put before the shipped ones.
//
//	Asked   gives all that it takes
//	Late    gives it Lag frames later, nothing at first
//	Sieve   gives every other stretch of Lag frames
func Types() node.Table {
	entry := func(name string, make32 func(rows int) node.Instance[float32], make64 func(rows int) node.Instance[float64]) node.Type {
		return node.Type{Name: name, Ins: []string{"in"}, Outs: []string{"out"}, Dynamic: true,
			New32: func(c node.Config) (node.Instance[float32], error) { return make32(rowsOf(c)), nil },
			New64: func(c node.Config) (node.Instance[float64], error) { return make64(rowsOf(c)), nil }}
	}
	return node.Table{
		entry("Asked", func(int) node.Instance[float32] { return asked[float32]{} }, func(int) node.Instance[float64] { return asked[float64]{} }),
		entry("Late", func(rows int) node.Instance[float32] { return &late[float32]{kept: make([]float32, rows*lag)} }, func(rows int) node.Instance[float64] { return &late[float64]{kept: make([]float64, rows*lag)} }),
		entry("Sieve", func(int) node.Instance[float32] { return sieve[float32]{} }, func(int) node.Instance[float64] { return sieve[float64]{} }),
	}
}

// lag is the number of frames by which Late is late, and the length of Sieve's stretches.
const lag = 29

type asked[F node.Float] struct{}

func (asked[F]) Reset() {}
func (asked[F]) Forward(c *node.Call[F]) graph.Code {
	copy(c.Out[0].Data[:c.In[0].B*c.In[0].C*c.Tokens], c.In[0].Data)
	return graph.Success
}

type late[F node.Float] struct {
	kept []F // [rows, Lag]
	n    int
}

func rowsOf(c node.Config) int { return c.Node.InShape[0].B * c.Node.InShape[0].C }

func (l *late[F]) Reset() { l.n = 0 }
func (l *late[F]) Forward(c *node.Call[F]) graph.Code {
	c.Produced = 0
	for i := range c.Tokens {
		for r := range c.In[0].B * c.In[0].C {
			at := &l.kept[r*lag+l.n%lag]
			if l.n >= lag {
				c.Out[0].Row(r)[c.Produced] = *at
			}
			*at = c.In[0].Row(r)[i]
		}
		if l.n >= lag {
			c.Produced++
		}
		l.n++
	}
	if c.Produced == 0 {
		return graph.Pending
	}
	return graph.Success
}

func (l *late[F]) StateBytes() int { return 8 + node.FloatBytes[F](len(l.kept)) }
func (l *late[F]) Save(dst []byte) int {
	binary.LittleEndian.PutUint64(dst, uint64(l.n))
	return 8 + node.PutFloats(dst[8:], l.kept)
}

func (l *late[F]) Load(src []byte) graph.Code {
	if len(src) != l.StateBytes() {
		return graph.State
	}
	l.n = int(binary.LittleEndian.Uint64(src) & (1<<62 - 1))
	node.GetFloats(l.kept, src[8:])
	return graph.Success
}

type sieve[F node.Float] struct{}

func (sieve[F]) Reset() {}
func (sieve[F]) Forward(c *node.Call[F]) graph.Code {
	c.Produced = 0
	for i := range c.Tokens {
		if (c.Frame0+int64(i))/lag%2 == 0 {
			for r := range c.In[0].B * c.In[0].C {
				c.Out[0].Row(r)[c.Produced] = c.In[0].Row(r)[i]
			}
			c.Produced++
		}
	}
	if c.Produced == 0 {
		return graph.Pending
	}
	return graph.Success
}
