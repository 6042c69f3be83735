package residence_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia/internal/engine/residence"
	"atenia/internal/fault"
	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"

	"atenia/internal/memory"
	"atenia/internal/memory/lane"
	"atenia/internal/memory/place"
	"atenia/internal/memory/ring"
	"atenia/tensor"
)

// cases are models of both kinds of files: tied heads and others, several
// files, offsets that are not aligned, quantized and plain.
var cases = []string{"parity/llama3", "parity/gemma3", "parity/llama_bf16_sharded", "gguf/models/llama-q4_k_m.gguf", "gguf/models/qwen2-q5_k_m.gguf", "gguf/models/qwen3moe-q4_k_m.gguf", "parity/qwen2_moe"}

// A subject is a model whose weights are placed.
type subject struct {
	model *compile.Model
	desc  *file.Description
	want  map[string]tensor.View // of the mapped files
}

func open(t *testing.T, path string) *subject {
	t.Helper()
	d, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	m, err := compile.Compile(d, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := compile.Materialize(m, d)
	if err != nil {
		t.Fatal(err)
	}
	return &subject{m, d, want}
}

func casePath(t *testing.T, name string) string {
	return filepath.Join(golden.Root(t), "testdata", "golden", filepath.FromSlash(name))
}

// copied is a case whose one file a test may change.
func copied(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(casePath(t, name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(name))
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// place computes a placement of the weights in ram bytes of memory.
func (s *subject) place(t *testing.T, ram int64, pins ...string) *place.Placement {
	t.Helper()
	in := place.Input{Tensors: residence.Tensors(s.model, s.desc), RAM: ram}
	for _, text := range pins {
		p, err := place.ParsePin(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Pins = append(in.Pins, p)
	}
	p, err := place.Place(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bounds returns the least and the most memory that weights can take.
func (s *subject) bounds(t *testing.T) (least, most int64) {
	t.Helper()
	in := place.Input{Tensors: residence.Tensors(s.model, s.desc), RAM: 1}
	for i := range in.Tensors {
		most += in.Tensors[i].Bytes
	}
	_, err := place.Place(in)
	e, ok := errors.AsType[*place.FloorError](err)
	if !ok {
		t.Fatalf("one byte of memory: %v", err)
	}
	return e.Floor, most
}

// pass makes one pass through the ring and shows each weight while it is there.
func pass(r *residence.Residence, each func(name string)) error {
	units := map[int][]string{}
	for name, u := range r.Stream.Units {
		units[u] = append(units[u], name)
	}
	if err := r.Stream.Ring.Begin(nil); err != nil {
		return err
	}
	for u := range len(units) {
		if err := r.Stream.Ring.Acquire(u); err != nil {
			r.Stream.Ring.End(false)
			return err
		}
		for _, name := range units[u] {
			each(name)
		}
	}
	r.Stream.Ring.End(true)
	return nil
}

// unseen is for passes whose bytes do not matter.
func unseen(string) {}

// For every placement, each weight has the bytes of the mapped file: pinned,
// streamed in every pass, or read row by row.
func TestSameBytes(t *testing.T) {
	for _, name := range cases {
		t.Run(name, func(t *testing.T) {
			s := open(t, casePath(t, name))
			least, most := s.bounds(t)
			rng := rand.New(rand.NewPCG(11, 12))
			streamed, tables := 0, 0
			for i := range 8 {
				ram := least + rng.Int64N(most-least+most/8)
				if i == 0 {
					ram = least
				}
				p := s.place(t, ram)
				r, err := residence.Open(t.Context(), s.model, s.desc, p, &residence.Config{Verify: i%2 == 0})
				if err != nil {
					t.Fatal(err)
				}
				s.check(t, r, p)
				streamed, tables = streamed+len(r.Stream.Units)+len(r.Stream.Banks), tables+len(r.Stream.Tables)
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			if streamed == 0 || tables == 0 {
				t.Errorf("%d weights were streamed, %d read by rows", streamed, tables)
			}
		})
	}
}

func (s *subject) check(t *testing.T, r *residence.Residence, p *place.Placement) {
	t.Helper()
	seen := map[string]bool{}
	if r.Stream.Ring != nil {
		for range 3 {
			if err := pass(r, func(name string) {
				seen[name] = true
				if !bytes.Equal(r.Weights[name].Data, s.want[name].Data) {
					t.Errorf("%s is streamed with other bytes than the file's", name)
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, table := range r.Stream.Tables {
		want := s.want[name]
		rows := want.Shape.Rows()
		row := make([]byte, len(want.Data)/rows)
		for i := range rows {
			if err := table.ReadRow(row, i); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(row, want.Data[i*len(row):][:len(row)]) {
				t.Fatalf("row %d of %s has other bytes than the file's", i, name)
			}
		}
		if table.DType() != want.DType {
			t.Errorf("%s is read as %v, it is %v", name, table.DType(), want.DType)
		}
		seen[name] = true
	}
	streamed := int64(0)
	for name := range r.Stream.Units {
		streamed += int64(len(s.want[name].Data))
	}
	if r.Coded == 0 && r.Streamed != streamed {
		t.Errorf("%d bytes are streamed, it says %d", streamed, r.Streamed)
	}
	s.checkBanks(t, r, seen)
	for name, want := range s.want {
		got, ok := r.Weights[name]
		if !ok || got.DType != want.DType || !got.Shape.Equal(want.Shape) {
			t.Errorf("%s is %v %v, want %v %v", name, got.DType, got.Shape, want.DType, want.Shape)
			continue
		}
		x, _ := p.Tensor(name)
		if _, cached := r.Stream.Banks[name]; cached {
			continue
		}
		if x.Tier == memory.RAM && !bytes.Equal(got.Data, want.Data) {
			t.Errorf("%s is held with other bytes than the file's", name)
		}
		if seen[name] != (x.Tier == memory.SSD) {
			t.Errorf("%s in %s: read from the disk: %v", name, x.Tier, seen[name])
		}
	}
}

// checkBanks reads all experts and compares their matrices with those of the file.
func (s *subject) checkBanks(t *testing.T, r *residence.Residence, seen map[string]bool) {
	t.Helper()
	c := r.Stream.Experts
	if c == nil {
		return
	}
	if err := c.Begin(nil); err != nil {
		t.Fatal(err)
	}
	defer c.End(true)
	for name, b := range r.Stream.Banks {
		seen[name] = true
		want := s.want[name].Data
		list := make([]int32, s.model.Config.Mixture.Experts)
		for e := range list {
			list[e] = int32(e)
		}
		size := len(want) / len(list)
		c.Use(b.Layer, list, false)
		for at := 0; at < len(list); {
			n, err := c.Acquire()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list[at : at+n] {
				if !bytes.Equal(c.Bytes(b.Layer, int(e), b.Part), want[int(e)*size:][:size]) {
					t.Errorf("expert %d of %s is read with other bytes than the file's", e, name)
				}
			}
			c.Release()
			at += n
		}
	}
}

// middle returns a residence of a new model that streams a part of it.
func middle(t *testing.T, verify bool) (*subject, *residence.Residence, string) {
	t.Helper()
	path := copied(t, "gguf/models/llama-q4_k_m.gguf")
	s := open(t, path)
	least, most := s.bounds(t)
	r, err := residence.Open(t.Context(), s.model, s.desc, s.place(t, (2*least+most)/3), &residence.Config{Verify: verify})
	if err != nil {
		t.Fatal(err)
	}
	if r.Stream.Ring == nil {
		t.Fatal("nothing is streamed")
	}
	return s, r, path
}

// A change of a streamed file is detected by its time, or, if that is unchanged
// and Verify is set, by its bytes.
func TestChangedFile(t *testing.T) {
	for _, verify := range []bool{true, false} {
		s, r, path := middle(t, verify)
		if err := pass(r, unseen); err != nil {
			t.Fatal(err)
		}
		was, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		flip(t, path, s, r)
		if err := os.Chtimes(path, time.Now(), was.ModTime()); err != nil {
			t.Fatal(err)
		}
		for range 3 { // prefetched units are still valid
			if err = pass(r, unseen); err != nil {
				break
			}
		}
		if errors.Is(err, ring.ErrCorrupt) != verify {
			t.Errorf("other bytes, verify %v: %v", verify, err)
		}
		if err := os.Chtimes(path, time.Now(), was.ModTime().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if err := r.Stream.Ring.Begin(nil); !errors.Is(err, fault.ErrChanged) {
			t.Errorf("another time, verify %v: %v", verify, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// flip changes a byte in the middle of each streamed weight.
func flip(t *testing.T, path string, s *subject, r *residence.Residence) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name := range r.Stream.Units {
		w := s.model.Weights[name]
		at, ok := compile.Locate(&w, s.desc)
		if !ok {
			t.Fatalf("%s is no piece of a file", name)
		}
		var b [1]byte
		off := at.Offset + int64(len(at.View.Data))/2
		if _, err := f.ReadAt(b[:], off); err != nil {
			t.Fatal(err)
		}
		b[0] ^= 1
		if _, err := f.WriteAt(b[:], off); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}

// Close ends the current pass, rejects later ones and closes all files.
func TestClose(t *testing.T) {
	s, r, path := middle(t, false)
	stream := r.Stream
	if err := stream.Ring.Begin(nil); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := stream.Ring.Acquire(0); !errors.Is(err, ring.ErrClosed) {
		t.Errorf("a pass that was under way: %v", err)
	}
	if err := stream.Ring.Begin(nil); err == nil {
		t.Error("a pass begins afterwards")
	}
	for name, table := range stream.Tables {
		row := make([]byte, len(s.want[name].Data)/s.want[name].Shape.Rows())
		if err := table.ReadRow(row, 0); !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), name) {
			t.Errorf("a row of %s afterwards: %v", name, err)
		}
	}
	if r.Weights != nil {
		t.Error("weights are still there")
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not show open files")
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && to == path {
			t.Errorf("%s is still open", path)
		}
	}
	if err := r.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

// A file that was truncated after its header was read gives an error that names
// a weight, wherever the weight is placed.
func TestCutFile(t *testing.T) {
	for _, pin := range []string{".=ram", "(ffn_(up|gate|down)|attn_(q|k|v|output))$=ssd"} {
		path := copied(t, "gguf/models/llama-q4_k_m.gguf")
		s := open(t, path)
		p := s.place(t, 0, pin)
		last, end := "", int64(0)
		for name := range s.model.Weights {
			w := s.model.Weights[name]
			if at, ok := compile.Locate(&w, s.desc); ok && at.Offset > end {
				last, end = name, at.Offset
			}
		}
		w := s.model.Weights[last]
		at, _ := compile.Locate(&w, s.desc)
		// The last page stays, for vectors are copied from the mapping.
		if err := os.Truncate(path, at.Offset+int64(len(at.View.Data))-1); err != nil {
			t.Fatal(err)
		}
		r, err := residence.Open(t.Context(), s.model, s.desc, p, &residence.Config{})
		if x, _ := p.Tensor(last); x.Class == place.Vector {
			t.Fatalf("%s, the last, is a vector: take another model", last)
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), last) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want one about %s", pin, err, last)
			if err == nil {
				r.Close()
			}
		}
	}
}

// A row behind the end of a cut file is an error that names its weight.
func TestCutTable(t *testing.T) {
	path := copied(t, "gguf/models/llama-q4_k_m.gguf")
	s := open(t, path)
	least, _ := s.bounds(t)
	r, err := residence.Open(t.Context(), s.model, s.desc, s.place(t, least), &residence.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if len(r.Stream.Tables) == 0 {
		t.Fatal("no weight is read by rows")
	}
	if err := os.Truncate(path, 64); err != nil {
		t.Fatal(err)
	}
	for name, table := range r.Stream.Tables {
		row := make([]byte, len(s.want[name].Data)/s.want[name].Shape.Rows())
		err := table.ReadRow(row, 1)
		if e, ok := errors.AsType[*file.ChangedError](err); !ok || e.Now != 64 || !strings.Contains(err.Error(), name) {
			t.Errorf("a row of %s: %v", name, err)
		}
	}
}

// No device can hold weights: a placement that needs one is rejected by name.
func TestNoDevice(t *testing.T) {
	s := open(t, casePath(t, "parity/llama3"))
	p, err := place.Place(place.Input{Tensors: residence.Tensors(s.model, s.desc), Devices: []place.Device{{ID: "gpu0", Bytes: 1 << 30}}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := residence.Open(t.Context(), s.model, s.desc, p, &residence.Config{}); err == nil || !strings.Contains(err.Error(), "weight ") {
		t.Errorf("%+v, %v", r, err)
	}
}

// used is a sink that notes what is computed with.
type used []string

// Event implements [lane.Sink].
func (u *used) Event(e lane.Event) {
	if name, ok := strings.CutPrefix(e.Name, "compute:"); ok && e.Phase == lane.Begin {
		*u = append(*u, name)
	}
}

// The lanes are told which units are used, in order.
func TestLanes(t *testing.T) {
	s := open(t, casePath(t, "parity/llama3"))
	least, _ := s.bounds(t)
	var got used
	x := lane.New(lane.Config{Readers: 3, Computers: -1, Sink: &got})
	r, err := residence.Open(t.Context(), s.model, s.desc, s.place(t, least), &residence.Config{Lanes: x})
	if err != nil {
		t.Fatal(err)
	}
	if err := pass(r, unseen); err != nil {
		t.Fatal(err)
	}
	units := 0
	for name, u := range r.Stream.Units {
		units = max(units, u+1)
		if u >= len(got) || !slices.Contains(strings.Split(got[u], ","), name) {
			t.Errorf("unit %d is %q, without %s", u, got[min(u, len(got)-1)], name)
		}
	}
	if len(got) != units {
		t.Errorf("%d units are used of %d", len(got), units)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	x.Close()
}

// From placement to placement, each weight has the bytes of the mapped file, and
// what stays in memory stays where it is.
func TestResize(t *testing.T) {
	for _, name := range cases {
		t.Run(name, func(t *testing.T) {
			s := open(t, casePath(t, name))
			least, most := s.bounds(t)
			rng := rand.New(rand.NewPCG(21, 22))
			r, err := residence.Open(t.Context(), s.model, s.desc, nil, &residence.Config{})
			if err != nil {
				t.Fatal(err)
			}
			kept := 0
			for i := range 12 {
				var p *place.Placement
				if i%5 != 4 {
					p = s.place(t, least+rng.Int64N(most-least+most/8))
				}
				before := r.Weights
				streamed := r.Stream.Units
				if r, err = r.Resize(t.Context(), s.model, s.desc, p, &residence.Config{}); err != nil {
					t.Fatal(err)
				}
				check := func(name string) {
					if !bytes.Equal(r.Weights[name].Data, s.want[name].Data) {
						t.Errorf("%s has other bytes", name)
					}
				}
				for name, v := range r.Weights {
					if _, ok := r.Stream.Units[name]; ok {
						continue
					}
					if _, ok := r.Stream.Tables[name]; ok {
						continue
					}
					if _, ok := r.Stream.Banks[name]; ok {
						continue // the cache's tests compare experts
					}
					if apart, ok := r.Stream.Apart[name]; ok {
						at := 0
						for _, v := range apart {
							if !bytes.Equal(v.Data, s.want[name].Data[at:][:len(v.Data)]) {
								t.Errorf("%s has other bytes", name)
							}
							at += len(v.Data)
						}
						continue
					}
					check(name)
					if _, ok := streamed[name]; !ok && i%5 > 0 && p != nil && len(before[name].Data) > 0 && &before[name].Data[0] == &v.Data[0] {
						kept++
					}
				}
				if r.Stream.Ring != nil {
					if err := pass(r, check); err != nil {
						t.Fatal(err)
					}
				}
			}
			if kept == 0 {
				t.Error("nothing stayed in memory")
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
