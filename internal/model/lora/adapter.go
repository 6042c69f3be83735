package lora

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"atenia/internal/model/file"
	"atenia/internal/model/quant"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"
	"atenia/tensor"
)

// The files of an adapter.
const (
	configFile  = "adapter_config.json"
	TensorsFile = "adapter_model.safetensors"
)

// A Pair is the low-rank update of one module's matrix.
type Pair struct {
	Module  string // "model.layers.0.self_attn.q_proj"
	In, Out int    // columns and rows of the matrix
	Turned  bool   // the file has its rows as columns
	Rank    int
	Scale   float64
	A       []float32 // [rank, in]
	B       []float32 // [out, rank]
}

// Tensor returns the name of the matrix in the model's file.
func (p *Pair) Tensor() string { return p.Module + weightSuffix }

// AName returns the name of A in an adapter's file.
func (p *Pair) AName() string { return prefix + p.Module + suffixA }

// BName returns the name of B in an adapter's file.
func (p *Pair) BName() string { return prefix + p.Module + suffixB }

const (
	prefix       = "base_model.model."
	suffixA      = ".lora_A.weight"
	suffixB      = ".lora_B.weight"
	weightSuffix = ".weight"
)

// An Adapter is a list of pairs sorted by module.
type Adapter struct {
	Config
	Pairs []Pair
	// Edited says which keys of the configuration are not as they were when the numbers
	// were written, with both values; "" = none.
	Edited string
	gguf   bool // modules are named as in GGUF files
}

// New creates an adapter for the matrices of a model, [out, in], that the
// configuration targets. It has no effect until trained, because B is zero. A is uniform in
// ±1/√in, like Kaiming's initialization with a = √5, determined by seed and
// module. Errors match [ErrConfig].
func New(c Config, matrices map[string]tensor.Shape, seed uint64) (*Adapter, error) {
	c, err := c.Defaulted()
	if err != nil {
		return nil, err
	}
	match, err := c.Targets.matcher()
	if err != nil {
		return nil, err
	}
	a := &Adapter{Config: c}
	for _, name := range slices.Sorted(maps.Keys(matrices)) {
		s := matrices[name]
		module, ok := strings.CutSuffix(name, weightSuffix)
		if !ok || len(s) != 2 || !match(module) {
			continue
		}
		p := Pair{Module: module, In: s[1], Out: s[0], Turned: c.Turned, Rank: c.Rank}
		if p.Scale, err = c.scale(module, c.Rank); err != nil {
			return nil, err
		}
		if p.Rank > min(p.In, p.Out) {
			return nil, fmt.Errorf("%w: rank %d for %s of shape %v", ErrConfig, p.Rank, name, s)
		}
		p.A, p.B = make([]float32, p.Rank*p.In), make([]float32, p.Out*p.Rank)
		h := fnv.New64a()
		io.WriteString(h, module)
		rng, bound := rand.New(rand.NewPCG(seed, h.Sum64())), 1/math.Sqrt(float64(p.In))
		for i := range p.A {
			p.A[i] = float32((2*rng.Float64() - 1) * bound)
		}
		a.Pairs = append(a.Pairs, p)
	}
	if len(a.Pairs) == 0 {
		return nil, fmt.Errorf("%w: no matrix of the model is targeted", ErrConfig)
	}
	return a, nil
}

// written is the metadata key of the tensors' file with the configuration that they were
// written with: the two files cannot be replaced atomically, and people edit one of them.
// Earlier versions wrote its checksum alone, as checksum.
const (
	written  = "adapter_config"
	checksum = "adapter_config_sha256"
)

// edited returns what of a configuration differs from what the tensors' file says.
func edited(d *file.Description, config []byte) string {
	if text, ok, err := d.Meta.String(written); err == nil && ok {
		return spelling.Changes(settings([]byte(text)), settings(config))
	}
	h := sha256.Sum256(config)
	if sum, ok, err := d.Meta.String(checksum); err == nil && ok && sum != hex.EncodeToString(h[:]) {
		return "it is not as it was written"
	}
	return ""
}

// settings returns the values of a configuration, each as JSON without white space.
func settings(config []byte) map[string]string {
	var all map[string]any
	_ = json.Unmarshal(config, &all) // one that is no object was refused
	out := map[string]string{}
	for key, v := range all {
		b, _ := json.Marshal(v)
		out[spelling.Clip(strconv.Quote(key), 40)] = spelling.Clip(string(b), 40)
	}
	return out
}

// Write writes the adapter's files to a directory, which it creates if needed. A
// nil file system is the operating system's.
func (a *Adapter) Write(fsys durable.FS, dir string) error {
	fsys = durable.Default(fsys)
	if err := fsys.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	config, err := a.encode()
	if err != nil {
		return err
	}
	var tensors []file.TensorSource
	for i := range a.Pairs {
		p := &a.Pairs[i]
		tensors = append(tensors,
			file.SourceOf(p.AName(), tensor.FromF32(tensor.Shape{p.Rank, p.In}, p.A)),
			file.SourceOf(p.BName(), tensor.FromF32(tensor.Shape{p.Out, p.Rank}, p.B)))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, config); err != nil {
		return err
	}
	notes := map[string]string{"format": "pt", written: compact.String()}
	// New numbers beside the configuration of others would be read with its scale.
	path := filepath.Join(dir, configFile)
	set := func(config []byte) error {
		return durable.ReplaceIn(fsys, path, func(w io.Writer) error {
			_, err := w.Write(config)
			return err
		})
	}
	var was []byte
	if st, err := fsys.Stat(path); err == nil && st.Mode().IsRegular() && st.Size() <= most {
		if was, err = fsys.ReadFile(path); err != nil {
			return err
		}
	}
	others := was != nil && !bytes.Equal(was, config)
	if others {
		if err := fsys.Remove(path); err != nil {
			return err
		}
	}
	err = durable.ReplaceIn(fsys, filepath.Join(dir, TensorsFile), func(w io.Writer) error { return file.EncodeSafetensors(w, notes, tensors) })
	if err != nil {
		if others {
			err = errors.Join(err, set(was))
		}
		return err
	}
	return set(config)
}

// most is the maximum size of a configuration file.
const most = 1 << 20

// Open reads an adapter: a folder of huggingface/peft, or a .gguf file of llama.cpp's.
// Errors match [errFormat] or [ErrUnsupported], or are those of files and of package
// file.
func Open(dir string) (*Adapter, error) {
	if strings.EqualFold(filepath.Ext(dir), ".gguf") && file.IsFile(dir) {
		return openGGUF(dir)
	}
	f, err := durable.OpenRegular(filepath.Join(dir, configFile))
	if errors.Is(err, fs.ErrNotExist) {
		_, gone := durable.Stat(dir)
		return nil, fmt.Errorf("%s is not an adapter: %w", dir, cmp.Or(gone, err))
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	config, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if len(config) > most {
		return nil, fmt.Errorf("%s: %w: more than %d bytes", f.Name(), errFormat, most)
	}
	if config, err = spelling.Narrow(config); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", f.Name(), errFormat, err)
	}
	if err := file.CheckJSON(f.Name(), config); err != nil {
		return nil, fmt.Errorf("%w: %w", errFormat, err)
	}
	d, err := file.OpenSafetensors(filepath.Join(dir, TensorsFile))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	a, err := assemble(config, d.Tensors)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	a.Edited = edited(d, config)
	return a, nil
}

// assemble joins the configuration and copies of the tensors.
func assemble(config []byte, tensors []file.Tensor) (*Adapter, error) {
	c, err := parseConfig(config)
	if err != nil {
		return nil, err
	}
	found := map[string]halves{}
	for i := range tensors {
		t := &tensors[i]
		name := strings.TrimPrefix(t.Name, prefix)
		if len(t.View.Shape) != 2 {
			return nil, fmt.Errorf("%w: %s has shape %v, want a matrix", ErrUnsupported, t.Name, t.View.Shape)
		}
		if module, ok := strings.CutSuffix(name, suffixA); ok {
			found[module] = halves{t, found[module].b}
		} else if module, ok := strings.CutSuffix(name, suffixB); ok {
			found[module] = halves{found[module].a, t}
		} else {
			return nil, fmt.Errorf("%w: tensor %s", ErrUnsupported, t.Name)
		}
	}
	a := &Adapter{Config: c}
	for _, module := range slices.Sorted(maps.Keys(found)) {
		h := found[module]
		p, err := h.pair(module)
		if err != nil {
			return nil, err
		}
		p.Turned = c.Turned
		if p.Scale, err = c.scale(module, p.Rank); err != nil {
			return nil, err
		}
		a.Pairs = append(a.Pairs, p)
	}
	if len(a.Pairs) == 0 {
		return nil, fmt.Errorf("%w: it has no tensors", errFormat)
	}
	return a, nil
}

// halves are the tensors of a pair.
type halves struct{ a, b *file.Tensor }

// pair returns copies of both, without the scale.
func (h *halves) pair(module string) (p Pair, err error) {
	if h.a == nil || h.b == nil {
		return p, fmt.Errorf("%w: %s has one of its two matrices", errFormat, module)
	}
	sa, sb := h.a.View.Shape, h.b.View.Shape
	if sa[0] != sb[1] || sa[0] < 1 || sa[0] > largest || sa[1] < 1 || sb[0] < 1 {
		return p, fmt.Errorf("%w: %s has matrices of shapes %v and %v", errFormat, module, sa, sb)
	}
	p = Pair{Module: module, In: sa[1], Out: sb[0], Rank: sa[0]}
	if p.A, err = values(h.a); err != nil {
		return p, err
	}
	p.B, err = values(h.b)
	return p, err
}

// values returns a copy of a tensor's values as float32.
func values(t *file.Tensor) ([]float32, error) {
	n, ok := t.View.Shape.Size()
	if !ok {
		return nil, fmt.Errorf("%w: %s has shape %v", errFormat, t.Name, t.View.Shape)
	}
	x := make([]float32, n)
	if err := quant.Dequantize(x, t.View.DType, t.Read().Data); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	return x, nil
}
