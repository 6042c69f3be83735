package flowtest

import (
	"fmt"
	"math/rand/v2"
	"runtime"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/machine/cpu"
)

// An actor is a node of the reference: a process with unbounded streams.
type actor[F node.Float] struct {
	*graph.LinkedNode
	inst  node.Instance[F] // nil: Input or Probe
	out   [][][]F          // by output and row
	made  []int            // by output: frames given, with those that were trimmed
	fired int64
	ended bool
	empty bool // gave out what it holds back until the end
}

// Reference returns what each Probe takes of that many base frames, and of the drain after them, by the definition alone: a
// node fires when its inputs have frames, at any time and for any number of tokens. Streams are row by row. seed
// chooses who fires next, and for how many tokens; the result does not depend on it.
func Reference[F node.Float](l *graph.Linked, types node.Table, inputs map[string][][]F, frames int, seed uint64) (map[string][][]F, error) {
	runtime.LockOSThread() // a session flushes denormals, too
	before := cpu.FlushDenormals()
	defer func() {
		cpu.SetFloatEnv(before)
		runtime.UnlockOSThread()
	}()
	actors := make([]actor[F], len(l.Nodes))
	for i := range actors {
		a := &actors[i]
		a.LinkedNode = &l.Nodes[i]
		a.out, a.made = make([][][]F, len(a.Spec.Outs)), make([]int, len(a.Spec.Outs))
		for o, sh := range a.OutShape {
			a.out[o] = make([][]F, sh.B*sh.C)
		}
		if a.Spec.Endpoint != graph.Inner {
			continue
		}
		var err error
		if a.inst, err = node.New[F](types, node.Config{SampleRate: 48000, MaxTokens: a.Tokens, Node: a.LinkedNode}); err != nil {
			return nil, err
		}
	}
	r, read := rand.New(rand.NewPCG(seed, 1)), make([]int64, len(l.Edges))
	taken := map[string][][]F{}
	for moved := true; moved; {
		moved = false
		for _, i := range r.Perm(len(actors)) {
			a := &actors[i]
			t := int64(a.Tokens)
			if len(a.In)+len(a.Mods) == 0 {
				t = min(t, int64(frames)*a.Rate.Num/a.Rate.Den-a.fired)
			}
			for _, list := range [][]int{a.In, a.Mods} {
				for _, e := range list {
					edge := &l.Edges[e]
					t = min(t, (int64(edge.Prefill+len(actors[edge.Src].out[edge.SrcPort][0]))-read[e])/int64(edge.Cons))
				}
			}
			if t <= 0 || a.ended {
				continue
			}
			if t > 1 {
				t = 1 + r.Int64N(t)
			}
			moved = true
			if err := a.fire(l, actors, read, inputs, taken, t); err != nil {
				return nil, err
			}
		}
		for i := 0; i < len(actors) && !moved; i++ {
			if !actors[i].full() || downstream(l, actors, i) {
				continue
			}
			moved = true
			if err := actors[i].drain(l, actors, read, r); err != nil {
				return nil, err
			}
		}
	}
	return taken, nil
}

// full reports whether a node holds frames back until the end.
func (a *actor[F]) full() bool {
	_, ok := a.inst.(node.Drainer[F])
	return ok && !a.empty && !a.ended
}

// downstream reports whether some other node that holds frames back writes to this one, perhaps through others.
func downstream[F node.Float](l *graph.Linked, actors []actor[F], to int) bool {
	seen, next := make([]bool, len(actors)), []int{to}
	for len(next) > 0 {
		v := next[0]
		next = next[1:]
		for _, list := range [][]int{l.Nodes[v].In, l.Nodes[v].Mods} {
			for _, e := range list {
				if src := l.Edges[e].Src; !seen[src] && src != to {
					seen[src], next = true, append(next, src)
					if actors[src].full() {
						return true
					}
				}
			}
		}
	}
	return false
}

// drain makes a call that ends a node.
func (a *actor[F]) drain(l *graph.Linked, actors []actor[F], read []int64, r *rand.Rand) error {
	d := a.inst.(node.Drainer[F])
	room := 1 + r.IntN(a.Tokens)
	c := node.Call[F]{Frame0: a.fired, Final: true}
	for _, e := range a.In {
		edge := &l.Edges[e]
		from, sh := actors[edge.Src].out[edge.SrcPort], actors[edge.Src].OutShape[edge.SrcPort]
		n := int64(len(from[0])) - max(read[e]-int64(edge.Prefill), 0)
		if n = max(n, 0); n >= int64(edge.Cons) {
			n = 0
		}
		x := node.Tensor[F]{B: sh.B, C: sh.C, N: int(n)}
		for _, row := range from {
			x.Data = append(x.Data, row[int64(len(row))-n:]...)
		}
		read[e] += n
		c.In = append(c.In, x)
	}
	for o, n := range a.Spec.Prod {
		sh := a.OutShape[o]
		c.Out = append(c.Out, node.Tensor[F]{Data: make([]F, sh.B*sh.C*room*n), B: sh.B, C: sh.C, N: room * n})
	}
	if code := d.Drain(&c); code != graph.Success {
		return fmt.Errorf("node %s at the end: %v", a.Name, code)
	}
	a.empty = c.Produced < room
	for o, n := range a.Spec.Prod {
		for r := range a.out[o] {
			a.out[o][r] = append(a.out[o][r], c.Out[o].Row(r)[:c.Produced*n]...)
		}
	}
	return nil
}

// fire makes one call.
func (a *actor[F]) fire(l *graph.Linked, actors []actor[F], read []int64, inputs, taken map[string][][]F, t int64) error {
	take := func(e int) node.Tensor[F] {
		edge := &l.Edges[e]
		from, n := actors[edge.Src].out[edge.SrcPort], t*int64(edge.Cons)
		sh := actors[edge.Src].OutShape[edge.SrcPort]
		x := node.Tensor[F]{Data: make([]F, int64(sh.B*sh.C)*n), B: sh.B, C: sh.C, N: int(n)}
		for r, row := range from {
			for i, to := 0, x.Row(r); i < len(to); i++ {
				if at := read[e] + int64(i) - int64(edge.Prefill); at >= 0 {
					to[i] = row[at]
				}
			}
		}
		read[e] += n
		return x
	}
	c := node.Call[F]{Frame0: a.fired, Tokens: int(t), Produced: int(t)}
	for _, e := range a.In {
		c.In = append(c.In, take(e))
	}
	for i := range a.Spec.Params {
		v := &a.Spec.Params[i].Value
		x := node.Param[F]{Tensor: node.Tensor[F]{B: v.B, C: v.C, N: v.F}}
		for _, y := range v.Data {
			x.Data = append(x.Data, F(y))
		}
		c.Param = append(c.Param, x)
	}
	for _, e := range a.Mods {
		edge, x := &l.Edges[e], take(e)
		p := &c.Param[edge.Param]
		if !p.Framed {
			*p = node.Param[F]{Tensor: node.Tensor[F]{Data: repeat(p.Data[0], x.B*x.C*int(t)), B: x.B, C: x.C, N: int(t)}, Framed: true}
		}
		scale := F(edge.Scale)
		for i, v := range x.Data { // all streams have the same rows
			if edge.Mode == "mul" {
				p.Data[i] *= F(v * scale)
			} else {
				p.Data[i] += F(v * scale)
			}
		}
	}
	defer func() { a.fired += t }()
	switch a.Spec.Endpoint {
	case graph.Fed:
		for r, row := range inputs[a.Name] {
			a.out[0][r] = append(a.out[0][r], row[a.fired:a.fired+t]...)
		}
		return nil
	case graph.Taken:
		rows := taken[a.Name]
		if rows == nil {
			rows = make([][]F, c.In[0].B*c.In[0].C)
			taken[a.Name] = rows
		}
		for r := range rows {
			rows[r] = append(rows[r], c.In[0].Row(r)...)
		}
		return nil
	}
	for o, n := range a.Spec.Prod {
		sh := a.OutShape[o]
		c.Out = append(c.Out, node.Tensor[F]{Data: make([]F, sh.B*sh.C*int(t)*n), B: sh.B, C: sh.C, N: int(t) * n})
	}
	switch code := a.inst.Forward(&c); {
	case code == graph.Success:
	case code == graph.Pending && a.Spec.Dynamic:
		c.Produced = 0
	case code == graph.End && a.Spec.Dynamic:
		a.ended = true
	default:
		return fmt.Errorf("node %s: %v", a.Name, code)
	}
	for o, n := range a.Spec.Prod {
		skip := 0
		if a.PDC == "trim" { // the first frames of a node that delays its signal are dropped
			skip = min(max(a.DeclaredDelay-a.made[o], 0), c.Produced*n)
		}
		a.made[o] += c.Produced * n
		for r := range a.out[o] {
			a.out[o][r] = append(a.out[o][r], c.Out[o].Row(r)[skip:c.Produced*n]...)
		}
	}
	return nil
}

func repeat[F node.Float](x F, n int) []F {
	all := make([]F, n)
	for i := range all {
		all[i] = x
	}
	return all
}
