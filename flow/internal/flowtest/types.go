package flowtest

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// Types returns types that an executor must ask how many frames they give, to be put before the shipped ones.
//
//	Asked   gives all that it takes
//	Late    gives it Lag frames later, nothing at first
//	Sieve   gives every other stretch of Lag frames
func Types() node.Table {
	entry := func(name string, make32 func() node.Instance[float32], make64 func() node.Instance[float64]) node.Type {
		return node.Type{Name: name, Ins: []string{"in"}, Outs: []string{"out"}, Dynamic: true,
			New32: func(node.Config) (node.Instance[float32], error) { return make32(), nil },
			New64: func(node.Config) (node.Instance[float64], error) { return make64(), nil }}
	}
	return node.Table{
		entry("Asked", func() node.Instance[float32] { return asked[float32]{} }, func() node.Instance[float64] { return asked[float64]{} }),
		entry("Late", func() node.Instance[float32] { return &late[float32]{} }, func() node.Instance[float64] { return &late[float64]{} }),
		entry("Sieve", func() node.Instance[float32] { return sieve[float32]{} }, func() node.Instance[float64] { return sieve[float64]{} }),
	}
}

// Lag is the number of frames by which Late is late, and the length of Sieve's stretches.
const Lag = 29

type asked[F node.Float] struct{}

func (asked[F]) Reset() {}
func (asked[F]) Forward(c *node.Call[F]) graph.Code {
	copy(c.Out[0].Data[:c.In[0].B*c.In[0].C*c.Tokens], c.In[0].Data)
	return graph.Success
}

type late[F node.Float] struct {
	kept [][Lag]F // by row
	n    int
}

func (l *late[F]) Reset() { l.n = 0 }
func (l *late[F]) Forward(c *node.Call[F]) graph.Code {
	for len(l.kept) < c.In[0].B*c.In[0].C {
		l.kept = append(l.kept, [Lag]F{})
	}
	c.Produced = 0
	for i := range c.Tokens {
		at := l.n % Lag
		for r := range c.In[0].B * c.In[0].C {
			if l.n >= Lag {
				c.Out[0].Row(r)[c.Produced] = l.kept[r][at]
			}
			l.kept[r][at] = c.In[0].Row(r)[i]
		}
		if l.n >= Lag {
			c.Produced++
		}
		l.n++
	}
	if c.Produced == 0 {
		return graph.Pending
	}
	return graph.Success
}

type sieve[F node.Float] struct{}

func (sieve[F]) Reset() {}
func (sieve[F]) Forward(c *node.Call[F]) graph.Code {
	c.Produced = 0
	for i := range c.Tokens {
		if (c.Frame0+int64(i))/Lag%2 == 0 {
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
