package sxlm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"

	"atenia/internal/machine/ledger"
	"atenia/quila/config"
	"atenia/quila/internal/weights"
)

// A Model is a network in memory, with everything that its file has. Its fields
// may be changed between a read and a write; the shapes follow from Config.
type Model struct {
	Config  config.Config
	Graph   *weights.Graph
	Trace   []float32 // [E], of the edges
	Cluster []uint32  // [N]: communities

	Weights *weights.Set[float32]
	Moments map[string]*Moment // Adam's, by the name of a weight; none is zero
	Step    uint64             // of the optimizer

	States map[string]*Tensor // what a call starts with: s1, s3, s4, s6, s7.lambda, s7.trace, s8
	Other  map[string]*Tensor // boundaries, rules, codebook counts, VQ networks, by name

	Tokenizer []byte // canonical JSON {merges, specials, type}
	Epoch     uint64 // turns so far
	Libraries []Library
	Engram    Engram
	Persona   []float32

	Inference   bool // there is no optimizer state
	Teacherless bool // the consistency model was trained without a teacher
	CreatedAt   int64
	Parent      string   // hex of the checkpoint that this one comes from; empty for a root
	Checkpoint  [32]byte // of the file that was read; zero for a new model
	Writer      string   // meta.writer of that file

	text []byte // configuration as the file has it
	tree []byte // B-link tree of the file
	held []ledger.Reservation

	tensors int // of the file that was read
}

// A Moment is Adam's estimates of one tensor, each of its size.
type Moment struct{ M, V []float32 }

// An Engram is the static look-up memory of block 6.
type Engram struct {
	Rows   int      // a power of two
	Table  []uint16 // [Rows, D] in half precision; nil is zero
	Mul    [engramProbes]uint64
	WK, WV []float32 // [D, D]
}

// Bytes-level tokenizer of a new network.
const byteTokenizer = `{"merges":[],"specials":["BOS","EOS","PAD","SYS","USER","ASSISTANT","TOOL_OPEN","TOOL_CLOSE"],"type":"bytes"}`

// emptyRules is cdcl.rules without a rule.
var emptyRules = []byte("CDCL\x01\x00\x00\x00\x00\x00\x00\x00")

// Fresh makes a new network: the initial graph, first weights of a seed, states
// as a call finds them, empty libraries.
func Fresh(c config.Config, seed uint64) (*Model, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	g := weights.Initial(&c)
	m := &Model{Config: c, Graph: g, Weights: weights.Init(&c, g.Edges(), seed), Tokenizer: []byte(byteTokenizer)}
	m.Engram = Engram{Rows: 1 << c.EngramBits, WK: identity(c.D), WV: identity(c.D)}
	s := weights.Stream{Site: weights.InitSite}
	w := s.Words(2 * engramProbes)
	for j := range m.Engram.Mul {
		m.Engram.Mul[j] = uint64(w[2*j])<<32 | uint64(w[2*j+1]) | 1
	}
	sh := m.shape(kind(&c))
	sh.text = map[string]int{"cdcl.rules": len(emptyRules)}
	m.allocate(inventory(&c, sh))
	copy(m.Other["cdcl.rules"].U8, emptyRules)
	m.boundaries()
	m.startStates()
	m.means()
	return m, nil
}

func identity(n int) []float32 {
	x := make([]float32, n*n)
	for i := range n {
		x[i*n+i] = 1
	}
	return x
}

// allocate makes what rows ask for and is not there: states, other tensors,
// persona, traces.
func (m *Model) allocate(rows []row) {
	m.Moments = map[string]*Moment{}
	m.States, m.Other = map[string]*Tensor{}, map[string]*Tensor{}
	for _, r := range rows {
		t := &Tensor{Kind: r.kind, Dims: r.dims}
		switch r.hold {
		case inState:
			m.States[r.name] = t
		case inOther:
			m.Other[r.name] = t
		default:
			continue
		}
		if t.alloc(); r.kind == F16 && r.hold == inOther { // parameters are float32 in memory
			t.F16, t.F32 = nil, make([]float32, t.Len())
		}
	}
	m.Persona = make([]float32, m.Config.PersonaDim)
	m.Trace, m.Cluster = make([]float32, m.Graph.Edges()), make([]uint32, m.Config.N)
}

// boundaries connects every modality to every neuron, at its place.
func (m *Model) boundaries() {
	for i := range m.Config.Modalities {
		dst, pos := m.Other["boundary."+weights.Modalities[i]+".dst"].U32, m.Other["boundary."+weights.Modalities[i]+".pos"].U32
		for n := range dst {
			dst[n], pos[n] = uint32(n), uint32(weights.Place(&m.Config, i))
		}
	}
}

// startStates sets the states that are not zero.
func (m *Model) startStates() {
	c := &m.Config
	refractory, kind := m.States["s1.refractory"].U8, m.States["s4.attention_type"].U8
	for i := range c.N {
		refractory[i] = uint8(i % (int(c.RefBase) + 1)) // staggered: not all silent at once
		kind[i] = uint8(1 + i%c.Modalities)
	}
	for i := range m.States["s6.active"].U8 {
		m.States["s6.active"].U8[i] = math.MaxUint8 // never heard
	}
	for i := range m.States["s7.lambda"].F32 {
		m.States["s7.lambda"].F32[i] = float32(c.LambdaInit)
	}
}

// means sets the means of the codebooks.
func (m *Model) means() {
	de := m.Config.DE
	mean := m.Other["codebook.mean"].F32
	for b, book := range m.books() {
		for k := range de {
			var sum float64
			for i := k; i < len(book); i += de {
				sum += float64(book[i])
			}
			mean[b*de+k] = float32(sum / float64(len(book)/de))
		}
	}
}

// books are the codebooks by modality.
func (m *Model) books() (list [][]float32) {
	for i := range m.Config.Modalities {
		list = append(list, m.Weights.Of("codebook."+weights.Modalities[i]))
	}
	return list
}

// sums are the SHA-256 of the codebooks.
func (m *Model) sums() (out []byte) {
	for _, b := range m.books() {
		s := sha256.Sum256(floatBytes(b))
		out = append(out, s[:]...)
	}
	return out
}

// Blink is the B-link tree over the rows of the codebooks, as block 4 has it:
// that of the file, or a new one if the codebooks have changed since.
func (m *Model) Blink() []byte {
	if m.tree == nil || checkBlink(m.tree, m.books(), m.Config.DE) != nil {
		m.tree = buildBlink(m.books(), m.Other["codebook.usage"].U64, m.Config.DE)
	}
	return m.tree
}

// Moment returns Adam's estimates of a weight, zeros if there are none yet. It
// fails with [errInference] for a model that was written without them.
func (m *Model) Moment(name string) (*Moment, error) {
	if m.Inference {
		return nil, errInference
	}
	t := m.Moments[name]
	if t == nil {
		n := len(m.Weights.Of(name))
		t = &Moment{make([]float32, n), make([]float32, n)}
		m.Moments[name] = t
	}
	return t, nil
}

// Child makes a model the child of the file it was read from: the next write
// names that as its parent.
func (m *Model) Child() { m.Parent = hex.EncodeToString(m.Checkpoint[:]) }

// Bytes is how much memory a read reserved for the model.
func (m *Model) Bytes() (n int64) {
	for i := range m.held {
		n += m.held[i].Bytes()
	}
	return n
}

// Close gives back the memory that a read reserved. The model must not be used
// afterwards.
func (m *Model) Close() {
	for i := range m.held {
		m.held[i].Release()
	}
	m.held = nil
}

// shape is what the inventory needs to know of a model.
func (m *Model) shape(k Kind) shape {
	s := shape{kind: k, edges: m.Graph.Edges(), engramRows: m.Engram.Rows, inference: m.Inference, late: map[string]bool{}, text: map[string]int{}}
	if t := m.Other["n.mhc_opt.id"]; t != nil {
		s.optional = len(t.U32)
	}
	if t := m.Other["cdcl.rules"]; t != nil {
		s.text["cdcl.rules"] = len(t.U8)
	}
	for name, t := range m.Moments {
		for _, x := range []struct {
			prefix string
			v      []float32
		}{{momentM, t.M}, {momentV, t.V}} {
			s.late[x.prefix+name] = !(&Tensor{Kind: F32, Dims: []int{len(x.v)}, F32: x.v}).zero()
		}
	}
	return s
}

// kind is the element type of parameters.
func kind(c *config.Config) Kind {
	if c.ParamDType == "f16" {
		return F16
	}
	return F32
}

// resolve reads the configuration of a file. Two values may be missing in it:
// persona_dim, which the meta data has, and for a configuration of no profile
// param_dtype, which the tensors show.
func resolve(text []byte, persona int, k Kind) (config.Config, error) {
	c, err := config.Parse(text)
	if err != nil {
		return c, err
	}
	if !bytes.Equal(c.JSON(), text) {
		return c, fmt.Errorf("not canonical, want %s", c.JSON())
	}
	var listed map[string]json.RawMessage
	if err := json.Unmarshal(text, &listed); err != nil {
		return c, err
	}
	if _, ok := listed["persona_dim"]; !ok {
		c.PersonaDim = persona
	}
	if _, ok := listed["param_dtype"]; !ok {
		if _, err := config.Profile(c.Name); err != nil {
			c.ParamDType = [...]string{F32: "f32", F16: "f16"}[k]
		}
	}
	switch {
	case c.PersonaDim != persona:
		return c, fmt.Errorf("persona_dim is %d, the meta data say %d", c.PersonaDim, persona)
	case kind(&c) != k:
		return c, fmt.Errorf("param_dtype is %s, the tensors are %v", c.ParamDType, k)
	}
	return c, c.Check()
}

// configText is the configuration as it is written: that of the file as long as
// it means the same.
func (m *Model) configText() []byte {
	if c, err := resolve(m.text, m.Config.PersonaDim, kind(&m.Config)); err == nil && c == m.Config {
		return m.text
	}
	return m.Config.JSON()
}

// powerOfTwo reports whether n is one.
func powerOfTwo(n int) bool { return n > 0 && bits.OnesCount(uint(n)) == 1 }

// ignored is what a file has in the place of s2 and s5, which no reader uses: the
// values of a new network.
func ignored(r row, c *config.Config) *Tensor {
	t := &Tensor{Kind: r.kind, Dims: r.dims}
	value := map[string]float64{"s5.conf": c.InitConf, "s5.reliability": 1}[r.name]
	if value != 0 {
		t.alloc()
		for i := range t.F32 {
			t.F32[i] = float32(value)
		}
	}
	return t
}

// word is a tensor of one number.
func word(v uint64) *Tensor { return &Tensor{Kind: U64, Dims: []int{1}, U64: []uint64{v}} }

// mask packs the receptive fields: bit i of a row is dimension i, unused bits
// are set.
func mask(x []float32, n, d int) []uint8 {
	w := (d + 7) / 8
	out := bytes.Repeat([]byte{math.MaxUint8}, n*w)
	for i := range n * d {
		if x[i] == 0 {
			out[i/d*w+i%d/8] &^= 1 << (i % d % 8)
		}
	}
	return out
}

// unmask is the inverse of [mask].
func unmask(x []float32, b []uint8, d int) {
	w := (d + 7) / 8
	for i := range x {
		x[i] = float32(b[i/d*w+i%d/8] >> (i % d % 8) & 1)
	}
}

// rulesValid reports whether a rule block has its head, and nothing else if it
// has no rules.
func rulesValid(b []byte) bool {
	return len(b) >= len(emptyRules) && string(b[:8]) == string(emptyRules[:8]) && (binary.LittleEndian.Uint32(b[8:]) > 0 || len(b) == len(emptyRules))
}
