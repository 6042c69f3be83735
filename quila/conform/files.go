package conform

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"atenia/quila/config"
	"atenia/quila/internal/sxlm"
	"atenia/quila/internal/weights"
)

// fileRows are the rows of the model file: round trips, the
// seventy-five damaged files of section 6.4, mutations, the inventory of tensors,
// lineage and deployment.
//
//	forge    a good file taken apart, changed in one place and put together
//	vector   one way to change it, and the step that has to refuse the result
//
// The forge encodes header and containers with its own few lines, so that a fault
// of the product's encoder and decoder alike does not hide itself.
func fileRows() []experiment {
	return []experiment{
		{ID: "SXLM-RT", Section: "4.8", What: "write, read, write gives the same bytes; 16 bit and 32 bit parameters; with and without libraries", Check: roundTrip},
		{ID: "SXLM-VECTORS", Section: "6.4", What: "75 damaged files are refused, each at its step, with a typed error", Check: allVectors},
		{ID: "SXLM-MUTATE", Section: "6.4", What: "10,000 files with one byte changed are refused without a panic", Check: func(t *report) { mutate(t, 10_000) }},
		{ID: "SXLM-INVENTORY", Section: "6.5", What: "a file has the tensors of 6.5 and no others, for every option", Check: inventory},
		{ID: "SXLM-LINEAGE", Section: "4.8", What: "a child names its parent's checkpoint; the description prints the chain", Check: lineage},
		{ID: "DEPLOY", Section: "4.8", What: "§21.4 in order, seven folders, READY at the end; after a fault no folder and no memory", Check: deploy},
		{ID: "REQ-5.1.1a", Section: "4.1", What: "S4 and S7 with its moments are bit-equal after save and load", Check: persistent},
		{ID: "REQ-5.1.2a", Section: "4.1", What: "S1, S3, S6 and S8 of every load are block 2's, bit-equal", Check: fileBaseline},
		{ID: "REQ-5.1.3", Section: "4.1", What: "garbage in s2 and s5 of block 2 changes nothing that is loaded", Check: garbage},
		{ID: "REQ-21.4.1a", Section: "4.1", What: "levels are 19, 19, 19, 19, 3, 19, 19, in the descriptors and for the encoder", Check: encoderLevels},
		{ID: "REQ-21.4.1b", Section: "4.1", What: "seven blocks are decompressed at once, each by its own goroutine", Check: parallel},
		{ID: "REQ-21.4.2a", Section: "4.1", What: "one bit of a block: refused before any decompression and any tensor", Check: beforeLoad},
		{ID: "REQ-21.4.2b", Section: "4.1", What: "wrong checkpoint hash with right block hashes, and the reverse, are refused", Check: bothHashes},
		{ID: "INV-6", Section: "4.2", What: "the number of Thinkers cannot be raised or edited; the file's half", Check: thinkersFixed},
	}
}

func roundTrip(t *report) {
	files, size := 0, 0
	for i, dtype := range []string{"f32", "f16"} {
		for k, options := range []func(c *config.Config){(*config.Config).Training, func(c *config.Config) { c.R, c.WKV, c.SSM, c.Modalities = 0, "rwkv4", "window", 4 }} {
			if t.Brief() && i != k {
				continue
			}
			c, err := config.Profile("nano")
			t.Must(err)
			c.ParamDType, c.EngramBits = dtype, 6
			options(&c)
			m, err := sxlm.Fresh(c, 7)
			t.Must(err)
			for range 2 { // empty, then filled
				first := written(t, m, sxlm.Options{Codec: sxlm.Zstd})
				back, err := parsed(t, first, sxlm.Options{})
				t.Must(err)
				if second := written(t, back, sxlm.Options{Codec: sxlm.Zstd}); !bytes.Equal(first, second) {
					t.Errorf("%s: the second file differs", back.Config.JSON())
				}
				if dtype == "f32" {
					sameWeights(t, m, back)
				}
				files, size = files+1, size+len(first)
				back.Close()
				fillModel(m)
			}
		}
	}
	t.Figure("%d files of %d bytes on average", files, size/files)
}

// sameWeights compares all weights and moments bit by bit.
func sameWeights(t *report, a, b *sxlm.Model) {
	for i := range a.Weights.Specs {
		s := &a.Weights.Specs[i]
		if !sameFloats(a.Weights.At(i), b.Weights.At(i)) {
			t.Errorf("%s differs", s.Name)
		}
		x, y := a.Moments[s.Name], b.Moments[s.Name]
		switch {
		case x == nil:
		case y == nil:
			t.Errorf("the moments of %s are lost", s.Name)
		case !sameFloats(x.M, y.M) || !sameFloats(x.V, y.V):
			t.Errorf("the moments of %s differ", s.Name)
		}
	}
}

func sameFloats(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

func allVectors(t *report) {
	good := written(t, nano(t), sxlm.Options{})
	list := vectors()
	const want = 75
	if len(list) != want {
		t.Errorf("%d vectors, want %d", len(list), want)
	}
	for i := range list {
		if t.Brief() && i%25 != 0 { // TestVectors has all of them
			continue
		}
		if err := list[i].check(good); err != nil {
			t.Errorf("%v", err)
		}
	}
	t.Figure("%d of %d refused", len(list), want)
}

// mutate changes one byte of a file so many times, at places and by values that
// a fixed generator chooses. Some changes are to raw blocks that are compressed
// and hashed again: those reach all steps, and may be good values.
func mutate(t *report, trials int) {
	if t.Brief() {
		trials /= 8
	}
	m := nano(t)
	m.Moments = map[string]*sxlm.Moment{}
	for i := range m.Weights.Specs { // few digits, so that the file is small
		for k, x := range m.Weights.At(i) {
			m.Weights.At(i)[k] = float32(math.RoundToEven(float64(x*8))) / 8
		}
	}
	good := written(t, m, sxlm.Options{})
	file := bytes.Clone(good)
	state := uint64(1)
	next := func(n int) int {
		state = state*6364136223846793005 + 1442695040888963407
		return int(state >> 33 % uint64(n))
	}
	var steps [9]int
	for i := range trials {
		if t.Context().Err() != nil {
			t.Fatalf("%v", t.Context().Err())
		}
		at := next(len(file))
		if i%4 == 0 {
			at = next(4096) // the header is where the rules are
		}
		was := file[at]
		file[at] ^= byte(1 + next(255))
		m, err := parsed(t, file, sxlm.Options{})
		switch e, ok := errors.AsType[*sxlm.Error](err); {
		case err == nil:
			m.Close()
			t.Errorf("byte %d: %#x instead of %#x was loaded", at, file[at], was)
		case !ok:
			t.Errorf("byte %d: %v is not an *sxlm.Error", at, err)
		default:
			steps[e.Step]++
		}
		file[at] = was
	}
	loaded, again := 0, trials/100
	for range again {
		f, err := newForge(good)
		t.Must(err)
		f.edit(1+next(7), func(b []byte) { b[next(min(len(b), 1<<13))] ^= byte(1 + next(255)) })
		m, err := parsed(t, f.build(), sxlm.Options{})
		switch {
		case err == nil:
			loaded++
			m.Close()
		case !errors.Is(err, sxlm.ErrFile):
			t.Errorf("hashed again: %v is not an error of the file", err)
		}
	}
	t.Figure("%d of %d bytes, %d refused by step %v; %d hashed again, %d of them good", trials, len(good), trials, steps[1:], again, loaded)
}

func persistent(t *report) {
	m := nano(t)
	back, err := parsed(t, written(t, m, sxlm.Options{}), sxlm.Options{Train: true})
	t.Must(err)
	defer back.Close()
	sameWeights(t, m, back)
	n := sameStates(t, m, back, "s4.", "s7.")
	if back.Step != m.Step || len(back.Moments) == 0 {
		t.Errorf("step %d with %d moments, want %d with %d", back.Step, len(back.Moments), m.Step, len(m.Moments))
	}
	t.Figure("%d states and %d pairs of moments; training: the row of the trainer", n, len(back.Moments))
}

// sameStates compares the states of some prefixes and returns how many there
// are.
func sameStates(t *report, a, b *sxlm.Model, prefixes ...string) (n int) {
	for name, x := range a.States {
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		y := b.States[name]
		if n++; y == nil || !sameFloats(x.F32, y.F32) || !slices.Equal(x.F16, y.F16) || !bytes.Equal(x.U8, y.U8) || !slices.Equal(x.U32, y.U32) {
			t.Errorf("%s differs", name)
		}
	}
	return n
}

func fileBaseline(t *report) {
	m := nano(t)
	for i, name := range []string{"s1.activation", "s1.history", "s6.routing", "s8.utility", "s8.u_dim", "s8.h_dim", "s8.history"} {
		for k := range m.States[name].F32 {
			m.States[name].F32[k] = float32(i+1) + float32(k)/16
		}
	}
	for k := range m.States["s3.frames"].F16 {
		m.States["s3.frames"].F16[k] = uint16(0x3000 + k%512)
	}
	file := written(t, m, sxlm.Options{})
	n := 0
	for range 2 { // a call begins with what the file has, not with what a call left
		back, err := parsed(t, file, sxlm.Options{})
		t.Must(err)
		n = sameStates(t, m, back, "s1.", "s3.", "s6.", "s8.")
		back.States["s1.activation"].F32[0] = 99
		back.Close()
	}
	t.Figure("%d states", n)
}

func garbage(t *report) {
	m := nano(t)
	good := written(t, m, sxlm.Options{})
	f, err := newForge(good)
	t.Must(err)
	n := 0
	f.arrays(2, func(list []array) []array {
		for i := range list {
			a := &list[i]
			if !strings.HasPrefix(a.name, "s2.") && !strings.HasPrefix(a.name, "s5.") || a.name == "s5.calibration" {
				continue
			}
			size := uint64(4)
			for _, d := range a.dims {
				size *= d
			}
			a.data = make([]byte, size)
			for k := range a.data {
				a.data[k] = byte(0xff - k*37)
			}
			copy(a.data, "\xff\xff\xff\xff") // NaN
			n++
		}
		return list
	})
	back, err := parsed(t, f.build(), sxlm.Options{})
	t.Must(err)
	defer back.Close()
	sameWeights(t, m, back)
	sameStates(t, m, back, "s")
	if !bytes.Equal(good, written(t, back, sxlm.Options{})) {
		t.Errorf("the file that is written from it differs from the clean one")
	}
	t.Figure("%d tensors of garbage", n)
}

func lineage(t *report) {
	dir := t.Dir()
	m := nano(t)
	var want []string
	for i := range 3 {
		path := filepath.Join(dir, fmt.Sprintf("%d.sxlm", i))
		info, err := sxlm.Write(t.Context(), path, m, sxlm.Options{})
		t.Must(err)
		if i > 0 && info.Meta.Parent != want[i-1] {
			t.Errorf("generation %d has the parent %s, want %s", i, info.Meta.Parent, want[i-1])
		}
		want = append(want, fmt.Sprintf("%x", info.Meta.Checkpoint))
		if m, err = sxlm.Read(t.Context(), path, sxlm.Options{}); err != nil {
			t.Fatalf("%v", err)
		}
		defer m.Close()
		m.Child()
		m.Step++ // a child that is trained differs
	}
	var b strings.Builder
	t.Must(sxlm.Describe(&b, filepath.Join(dir, "2.sxlm"), []string{dir}))
	text := b.String()
	i, k := strings.Index(text, "lineage      "+want[1]), strings.Index(text, "lineage      "+want[0])
	if i < 0 || k < i {
		t.Errorf("the description does not have %s and then %s:\n%s", want[1], want[0], text)
	}
	t.Figure("%d generations", len(want))
}

func thinkersFixed(t *report) {
	good := written(t, nano(t), sxlm.Options{})
	if _, err := parsed(t, good, sxlm.Options{Thinkers: 2}); err == nil {
		t.Errorf("two Thinkers were run of a model that has one")
	}
	m, err := parsed(t, good, sxlm.Options{Thinkers: 1})
	t.Must(err)
	m.Close()
	edited := bytes.Clone(good)
	at := bytes.Index(edited[64:], []byte{2 << 3, 1, 3 << 3}) // thinker_n = 1, then hidden_dim
	edited[64+at+1] = 2
	_, err = parsed(t, edited, sxlm.Options{})
	if e, ok := errors.AsType[*sxlm.Error](err); !ok || e.Step != sxlm.StepHeaderHash {
		t.Errorf("edited: %v, want the header hash to refuse it", err)
	}
	f, err := newForge(good)
	t.Must(err)
	f.meta = set(f.meta, part{number: 2, value: 2})
	if _, err := parsed(t, f.build(), sxlm.Options{}); !errors.Is(err, sxlm.ErrFile) {
		t.Errorf("edited and hashed again: %v, want an error", err)
	}
}

// inventory compares the tensors of files with a list of section 6.5 that is
// written out here.
func inventory(t *report) {
	count := 0
	for _, options := range []func(c *config.Config){func(*config.Config) {}, (*config.Config).Training, func(c *config.Config) { c.R = 0 }, func(c *config.Config) { c.Modalities = 4 }, func(c *config.Config) { c.Thinkers = 2 }} {
		c, err := config.Profile("nano")
		t.Must(err)
		c.EngramBits = 6
		options(&c)
		m, err := sxlm.Fresh(c, 3)
		t.Must(err)
		for _, strip := range []bool{false, true} {
			f, err := newForge(written(t, m, sxlm.Options{StripOptimizer: strip}))
			t.Must(err)
			for _, block := range []int{1, 2, 4, 6, 7} {
				var got []string
				for _, a := range arrays(f.raw[block-1]) {
					got = append(got, a.name)
				}
				want := expected(&c, block, strip)
				count += len(got)
				for _, name := range difference(got, want) {
					t.Errorf("block %d has %s, which 6.5 lacks", block, name)
				}
				for _, name := range difference(want, got) {
					t.Errorf("block %d lacks %s", block, name)
				}
			}
		}
	}
	t.Figure("%d tensors in 10 files", count)
}

func difference(a, b []string) (out []string) {
	for _, x := range a {
		if !slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}

// names splits a list and puts a prefix before each.
func names(prefix, list string) (out []string) {
	for name := range strings.FieldsSeq(list) {
		out = append(out, prefix+name)
	}
	return out
}

// expected lists the tensors of a block of section 6.5.
func expected(c *config.Config, block int, strip bool) (out []string) {
	add := func(prefix, list string) { out = append(out, names(prefix, list)...) }
	switch block {
	case 2:
		add("s1.", "activation history refractory")
		add("s2.", "hidden ssm_state drc_acc residual ssm_rec")
		add("s3.", "frames momentum")
		add("s4.", "attention_type receptive spec graph_pos")
		add("s5.", "conf reliability uncertainty calibration")
		add("s6.", "routing neighbour active")
		add("s7.", "lambda trace step")
		add("s8.", "utility history evict u_dim h_dim")
		if strip {
			return out
		}
		for _, name := range append(expected(c, 1, false), "edge.w_out", "edge.kernel") {
			constant := slices.Contains(names("", "meta.config meta.writer cm.sigma_d evict.w cdcl.rules louvain.epoch n.mhc_opt.id"), name)
			if !constant && !strings.HasPrefix(name, "cm.ema.") && !strings.HasSuffix(name, ".dst") && !strings.HasSuffix(name, ".pos") {
				out = append(out, "s7.m."+name, "s7.v."+name)
			}
		}
	case 4:
		for _, m := range weights.Modalities[:c.Modalities] {
			add("codebook.", m)
		}
		add("", "codebook.mean codebook.usage codebook.sha256 tokenizer blink.index")
	case 6:
		add("engram.", "table mul w_k w_v")
	case 7:
		add("", "persona")
	case 1:
		add("", "meta.config meta.writer evict.w cdcl.rules louvain.epoch cm.sigma_d port.generator.mhc port.tool.mhc")
		add("n.", "k_in b_in norm_gain wkv_w w_conf ssm.dt_b ssm.skip nsa rwkv ssm.dt_down ssm.dt_up ssm.a ssm.b ssm.c drc.pred drc.corr gate mhc mhc_opt.id mhc_opt.w fxaa rho wout_proto")
		if c.R == 0 {
			add("n.", "w_in")
		} else {
			add("n.", "w_in.l w_in.r")
		}
		for _, m := range weights.Modalities[:c.Modalities] {
			add("boundary."+m, ".dst .pos .w_out .kernel")
		}
		add("cm.f.", "1.w 1.b 2.w 2.b")
		add("cm.ema.", "1.w 1.b 2.w 2.b")
		add("port.base.", "planner thinker analysis")
		for _, p := range c.Ports() {
			add("port."+p+".", "w_r w_k w_v w_decay q k v mhc compress compress_b back tau abg slot")
			if c.WMQRead && strings.HasPrefix(p, "thinker") {
				add("port."+p+".wmq.", "r1 r2 c q o scale slope null")
			}
		}
		add("agg.planner.", "q k v")
		add("agg.contra.", "q k v")
		add("head.", "need need_bias z z_bias z_delta sct ngram effort val tool read drift persona_w persona_gate tau_contra")
		if c.CodeBias {
			add("head.", "code_bias")
		}
		add("rope.", "text")
		if c.Modalities > 1 {
			add("rope.", "img.row img.col aud.time aud.freq vid.time")
		}
	}
	return out
}

// folders are the names below a folder, without what is below them.
func folders(t *report, dir string) (out []string) {
	list, err := os.ReadDir(dir)
	t.Must(err)
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}
