package engine

import (
	"path/filepath"
	"sync"

	"atenia/internal/engine/residence"
	"atenia/internal/exec"
	"atenia/internal/memory/place"
	"atenia/internal/memory/ring"
	"atenia/internal/model/compile"
	"atenia/internal/model/embedded"
	"atenia/internal/model/file"
)

// A footprint is what a compiled model takes, as far as headers say it: weights,
// and beside them the caches and buffers that an executor would have. Placing a
// model asks nothing else of it.
type footprint struct {
	Path    string // that the model was opened with, or the embedded one's name
	model   *compile.Model
	headers exec.Weights   // types and shapes
	tensors []place.Tensor // weights, in the order of use; none without files
	files   []place.Part
	paths   []string                 // of the files; none of the embedded model
	largest string                   // the path of the largest file
	floats  []ring.CodedSource       // weights that may be streamed in coded form
	tower   int64                    // bytes of the weights of an encoder of images or sounds
	gguf    func() map[string]string // see ggufNames
	like    string                   // the model whose runs tell how long this one takes; "" = itself
}

// newFootprint reads the headers of a model's files. Afterwards they may be closed.
func newFootprint(path string, m *compile.Model, d *file.Description) *footprint {
	f := &footprint{Path: path, model: m, headers: residence.Headers(m, d), gguf: sync.OnceValue(func() map[string]string { return ggufNames(m) })}
	if len(d.Tensors) > 0 {
		f.tensors, f.floats, f.tower = residence.Tensors(m, d), residence.Floats(m, d), residence.TowerBytes(m, d)
	}
	most := int64(-1)
	for _, part := range d.Parts {
		if d.Path != embedded.Name {
			if f.paths = append(f.paths, part.Path); part.Bytes > most {
				f.largest, most = part.Path, part.Bytes
			}
		}
		f.files = append(f.files, place.Part{Name: filepath.Base(part.Path), Bytes: part.Bytes})
	}
	return f
}

// What a process takes beside everything that is placed: code, stacks, heap,
// and the tokenizer, which grows with the vocabulary.
const (
	runtimeReserve   = 64 << 20 // at least
	programReserve   = 40 << 20
	perTokenOfVocab  = 320 // bytes: text, merges and the tables that find them
	vocabularyWeight = "token_embd"
)

// runtime estimates it. An open model knows better and says so in its budget.
func (f *footprint) runtime() int64 {
	n := int64(0)
	if w, ok := f.headers[vocabularyWeight]; ok {
		n = perTokenOfVocab * int64(w.Shape.Rows())
	}
	return max(runtimeReserve, programReserve+n)
}

// stateBytes returns the bytes of each state of a sequence of full length, and
// the sum: whole pages, and two that are begun. A state with a window keeps
// that and what one step adds.
func (f *footprint) stateBytes(c *PlaceConfig) (each []int64, total int64) {
	for _, d := range f.model.Plans.Prefill.Plan.States {
		n := int64(d.SizeBytes)
		if page := int(d.PageTokens); page > 0 {
			tokens := c.Exec.Context
			if d.Window > 0 {
				tokens = min(tokens, int(d.Window)+c.Exec.MaxTokens)
			}
			n *= int64((tokens+page-1)/page + 2)
		}
		each = append(each, n)
		total += n
	}
	return each, total
}

// Need returns what an executor takes beside the weights.
func (f *footprint) Need(c exec.Config) (exec.Need, error) {
	return exec.Measure(&f.model.Plans, f.headers, c)
}

// bytes returns the bytes of all weights.
func (f *footprint) bytes() (n int64) {
	for i := range f.tensors {
		n += f.tensors[i].Bytes
	}
	return n
}

// ReadPart returns the part of a weight that a step of so many tokens reads: of experts what
// they choose, if all are chosen equally often, and all of any other.
func (p *Plan) ReadPart(name string, tokens int) float64 {
	for i := range p.footprint.tensors {
		if t := &p.footprint.tensors[i]; t.Name == name && t.Class == place.Expert {
			return t.Chosen(tokens)
		}
	}
	return 1
}

// products returns how many values of matrices one token is multiplied with.
func (f *footprint) products() (n int64) {
	for i := range f.tensors {
		if t := &f.tensors[i]; t.Multiplied() {
			n += int64(f.operations(t)) / 2
		}
	}
	return n
}

// operations returns how many operations a weight's products take for a token: a multiply-add
// is two.
func (f *footprint) operations(t *place.Tensor) float64 {
	size, _ := f.headers[t.Name].Shape.Size()
	if t.Class == place.Expert { // those that a token chooses
		size = int(float64(size) * t.Uses)
	}
	return 2 * float64(size)
}
