package main

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"io"
	"os"
	"path/filepath"
	"strings"

	"atenia"
	"atenia/flow/graph"
	"atenia/flow/media"
	"atenia/internal/cli"
	"atenia/internal/model/convert"
	"atenia/internal/plan"
	"atenia/internal/train"
	"atenia/quila/config"
)

// morePictures adds formats of which the repository has no files.
func morePictures(c *corpus, add func(...entry)) {
	x := image.NewRGBA(image.Rect(0, 0, 23, 17))
	for i := range x.Pix {
		x.Pix[i] = byte(i * 7)
	}
	var b bytes.Buffer
	c.fail(jpeg.Encode(&b, x, nil))
	add(entry{name: "picture", data: bytes.Clone(b.Bytes())})
	b.Reset()
	p := color.Palette{color.Black, color.White, color.RGBA{255, 0, 0, 255}}
	g := &gif.GIF{}
	for k := range 3 {
		f := image.NewPaletted(image.Rect(0, 0, 9, 8), p)
		f.Pix[k] = 1
		g.Image, g.Delay = append(g.Image, f), append(g.Delay, 5)
	}
	c.fail(gif.EncodeAll(&b, g))
	add(entry{name: "picture", data: bytes.Clone(b.Bytes())})
}

// sounds are short files of every form that is written.
func sounds(c *corpus, add func(...entry)) {
	for _, f := range []media.Format{
		{Rate: 8000, Channels: 1}, {Rate: 44100, Channels: 2, Bits: 24}, {Rate: 48000, Channels: 2, Bits: 32, Float: true}, {Rate: 16000, Channels: 3, Bits: 64, Float: true},
		{Codec: media.FLAC, Rate: 16000, Channels: 1}, {Codec: media.FLAC, Rate: 44100, Channels: 2, Bits: 24}, {Codec: media.FLAC, Rate: 8000, Channels: 2, Bits: 8},
	} {
		x := make([][]float64, f.Channels)
		for i := range x {
			x[i] = make([]float64, 300)
			for k := range x[i] {
				x[i][k] = float64((k*k*(i+1))%97)/97 - .5
			}
		}
		var b bytes.Buffer
		w, err := media.NewWriter(&b, f)
		c.fail(err)
		if err == nil {
			c.fail(media.Write(w, x))
			c.fail(w.Close())
		}
		k := riff
		if f.Codec == media.FLAC {
			k = binary
		}
		add(entry{name: "sound", data: b.Bytes(), kind: k})
	}
}

// planJSON has the plans of the text forms.
func planJSON(c *corpus, add func(...entry)) {
	for _, e := range c.glob("internal/plan/testdata/plans/*.plan") {
		p, err := plan.ParseText(bytes.NewReader(e.data))
		c.fail(err)
		if err != nil {
			return
		}
		m := &plan.ModelPlans{Prefill: p}
		if p.Plan.Mode == plan.ModeDecode {
			m = &plan.ModelPlans{Decode: p}
		}
		b, err := plan.MarshalPlans(m, plan.JSONOptions{})
		c.fail(err)
		add(entry{name: "plan.json", data: b, kind: jsonText})
	}
}

func listings(_ *corpus, add func(...entry)) {
	add(entry{name: "tape.txt", kind: plainText, data: []byte(`tape float64 recording
%1 [4 3] grad = param
%2 [2 3] = const
%3 [2 4] grad = matmult(%2, %1)
%5 [2] = hidden
%4 [2 4] grad = opaque "twice"(%3; %5, %0)
%6 [1 3] grad = slice(%4) offset=2
%7 [1 3] = const
%8 [1 3] grad = klretention(%6, %7) alpha=0.9 theta=0.125
%9 [3 3] grad = embed(%1) numbers=[3,0,3]
%10 [4 3] grad = concat(%8, %9) axis=0
%11 [4] = hidden
%12 [] grad = crossentropy(%10; %11) numbers=[0,-1,2,-1]
`)})
}

// placements has the plan files of two models.
func placements(c *corpus, add func(...entry)) {
	for _, name := range []string{"qwen3", "granitemoeshared"} {
		dir := filepath.Join(c.root, "testdata/golden/parity", name)
		p, err := atenia.OpenPlan(dir, &atenia.Config{Threads: 1, Context: 64})
		c.fail(err)
		if err != nil {
			return
		}
		pl, err := p.Place()
		c.fail(err)
		file := filepath.Join(c.temp, name+".plan")
		if err == nil {
			c.fail(atenia.WritePlacement(file, pl))
		}
		b, err := os.ReadFile(file)
		c.fail(err)
		add(entry{name: "plan.json", data: b, kind: jsonText})
	}
}

func snapshots(c *corpus, add func(...entry)) {
	file := filepath.Join(c.temp, "snapshot")
	c.fail(train.WriteSnapshot(nil, file, `{"step":3,"rng":[1,2]}`, []train.Array{
		{Name: "w", Shape: []int{2, 3}, Values: make([]float32, 6)}, {Name: "m.w", Shape: []int{6}, Values: make([]float32, 6)},
	}, map[string][]byte{"state": []byte("version=1\n"), "tokenizer": []byte(`{"model":{"type":"BPE"}}`)}))
	b, err := os.ReadFile(file)
	c.fail(err)
	add(entry{name: "snapshot", data: b, kind: snapshot})
}

// run calls the command line, whose results are samples.
func (c *corpus) run(args ...string) []byte {
	var out, errs bytes.Buffer
	if code := cli.Main(args, strings.NewReader(""), &out, &errs); code != 0 {
		c.fail(&commandError{args, errs.String()})
	}
	return out.Bytes()
}

// A commandError is a command that should have succeeded.
type commandError struct {
	args []string
	text string
}

func (e *commandError) Error() string { return strings.Join(e.args, " ") + ": " + e.text }

// checkpoints has the folder that saves a small model with its cache, and one of
// an older version.
func checkpoints(c *corpus, add func(...entry)) {
	dir := filepath.Join(c.temp, "saved")
	c.run("checkpoint", "save", filepath.Join(c.root, "internal/model/quant/testdata/gptq4"), dir, "--quiet")
	add(seal(c.saved(dir))...)
	for _, e := range c.glob("internal/memory/checkpoint/testdata/legacy.meta") {
		add(entry{name: "checkpoint.meta", data: e.data, kind: plainText})
	}
}

func networkConfigs(c *corpus, add func(...entry)) {
	for _, name := range config.Profiles() {
		p, err := config.Profile(name)
		c.fail(err)
		add(entry{name: "config.json", data: p.JSON(), kind: jsonText})
	}
}

func graphTexts(c *corpus, add func(...entry)) {
	for _, x := range c.goldenCases("graph.json") {
		if p, err := graph.Parse(x["plan"]); err == nil {
			add(entry{name: "graph.txt", data: []byte(p.String()), kind: plainText})
		}
	}
}

func schedules(_ *corpus, add func(...entry)) {
	add(entry{name: "schedule.txt", kind: plainText, data: []byte("block 8 warmup 1\nnode \"a b\" stage 0 tokens 12 first 1 late 7/3\nedge \"a b\" -> c.in rate 3/2 hold 0 prefill 4 capacity 8 least 8\ncall \"a b\" 3")})
}

// importances has a matrix in both formats.
func importances(c *corpus, add func(...entry)) {
	m := &convert.Matrix{}
	for _, name := range []string{"blk.0.attn_q.weight", "blk.0.ffn_down.weight"} {
		c.fail(m.Add(name, 1, []float32{1, 2, 3, 4}, 4))
	}
	file := filepath.Join(c.temp, "imatrix")
	c.fail(m.Write(file))
	b, err := os.ReadFile(file)
	c.fail(err)
	add(entry{name: "imatrix.gguf", data: b, kind: gguf})
	old := le.AppendUint32(nil, 1)
	old = append(le.AppendUint32(old, 6), "blk.0."...)
	old = le.AppendUint32(le.AppendUint32(old, 2), 2)
	old = le.AppendUint32(le.AppendUint32(old, 0x3f800000), 0x40000000)
	old = append(le.AppendUint32(le.AppendUint32(old, 2), 4), "wiki"...)
	add(entry{name: "imatrix.dat", data: old})
}

// discard drops what a reader prints.
var discard = io.Discard

// raw returns a JSON value, or nil.
func raw(b []byte, key string) json.RawMessage {
	var x map[string]json.RawMessage
	if json.Unmarshal(b, &x) != nil {
		return nil
	}
	return x[key]
}
