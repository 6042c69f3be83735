package fit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"atenia/grad"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/store/durable"
	"atenia/internal/tape"
	"atenia/internal/train"
	"atenia/internal/train/data"
	"atenia/internal/train/offload"
	"atenia/tensor"

	"github.com/zeebo/xxh3"
)

// ModelOptions configure computation and export. The zero value works.
type ModelOptions struct {
	Threads   *grad.Threads // nil uses a single thread
	Recompute bool          // recompute layers in the backward pass instead of keeping activations
	BF16      bool          // export parameters as bfloat16
	// Balance is the weight of the auxiliary loss of mixtures of experts in
	// gradients; [Model.Loss] excludes it.
	Balance float64
	// Paged leaves parameters where they are until a block of the model needs them:
	// see [train.Pageable].
	Paged bool
	// Room is where a paged model takes memory, and Rows are the most rows of its
	// batches.
	Room *offload.Room
	Rows int
	// Fill gives a batch the rows of images and sounds ([data.Set.Fill]); nil for
	// texts. Documents are the most of a batch with sounds, or of an encoder's.
	Fill      func(dst *tape.Batch, b *data.Batch) error
	Documents int
	// Temperature divides the cosines in the loss of an encoder; 0 = [tape.Temperature].
	Temperature float64
	// GPTQZeros is the version of zero points of the folder, "" if it or its digits tell.
	GPTQZeros string
}

// A Model is a compiled model with parameters to train. It must be used by one
// goroutine at a time.
type Model struct {
	opt      ModelOptions
	config   []byte // config.json
	dir      string // that it was read from; "" = none
	warning  string
	compiled *compile.Model
	params   *tape.Params[float32]
	model    *tape.Model[float32]
	trained  []*train.Param
	record   *grad.Tape[float32] // for gradients
	compute  *grad.Tape[float32] // for losses without gradients
	batch    tape.Batch
	recorded grad.Ref // the loss of the batch
	share    [1]float32
	dropout  bool   // low-rank pairs have dropout
	pages    *pages // nil: the parameters are in memory
}

// New creates a model from a configuration. All parameters are zero: see
// [Model.Init].
func New(config []byte, opt ModelOptions) (*Model, error) {
	d := &file.Description{Path: "config.json", Format: file.HuggingFace, Config: config}
	return build(d, nil, opt)
}

// openModel creates a model from a folder, whose tensors it copies.
func openModel(dir string, opt ModelOptions) (m *Model, err error) {
	d, err := file.Open(dir, file.GPTQZeros(opt.GPTQZeros))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil || !opt.Paged {
			err = errors.Join(err, d.Close())
		}
	}()
	if err := d.HasZeros(opt.GPTQZeros); err != nil {
		return nil, err
	}
	if m, err = build(d, compile.Find(d), opt); err == nil {
		m.warning = d.UntoldZeros()
	}
	return m, err
}

// Warning returns what a user should know of the folder that was opened, "" = nothing.
func (m *Model) Warning() string { return m.warning }

func build(d *file.Description, find func(string) (tensor.View, bool), opt ModelOptions) (*Model, error) {
	m := &Model{opt: opt, config: d.Config}
	if find != nil {
		m.dir = d.Path
	}
	var err error
	if m.compiled, err = compile.Compile(d, compile.Options{}); err != nil {
		return nil, err
	}
	if opt.Paged {
		m.pages = newPages(d, find)
		m.params, err = tape.NewPagedParams[float32](m.compiled, m.pages.shapes())
	} else {
		m.params, err = tape.NewParams[float32](m.compiled, find)
	}
	if err != nil {
		return nil, err
	}
	return m, m.bind()
}

// bind collects the trained parameters with their decay.
func (m *Model) bind() (err error) {
	if m.model, err = tape.New(m.compiled, m.params); err != nil {
		return err
	}
	m.model.Options = tape.Options[float32]{Recompute: m.opt.Recompute, Threads: m.opt.Threads, Rows: m.opt.Rows, Documents: m.opt.Documents}
	threads := []grad.Option{grad.WithThreads(m.opt.Threads)}
	if m.opt.Threads == nil {
		threads = nil
	}
	m.record = grad.New(m.model.Registry(), threads...)
	m.compute = grad.New(m.model.Registry(), append(threads, grad.Recording(false))...)
	m.trained = nil
	for _, p := range m.params.All() {
		if !p.Frozen() {
			m.trained = append(m.trained, &train.Param{Name: p.Name, Shape: p.Shape, Value: p.Value, Grad: p.Grad, Table: isTable(p.Name)})
		}
	}
	if m.pages != nil {
		m.model.Alloc = m.allocEdge
		m.bindPages()
	}
	return nil
}

// isTable reports whether a matrix is indexed by token.
func isTable(name string) bool {
	return strings.Contains(name, "embed") || strings.Contains(name, "lm_head")
}

// Init initializes all parameters: matrices normally with a standard deviation,
// which is divided by √(2·layers) for those that write to the residual stream,
// so that its variance does not grow with depth (Radford and others, "Language
// models are unsupervised multitask learners", 2019); norms to one, biases to
// zero. Each tensor depends only on the seed and its name.
func (m *Model) Init(seed uint64, deviation float64) {
	if m.pages != nil {
		m.pages.first = func(p *tape.Param[float32], dst []float32) error { m.initial(p, dst, seed, deviation); return nil }
		return
	}
	for _, p := range m.params.All() {
		m.initial(p, p.Value, seed, deviation)
	}
}

func (m *Model) initial(p *tape.Param[float32], dst []float32, seed uint64, deviation float64) {
	switch {
	case strings.HasSuffix(p.Name, ".bias"):
		clear(dst)
	case len(p.Shape) < 2:
		for i := range dst {
			dst[i] = 1
		}
	default:
		s := deviation
		if strings.Contains(p.Name, ".o_proj.") || strings.Contains(p.Name, ".down_proj.") {
			s /= math.Sqrt(float64(2 * len(m.compiled.Config.Layers)))
		}
		rng := rand.New(rand.NewPCG(seed, xxh3.HashString(p.Name)))
		for i := range dst {
			dst[i] = float32(s * rng.NormFloat64())
		}
	}
}

// Params implements [train.Learner].
func (m *Model) Params() []*train.Param { return m.trained }

// Loss implements [train.Learner]: it returns the mean cross-entropy of a batch.
func (m *Model) Loss(b *data.Batch) (float64, error) {
	if m.pages != nil {
		return m.pagedLoss(b)
	}
	m.compute.Reset()
	m.model.Balance = 0
	loss, err := m.loss(m.compute, b, 0)
	if err != nil {
		return 0, err
	}
	return float64(m.compute.Value(loss)[0]), nil
}

// Backward implements [train.Learner].
func (m *Model) Backward(b *data.Batch, share float64) (float64, error) {
	if m.pages != nil {
		return m.pagedBackward(b, share)
	}
	loss, err := m.Forward(b)
	if err != nil {
		return 0, err
	}
	return loss, m.Back(share)
}

// Forward is the first half of [Model.Backward], which records; Back is the
// second.
func (m *Model) Forward(b *data.Batch) (loss float64, err error) {
	m.record.Reset()
	m.model.Balance = m.opt.Balance
	if m.recorded, err = m.loss(m.record, b, m.seed(b.Tokens)); err != nil {
		return 0, err
	}
	return float64(m.record.Value(m.recorded)[0]), nil
}

// Back adds the gradients of share times the loss that Forward returned.
func (m *Model) Back(share float64) error {
	m.share[0] = float32(share)
	return m.record.BackwardFrom(m.recorded, m.share[:])
}

func (m *Model) loss(t *grad.Tape[float32], b *data.Batch, seed uint64) (grad.Ref, error) {
	if err := m.take(b, seed); err != nil {
		return 0, err
	}
	return m.model.Loss(t, &m.batch)
}

// take makes a batch of tokens that of the model, with what its documents show.
func (m *Model) take(b *data.Batch, seed uint64) error {
	m.batch = tape.Batch{Tokens: b.Tokens, Labels: b.Labels, Lens: b.Lens, Seed: seed, Images: m.batch.Images[:0], Places: m.batch.Places[:0], Sources: m.batch.Sources[:0]}
	if len(b.Answers)+len(b.Targets) > 0 {
		m.batch.Answers, m.batch.Targets, m.batch.Temperature = b.Answers, b.Targets, m.opt.Temperature
	}
	if len(b.Types) > 0 {
		m.batch.Types = b.Types
	}
	var err error
	if m.opt.Fill != nil {
		err = m.opt.Fill(&m.batch, b)
	}
	if len(m.batch.Places) == 0 { // no images
		m.batch.Places = nil
	}
	if len(m.batch.Sources) == 0 {
		m.batch.Sources = nil
	}
	return err
}

// Met implements [train.grader].
func (m *Model) Met() (n int, ok bool) { return m.model.Met() }

// Family returns the name of the model's family, such as "llama".
func (m *Model) Family() string { return m.compiled.Family }

// Vocabulary returns the number of tokens.
func (m *Model) Vocabulary() int { return m.compiled.Config.Vocab }

// Size returns the number of values in all parameters, and how many of them are
// trained.
func (m *Model) Size() (all, trained int) {
	for _, p := range m.params.All() {
		all += p.Len()
		if !p.Frozen() {
			trained += p.Len()
		}
	}
	return all, trained
}

// frozenEncoder returns the tensors of the model's encoder of images or sounds, as its
// folder has them, and a function that closes them.
func (m *Model) frozenEncoder() (sources []file.TensorSource, done func() error, err error) {
	tower := m.compiled.Plans.VisionEncode
	if tower == nil || m.dir == "" {
		return nil, func() error { return nil }, nil
	}
	d, err := file.Open(m.dir)
	if err != nil {
		return nil, nil, err
	}
	listed := map[string]bool{}
	for _, w := range tower.Plan.Weights {
		for _, name := range m.compiled.Weights[w.Name].Sources {
			t, ok := d.Tensor(name)
			if _, trained := m.params.Get(name); trained || listed[name] || !ok {
				continue
			}
			listed[name] = true
			sources = append(sources, file.SourceOf(name, t.View))
		}
	}
	return sources, d.Close, nil
}

// Export implements [train.Exporter]: it writes config.json and
// model.safetensors, with the tensors of a tower that is not trained, and those of
// modules beside them.
func (m *Model) Export(fsys durable.FS, dir string) (err error) {
	sources, done, err := m.frozenEncoder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	for _, p := range m.params.All() {
		if m.pages != nil {
			sources = append(sources, m.pagedSource(p))
			continue
		}
		s := file.SourceOf(p.Name, tensor.FromF32(p.Shape, p.Value))
		if m.opt.BF16 {
			s.DType = tensor.BF16
			s.Write = func(w io.Writer) error { return writeBF16(w, p.Value) }
		}
		sources = append(sources, s)
	}
	if err := file.WriteWeights(fsys, dir, map[string]string{"format": "pt"}, sources); err != nil {
		return err
	}
	return durable.ReplaceIn(durable.Default(fsys), filepath.Join(dir, "config.json"), func(w io.Writer) error {
		_, err := w.Write(file.PlainConfig(m.config)) // the matrices are no longer packed
		return err
	})
}

func writeBF16(w io.Writer, x []float32) error {
	b := make([]byte, 0, 1<<16)
	for len(x) > 0 {
		n := min(len(x), cap(b)/2)
		b = b[:0]
		for _, v := range x[:n] {
			b = binary.LittleEndian.AppendUint16(b, tensor.F32ToBF16(v))
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		x = x[n:]
	}
	return nil
}

// errSize is returned for sizes that do not make a valid model.
var errSize = errors.New("bad model sizes")

// Sizes are the sizes of a new llama model.
type Sizes struct {
	Vocabulary, Hidden, Layers, Heads, KVHeads, FFN, Context int
	RopeTheta, NormEps                                       float64
	Untied                                                   bool // the head is a separate matrix, not tied to the embedding
	Stop                                                     int  // token that ends a text
}

// Config returns the config.json of a llama. Errors match [errSize].
func (s Sizes) Config() ([]byte, error) {
	if s.Heads < 1 || s.KVHeads < 1 || s.Heads%s.KVHeads != 0 || s.Hidden%(2*s.Heads) != 0 || min(s.Vocabulary, s.Hidden, s.Layers, s.FFN, s.Context) < 1 {
		return nil, fmt.Errorf("%w: %+v", errSize, s)
	}
	return fmt.Appendf(nil, `{
  "architectures": ["LlamaForCausalLM"],
  "model_type": "llama",
  "vocab_size": %d,
  "hidden_size": %d,
  "intermediate_size": %d,
  "num_hidden_layers": %d,
  "num_attention_heads": %d,
  "num_key_value_heads": %d,
  "head_dim": %d,
  "max_position_embeddings": %d,
  "rope_theta": %v,
  "rms_norm_eps": %v,
  "hidden_act": "silu",
  "tie_word_embeddings": %v,
  "attention_bias": false,
  "mlp_bias": false,
  "eos_token_id": %d
}
`, s.Vocabulary, s.Hidden, s.FFN, s.Layers, s.Heads, s.KVHeads, s.Hidden/s.Heads, s.Context, s.RopeTheta, s.NormEps, !s.Untied, s.Stop), nil
}
