package live

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// both runs a plan in the throughput executor and in real time, without a
// clock, and compares every block of every probe bit for bit. dynamic: in real
// time every node is asked in every block.
func both[F node.Float](t *testing.T, text string, blocks int, dynamic bool) {
	t.Helper()
	session := func(dynamic bool) *flow.Session[F] {
		p, err := graph.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s, err := flow.New[F](p, flow.Options{BlockFrames: 64, DisableStatic: dynamic})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return s
	}
	a, b := session(false), session(dynamic)
	play, err := NewLoopPlayer(b, LoopConfig{Blocks: int64(blocks)}, blocks)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range blocks {
		for i := range a.Linked().Nodes {
			n := &a.Linked().Nodes[i]
			if n.Type != "Input" {
				continue
			}
			in, _ := b.Input(n.Name)
			x := make([]F, in.B*in.C*in.N)
			for i := range x {
				x[i] = F(r.NormFloat64())
			}
			if ok, err := play.Put(n.Name, x); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
	}
	play.Start()
	rep := play.Wait()
	if rep.Blocks != int64(blocks) || rep.Faults != 0 {
		t.Fatalf("%v", rep)
	}
	if l := play.Dropouts(); len(l) != 0 {
		t.Errorf("missed: %v", l)
	}
	r = rand.New(rand.NewPCG(3, 4))
	for k := range blocks {
		for i := range a.Linked().Nodes {
			if n := &a.Linked().Nodes[i]; n.Type == "Input" {
				in, _ := a.Input(n.Name)
				for i := range in.Data[:in.B*in.C*in.N] {
					in.Data[i] = F(r.NormFloat64())
				}
			}
		}
		if err := a.Block(); err != nil {
			t.Fatal(err)
		}
		for i := range a.Linked().Nodes {
			n := &a.Linked().Nodes[i]
			if n.Type != "Probe" {
				continue
			}
			want, _ := a.Probe(n.Name)
			got := make([]F, n.InShape[0].B*n.InShape[0].C*n.Tokens)
			frames, ok, err := play.Get(n.Name, got)
			if !ok || err != nil || frames != want.N {
				t.Fatalf("block %d of %s: %d frames, %v, %v: want %d", k, n.Name, frames, ok, err, want.N)
			}
			for j := range want.B * want.C * want.N {
				if math.Float64bits(float64(got[j])) != math.Float64bits(float64(want.Data[j])) {
					t.Fatalf("block %d of %s, number %d: %v in real time, %v otherwise", k, n.Name, j, got[j], want.Data[j])
				}
			}
		}
	}
}

// A tree is ballast: something that a collection marks for a while.
type tree struct{ a, b *tree }

func grow(depth int) *tree {
	if depth == 0 {
		return nil
	}
	return &tree{grow(depth - 1), grow(depth - 1)}
}

// collect runs garbage collections until the test ends, one after another, which
// mark most of the time: during marking, a pointer write on a thread without a P
// crashes the program.
func collect(t *testing.T) {
	t.Helper()
	ballast := grow(16)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			runtime.GC()
		}
	}()
	t.Cleanup(func() { stop.Store(true); <-done; runtime.KeepAlive(ballast) })
}

// TestSameBits: every type of node runs in real time while collections run,
// and gives the bits that it gives in the throughput executor.
func TestSameBits(t *testing.T) {
	collect(t)
	for _, typ := range append(flow.ShippedTypes(), node.Type{Name: "Limiter of true peaks"}) {
		if typ.Endpoint != graph.Inner || typ.Name == "Embedding" {
			continue // the host serves them; Input and Probe are in every graph; and noise is no index
		}
		t.Run(typ.Name, func(t *testing.T) {
			text, blocks := plan(t, typ.Name), 60
			switch {
			case strings.Contains(typ.Name, "Mel") || typ.Name == "MFCC":
				blocks = 4 // of long blocks: a token is a hop
			case typ.Name == "Loudness":
				blocks = 6 // of the longest: its first window is 4 hops
			case typ.Name == "Meter" || typ.Name == "VAD" || typ.Name == "SpectralLoss":
				blocks = 12 // of longer ones: a report
			}
			for _, dynamic := range []bool{false, true} {
				both[float32](t, text, blocks, dynamic)
				both[float64](t, text, max(blocks/4, 2), dynamic)
			}
		})
	}
}

// plan is a graph with a node of one type, each input fed and each output
// probed.
func plan(t *testing.T, typ string) string {
	channels, settings := 1, ""
	switch typ {
	case "Split":
		channels, settings = 2, `"outputs": 2`
	case "ConvolutionReverb": // three levels of partitions
		settings = fmt.Sprintf(`"partition": 2, "taps": {"shape":[1,1,300],"data":[%s1]}`, strings.Repeat("0.1,", 299))
	case "Limiter of true peaks":
		typ, settings = "Limiter", `"true_peak": "yes"`
	case "Meter", "Loudness":
		settings = `"hop": 48`
	case "VAD":
		settings = `"n_fft": 96, "hop": 48`
	case "FFT", "STFT":
		settings = `"n_fft": 16`
	case "IFFT", "ISTFT":
		channels, settings = 18, `"n_fft": 16`
	case "FilteredNoise":
		channels = 5
	case "GRU":
		w := `{"shape":[1,3,1],"data":[0.3,-0.2,0.5]}`
		settings = fmt.Sprintf(`"weight_ih":%s,"weight_hh":%s,"bias_ih":%s,"bias_hh":%s`, w, w, w, w)
	case "Mel":
		channels, settings = 66, `"n_fft": 64, "win": 64, "n_mels": 8`
	}
	nodes := fmt.Sprintf(`{"name":"n","type":%q,"supports_v2":true,"params":{%s}}`, typ, settings)
	p, err := graph.Parse([]byte(`{"nodes":[` + nodes + `],"edges":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := flow.ShippedTypes().Describe(&p.Nodes[0])
	if err != nil {
		t.Fatal(err)
	}
	edges := ""
	add := func(s string, a ...any) {
		if edges != "" {
			edges += ","
		}
		edges += fmt.Sprintf(s, a...)
	}
	for i, port := range spec.Ins {
		nodes += fmt.Sprintf(`,{"name":"i%d","type":"Input","params":{"channels":%d,"rate_num":%d}}`, i, channels, spec.Cons[i])
		add(`{"source":"i%d","target":"n.%s"}`, i, port)
	}
	for i, port := range spec.Outs {
		nodes += fmt.Sprintf(`,{"name":"o%d","type":"Probe"}`, i)
		add(`{"source":"n.%s","target":"o%d"}`, port, i)
	}
	return fmt.Sprintf(`{"nodes":[%s],"edges":[%s]}`, nodes, edges)
}

// TestSameBitsGraph: delays, a cycle with sub-blocks, modulation, other rates
// and a gate, all on the dynamic path or the static one as they need.
func TestSameBitsGraph(t *testing.T) {
	collect(t)
	both[float32](t, `{"nodes":[
		{"name":"in","type":"Input","params":{"channels":2}},
		{"name":"lfo","type":"LFO","params":{"frequency_hz":3}},
		{"name":"gain","type":"Gain","params":{"gain":0.5}},
		{"name":"mix","type":"Mix"},
		{"name":"echo","type":"Gain","params":{"gain":0.4}},
		{"name":"up","type":"Upsample"},
		{"name":"down","type":"Downsample"},
		{"name":"sum","type":"Mix"},
		{"name":"out","type":"Probe"}],
	"edges":[
		{"source":"in","target":"gain"},
		{"source":"lfo","target":"gain.gain","mode":"add","scale":0.1},
		{"source":"gain","target":"mix.in0"},
		{"source":"mix","target":"echo"},
		{"source":"echo","target":"mix.in1","delay_frames":17},
		{"source":"mix","target":"up","delay_frames":100},
		{"source":"up","target":"down"},
		{"source":"down","target":"sum.in0","synchrony_gates":[4]},
		{"source":"gain","target":"sum.in1"},
		{"source":"sum","target":"out"}],
	"gates":[{"id":4,"kind":"tempo","period_frames":48}]}`, 100, false)
}

func TestPlayerPorts(t *testing.T) {
	p, err := graph.Parse([]byte(`{"nodes":[{"name":"in","type":"Input"},{"name":"out","type":"Probe"}],"edges":[{"source":"in","target":"out"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flow.New[float32](p, flow.Options{BlockFrames: 4})
	if err != nil {
		t.Fatal(err)
	}
	play, err := NewLoopPlayer(s, LoopConfig{Blocks: 5}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := play.Put("in", make([]float32, 3)); err == nil {
		t.Error("a short block was taken")
	}
	if _, err := play.Put("inn", make([]float32, 4)); err == nil {
		t.Error("an unknown input took a block")
	}
	if ok, err := play.Put("in", []float32{1, 2, 3, 4}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	play.Run()
	want := []Dropout{{"in", 4}, {"out", 2}}
	if got := play.Dropouts(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("missed %v, want %v", got, want)
	}
	x := make([]float32, 4)
	if n, ok, err := play.Get("out", x); n != 4 || !ok || err != nil || x[3] != 4 {
		t.Errorf("got %v, %d, %v, %v", x, n, ok, err)
	}
	if _, _, err := play.Get("out", x[:2]); err == nil {
		t.Error("a block was put into a short slice")
	}
	if _, _, err := play.Get("nobody", x); err == nil {
		t.Error("an unknown probe gave a block")
	}
}
