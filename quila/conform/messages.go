package conform

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"unsafe"

	"atenia/quila/config"
	"atenia/quila/internal/grid"
	"atenia/quila/internal/network"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
	"atenia/tensor"
)

// gridVectors are those of section 3.3.
var gridVectors = []struct {
	x    float64
	code byte
}{
	{0, 0}, {math.Copysign(0, -1), 0x80}, {0x1p-9, 1}, {0x1p-10, 0}, {1.5 * 0x1p-9, 2}, {0x1p-10 * 1.0001, 1}, {7 * 0x1p-9, 7}, {0x1p-6, 8},
	{7.5 * 0x1p-9, 8}, {1, 0x38}, {1.0625, 0x38}, {1.1875, 0x3A}, {1.125, 0x39}, {240, 0x77}, {256, 0x78}, {416, 0x7D}, {432, 0x7E}, {447.5, 0x7E},
	{448, 0x7E}, {464, 0x7E}, {480, 0x7E}, {1e30, 0x7E}, {math.Inf(1), 0x7E}, {math.Inf(-1), 0xFE},
}

func codec(t *report) {
	for _, v := range gridVectors {
		if got := tensor.F32ToE4M3(float32(v.x)); got != v.code {
			t.Errorf("%v is encoded %#x, want %#x", v.x, got, v.code)
		}
	}
	nan := float32(math.NaN())
	if got := []byte{tensor.F32ToE4M3(nan), tensor.F32ToE4M3(float32(math.Copysign(float64(nan), -1)))}; !bytes.Equal(got, []byte{0x7F, 0xFF}) {
		t.Errorf("NaN and −NaN are encoded %x", got)
	}
	codes := make([]byte, 4)
	tensor.EncodeE4M3(codes, []float32{464, math.Nextafter32(464, 500), 480, float32(math.Inf(1))}, false)
	if !bytes.Equal(codes, []byte{0x7E, 0x7F, 0x7F, 0x7F}) {
		t.Errorf("without saturation: %x", codes)
	}
	last := float32(math.Inf(-1))
	for c := range 0x7F {
		v := tensor.E4M3ToF32(byte(c))
		if !(v > last) || tensor.F32ToE4M3(v) != byte(c) || tensor.F32ToE4M3(-v) != byte(c)|0x80 {
			t.Errorf("code %#x is %v after %v, encoded %#x", c, v, last, tensor.F32ToE4M3(v))
		}
		last = v
	}
	t.Figure("%d vectors, 254 codes there and back", len(gridVectors)+2)
}

// A sent is one message as the bus saw it.
type sent struct {
	target int
	wire   []byte
}

// tap makes a session send its messages as bytes, and keeps those of the last
// call of the returned function.
func tap(t *report, s *grid.Session) func() []sent {
	var seen []sent
	t.Must(s.Materialise(func(target int, wire []byte) { seen = append(seen, sent{target, slices.Clone(wire)}) }))
	return func() []sent {
		out := seen
		seen = nil
		return out
	}
}

func bus(t *report) {
	for c := range 256 {
		if v := tensor.E4M3ToF32(byte(c)); c&0x7F != 0x7F && tensor.F16ToF32(tensor.F32ToF16(v)) != v {
			t.Errorf("code %#x is not exact in half precision", c)
		}
	}
	x := newWorld(t, "nano", 1, func(c *config.Config) { c.FP8 = true }, nil)
	s := x.G.Session(1)
	seen := tap(t, s)
	x.Token(t, 0, grid.Options{}, s)
	seen()
	x.Token(t, 1, grid.Options{}, s)
	h := s.State().HFinal
	payload, seeds, want := make([]float32, x.C.H*x.C.H), make([]float32, x.C.A*x.C.A), make([]byte, x.C.H*x.C.H)
	checked := 0
	for _, m := range seen() {
		got, err := neuron.ParseMessage(&x.C, m.wire)
		t.Must(err)
		if got.Sender >= neuron.BoundarySender {
			continue
		}
		lo, hi := x.Graph.Outgoing(int(got.Sender))
		e := lo + slices.Index(x.Graph.Dst[lo:hi], int32(m.target))
		neuron.Payload(payload, seeds, h[int(got.Sender)*x.C.D:][:x.C.D], x.W.Rows("edge.w_out", e), x.W.Rows("edge.kernel", e), neuron.ShapeOf(&x.C))
		for i, v := range payload {
			want[i] = tensor.F32ToE4M3(v)
		}
		if !bytes.Equal(got.Payload, want) {
			t.Errorf("the payload of edge %d → %d is not E4M3 of its square", got.Sender, m.target)
		}
		checked++
	}
	if checked != x.Graph.Edges() {
		t.Errorf("%d messages in a tick of %d edges", checked, x.Graph.Edges())
	}
	// One byte of one message, and its target alone has another h.
	a, b := x.G.Session(1), x.G.Session(1)
	count := 0
	t.Must(b.Materialise(func(target int, wire []byte) {
		if target == 3 && count == 0 && wire[5] == 0 { // not the boundary's
			wire[neuron.HeaderBytes+77] ^= 0x40
			count++
		}
	}))
	x.Token(t, 0, grid.Options{}, a)
	x.Token(t, 0, grid.Options{}, b)
	x.Token(t, 1, grid.Options{}, a)
	x.Token(t, 1, grid.Options{}, b)
	for n := range x.C.N {
		d := furthestOf(a.State().Hidden[n*x.C.D:][:x.C.D], b.State().Hidden[n*x.C.D:][:x.C.D])
		if (d > 0) != (n == 3) {
			t.Errorf("a byte to neuron 3 changes h of neuron %d by %v", n, d)
		}
	}
	t.Figure("%d payloads", checked)
}

func edgesApart(t *report) {
	x := newWorld(t, "nano", 1, func(c *config.Config) { c.FP8 = true }, nil)
	base := func() []sent {
		s := x.G.Session(1)
		seen := tap(t, s)
		x.Token(t, 0, grid.Options{}, s)
		return seen()
	}
	before := base()
	for _, name := range []string{"edge.w_out", "edge.kernel"} {
		for _, e := range []int{0, 7, x.Graph.Edges() - 1} {
			row := x.W.Rows(name, e)
			old := slices.Clone(row)
			for i := range row {
				row[i] += .5
			}
			x.G.Bind()
			after := base()
			copy(row, old)
			for i := range before {
				m, err := neuron.ParseMessage(&x.C, before[i].wire)
				t.Must(err)
				own := m.Sender == uint32(x.Graph.Src[e]) && before[i].target == int(x.Graph.Dst[e])
				if bytes.Equal(before[i].wire, after[i].wire) == own {
					t.Errorf("%s of edge %d: message %d → %d changed: %v", name, e, m.Sender, before[i].target, !own)
				}
			}
		}
		end := uintptr(0)
		for e := range x.Graph.Edges() {
			row := x.W.Rows(name, e)
			at := uintptr(unsafe.Pointer(&row[0]))
			if at < end {
				t.Errorf("%s: edge %d shares memory with the one before", name, e)
			}
			end = at + uintptr(4*len(row))
		}
	}
	x.G.Bind()
}

func means(t *report) {
	c := shape(t, 16, 8)
	msgs := []struct {
		v   []float32
		pos uint16
	}{{normal(256, 1), 0x0002}, {normal(256, 2), 0x0305}, {normal(256, 3), 0x0700}}
	for _, m := range msgs { // sums of E4M3 values are exact in float32
		for i, v := range m.v {
			m.v[i] = tensor.E4M3ToF32(tensor.F32ToE4M3(v))
		}
	}
	want := make([]float64, 256)
	for _, m := range msgs {
		for i := range 16 {
			for j := range 16 {
				want[(i+int(m.pos>>8))%16*16+(j+int(m.pos&255))%16] += float64(m.v[i*16+j]) / 3
			}
		}
	}
	first, got := make([]float32, 256), make([]float32, 256)
	orders := [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for k, order := range orders {
		b := neuron.NewBoard[float32](c)
		for _, i := range order {
			b.Add(msgs[i].v, msgs[i].pos, 0)
		}
		b.Mean(got)
		if k == 0 {
			copy(first, got)
		}
		if i := unequal(first, got); i >= 0 {
			t.Errorf("order %v: cell %d is %v, in order %v it is %v", order, i, got[i], orders[0], first[i])
		}
	}
	for i, w := range want {
		if math.Abs(w-float64(first[i])) > 1e-6 {
			t.Fatalf("cell %d is %v, want %v", i, first[i], w)
		}
	}
	literal := *c
	literal.PairwiseMean = true
	a, b := neuron.NewBoard[float32](c), neuron.NewBoard[float32](&literal)
	for _, m := range msgs[:2] {
		a.Add(m.v, m.pos, 0)
		b.Add(m.v, m.pos, 0)
	}
	a.Mean(first)
	b.Mean(got)
	t.Within("difference of two messages from the literal formula", furthestOf(first, got), 1e-7)
	t.Figure("six orders, one mean")
}

// shape is a configuration of messages.
func shape(t *report, h, a int) *config.Config {
	c, err := config.Profile("micro")
	t.Must(err)
	c.H, c.A, c.S, c.Kappa = h, a, h/a, h/a
	return &c
}

func places(t *report) {
	c := shape(t, 16, 8)
	v, got := normal(256, 1), make([]float32, 256)
	for _, pos := range []uint16{0, 0x0206, 0x0F0F, 0x0800} {
		b := neuron.NewBoard[float32](c)
		b.Add(v, pos, 0)
		b.Mean(got)
		for i := range 256 {
			to := (i/16+int(pos>>8))%16*16 + (i%16+int(pos&255))%16
			if got[to] != v[i] {
				t.Fatalf("place %#x: cell %d is %v, want %v", pos, to, got[to], v[i])
			}
		}
	}
	b := neuron.NewBoard[float32](c)
	b.Add(v[:16], 0x0C08, neuron.Partial|neuron.Quarter)
	b.Mean(got)
	for i, x := range got {
		r, k := i/16-12, i%16-8
		want := float32(0)
		if r >= 0 && r < 4 && k >= 0 && k < 4 {
			want = v[r*4+k]
		}
		if x != want {
			t.Fatalf("cell %d of a tile at (12, 8) is %v, want %v", i, x, want)
		}
	}
	for _, pos := range []uint16{0x0D00, 0x000D} {
		m := neuron.Message{Pos: pos, Flags: neuron.Partial | neuron.Quarter, Payload: make([]byte, 16)}
		if _, err := neuron.ParseMessage(c, m.Append(nil)); !errors.Is(err, neuron.ErrWire) {
			t.Errorf("a tile at %#x: %v", pos, err)
		}
	}
}

func sizes(t *report) {
	for _, profile := range config.Profiles() {
		c, err := config.Profile(profile)
		t.Must(err)
		m := neuron.Message{Payload: make([]byte, neuron.Side(&c, 0)*neuron.Side(&c, 0))}
		n := len(m.Append(nil))
		if n != c.H*c.H+7 || c.H == 256 && n != 65543 {
			t.Errorf("%s: %d bytes", profile, n)
		}
		t.Figure("%s %d", profile, n)
	}
	x := newWorld(t, "micro", 1, crowded, nil)
	s := x.G.Session(1)
	seen := tap(t, s)
	full, tiles := 0, 0
	for k := range 6 {
		x.Token(t, k, grid.Options{}, s)
	}
	for _, m := range seen() {
		switch len(m.wire) {
		case x.C.H*x.C.H + 7:
			full++
		case x.C.H*x.C.H/16 + 7:
			tiles++
		default:
			t.Errorf("a message of %d bytes", len(m.wire))
		}
	}
	if full == 0 || tiles == 0 {
		t.Errorf("%d full messages and %d tiles", full, tiles)
	}
}

func routes(t *report) {
	x := newWorld(t, "micro", 1, sparse, nil)
	s := x.G.Session(1)
	seen := tap(t, s)
	total := 0
	weights := make([]float32, x.Graph.Edges())
	for k := range 12 {
		before := slices.Clone(s.Channels.Firings)
		x.Token(t, k, grid.Options{}, s)
		got := map[[2]int]int{}
		for _, m := range seen() {
			p, err := neuron.ParseMessage(&x.C, m.wire)
			t.Must(err)
			if p.Flags != 0 {
				t.Errorf("flags %#x", p.Flags)
			}
			if p.Sender < neuron.BoundarySender {
				got[[2]int{int(p.Sender), m.target}]++
				total++
			}
		}
		for n := range x.C.N {
			fired := int(s.Channels.Firings[n] - before[n])
			lo, hi := x.Graph.Outgoing(n)
			for e := lo; e < hi; e++ {
				at := [2]int{n, int(x.Graph.Dst[e])}
				if got[at] != fired {
					t.Errorf("token %d: neuron %d fired %d times and sent %d messages to %d", k, n, fired, got[at], at[1])
				}
				delete(got, at)
			}
			var sum float64
			s.Channels.Routing(weights[lo:hi], lo, hi)
			for _, w := range weights[lo:hi] {
				sum += float64(w)
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Errorf("routing weights of neuron %d add up to %v", n, sum)
			}
		}
		for at := range got {
			t.Errorf("a message on %v, which is no edge", at)
		}
	}
	t.Figure("%d messages", total)
}

func wireFlags(t *report) {
	c := shape(t, 16, 8)
	in := neuron.Inbox{Config: c}
	for _, f := range []neuron.Flags{0, neuron.Uncertainty, neuron.Partial | neuron.Quarter, neuron.Partial | neuron.Quarter | neuron.Uncertainty} {
		side := neuron.Side(c, f)
		m := neuron.Message{Pos: 0x0204, Sender: 0xDEADBEEF, Flags: f, Payload: make([]byte, side*side)}
		for i := range m.Payload {
			m.Payload[i] = byte(i % 0x70)
		}
		b := m.Append(nil)
		t.Must(in.Receive(b))
		got := in.Messages[len(in.Messages)-1]
		if got.Pos != m.Pos || got.Sender != m.Sender || got.Flags != f || !bytes.Equal(got.Payload, m.Payload) || !bytes.Equal(got.Append(nil), b) {
			t.Errorf("flags %#x do not come back: %+v", f, got)
		}
	}
	bad := []neuron.Message{
		{Flags: 0x10, Payload: make([]byte, 256)}, {Flags: 0x80, Payload: make([]byte, 256)}, {Flags: 4, Payload: make([]byte, 256)}, {Flags: 2, Payload: make([]byte, 256)},
		{Flags: 1, Payload: make([]byte, 16)}, {Flags: 3, Payload: make([]byte, 16)}, {Flags: 7, Payload: make([]byte, 16)}, {Flags: 5, Payload: make([]byte, 15)},
		{Payload: make([]byte, 255)}, {Payload: make([]byte, 257)}, {Pos: 0x1000, Payload: make([]byte, 256)}, {Flags: 5, Pos: 0x0D00, Payload: make([]byte, 16)},
	}
	for i, m := range bad {
		err := in.Receive(m.Append(nil))
		if wire := (*neuron.WireError)(nil); !errors.As(err, &wire) || !errors.Is(err, neuron.ErrWire) || in.Rejected != i+1 {
			t.Errorf("flags %#x, place %#x, %d bytes: %v, %d refused", m.Flags, m.Pos, len(m.Payload), err, in.Rejected)
		}
	}
	if err := in.Receive(make([]byte, 6)); !errors.Is(err, neuron.ErrWire) || in.Rejected != len(bad)+1 {
		t.Errorf("six bytes: %v", err)
	}
	t.Figure("4 forms, %d refused", in.Rejected)
}

func partialSend(t *report) {
	c := shape(t, 16, 8)
	c.D = 64
	attn, h, w := make([]float32, 64), make([]float32, 64), make([]float32, 64)
	for i := range h {
		attn[i], h[i], w[i] = .125, .01, 1
	}
	inner := []int{18, 19, 26, 27} // tile (1, 1)
	set := func(x float32) {
		for _, i := range inner {
			h[i] = x
		}
	}
	work := neuron.NewTileWork[float32](c)
	set(.4)
	tile, share, ok := neuron.Choose(attn, h, w, 0x0204, c, .5, work)
	if !ok || tile != (neuron.Tile{Row: 1, Col: 1, Pos: 0x0608}) || math.Abs(float64(share)-1.6/2.2) > 1e-6 {
		t.Errorf("share .727: %+v, %v, %v", tile, share, ok)
	}
	if _, _, wraps := neuron.Choose(attn, h, w, 0x0A04, c, .5, work); wraps {
		t.Errorf("a tile that wraps is sent")
	}
	// The tile is where the full message would have put it.
	payload, seeds, cut := make([]float32, 256), make([]float32, 64), make([]float32, 16)
	kernel := normal(c.Kappa*c.Kappa, 4)
	neuron.Payload(payload, seeds, h, w, kernel, neuron.ShapeOf(c))
	neuron.Cut(cut, payload, tile, c.H)
	full, part := neuron.NewBoard[float32](c), neuron.NewBoard[float32](c)
	full.Add(payload, 0x0204, 0)
	part.Add(cut, tile.Pos, neuron.Partial|neuron.Quarter)
	a, b := make([]float32, 256), make([]float32, 256)
	full.Mean(a)
	part.Mean(b)
	for i := range b {
		in := i/16 >= 6 && i/16 < 10 && i%16 >= 8 && i%16 < 12
		if in && b[i] != a[i] || !in && b[i] != 0 {
			t.Errorf("cell %d is %v, in the full message %v", i, b[i], a[i])
		}
	}
	codes := make([]byte, 16)
	m := neuron.Message{Pos: tile.Pos, Flags: neuron.Partial | neuron.Quarter, Payload: codes}
	if n := len(m.Append(nil)); n != 16+7 {
		t.Errorf("a tile of %d bytes", n)
	}
	set(.1)
	if _, share, ok := neuron.Choose(attn, h, w, 0x0204, c, .5, work); ok || math.Abs(float64(share)-.4) > 1e-6 {
		t.Errorf("share .4: %v, %v", share, ok)
	}
	set(.4)
	small := *c
	small.A = 2
	if _, _, ok := neuron.Choose(attn, h, w, 0, &small, .5, work); ok {
		t.Errorf("a seed map of side 2 is divided")
	}
	t.Figure("share %.3f partial, .400 full", share)
}

func uncertainty(t *report) {
	// A full message and a tile that carry a row.
	c := shape(t, 16, 8)
	for _, side := range []int{16, 4} {
		f := neuron.Uncertainty
		if side == 4 {
			f |= neuron.Partial | neuron.Quarter
		}
		v := normal(side*side, 1)
		for i := range side {
			v[side*(side-1)+i] = .25
		}
		b := neuron.NewBoard[float32](c)
		b.Add(v, 0x0203, f)
		counts, u := make([]int32, 256), make([]float32, c.D)
		b.Counts(counts)
		n := int32(0)
		for _, k := range counts {
			n += k
		}
		if int(n) != side*(side-1) || !b.Doubt(u) || slices.Min(u) != .25 || slices.Max(u) != .25 {
			t.Errorf("side %d: %d cells written, uncertainty %v to %v", side, n, slices.Min(u), slices.Max(u))
		}
	}
	in, h, u := []float32{.5, .25, 0}, []float32{1, -2, .5}, make([]float32, 3)
	neuron.Doubt(u, in, .5, h)
	t.Within("error of 1 − (1−in)(1−own)", furthestOf(u, []float32{1 - .5*.75, 1 - .75*.5, 1 - .875}), 1e-7)

	// A chain of five in which only the first hears the boundary.
	edges := []weights.Edge{{Source: 0, Target: 1}, {Source: 1, Target: 2}, {Source: 2, Target: 3}, {Source: 3, Target: 4}}
	graph, err := weights.New(5, edges, make([]uint16, 4))
	t.Must(err)
	x := newWorld(t, "micro", 1, func(c *config.Config) {
		c.N, c.FP8, c.Uncertainty, c.Refractory, c.ActiveCap = 5, true, true, false, 1
	}, graph)
	for n := 1; n < 5; n++ {
		x.G.Baseline().Channels.Attention[n] = grid.Analysis
	}
	s := x.G.Session(1)
	for k := range 4 {
		x.Token(t, k, grid.Options{}, s)
	}
	last := 0.0
	for n := range 5 {
		mean := meanAbs(s.Channels.Uncertainty[n*x.C.D:][:x.C.D])
		if s.Channels.Firings[n] == 0 || mean < last-0x1p-5 {
			t.Errorf("neuron %d fired %d times, mean uncertainty %v after %v", n, s.Channels.Firings[n], mean, last)
		}
		last = mean
		t.Figure("%.3f", mean)
		want := float32(1)
		if n > 0 {
			want = float32(1 - meanAbs(s.Channels.Doubt[n*x.C.D:][:x.C.D]))
		}
		if math.Abs(float64(s.Channels.Reliability[n]-want)) > 1e-6 {
			t.Errorf("neuron %d: reliability %v, want %v", n, s.Channels.Reliability[n], want)
		}
	}
}

func fused(t *report) {
	x := newWorld(t, "micro", 1, func(c *config.Config) { crowded(c); c.Uncertainty, c.K = false, 1 }, nil)
	a, b := x.G.Session(1), x.G.Session(1)
	seen := tap(t, b)
	spread := a.State() // the last 26 take all places at first, the others rest and wait as long as they may
	for n := range spread.Utility {
		if n >= x.C.N-2*a.Schedule.Most() {
			spread.Utility[n], spread.Conf[n] = 1e12, .9
			continue
		}
		spread.Refractory[n] = 4
	}
	a.SetState(spread)
	b.SetState(spread)
	oldest, partial, all := uint64(0), 0, 0
	for k := range 50 {
		if k%5 == 0 {
			t.Must(a.Inject(0, x.Code(k)))
			t.Must(b.Inject(0, x.Code(k)))
		}
		for _, since := range a.Schedule.Since {
			if since > 0 {
				oldest = max(oldest, a.Ticks()+1-since)
			}
		}
		t.Must(x.G.Tick([]*grid.Session{a}, grid.Options{}))
		t.Must(x.G.Tick([]*grid.Session{b}, grid.Options{}))
		if d := doDifference(a, b); d != "" {
			t.Fatalf("tick %d: %s", k, d)
		}
		for _, m := range seen() {
			all++
			partial += int(m.wire[6] & 1)
		}
	}
	if a.Overrun+b.Overrun > 0 || oldest >= uint64(grid.Depth(&x.C)) {
		t.Errorf("the ring of %d was overrun %d times; the oldest message waited %d ticks", grid.Depth(&x.C), a.Overrun, oldest)
	}
	if partial == 0 || partial == all {
		t.Errorf("%d of %d messages are tiles", partial, all)
	}
	t.Figure("50 ticks, %d messages, %d tiles, oldest mail %d ticks", all, partial, oldest)
}

func gridBoundary(t *report) {
	for _, dims := range []int{0, -1} {
		x := newWorld(t, "nano", 1, func(c *config.Config) { c.FP8, c.RopeDims = true, dims }, nil)
		s := x.G.Session(1)
		seen := tap(t, s)
		e := slices.Clone(x.Code(17))
		if dims < 0 {
			turn, err := network.NewRope(x.C.DE, 1, network.Kronecker)
			t.Must(err)
			t.Must(network.ApplyRope(turn, e, e, []uint64{5}, []float64{math.Log(x.C.BaseText)}))
			if furthestOf(e, x.Code(17)) == 0 {
				t.Errorf("position 5 turns nothing")
			}
		}
		t.Must(s.Inject(0, e))
		payload, seeds := make([]float32, x.C.H*x.C.H), make([]float32, x.C.A*x.C.A)
		msgs := seen()
		if len(msgs) != x.C.N {
			t.Errorf("%d messages of the boundary", len(msgs))
		}
		for _, m := range msgs {
			got, err := neuron.ParseMessage(&x.C, m.wire)
			t.Must(err)
			neuron.Payload(payload, seeds, e, x.W.Rows("boundary.text.w_out", m.target), x.W.Rows("boundary.text.kernel", m.target), neuron.ShapeOf(&x.C))
			for i, v := range payload {
				if got.Payload[i] != tensor.F32ToE4M3(v) {
					t.Fatalf("rope_dims %d, neuron %d: byte %d is %#x, want %#x", dims, m.target, i, got.Payload[i], tensor.F32ToE4M3(v))
				}
			}
			if got.Sender != neuron.BoundarySender || got.Pos != weights.Place(&x.C, 0) {
				t.Errorf("sender %#x, place %#x", got.Sender, got.Pos)
			}
		}
	}
	t.Figure("rope_dims 0 and −1")
}
