package pass

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/internal/plan"
	"atenia/tensor"
)

var prompt = plan.Sizing{Tokens: 512, Slots: 8, Requested: 3}

// inputsOf marks the plan's inputs as the caller's, as an executor does.
func inputsOf(c *plan.CompiledPlan) map[plan.RegisterRef]bool {
	m := make(map[plan.RegisterRef]bool)
	for _, r := range c.Plan.Inputs {
		m[r] = true
	}
	return m
}

// simulate runs the plan over tagged buffers: a read must find the value its
// register was given, that is, nothing wrote the buffer in between, and no
// output shares a buffer with an input except as the opcode allows.
func simulate(t testing.TB, c *plan.CompiledPlan, m *plan.PhysicalMapping, sizing plan.Sizing) {
	t.Helper()
	holds := make(map[uint16]plan.RegisterRef)
	write := func(r plan.RegisterRef) {
		b := m.ToPhysical[r]
		if b == plan.NoBuffer {
			return
		}
		s := c.Plan.Registers[r]
		if need := sizing.Rows(s.Rows) * uint64(s.Cols) * 4; need > m.Buffers[b].Size {
			t.Fatalf("r%d needs %d bytes, buffer %d has %d", r, need, b, m.Buffers[b].Size)
		}
		holds[b] = r
	}
	read := func(i int, r plan.RegisterRef) {
		if b := m.ToPhysical[r]; b != plan.NoBuffer && holds[b] != r {
			t.Fatalf("instruction %d reads r%d, buffer %d holds r%d\n%s", i, r, b, holds[b], c)
		}
	}
	for _, r := range c.Plan.Inputs {
		write(r)
	}
	for i, in := range c.Plan.Instructions {
		for _, r := range in.In {
			read(i, r)
		}
		allowed, ok := plan.Specs.Get(in.Op).InPlace.Input()
		for k, q := range in.In {
			for n, r := range in.Out {
				if m.ToPhysical[q] == m.ToPhysical[r] && m.ToPhysical[r] != plan.NoBuffer && !(ok && k == allowed && n == 0) {
					t.Fatalf("instruction %d: output %d has the buffer of input %d", i, n, k)
				}
			}
		}
		for _, r := range in.Out {
			write(r)
		}
	}
	for _, r := range c.Plan.Outputs {
		read(len(c.Plan.Instructions), r)
	}
}

func TestMapReusesDeadBuffers(t *testing.T) {
	eachToy(t, func(t *testing.T, name string, mode plan.Mode, opt Options) {
		c := compile(t, name, mode, 12, opt)
		m := Map(c, prompt, nil)
		if len(m.Buffers) >= len(c.Plan.Registers)/4 || m.Bytes >= m.NaiveBytes/4 {
			t.Errorf("%d buffers of %d bytes for %d registers of %d", len(m.Buffers), m.Bytes, len(c.Plan.Registers), m.NaiveBytes)
		}
	})
}

// A typical block needs three buffers: the residual stream, its norm, and the
// branch's result. Fused or not, at any depth.
func TestMapIndependentOfDepth(t *testing.T) {
	for _, opt := range []Options{{}, {NoFuse: true}} {
		for _, mode := range []plan.Mode{plan.ModeDecode, plan.ModePrefill} {
			for _, layers := range []int{1, 4, 48} {
				c := compile(t, "llama", mode, layers, opt)
				m := Map(c, plan.Sizing{Tokens: 512, Slots: 8, Requested: 8}, inputsOf(c))
				if len(m.Buffers) != 3 {
					t.Errorf("%s, %d layers, %+v: %d buffers, want 3", mode, layers, opt, len(m.Buffers))
				}
			}
		}
	}
}

func TestMapNoOverlapSimulation(t *testing.T) {
	eachToy(t, func(t *testing.T, name string, mode plan.Mode, opt Options) {
		c := compile(t, name, mode, 7, opt)
		for _, external := range []map[plan.RegisterRef]bool{nil, inputsOf(c)} {
			m := Map(c, prompt, external)
			simulate(t, c, &m, prompt)
			for r := range external {
				if m.ToPhysical[r] != plan.NoBuffer {
					t.Errorf("r%d is the caller's and has buffer %d", r, m.ToPhysical[r])
				}
			}
		}
	})
}

// Random programs: the mapping is sound and never needs more buffers than the
// peak, for all sizes and owners of inputs.
func TestMapCountLEPeakProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for it := range 3000 {
		c, err := Compile(randomAdds(rng), Options{NoFuse: true})
		if err != nil {
			t.Fatal(err)
		}
		sizing := plan.Sizing{Tokens: uint64(1 + rng.IntN(64)), Requested: uint64(1 + rng.IntN(64))}
		var external map[plan.RegisterRef]bool
		if rng.IntN(2) == 0 {
			external = inputsOf(c)
		}
		m := Map(c, sizing, external)
		if len(m.Buffers) > int(c.PeakRegisters) {
			t.Fatalf("program %d: %d buffers, peak %d\n%s", it, len(m.Buffers), c.PeakRegisters, c)
		}
		if m.Bytes > m.NaiveBytes {
			t.Fatalf("program %d: %d bytes, without sharing %d", it, m.Bytes, m.NaiveBytes)
		}
		simulate(t, c, &m, sizing)
	}
}

// randomAdds builds a program in which many values live at once: adds of
// anything of the same width, and gathers that change the number of rows.
func randomAdds(rng *rand.Rand) *plan.ExecutionPlan {
	p := &plan.ExecutionPlan{Mode: plan.ModePrefill}
	add := func(t tensor.DType, rows plan.RowKind, cols uint32) plan.RegisterRef {
		p.Registers = append(p.Registers, plan.RegSpec{Name: fmt.Sprint("v", len(p.Registers)), DType: t, Rank: 2, Rows: rows, Cols: cols})
		return plan.RegisterRef(len(p.Registers) - 1)
	}
	index := add(tensor.I32, plan.RowsRequested, 1)
	p.Inputs = []plan.RegisterRef{index}
	var values []plan.RegisterRef
	for range 1 + rng.IntN(4) {
		values = append(values, add(tensor.F32, plan.RowsTokens, uint32(1+rng.IntN(512))))
	}
	p.Inputs = append(p.Inputs, values...)
	for range 1 + rng.IntN(40) {
		x := values[rng.IntN(len(values))]
		same := slices.DeleteFunc(slices.Clone(values), func(r plan.RegisterRef) bool {
			return p.Registers[r].Cols != p.Registers[x].Cols || p.Registers[r].Rows != p.Registers[x].Rows
		})
		in := plan.Instruction{Op: plan.OpResidualAdd, In: []plan.RegisterRef{x, same[rng.IntN(len(same))]}, State: plan.NoState, Weights: []plan.WeightRef{plan.NoWeight, plan.NoWeight}}
		rows, params := p.Registers[x].Rows, plan.Params(&plan.AddParams{Scale: 1})
		if rng.IntN(3) == 0 {
			in = plan.Instruction{Op: plan.OpGatherRows, In: []plan.RegisterRef{x, index}, State: plan.NoState}
			rows, params = plan.RowsRequested, nil
		}
		b, err := plan.EncodeParams(in.Op, params)
		if err != nil {
			panic(err)
		}
		p.Params = append(p.Params, b)
		in.Param = uint16(len(p.Params) - 1)
		in.Out = []plan.RegisterRef{add(tensor.F32, rows, p.Registers[x].Cols)}
		values = append(values, in.Out[0])
		p.Instructions = append(p.Instructions, in)
	}
	for range 1 + rng.IntN(2) {
		if r := values[rng.IntN(len(values))]; !slices.Contains(p.Outputs, r) {
			p.Outputs = append(p.Outputs, r)
		}
	}
	return p
}

func TestMapInPlaceOnlyWhenDying(t *testing.T) {
	const text = `plan mode=prefill instructions=%d registers=%d peak=%d states=0 weights=0
input r0:x[tokens,64]
input r1:a[tokens,64]
`
	for _, tc := range []struct {
		name, text string
		n, r, peak int
		external   map[plan.RegisterRef]bool
		want       string // buffer of each register
	}{
		{"dies", "0 L0 residual_add r0!,r1! -> r2:y[tokens,64] {scale=1}\noutput r2\n", 1, 3, 3, nil, "[0 1 0]"},
		{"lives on", "0 L0 residual_add r0,r1! -> r2:y[tokens,64] {scale=1}\n1 L0 residual_add r0!,r2! -> r3:z[tokens,64] {scale=1}\noutput r3\n", 2, 4, 3, nil, "[0 1 2 0]"},
		{"read twice", "0 L0 residual_add r1!,r1! -> r2:y[tokens,64] {scale=1}\noutput r2 r0\n", 1, 3, 3, nil, "[0 1 2]"},
		{"the other input dies", "0 L0 residual_add r0,r1! -> r2:y[tokens,64] {scale=1}\noutput r2 r0\n", 1, 3, 3, nil, "[0 1 2]"},
		{"an output of the plan", "0 L0 residual_add r0,r1! -> r2:y[tokens,64] {scale=1}\noutput r0 r2\n", 1, 3, 3, nil, "[0 1 2]"},
		{"the caller's", "0 L0 residual_add r0!,r1! -> r2:y[tokens,64] {scale=1}\noutput r2\n", 1, 3, 3, map[plan.RegisterRef]bool{0: true, 1: true}, "[65535 65535 0]"},
		{"into the caller's", "0 L0 residual_add r0!,r1! -> r2:y[tokens,64] {scale=1}\noutput r2\n", 1, 3, 3, map[plan.RegisterRef]bool{2: true}, "[0 1 65535]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := load(t, fmt.Sprintf(text, tc.n, tc.r, tc.peak)+tc.text)
			m := Map(c, prompt, tc.external)
			if got := fmt.Sprint(m.ToPhysical); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// Decode and prefill are sized separately, by formula.
func TestMapSizes(t *testing.T) {
	sized := func(mode plan.Mode, s plan.Sizing) uint64 {
		c := compile(t, "llama", mode, 2, Options{})
		m := Map(c, s, inputsOf(c))
		for i, b := range m.Buffers {
			if b.Size%plan.BufferAlign != 0 || b.Align != plan.BufferAlign {
				t.Errorf("buffer %d: %d bytes aligned to %d", i, b.Size, b.Align)
			}
		}
		return m.Bytes
	}
	const row = toyDim * 4
	if got, want := sized(plan.ModeDecode, plan.Sizing{Slots: 1}), uint64(2*row+toyVocab*4); got != want {
		t.Errorf("decode of one slot takes %d bytes, want %d", got, want)
	}
	if got, want := sized(plan.ModePrefill, plan.Sizing{Tokens: 512, Requested: 1}), uint64(3*512*row); got != want {
		t.Errorf("a prompt of 512 takes %d bytes, want %d", got, want)
	}
}

func TestMapSaturates(t *testing.T) {
	c := compile(t, "llama", plan.ModePrefill, 1, Options{})
	m := Map(c, plan.Sizing{Tokens: 1 << 62, Requested: 1 << 62}, nil)
	if m.Bytes != plan.MaxBufferBytes || m.NaiveBytes != plan.MaxBufferBytes {
		t.Errorf("%d and %d bytes, want %d", m.Bytes, m.NaiveBytes, uint64(plan.MaxBufferBytes))
	}
}

func BenchmarkCompile48(b *testing.B) {
	for b.Loop() {
		c := compile(b, "llama", plan.ModePrefill, 48, Options{})
		Map(c, prompt, nil)
	}
}

// What another stage wrote keeps its buffer until it is released, wherever that is, and a
// mapping is as sound when a value has been given another buffer.
func TestMapStage(t *testing.T) {
	eachToy(t, func(t *testing.T, name string, mode plan.Mode, opt Options) {
		c := compile(t, name, mode, 3, opt)
		r := c.Plan.Inputs[0]
		external := inputsOf(c)
		delete(external, r)
		for release := c.Live.LastRead[r]; int(release) < len(c.Plan.Instructions); release++ {
			m := MapStage(c, prompt, external, map[plan.RegisterRef]uint32{r: release})
			simulate(t, c, &m, prompt)
			for i, in := range c.Plan.Instructions {
				for k, out := range in.Out {
					place, ok := plan.Specs.Get(in.Op).InPlace.Input()
					over := ok && k == 0 && in.In[place] == r && i == int(release)
					if m.ToPhysical[out] == m.ToPhysical[r] && i <= int(release) && !over {
						t.Fatalf("instruction %d writes the buffer of r%d, which is held until %d is done", i, r, release)
					}
				}
			}
			for b := range uint16(len(m.Buffers) + 2) {
				m.Place(r, b)
				if m.ToPhysical[r] != b {
					t.Fatalf("r%d has buffer %d, want %d", r, m.ToPhysical[r], b)
				}
				simulate(t, c, &m, prompt)
			}
		}
	})
}
