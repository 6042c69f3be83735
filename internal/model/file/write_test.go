package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/tensor"
)

// randomValue makes a value of any type, arrays of arrays included.
func randomValue(r *rand.Rand, depth int) Value {
	word := func() string { return strings.Repeat(string(rune('a'+r.IntN(26)))+"é\x00", r.IntN(4)) }
	switch n := r.IntN(22 + 2*depth); n {
	case 0:
		return ValueOf(uint8(r.Uint32()))
	case 1:
		return ValueOf(int8(r.Uint32()))
	case 2:
		return ValueOf(uint16(r.Uint32()))
	case 3:
		return ValueOf(int16(r.Uint32()))
	case 4:
		return ValueOf(r.Uint32())
	case 5:
		return ValueOf(int32(r.Uint32()))
	case 6:
		return ValueOf(r.Float32() * 1e30)
	case 7:
		return ValueOf(r.IntN(2) == 1)
	case 8:
		return ValueOf(word())
	case 9:
		return ValueOf(r.Uint64())
	case 10:
		return ValueOf(int64(r.Uint64()))
	case 11:
		return ValueOf(r.Float64())
	case 12:
		return ArrayOf([]int8{-1, int8(r.Uint32())})
	case 13:
		return ArrayOf([]uint16{1, 2, uint16(r.Uint32())})
	case 14:
		return ArrayOf([]int32{math.MinInt32, int32(r.Uint32())})
	case 15:
		return ArrayOf([]float32{r.Float32(), -0.5})
	case 16:
		return ArrayOf([]bool{true, false, r.IntN(2) == 1})
	case 17, 18:
		return ArrayOf([]string{word(), word(), ""})
	case 19:
		return ArrayOf([]uint64{r.Uint64()})
	case 20:
		return ArrayOf([]float64{r.Float64()})
	case 21:
		return ArrayOf([]string{})
	}
	if depth == 0 {
		return ValueOf(true)
	}
	v, err := nestedOf([]Value{ArrayOf([]uint8{1, 2}), randomArray(r, depth-1), ArrayOf([]string{"x"})})
	if err != nil {
		panic(err)
	}
	return v
}

func randomArray(r *rand.Rand, depth int) Value {
	for {
		if v := randomValue(r, depth); v.kind == Array {
			return v
		}
	}
}

// randomTensors makes tensors of the given types with random bytes.
func randomTensors(r *rand.Rand, types []tensor.DType, empty bool) []TensorSource {
	ts := make([]TensorSource, r.IntN(12))
	for i := range ts {
		d := types[r.IntN(len(types))]
		block, _ := d.Block()
		s := make(tensor.Shape, r.IntN(maxDims+1))
		for k := range s {
			s[k] = 1 + r.IntN(5)
			if empty && r.IntN(8) == 0 {
				s[k] = 0
			}
		}
		if len(s) > 0 {
			s[len(s)-1] *= block
		} else if block > 1 {
			s = tensor.Shape{block}
		}
		n, err := s.Bytes(d)
		if err != nil {
			panic(err)
		}
		b := make([]byte, n)
		for k := range b {
			b[k] = byte(r.Uint32())
		}
		ts[i] = SourceOf(fmt.Sprintf("blk.%d.%s", i, d), tensor.View{DType: d, Shape: s, Data: b})
	}
	return ts
}

// Any description survives writing and reading.
func TestRoundTripGGUF(t *testing.T) {
	var types []tensor.DType
	for _, d := range ggmlTypes {
		if d != tensor.Invalid {
			types = append(types, d)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		want := &Description{}
		for k := range r.IntN(20) {
			want.Meta.Set(fmt.Sprintf("key.%d", k*7%20), randomValue(r, 3))
		}
		if i%4 == 1 {
			want.Meta.Set(alignmentKey, ValueOf(uint32(1)<<r.IntN(10)))
		}
		ts := randomTensors(r, types, false)
		var w bytes.Buffer
		if err := EncodeGGUF(&w, want.Meta, ts); err != nil {
			t.Fatal(err)
		}
		got, err := OpenBytes("written", w.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		want.Tensors = collect(t, ts)
		same(t, want, got)
		touch(got)
	}
}

// collect runs the sources.
func collect(t *testing.T, ts []TensorSource) (out []Tensor) {
	t.Helper()
	for _, s := range ts {
		var b bytes.Buffer
		if err := s.Write(&b); err != nil {
			t.Fatal(err)
		}
		out = append(out, Tensor{Name: s.Name, View: tensor.View{DType: s.DType, Shape: s.Shape, Data: b.Bytes()}})
	}
	return out
}

func TestRoundTripSafetensors(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		ts := randomTensors(r, safeTypes[:], true)
		notes := map[string]string{"format": "pt", "quote \" <&>": "é\n\u2028"}
		var w bytes.Buffer
		if err := EncodeSafetensors(&w, notes, ts); err != nil {
			t.Fatal(err)
		}
		got, meta, data, err := parseSafetensors("written", w.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if data%8 != 0 {
			t.Errorf("data start at %d", data)
		}
		for k, v := range notes {
			if s, ok, err := meta.String(k); !ok || err != nil || s != v {
				t.Errorf("note %q is %q, %v, %v", k, s, ok, err)
			}
		}
		d := &Description{Tensors: got}
		if err := d.finish(); err != nil {
			t.Fatal(err)
		}
		for _, want := range collect(t, ts) {
			g, ok := d.Tensor(want.Name)
			if !ok || g.View.DType != want.View.DType || !g.View.Shape.Equal(want.View.Shape) || !bytes.Equal(g.View.Data, want.View.Data) {
				t.Errorf("%s %v became %+v", want.Name, want.View.Shape, g)
			}
			if _, size := want.View.DType.Block(); g.Offset%int64(size) != 0 {
				t.Errorf("%s at %d is not aligned", want.Name, g.Offset)
			}
		}
	}
}

func TestValues(t *testing.T) {
	var m Metadata
	if _, ok := m.Get("none"); ok || m.Len() != 0 {
		t.Error("the zero Metadata holds something")
	}
	m.Set("u", ValueOf(uint64(math.MaxUint64)))
	m.Set("i", ValueOf(int8(-3)))
	m.Set("f", ValueOf(float32(0.1)))
	m.Set("s", ValueOf("text"))
	m.Set("b", ValueOf(true))
	m.Set("ints", ArrayOf([]int32{-1, 2}))
	m.Set("bools", ArrayOf([]bool{true, false}))
	m.Set("u", ValueOf(uint64(1<<63))) // replaces, in place
	if x, ok, err := m.Uint("u"); x != 1<<63 || !ok || err != nil {
		t.Errorf("u: %d, %v, %v", x, ok, err)
	}
	if x, ok, err := m.Int("i"); x != -3 || !ok || err != nil {
		t.Errorf("i: %d, %v, %v", x, ok, err)
	}
	if x, ok, err := m.Float("i"); x != -3 || !ok || err != nil {
		t.Errorf("i as float: %g, %v, %v", x, ok, err)
	}
	if x, ok, err := m.Float("f"); float32(x) != 0.1 || !ok || err != nil {
		t.Errorf("f: %g, %v, %v", x, ok, err)
	}
	if x, ok, err := m.Bool("b"); !x || !ok || err != nil {
		t.Errorf("b: %v, %v, %v", x, ok, err)
	}
	if x, ok, err := m.Floats("ints"); !ok || err != nil || len(x) != 2 || x[0] != -1 {
		t.Errorf("ints: %v, %v, %v", x, ok, err)
	}
	if x, ok, err := m.Bools("bools"); !ok || err != nil || len(x) != 2 || !x[0] {
		t.Errorf("bools: %v, %v, %v", x, ok, err)
	}
	if _, ok, err := m.Uint("none"); ok || err != nil {
		t.Errorf("none: %v, %v", ok, err)
	}
	var all strings.Builder
	for k, v := range m.All() {
		fmt.Fprintf(&all, "%s=%s %s;", k, v.Type(), v)
	}
	const want = `u=u64 9223372036854775808;i=i8 -3;f=f32 0.1;s=string "text";b=bool true;ints=array i32[2]{-1, 2};bools=array bool[2]{true, false};`
	if all.String() != want {
		t.Errorf("got  %s\nwant %s", all.String(), want)
	}
	for name, get := range map[string]func() error{
		`"u": want a whole number, got u64 9223372036854775808`:   func() error { _, _, err := m.Int("u"); return err },
		`"i": want a whole number ≥ 0, got i8 -3`:                 func() error { _, _, err := m.Uint("i"); return err },
		`"s": want a number, got string`:                          func() error { _, _, err := m.Float("s"); return err },
		`"b": want a string, got bool true`:                       func() error { _, _, err := m.String("b"); return err },
		`"f": want a bool, got f32 0.1`:                           func() error { _, _, err := m.Bool("f"); return err },
		`"ints": want an array of strings, got array of 2 i32`:    func() error { _, _, err := m.Strings("ints"); return err },
		`"ints": want an array of bytes, got array of 2 i32`:      func() error { _, _, err := m.Bytes("ints"); return err },
		`"ints[0]": want an element of an array of whole numbers`: func() error { _, _, err := m.Uints("ints"); return err },
		`"s": want an array of whole numbers, got string`:         func() error { _, _, err := m.Ints("s"); return err },
	} {
		checkError(t, get(), []string{name})
	}
	if _, err := nestedOf([]Value{ValueOf(true)}); err == nil {
		t.Error("a bool was nested")
	}
}

// Contents that the format cannot store are rejected before a file is replaced.
func TestWriteErrors(t *testing.T) {
	f32 := func(name string, s ...int) TensorSource {
		n, _ := tensor.Shape(s).Bytes(tensor.F32)
		return SourceOf(name, tensor.View{DType: tensor.F32, Shape: s, Data: make([]byte, n)})
	}
	typed := func(d tensor.DType, s ...int) TensorSource {
		x := f32("t", 1)
		x.DType, x.Shape = d, s
		return x
	}
	broken := errors.New("broken")
	bytesOf := func(n int, err error) TensorSource {
		x := f32("t", 4)
		x.Write = func(w io.Writer) error {
			_, werr := w.Write(make([]byte, n))
			return errors.Join(werr, err)
		}
		return x
	}
	ignores := f32("t", 4)
	ignores.Write = func(w io.Writer) error { w.Write(make([]byte, 99)); return nil }
	for _, c := range []struct {
		ts         []TensorSource
		gguf, safe string // what the error says; "" is success
	}{
		{[]TensorSource{f32("a", 2), f32("a", 2)}, `"a": name`, `"a": name`},
		{[]TensorSource{f32("", 2)}, "name", "name"},
		{[]TensorSource{f32(strings.Repeat("x", 64), 2)}, "at most 63 bytes", ""},
		{[]TensorSource{f32("t", 1, 1, 1, 1, 1)}, "at most 4 dimensions", ""},
		{[]TensorSource{f32("t", 0)}, "at least one value", ""},
		{[]TensorSource{f32("\xff", 1)}, "", "UTF-8"},
		{[]TensorSource{f32(metadataKey, 1)}, "", "name that the format uses"},
		{[]TensorSource{typed(tensor.U8, 4)}, "element type", ""},
		{[]TensorSource{typed(tensor.Q4_0, 32)}, "want 18 bytes, got 4", "element type"},
		{[]TensorSource{typed(tensor.Q4_0, 31)}, "blocks of 32", "element type"},
		{[]TensorSource{typed(tensor.Invalid, 4)}, "shape", "element type"},
		{[]TensorSource{typed(tensor.F32, -1)}, "shape", "shape"},
		{[]TensorSource{{Name: "t", DType: tensor.F32}}, "function", "function"},
		{[]TensorSource{bytesOf(15, nil)}, "want 16 bytes, got 15", "want 16 bytes, got 15"},
		{[]TensorSource{bytesOf(17, nil)}, "want 16 bytes, got more", "want 16 bytes, got more"},
		{[]TensorSource{ignores}, "got more", "got more"},
		{[]TensorSource{bytesOf(4, broken)}, "broken", "broken"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "model")
		for kind, try := range map[string]struct {
			err  error
			want string
		}{
			"gguf":        {WriteGGUF(path, Metadata{}, c.ts), c.gguf},
			"safetensors": {WriteSafetensors(path, nil, c.ts), c.safe},
		} {
			if (try.err == nil) != (try.want == "") || try.err != nil && !strings.Contains(try.err.Error(), try.want) {
				t.Errorf("%s of %s %v: want %q, got %v", kind, c.ts[0].Name, c.ts[0].Shape, try.want, try.err)
			}
		}
		if entries, _ := os.ReadDir(dir); c.gguf != "" && c.safe != "" && len(entries) > 0 {
			t.Errorf("%q left %v", c.gguf, entries)
		}
	}
	var m Metadata
	m.Set("", ValueOf(true))
	if err := EncodeGGUF(io.Discard, m, nil); err == nil {
		t.Error("an empty key was written")
	}
	var odd Metadata
	odd.Set(alignmentKey, ValueOf(uint32(24)))
	if err := EncodeGGUF(io.Discard, odd, nil); err == nil || !strings.HasPrefix(err.Error(), "metadata") {
		t.Errorf("alignment 24: %v", err)
	}
}

// A split model opens from any of its parts.
func TestSplit(t *testing.T) {
	part := func(no, count, total int, names ...string) []byte {
		var m Metadata
		if no == 0 {
			m.Set("general.architecture", ValueOf("llama"))
		}
		m.Set(splitNo, ValueOf(uint16(no)))
		m.Set(splitCount, ValueOf(uint16(count)))
		m.Set(splitTensors, ValueOf(int32(total)))
		var ts []TensorSource
		for _, n := range names {
			ts = append(ts, SourceOf(n, tensor.FromF32(tensor.Shape{2}, []float32{1, 2})))
		}
		var w bytes.Buffer
		if err := EncodeGGUF(&w, m, ts); err != nil {
			t.Fatal(err)
		}
		return w.Bytes()
	}
	good := func() map[string][]byte {
		return map[string][]byte{
			"m-00001-of-00003.gguf": part(0, 3, 4),
			"m-00002-of-00003.gguf": part(1, 3, 4, "a", "b"),
			"m-00003-of-00003.gguf": part(2, 3, 4, "c", "d"),
		}
	}
	for _, c := range []struct {
		name   string
		change func(map[string][]byte)
		open   string
		want   []string // of the error; nil is success
	}{
		{"first", func(map[string][]byte) {}, "m-00001-of-00003.gguf", nil},
		{"last", func(map[string][]byte) {}, "m-00003-of-00003.gguf", nil},
		{"absent", func(m map[string][]byte) { delete(m, "m-00002-of-00003.gguf") }, "m-00001-of-00003.gguf",
			[]string{"m-00002-of-00003.gguf", "part 2 of 3", "no such file"}},
		{"swapped", func(m map[string][]byte) { m["m-00002-of-00003.gguf"] = m["m-00003-of-00003.gguf"] }, "m-00001-of-00003.gguf",
			[]string{"m-00002-of-00003.gguf", "split.no", "want 1", "got 2"}},
		{"stranger", func(m map[string][]byte) { m["m-00002-of-00003.gguf"] = whole() }, "m-00001-of-00003.gguf",
			[]string{"m-00002-of-00003.gguf", "split.no", "got none"}},
		{"count", func(m map[string][]byte) { m["m-00002-of-00003.gguf"] = part(1, 4, 4, "a", "b") }, "m-00001-of-00003.gguf",
			[]string{"m-00002-of-00003.gguf", "split.count", "want 3", "got 4"}},
		{"tensors", func(m map[string][]byte) { m["m-00002-of-00003.gguf"] = part(1, 3, 4, "a") }, "m-00001-of-00003.gguf",
			[]string{"split.tensors.count", "want 3", "got 4"}},
		{"same name", func(m map[string][]byte) { m["m-00002-of-00003.gguf"] = part(1, 3, 4, "a", "c") }, "m-00001-of-00003.gguf",
			[]string{`tensor "c"`, "every name once", "m-00003-of-00003.gguf", "m-00002-of-00003.gguf"}},
		{"cut", func(m map[string][]byte) {
			b := m["m-00003-of-00003.gguf"]
			m["m-00003-of-00003.gguf"] = b[:len(b)-25] // 24 are padding
		}, "m-00001-of-00003.gguf",
			[]string{"m-00003-of-00003.gguf", `tensor "d"`, "cut"}},
		{"renamed", func(m map[string][]byte) { m["model.gguf"] = m["m-00001-of-00003.gguf"] }, "model.gguf",
			[]string{"file name", "-00001-of-00003.gguf"}},
		{"other count", func(m map[string][]byte) { m["m-00001-of-00005.gguf"] = m["m-00001-of-00003.gguf"] }, "m-00001-of-00005.gguf",
			[]string{"file name", "-of-00003.gguf"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, files := t.TempDir(), good()
			c.change(files)
			for name, b := range files {
				if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d, err := Open(filepath.Join(dir, c.open))
			if c.want != nil {
				checkError(t, err, c.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			touch(d)
			if arch, _, _ := d.Meta.String("general.architecture"); arch != "llama" || len(d.Parts) != 3 || len(d.Tensors) != 4 {
				t.Errorf("architecture %q, %d parts, %d tensors", arch, len(d.Parts), len(d.Tensors))
			}
			if x, ok := d.Tensor("c"); !ok || filepath.Base(x.File) != "m-00003-of-00003.gguf" {
				t.Errorf("c is %+v", x)
			}
		})
	}
}
