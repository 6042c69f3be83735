package convert

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"atenia/internal/model/file"
)

func sampleOf(t *testing.T) *Matrix {
	t.Helper()
	m := &Matrix{Datasets: []string{"a.txt"}, Chunks: 2, ChunkSize: 64}
	for _, err := range []error{
		m.Add("blk.0.attn_q.weight", 0, []float32{1, 2, 3, 4}, 2),
		m.Add("blk.0.ffn_down_exps.weight", 2, []float32{1, 2, 3}, 3),
		m.Add("blk.0.ffn_down_exps.weight", 0, []float32{2, 2, 2, 4, 4, 4}, 3),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	m := sampleOf(t)
	if err := m.Write(path); err != nil {
		t.Fatal(err)
	}
	back, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if back.Chunks != 2 || back.ChunkSize != 64 || !reflect.DeepEqual(back.Tensors(), m.Tensors()) {
		t.Errorf("got %+v", back)
	}
	for _, m := range []*Matrix{m, back} {
		for _, c := range []struct {
			name                  string
			expert, experts, cols int
			want                  []float32
		}{
			{"blk.0.attn_q.weight", 0, 1, 2, []float32{5, 10}},
			{"blk.0.ffn_down_exps.weight", 0, 3, 3, []float32{10, 10, 10}},
			{"blk.0.ffn_down_exps.weight", 1, 3, 3, []float32{1, 1, 1}},
			{"blk.0.ffn_down_exps.weight", 2, 3, 3, []float32{1, 4, 9}},
			{"blk.0.ffn_down_exps.weight", 3, 4, 3, []float32{1, 1, 1}}, // no row was routed to the last
			{"other", 0, 1, 2, nil},
		} {
			if got, err := m.Of(c.name, c.expert, c.experts, c.cols); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s %d: got %v, %v, want %v", c.name, c.expert, got, err, c.want)
			}
		}
		var shape *shapeError
		if _, err := m.Of("blk.0.attn_q.weight", 0, 1, 3); !errors.As(err, &shape) {
			t.Errorf("other columns: %v", err)
		}
		if _, err := m.Of("blk.0.ffn_down_exps.weight", 0, 2, 3); !errors.As(err, &shape) {
			t.Errorf("fewer experts: %v", err)
		}
	}
}

// dat writes the older form.
func dat(dataset string, entries ...any) []byte {
	var b bytes.Buffer
	var put func(v any)
	put = func(v any) {
		if s, ok := v.(string); ok {
			put(int32(len(s)))
			b.WriteString(s)
			return
		}
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	put(int32(len(entries) / 3))
	for i := 0; i < len(entries); i += 3 {
		put(entries[i])
		put(int32(entries[i+1].(int)))
		values := entries[i+2].([]float32)
		put(int32(len(values)))
		put(values)
	}
	if dataset != "" {
		put(int32(7))
		put(dataset)
	}
	return b.Bytes()
}

func TestDat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "imatrix.dat")
	b := dat("wiki.txt", "blk.0.attn_q.weight", 2, []float32{4, 6}, "blk.0.ffn_down_exps.weight", 1, []float32{1, 2, 3, 4})
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Of("blk.0.attn_q.weight", 0, 1, 2); err != nil || !slices.Equal(got, []float32{2, 3}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := m.Of("blk.0.ffn_down_exps.weight", 1, 2, 2); err != nil || !slices.Equal(got, []float32{3, 4}) {
		t.Errorf("second expert: %v, %v", got, err)
	}
	if m.Chunks != 7 || !slices.Equal(m.Datasets, []string{"wiki.txt"}) {
		t.Errorf("%d chunks of %v", m.Chunks, m.Datasets)
	}
	for n := range len(b) - 16 { // without the last values at least
		if _, err := parseDat("x", b[:n]); err == nil {
			t.Fatalf("cut after %d bytes: no error", n)
		} else if e := (*file.FormatError)(nil); !errors.As(err, &e) {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
	}
}

func TestReadErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.gguf")
	var meta file.Metadata
	meta.Set("general.architecture", file.ValueOf("llama"))
	if err := file.WriteGGUF(path, meta, nil); err != nil {
		t.Fatal(err)
	}
	var e *file.FormatError
	if _, err := Read(path); !errors.As(err, &e) {
		t.Errorf("a model: %v", err)
	}
	meta = file.Metadata{}
	meta.Set("general.type", file.ValueOf("imatrix"))
	if err := file.WriteGGUF(path, meta, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); !errors.As(err, &e) {
		t.Errorf("nothing in it: %v", err)
	}
	if err := new(Matrix).Add("x", 0, []float32{1, 2}, 2); err != nil {
		t.Error(err)
	}
	m := sampleOf(t)
	if err := m.Add("blk.0.attn_q.weight", 0, []float32{1}, 1); err == nil {
		t.Error("rows of another width are added")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(dat("wiki.txt", "a", 2, []float32{4, 6}, "b", 1, []float32{1, 2, 3, 4}))
	f.Add(dat("", "a", 0, []float32{0}))
	dir := f.TempDir()
	m := &Matrix{}
	_ = m.Add("a", 1, []float32{1, 2}, 2)
	if err := m.Write(filepath.Join(dir, "m")); err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "m"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseDat("x", b)
		if d, bad := file.OpenBytes("x", b); bad == nil {
			m, err = fromGGUF(d)
		}
		if err != nil {
			return
		}
		for _, name := range m.Tensors() {
			e := m.tensors[name]
			if v, err := m.Of(name, 0, len(e.counts), e.cols); err != nil || len(v) != e.cols {
				t.Errorf("%q: %d values, %v", name, len(v), err)
			}
		}
	})
}
