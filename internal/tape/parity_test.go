package tape_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/tape"
	"atenia/tensor"
)

// A parity is the manifest of one reference model.
type parity struct {
	Sequences []struct {
		Name       string
		Tokens     []int32
		Logits     string
		Positions  string `json:"position_ids"`
		Embeds     string `json:"image_embeds"`
		Deepstack0 string
		Deepstack1 string
		Encoder    string
		Types      []int32
		Vectors    map[string]string
		Mean       string `json:"mean_pooled"`
		First      string `json:"cls"`
		Last       string
	}
	Tolerance struct {
		MaxAbs float64 `json:"max_abs"`
	}
}

// entropy is −ln softmax(row)[label].
func entropy(row []float32, label int32) float64 {
	top, sum := math.Inf(-1), 0.0
	for _, v := range row {
		top = max(top, float64(v))
	}
	for _, v := range row {
		sum += math.Exp(float64(v) - top)
	}
	return top + math.Log(sum) - float64(row[label])
}

// TestGoldenParity records every model that compiles and compares losses with
// those of the reference logits: whole sequences, all of them in one batch, and
// single rows, with arbitrary labels.
func TestGoldenParity(t *testing.T) {
	root := golden.Family(t, "parity")
	seen := 0
	for _, name := range golden.Dirs(t, root) {
		folder := filepath.Join(root, name)
		d, err := file.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		m, err := compile.Compile(d, compile.Options{})
		if err != nil {
			t.Logf("%s: %v", name, err) // what compiles is tested where it runs
			continue
		}
		seen++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if m.Config.Encoder != nil {
				encodesAs(t, folder, m, d)
				return
			}
			recordsAs(t, folder, m, d)
		})
	}
	if seen == 0 {
		t.Fatal("no case compiles")
	}
}

// senses returns what the reference's towers made of the images of a sequence, or of
// its sound.
func (f *parity) senses(t *testing.T, folder string, c *compile.Config, i int) *tape.Batch {
	s, b := &f.Sequences[i], &tape.Batch{}
	npy := func(path string) *golden.Array { return golden.NPY(t, filepath.Join(folder, path)) }
	if c.Audio != nil { // all sequences are of one sound
		b.Sources = [][]float32{npy(f.Sequences[0].Encoder).F32}
	}
	if s.Positions != "" {
		p := npy(s.Positions)
		row, axis := 1, len(p.I32)/3 // [3, rows]
		if p.Shape[0] != 3 {
			row, axis = 3, 1
		}
		for k := range s.Tokens {
			b.Places = append(b.Places, [3]int32{p.I32[k*row], p.I32[k*row+axis], p.I32[k*row+2*axis]})
		}
	}
	if s.Embeds == "" {
		return b
	}
	rows := npy(s.Embeds).F32
	var deep [][]float32
	for _, path := range []string{s.Deepstack0, s.Deepstack1} {
		if path != "" {
			deep = append(deep, npy(path).F32)
		}
	}
	for at := 0; at < len(s.Tokens) && len(rows) > 0; at++ {
		if id := int(s.Tokens[at]); id != c.Vision.ImageToken && (c.Vision.VideoToken == 0 || id != c.Vision.VideoToken) {
			continue
		}
		p := tape.Image{At: at}
		for at < len(s.Tokens) && s.Tokens[at] == s.Tokens[p.At] && p.Len*c.Hidden < len(rows) {
			p.Len, at = p.Len+1, at+1
		}
		p.Rows, rows = rows[:p.Len*c.Hidden], rows[p.Len*c.Hidden:]
		for k := range deep {
			p.Deep, deep[k] = append(p.Deep, deep[k][:len(p.Rows)]), deep[k][len(p.Rows):]
		}
		b.Images = append(b.Images, p)
	}
	if len(rows) > 0 || len(b.Images) == 0 {
		t.Fatalf("%d values of images are left", len(rows))
	}
	return b
}

func recordsAs(t *testing.T, folder string, m *compile.Model, d *file.Description) {
	r := open[float32](t, m, finder(d), nil)
	var f parity
	golden.JSON(t, filepath.Join(folder, "fixture.json"), &f)
	// An error of so much in every logit is at most twice that in a loss.
	near := func(what string, got, want float64) {
		t.Helper()
		if d := math.Abs(got - want); !(d <= 2*f.Tolerance.MaxAbs) {
			t.Errorf("%s: the loss is %v, that of the reference's logits %v", what, got, want)
		}
	}
	all, sum := &tape.Batch{}, 0.0
	for i, s := range f.Sequences {
		seen := f.senses(t, folder, &m.Config, i)
		logits := golden.NPY(t, filepath.Join(folder, s.Logits))
		n := len(s.Tokens)
		b, part := &tape.Batch{Tokens: s.Tokens, Labels: make([]int32, n), Lens: []int{n}, Images: seen.Images, Places: seen.Places, Sources: seen.Sources}, 0.0
		for i := range b.Labels {
			b.Labels[i] = int32(i*31+7) % int32(logits.Shape[1])
			part += entropy(logits.Row(i), b.Labels[i])
		}
		r.batch = b
		near(s.Name, r.loss(), part/float64(n))
		for _, row := range []int{0, n / 2, n - 1} {
			one := &tape.Batch{Tokens: s.Tokens, Labels: make([]int32, n), Lens: b.Lens, Images: seen.Images, Places: seen.Places, Sources: seen.Sources}
			for i := range one.Labels {
				one.Labels[i] = ignored
			}
			one.Labels[row] = b.Labels[row]
			r.batch = one
			near(s.Name, r.loss(), entropy(logits.Row(row), b.Labels[row]))
		}
		for _, p := range seen.Images {
			p.At += len(all.Tokens)
			all.Images = append(all.Images, p)
		}
		all.Places, all.Sources = append(all.Places, seen.Places...), append(all.Sources, seen.Sources...)
		all.Tokens, all.Labels, all.Lens = append(all.Tokens, s.Tokens...), append(all.Labels, b.Labels...), append(all.Lens, n)
		sum += part
	}
	r.batch = all
	near("all sequences", r.loss(), sum/float64(len(all.Tokens)))
}

func finder(d *file.Description) func(string) (tensor.View, bool) { return compile.Find(d) }

// TestFamilies compares the gradients of every family's reference model with
// central differences.
func TestFamilies(t *testing.T) {
	root := golden.Family(t, "parity")
	for _, name := range golden.Dirs(t, root) {
		d, err := file.Open(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		m, err := compile.Compile(d, compile.Options{})
		if err != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open[float64](t, m, finder(d), nil)
			r.batch = randomBatch(m.Config.Vocab)
			if e := m.Config.Encoder; e != nil {
				aim(r.batch, e)
			}
			if a := m.Config.Audio; a != nil {
				hear(r.batch, a.Rows, m.Config.Hidden)
			}
			if v := m.Config.Vision; v != nil {
				see(r.batch, len(v.Deepstack), m.Config.Hidden)
			}
			r.checkKinds()
		})
	}
}

// kinds are the parameters with the same name in all layers.
func kinds[F tape.Float](params *tape.Params[F]) (out [][]*tape.Param[F]) {
	at := map[string]int{}
	for _, p := range params.All() {
		name := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, p.Name)
		i, ok := at[name]
		if !ok {
			i = len(out)
			at[name], out = i, append(out, nil)
		}
		out[i] = append(out[i], p)
	}
	return out
}

// checkKinds compares gradients with differences along one direction for every
// kind of parameter.
func (r *trial[F]) checkKinds() {
	r.t.Helper()
	loss, g := r.gradients()
	p := &probe[F]{r: r, g: g, rng: rand.New(rand.NewPCG(5, 6))}
	for _, kind := range kinds(r.params) {
		name := kind[0].Name
		if strings.HasSuffix(name, "e_score_correction_bias") || strings.HasSuffix(name, ".expert_bias") || // only a choice depends on it
			strings.HasSuffix(name, "self.key.bias") || strings.HasSuffix(name, ".k_lin.bias") { // adds the same to all scores of a query
			p.said, p.asked = p.said+1, p.asked+1
			continue
		}
		said, asked := p.said, p.asked
		for range 4 { // some directions hardly change the loss
			if p.along(kind[0].Name, false, kind...); p.said > said {
				break
			}
		}
		p.asked = asked + 1
	}
	if p.worst > tolerance || p.said != p.asked {
		r.t.Errorf("off by %.3g at %s, %d of %d are large enough to be compared", p.worst, p.where, p.said, p.asked)
	}
	r.variants(loss, g)
}
