package sxlm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/machine/ledger"
	"atenia/internal/store/faultfs"
	"atenia/quila/config"
	"atenia/quila/internal/weights"
)

// small is a network of a few kilobytes.
func small(t testing.TB, text string) *Model {
	t.Helper()
	if text == "" {
		text = `{"D":8,"D_e":8,"H":4,"K":1,"N":4,"N_T":1,"N_s":2,"V":70,"a":2,"d1":2,"d2":4,"deg":2,"g":8,"k_p":2,"kappa":2,"modalities":1,"name":"x","r":1,"s":2,"engram_bits":2,"persona_dim":3,"param_dtype":"f32"}`
	}
	c, err := config.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Fresh(c, 5)
	if err != nil {
		t.Fatal(err)
	}
	lib := Library{Neuron: 1}
	for i := range 3 {
		e := Entry{ID: 1<<32 | uint64(i), Utility: float32(i), Confidence: .5, LastAccess: 3}
		for k := range c.D {
			e.Embedding, e.Snapshot = append(e.Embedding, uint16(0x3000+i*9+k)), append(e.Snapshot, uint16(k))
		}
		lib.Entries = append(lib.Entries, e)
	}
	m.Libraries = []Library{lib}
	return m
}

func write(t testing.TB, m *Model, o Options) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.sxlm")
	if _, err := Write(context.Background(), path, m, o); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(b []byte, o Options) (*Model, error) {
	return Parse(context.Background(), bytes.NewReader(b), int64(len(b)), o)
}

// TestHashes: every byte of a block is under the hash of its block, and under that of
// the checkpoint if the other is made to fit.
func TestHashes(t *testing.T) {
	b := write(t, small(t, ""), Options{})
	refused := func(block int, what string) {
		t.Helper()
		m, err := parse(b, Options{})
		if e, ok := errors.AsType[*Error](err); !ok || e.Step != StepHashes || e.Block != block {
			t.Errorf("%s: %v, want the hash of block %d to refuse it", what, err, block)
		}
		if m != nil {
			m.Close()
		}
	}
	head, all := bytes.Clone(b), sha256.New()
	for k := range blocks {
		info, err := Verify(t.Context(), bytes.NewReader(b), int64(len(b)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := &info.Blocks[k]
		part := b[d.Offset:][:d.Size]
		if sha256.Sum256(part) != d.SHA256 {
			t.Errorf("block %d: the hash is not that of its bytes", k+1)
		}
		if all.Write(part); k == blocks-1 && [32]byte(all.Sum(nil)) != info.Meta.Checkpoint {
			t.Error("the checkpoint's hash is not that of the blocks")
		}
		for _, at := range []int{0, len(part) / 2, len(part) - 1} {
			what := fmt.Sprintf("block %d, byte %d", k+1, at)
			part[at] ^= 1
			refused(k+1, what)
			d.SHA256 = sha256.Sum256(part)
			h := info.header()
			copy(b, append(info.preamble(h), h...))
			refused(0, what+" with its hash")
			part[at] ^= 1
			copy(b, head[:info.DataStart])
		}
	}
}

// TestStrip: a file without optimizer state is loaded but not for training, and
// is smaller than the same with it.
func TestStrip(t *testing.T) {
	m := small(t, "")
	x, err := m.Moment("n.nsa")
	if err != nil {
		t.Fatal(err)
	}
	x.M[3] = 1
	full, stripped := write(t, m, Options{}), write(t, m, Options{StripOptimizer: true})
	if len(stripped) >= len(full) {
		t.Errorf("%d bytes without optimizer state, %d with it", len(stripped), len(full))
	}
	if _, err := parse(stripped, Options{Train: true}); !errors.Is(err, errInference) {
		t.Errorf("training of a stripped file: %v", err)
	}
	back, err := parse(stripped, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	if _, err := back.Moment("n.nsa"); !errors.Is(err, errInference) {
		t.Errorf("moments of a stripped file: %v", err)
	}
	if !bytes.Equal(write(t, back, Options{}), stripped) {
		t.Error("a stripped file that is read and written differs")
	}
}

// TestConfigText: a configuration of no profile without param_dtype and
// persona_dim takes them from the file, and is written as it was.
func TestConfigText(t *testing.T) {
	m := small(t, "")
	c := m.Config
	c.ParamDType, c.PersonaDim = "f16", 64 // as the defaults have it
	m.text = c.JSON()
	back, err := parse(write(t, m, Options{}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	if back.Config != m.Config || !bytes.Equal(back.configText(), m.text) || strings.Contains(string(m.text), "persona_dim") {
		t.Errorf("the configuration is %s, want %s", back.configText(), m.text)
	}
	back.Config.Tau = 2
	if want := back.Config.JSON(); !bytes.Equal(back.configText(), want) {
		t.Errorf("after a change the text is %s, want %s", back.configText(), want)
	}
}

// TestBudget: a model that does not fit is refused with both numbers before
// anything of it is held.
func TestBudget(t *testing.T) {
	b := write(t, small(t, ""), Options{})
	fits := int64(0)
	for limit := int64(1 << 10); fits == 0; limit += limit / 8 {
		a := ledger.New(nil, limit)
		m, err := parse(b, Options{Account: a})
		switch {
		case err == nil:
			fits = limit
			m.Close()
		case !errors.Is(err, ErrFile):
			t.Fatalf("%d bytes: %v", limit, err)
		}
		if a.Held() != 0 {
			t.Fatalf("%d bytes are held of %d", a.Held(), limit)
		}
	}
	t.Logf("a file of %d bytes fits into %d", len(b), fits)
}

// TestWriteFaults: whatever call of the file system fails, the old file is
// there, or the new one.
func TestWriteFaults(t *testing.T) {
	m := small(t, "")
	path := filepath.Join(t.TempDir(), "m.sxlm")
	if _, err := Write(context.Background(), path, m, Options{}); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for n, fsys := range faultfs.Each(faultfs.Torn) {
		m.Persona[0] = float32(n)
		_, err := Write(context.Background(), path, m, Options{FS: fsys})
		back, readErr := Read(context.Background(), path, Options{})
		if readErr != nil {
			t.Fatalf("after the failure of call %d: %v", n, readErr)
		}
		if got := back.Persona[0]; err == nil && got != float32(n) {
			t.Errorf("call %d: the persona is %v after a write without an error", n, got)
		}
		back.Close()
		if err != nil {
			failed++
		}
	}
	if failed < 5 {
		t.Errorf("%d calls failed", failed)
	}
}

// TestKill: a process that is killed while it writes leaves a whole file, the old
// one or the new one. It tells of every write before and after, and is killed at
// once after it has begun one, until so many kills were in the middle of a write.
func TestKill(t *testing.T) {
	const variable = "ATENIA_SXLM_WRITES"
	if path := os.Getenv(variable); path != "" {
		m := small(t, "")
		for i := 0; ; i++ {
			m.Persona[0] = float32(i)
			fmt.Printf("begun %d\n", i)
			if _, err := Write(context.Background(), path, m, Options{}); err != nil {
				t.Fatal(err)
			}
			fmt.Printf("ended %d\n", i)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.sxlm")
	if _, err := Write(context.Background(), path, small(t, ""), Options{}); err != nil {
		t.Fatal(err)
	}
	kills := 4
	if await.Long() {
		kills = 12
	}
	r := rand.New(rand.NewPCG(7, 7))
	for hits := 0; hits < kills; {
		cmd := exec.Command(self, "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), variable+"="+path)
		last := await.Nth(1+r.IntN(3), "begun")
		begun, ended := -1, -1
		for _, line := range await.Kill(t, cmd, func(line string) bool {
			if !last(line) {
				return false
			}
			for range r.IntN(20_000) { // a moment, so that kills hit all parts of a write
				runtime.Gosched()
			}
			return true
		}) {
			_, _ = fmt.Sscanf(line, "begun %d", &begun)
			_, _ = fmt.Sscanf(line, "ended %d", &ended)
		}
		m, err := Read(context.Background(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := int(m.Persona[0]); begun < 0 || got != begun && got != ended && ended >= 0 {
			t.Errorf("the file is that of write %d, begun was %d, ended %d", got, begun, ended)
		}
		m.Close()
		hits += begun - ended
	}
}

// TestWriter: the name of the encoder has the version of go.mod.
func TestWriter(t *testing.T) {
	b, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := "github.com/klauspost/compress " + encoderVersion; !strings.Contains(string(b), want) {
		t.Errorf("go.mod does not have %q: set encoderVersion", want)
	}
}

// TestLateMoments: moments of the two weights in block 2 survive, and are
// not there as long as they are zero.
func TestLateMoments(t *testing.T) {
	m := small(t, "")
	for _, name := range []string{"s4.spec", "s5.calibration"} {
		x, err := m.Moment(name)
		if err != nil {
			t.Fatal(err)
		}
		x.M[0], x.V[1] = 1, 2
	}
	back, err := parse(write(t, m, Options{}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	for name, x := range m.Moments {
		if y := back.Moments[name]; y == nil || y.M[0] != x.M[0] || y.V[1] != x.V[1] {
			t.Errorf("%s: %v", name, y)
		}
	}
}

// TestFree: networks of VQ encoders are tensors of free names.
func TestFree(t *testing.T) {
	m := small(t, "")
	m.Other["vq.image.enc.0.w"] = &Tensor{Kind: F32, Dims: []int{2, 3}, F32: []float32{1, 2, 3, 4, 5, 6}}
	b := write(t, m, Options{})
	back, err := parse(b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	if x := back.Other["vq.image.enc.0.w"]; x == nil || x.F32[5] != 6 || !bytes.Equal(write(t, back, Options{}), b) {
		t.Errorf("the network is %v", x)
	}
	m.Other["vq.smell.enc.0.w"] = m.Other["vq.image.enc.0.w"]
	if back, err := parse(write(t, m, Options{}), Options{}); err != nil || back.Other["vq.smell.enc.0.w"] != nil {
		t.Errorf("a name of no pattern was written: %v", err)
	}
}

// TestBlink: trees of one to three levels are good, those of other rows are
// not.
func TestBlink(t *testing.T) {
	for _, n := range []int{1, 64, 65, 4097} {
		books := [][]float32{make([]float32, 2*n), make([]float32, 2*7)}
		for i := range books[0] {
			books[0][i] = float32(i)
		}
		b := buildBlink(books, []uint64{5}, 2)
		if err := checkBlink(b, books, 2); err != nil {
			t.Errorf("%d rows: %v", n, err)
		}
		books[0][2*n-1] = -1
		if err := checkBlink(b, books, 2); err == nil {
			t.Errorf("%d rows: another row is not found", n)
		}
		if err := checkBlink(b, books[:1], 2); err == nil {
			t.Errorf("%d rows: a missing codebook is not found", n)
		}
	}
}

// TestImages: libraries of any size get an index, and one of other entries is
// replaced.
func TestImages(t *testing.T) {
	m := small(t, "")
	lib := &m.Libraries[0]
	for len(lib.Entries) < 300 {
		e := lib.Entries[0]
		i := len(lib.Entries)
		e.ID += uint64(i)
		e.Embedding = append([]uint16(nil), e.Embedding...)
		e.Embedding[i%8] = uint16(0x3000 + i)
		lib.Entries = append(lib.Entries, e)
	}
	for _, n := range []int{0, 1, 33, 34, 300} {
		lib.Entries = lib.Entries[:n]
		back, err := parse(write(t, m, Options{}), Options{})
		if err != nil {
			t.Fatalf("%d entries: %v", n, err)
		}
		if got := len(back.Libraries[0].Entries); got != n {
			t.Errorf("%d entries, want %d", got, n)
		}
		lib.Image = back.Libraries[0].Image // of fewer entries than the next
		back.Close()
		lib.Entries = lib.Entries[:300]
	}
}

func FuzzHeader(f *testing.F) {
	b := write(f, small(f, ""), Options{})
	info, err := Header(bytes.NewReader(b), int64(len(b)), Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[preambleBytes : preambleBytes+info.HeaderLen])
	f.Fuzz(func(t *testing.T, b []byte) {
		var i Info
		if err := i.decode(b); err != nil {
			if !errors.Is(err, ErrFile) {
				t.Fatal(err)
			}
			return
		}
		if again := i.header(); !bytes.Equal(again, b) {
			t.Fatalf("%x was accepted, its encoding is %x", b, again)
		}
	})
}

// rawBlocks are the raw blocks of a good file.
func rawBlocks(f *testing.F, m *Model) (out [blocks][]byte) {
	parts, err := m.blocks(&Options{})
	if err != nil {
		f.Fatal(err)
	}
	for k, p := range parts {
		var b bytes.Buffer
		if err := p.write(&b); err != nil || int64(b.Len()) != p.size() {
			f.Fatalf("block %d has %d bytes, not %d: %v", k+1, b.Len(), p.size(), err)
		}
		out[k] = b.Bytes()
	}
	return out
}

func FuzzSection(f *testing.F) {
	raws := rawBlocks(f, small(f, ""))
	f.Add(raws[0])
	f.Add(raws[5])
	f.Add(raws[6])
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := readSection(raw{1, bytes.NewReader(b), int64(len(b))}, 1<<20)
		if err != nil {
			if !errors.Is(err, ErrFile) {
				t.Fatal(err)
			}
			return
		}
		for _, name := range s.names {
			if e := s.entries[name]; e.len > 0 {
				if _, err := s.read(e.at, e.len); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
		}
	})
}

// fuzzLoader is one for a block of a network.
func fuzzLoader(m *Model) *loader {
	return &loader{
		info: &Info{Meta: Meta{Edges: uint64(m.Graph.Edges()), Entries: 3}}, opt: &Options{}, kind: F32,
		m: &Model{Config: m.Config, Trace: make([]float32, m.Graph.Edges()), Cluster: make([]uint32, m.Config.N)},
	}
}

func FuzzGraph(f *testing.F) {
	m := small(f, "")
	f.Add(rawBlocks(f, m)[2])
	f.Fuzz(func(t *testing.T, b []byte) {
		l, c := fuzzLoader(m), raw{3, bytes.NewReader(b), int64(len(b))}
		err := l.graph(c)
		if err == nil {
			l.m.Weights = weights.NewSet[float32](weights.Inventory(&m.Config, m.Graph.Edges()))
			err = l.edgeWeights(c)
		}
		if err != nil {
			if !errors.Is(err, ErrFile) {
				t.Fatal(err)
			}
			return
		}
		var again bytes.Buffer
		if err := (&grph{l.m, F32}).write(&again); err != nil || !bytes.Equal(again.Bytes(), b) {
			t.Fatalf("a graph was accepted that is written in another way: %v", err)
		}
	})
}

func FuzzLibraries(f *testing.F) {
	m := small(f, "")
	f.Add(rawBlocks(f, m)[4])
	f.Fuzz(func(t *testing.T, b []byte) {
		l := fuzzLoader(m)
		if err := l.libraries(raw{5, bytes.NewReader(b), int64(len(b))}); err != nil {
			if !errors.Is(err, ErrFile) {
				t.Fatal(err)
			}
			return
		}
		var again bytes.Buffer
		k, err := newKFEL(l.m)
		if err == nil {
			err = k.write(&again)
		}
		if err != nil || !bytes.Equal(again.Bytes(), b) {
			t.Fatalf("libraries were accepted that are written in another way: %v", err)
		}
	})
}

func FuzzBlink(f *testing.F) {
	m := small(f, "")
	f.Add(m.Blink())
	f.Fuzz(func(_ *testing.T, b []byte) {
		_ = checkBlink(b, m.books(), m.Config.DE) // it may fail but must end
	})
}

func FuzzFile(f *testing.F) {
	b := write(f, small(f, ""), Options{})
	f.Add(b)
	f.Add(b[:preambleBytes])
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parse(b, Options{Account: ledger.New(nil, 64<<20)})
		if err != nil {
			if !errors.Is(err, ErrFile) {
				t.Fatal(err)
			}
			return
		}
		m.Close()
	})
}

// nano is the network of the benchmarks.
func nano(b *testing.B) *Model {
	c, err := config.Profile("nano")
	if err != nil {
		b.Fatal(err)
	}
	m, err := Fresh(c, 1)
	if err != nil {
		b.Fatal(err)
	}
	return m
}

func BenchmarkWrite(b *testing.B) {
	m := nano(b)
	path := filepath.Join(b.TempDir(), "m.sxlm")
	var size uint64
	for b.Loop() {
		info, err := Write(context.Background(), path, m, Options{})
		if err != nil {
			b.Fatal(err)
		}
		size = info.Blocks[0].Raw
	}
	b.SetBytes(int64(size))
}

func BenchmarkRead(b *testing.B) {
	file := write(b, nano(b), Options{})
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		m, err := parse(file, Options{})
		if err != nil {
			b.Fatal(err)
		}
		m.Close()
	}
}

// TestFloats: every kind moves its values, zeros are found, and what is not
// finite is.
func TestFloats(t *testing.T) {
	for _, c := range []struct {
		t    Tensor
		want []byte
		bad  int
	}{
		{Tensor{Kind: F32, Dims: []int{2}, F32: []float32{1, float32(math.Inf(1))}}, []byte{0, 0, 128, 63, 0, 0, 128, 127}, 1},
		{Tensor{Kind: F16, Dims: []int{2}, F32: []float32{1, -2}}, []byte{0, 60, 0, 192}, -1},
		{Tensor{Kind: F16, Dims: []int{2}, F16: []uint16{0x7e00, 1}}, []byte{0, 126, 1, 0}, 0},
		{Tensor{Kind: U8, Dims: []int{2}, U8: []uint8{3, 4}}, []byte{3, 4}, -1},
		{Tensor{Kind: U32, Dims: []int{1}, U32: []uint32{5}}, []byte{5, 0, 0, 0}, -1},
		{Tensor{Kind: U64, Dims: []int{1}, U64: []uint64{6}}, []byte{6, 0, 0, 0, 0, 0, 0, 0}, -1},
	} {
		var got bytes.Buffer
		if err := c.t.encode(func(b []byte) error { _, err := got.Write(b); return err }); err != nil || !bytes.Equal(got.Bytes(), c.want) {
			t.Errorf("%v is %x, want %x: %v", c.t, got.Bytes(), c.want, err)
		}
		if bad, err := c.t.decode(&got); err != nil || bad != c.bad {
			t.Errorf("%v has the bad element %d, want %d: %v", c.t, bad, c.bad, err)
		}
		if _, err := c.t.decode(bytes.NewReader(c.want[:1])); c.t.Kind != F32 && err != io.ErrUnexpectedEOF {
			t.Errorf("%v from one byte: %v", c.t, err)
		}
	}
	if tiny := (&Tensor{Kind: F16, Dims: []int{1}, F32: []float32{1e-9}}); !tiny.zero() {
		t.Error("a value that half precision does not have is no zero")
	}
	if minus := (&Tensor{Kind: F32, Dims: []int{1}, F32: []float32{float32(math.Copysign(0, -1))}}); minus.zero() {
		t.Error("minus zero is no zero byte")
	}
}
