package tape_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/tape"

	"atenia/tensor"
)

// ignored is the label of a row that is not counted, as torch has it.
const ignored = -100

// A fixture is one case of the family "train".
type fixture struct {
	Hyper struct {
		LR, Beta1, Beta2, Eps float64
		WeightDecay           float64 `json:"weight_decay"`
		LoraRank              int     `json:"lora_rank"`
		LoraAlpha             float64 `json:"lora_alpha"`
	}
	Decay   []string
	Batches []struct {
		IDs    [][]int32 `json:"input_ids"`
		Labels [][]int32
	}
	Loss     float64
	GradNorm float64 `json:"grad_norm"`
	AuxLoss  float64 `json:"aux_loss"`
	AuxCoef  float64 `json:"aux_coef"`
	Runs     map[string]struct {
		Clip       *float64
		Losses     []float64
		GradNorms  []float64 `json:"grad_norms"`
		ParamNorms []float64 `json:"param_norms"`
		Files      map[string]string
	}
	Lora struct {
		Loss      float64
		Losses    []float64
		GradNorms []float64 `json:"grad_norms"`
	}
}

// batch returns batch k in our form: row t predicts label t+1, the last row of
// a document nothing.
func (f *fixture) batch(k int) *tape.Batch {
	b := &tape.Batch{}
	for i, ids := range f.Batches[k].IDs {
		b.Tokens = append(b.Tokens, ids...)
		b.Labels = append(append(b.Labels, f.Batches[k].Labels[i][1:]...), ignored)
		b.Lens = append(b.Lens, len(ids))
	}
	return b
}

// limits are what may be off.
type limits struct {
	loss           float64 // absolute
	grad, norm     float64 // of a tensor's largest value; relative
	rms, far, most float64 // weights: root mean square, share off by more than 1e-5, largest error over 2·lr·steps
}

var (
	limits64 = limits{loss: 1e-10, grad: 6e-8, norm: 1e-9, rms: 1e-6, far: 1e-3, most: 1e-2}
	limits32 = limits{loss: 5e-5, grad: 1e-4, norm: 5e-5, rms: 5e-6, far: 1e-3, most: 1}
)

func TestGoldenTrain(t *testing.T) {
	root := golden.Family(t, "train")
	for _, name := range golden.Dirs(t, root) {
		dir := filepath.Join(root, name)
		t.Run(name+"/float64", func(t *testing.T) { t.Parallel(); trainCase[float64](t, dir, limits64) })
		t.Run(name+"/float32", func(t *testing.T) { t.Parallel(); trainCase[float32](t, dir, limits32) })
	}
}

func trainCase[F tape.Float](t *testing.T, dir string, tol limits) {
	var f fixture
	golden.JSON(t, filepath.Join(dir, "fixture.json"), &f)
	open := func(t *testing.T) *learner[F] { return openLearner[F](t, dir, &f, tol) }
	t.Run("gradients", func(t *testing.T) { open(t).gradients(filepath.Join(dir, "grads.safetensors"), f.Loss, f.GradNorm) })
	if f.AuxCoef != 0 {
		t.Run("balance", func(t *testing.T) {
			l := open(t)
			l.m.Balance = f.AuxCoef
			l.gradients(filepath.Join(dir, "grads_aux.safetensors"), f.Loss+f.AuxCoef*f.AuxLoss, 0)
		})
	}
	for name, run := range f.Runs {
		t.Run(name, func(t *testing.T) {
			l := open(t)
			for k := range run.Losses {
				loss := l.step(k, run.Clip)
				l.near("loss", loss, run.Losses[k], tol.loss)
				l.near("norm of the gradient", l.norm, run.GradNorms[k], tol.norm*run.GradNorms[k])
				if path := run.Files[fmt.Sprint(k+1)]; path != "" {
					l.weights(filepath.Join(dir, path), k+1)
				}
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "lora")); err == nil {
		t.Run("lora", func(t *testing.T) { loraCase[F](t, filepath.Join(dir, "lora"), open(t)) })
	}
}

func loraCase[F tape.Float](t *testing.T, dir string, l *learner[F]) {
	l.attach(filepath.Join(dir, "adapter_model.safetensors"))
	l.gradients(filepath.Join(dir, "grads.safetensors"), l.f.Lora.Loss, l.f.Lora.GradNorms[0])
	for k, want := range l.f.Lora.Losses {
		l.near("loss", l.step(k, nil), want, l.tol.loss)
		l.near("norm of the gradient", l.norm, l.f.Lora.GradNorms[k], l.tol.norm*l.f.Lora.GradNorms[k])
	}
	l.weights(filepath.Join(dir, fmt.Sprintf("step%d.safetensors", len(l.f.Lora.Losses))), len(l.f.Lora.Losses))
}

// A learner is a model with the few lines of AdamW that the fixtures describe.
type learner[F tape.Float] struct {
	t      *testing.T
	f      *fixture
	tol    limits
	model  *compile.Model
	params *tape.Params[F]
	m      *tape.Model[F]
	tape   *grad.Tape[F]
	first  map[string][]F // moments
	second map[string][]F
	steps  int
	norm   float64
}

func openLearner[F tape.Float](t *testing.T, dir string, f *fixture, tol limits) *learner[F] {
	t.Helper()
	d, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	l := &learner[F]{t: t, f: f, tol: tol, first: map[string][]F{}, second: map[string][]F{}}
	l.model, err = compile.Compile(d, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l.params, err = tape.NewParams[F](l.model, func(name string) (tensor.View, bool) {
		x, ok := d.Tensor(name)
		if !ok {
			return tensor.View{}, false
		}
		return x.View, true
	})
	if err != nil {
		t.Fatal(err)
	}
	l.bind()
	return l
}

func (l *learner[F]) bind() {
	var err error
	if l.m, err = tape.New(l.model, l.params); err != nil {
		l.t.Fatal(err)
	}
	l.tape = grad.New(l.m.Registry(), grad.CheckImmutable())
}

// attach freezes the model and adds the adapter's pairs.
func (l *learner[F]) attach(path string) {
	values := readAll[F](l.t, path)
	l.params.Train(func(*tape.Param[F]) bool { return false })
	for _, a := range values {
		base, ok := strings.CutSuffix(a.Name, ".lora_A.weight")
		if !ok {
			continue
		}
		var b *tape.Param[F]
		for _, q := range values {
			if q.Name == base+".lora_B.weight" {
				b = q
			}
		}
		target := strings.TrimPrefix(base, "base_model.model.") + ".weight"
		if err := l.params.Attach(target, tape.LoRA[F]{A: a, B: b, Scale: l.f.Hyper.LoraAlpha / float64(l.f.Hyper.LoraRank)}); err != nil {
			l.t.Fatal(err)
		}
	}
	l.bind()
}

func readAll[F tape.Float](t *testing.T, path string) (out []*tape.Param[F]) {
	t.Helper()
	d, err := file.OpenSafetensors(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, x := range d.Tensors {
		v, err := compile.WeightToF32(x.View)
		if err != nil {
			t.Fatal(err)
		}
		f, _ := v.F32()
		p := &tape.Param[F]{Name: x.Name, Shape: append(tensor.Shape(nil), v.Shape...), Value: make([]F, len(f))}
		for i := range f {
			p.Value[i] = F(f[i])
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		t.Fatalf("%s holds no tensors", path)
	}
	return out
}

// run records batch k and goes back; gradients are in the parameters.
func (l *learner[F]) run(k int) float64 {
	l.t.Helper()
	l.params.ZeroGrad()
	l.tape.Reset()
	loss, err := l.m.Loss(l.tape, l.f.batch(k))
	if err != nil {
		l.t.Fatal(err)
	}
	v := float64(l.tape.Value(loss)[0])
	if err := l.tape.Backward(loss); err != nil {
		l.t.Fatal(err)
	}
	sum := 0.0
	for _, p := range l.params.All() {
		for _, g := range p.Grad {
			sum += float64(g) * float64(g)
		}
	}
	l.norm = math.Sqrt(sum)
	return v
}

func (l *learner[F]) step(k int, clip *float64) float64 {
	l.t.Helper()
	loss := l.run(k)
	scale := 1.0
	if clip != nil {
		scale = min(1, *clip/(l.norm+1e-6))
	}
	l.steps++
	h := &l.f.Hyper
	c1, c2 := 1-math.Pow(h.Beta1, float64(l.steps)), 1-math.Pow(h.Beta2, float64(l.steps))
	for _, p := range l.params.All() {
		if p.Frozen() {
			continue
		}
		if l.first[p.Name] == nil {
			l.first[p.Name], l.second[p.Name] = make([]F, len(p.Value)), make([]F, len(p.Value))
		}
		m, v := l.first[p.Name], l.second[p.Name]
		decay := 1.0
		if len(p.Shape) > 1 {
			decay = 1 - h.LR*h.WeightDecay
		}
		for i := range p.Value {
			g := float64(p.Grad[i]) * scale
			m[i] = F(h.Beta1*float64(m[i]) + (1-h.Beta1)*g)
			v[i] = F(h.Beta2*float64(v[i]) + (1-h.Beta2)*g*g)
			p.Value[i] = F(float64(p.Value[i])*decay - h.LR*(float64(m[i])/c1)/(math.Sqrt(float64(v[i])/c2)+h.Eps))
		}
	}
	return loss
}

func (l *learner[F]) near(what string, got, want, tol float64) {
	l.t.Helper()
	if d := math.Abs(got - want); !(d <= tol) {
		l.t.Errorf("step %d: %s is %.15g, want %.15g: off by %.3g with a tolerance of %.3g", l.steps, what, got, want, d, tol)
	}
}

// gradients compares loss and gradients of the first batch. A norm of 0 is not
// compared.
func (l *learner[F]) gradients(path string, loss, norm float64) {
	l.t.Helper()
	l.near("loss", l.run(0), loss, l.tol.loss)
	if norm != 0 {
		l.near("norm of the gradient", l.norm, norm, l.tol.norm*norm)
	}
	seen := 0
	for _, want := range readAll[F](l.t, path) {
		p, ok := l.params.Get(want.Name)
		if !ok || !p.Shape.Equal(want.Shape) {
			l.t.Errorf("there is no parameter %s %v", want.Name, want.Shape)
			continue
		}
		seen++
		top, off := 0.0, 0.0
		for i, w := range want.Value {
			top = max(top, math.Abs(float64(w)))
			off = max(off, math.Abs(float64(w)-float64(p.Grad[i])))
		}
		if !(off <= l.tol.grad*top) {
			l.t.Errorf("gradient of %s is off by %.3g, its largest value is %.3g: %.3g of it, with a tolerance of %.3g", p.Name, off, top, off/top, l.tol.grad)
		}
	}
	if norm != 0 && seen < trained(l.params) {
		l.t.Errorf("the fixture has gradients of %d tensors, the model of %d", seen, trained(l.params))
	}
}

func trained[F tape.Float](p *tape.Params[F]) (n int) {
	for _, q := range p.All() {
		if !q.Frozen() {
			n++
		}
	}
	return n
}

func (l *learner[F]) weights(path string, steps int) {
	l.t.Helper()
	sum, far, most, n := 0.0, 0, 0.0, 0
	for _, want := range readAll[F](l.t, path) {
		p, ok := l.params.Get(want.Name)
		if !ok {
			l.t.Errorf("there is no parameter %s", want.Name)
			continue
		}
		for i, w := range want.Value {
			d := math.Abs(float64(w) - float64(p.Value[i]))
			sum += d * d
			if d > 1e-5 {
				far++
			}
			most = max(most, d)
			n++
		}
	}
	if rms := math.Sqrt(sum / float64(n)); !(rms <= l.tol.rms) {
		l.t.Errorf("%s: weights are off by %.3g on average, want %.3g", filepath.Base(path), rms, l.tol.rms)
	}
	if share := float64(far) / float64(n); !(share <= l.tol.far) {
		l.t.Errorf("%s: %.3g of the weights are off by more than 1e-5, want %.3g", filepath.Base(path), share, l.tol.far)
	}
	if limit := l.tol.most * 2 * l.f.Hyper.LR * float64(steps); !(most <= limit) {
		l.t.Errorf("%s: a weight is off by %.3g, want %.3g", filepath.Base(path), most, limit)
	}
}
