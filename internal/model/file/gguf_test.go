package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden/await"
	"atenia/tensor"
)

// A builder writes GGUF bytes field by field, faults included.
type builder struct{ b []byte }

func (b *builder) u32(v uint32) *builder { b.b = binary.LittleEndian.AppendUint32(b.b, v); return b }
func (b *builder) u64(v uint64) *builder { b.b = binary.LittleEndian.AppendUint64(b.b, v); return b }
func (b *builder) str(s string) *builder { b.b = appendText(b.b, s); return b }
func (b *builder) raw(x ...byte) *builder {
	b.b = append(b.b, x...)
	return b
}
func (b *builder) pad(align int) *builder { return b.raw(make([]byte, -len(b.b)&(align-1))...) }

// head begins a file.
func head(version uint32, tensors, keys uint64) *builder {
	return new(builder).raw([]byte(magic)...).u32(version).u64(tensors).u64(keys)
}

// info adds a tensor's entry; dims are innermost first, as in the file.
func (b *builder) info(name string, id uint32, off uint64, dims ...uint64) *builder {
	b.str(name).u32(uint32(len(dims)))
	for _, d := range dims {
		b.u64(d)
	}
	return b.u32(id).u64(off)
}

// whole is a small valid file: two keys, two tensors of 64 and 34 bytes.
func whole() []byte {
	return head(3, 2, 2).str("general.architecture").u32(8).str("llama").
		str("list").u32(9).u32(8).u64(2).str("a").str("bc").
		info("w", 0, 0, 4, 4).info("q", 8, 64, 32).pad(32).
		raw(make([]byte, 64+34)...).b
}

func TestGGUF(t *testing.T) {
	for _, v := range []uint32{2, 3} {
		b := whole()
		b[4] = byte(v)
		d, err := OpenBytes("whole", b)
		if err != nil {
			t.Fatal(err)
		}
		if d.Version != int(v) || d.Alignment != 32 || d.Format != GGUF || len(d.Tensors) != 2 {
			t.Errorf("got %+v", d)
		}
		w, ok := d.Tensor("w")
		if !ok || w.View.DType != tensor.F32 || !w.View.Shape.Equal(tensor.Shape{4, 4}) || &w.View.Data[0] != &b[w.Offset] {
			t.Errorf("w is %+v", w)
		}
		if _, ok := d.Tensor("none"); ok {
			t.Error("found a tensor that is not there")
		}
		if s, ok, err := d.Meta.Strings("list"); !ok || err != nil || !slices.Equal(s, []string{"a", "bc"}) {
			t.Errorf("list is %q, %v, %v", s, ok, err)
		}
		s := d.Summary()
		if s.Tensors != 2 || s.Parameters != 48 || s.Bytes != 98 || s.FileBytes != int64(len(b)) || s.Types[0].DType != tensor.F32 {
			t.Errorf("summary %+v", s)
		}
		for range 2 { // closing again does nothing
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
		if arch, _, _ := d.Meta.String("general.architecture"); arch != "llama" {
			t.Errorf("after close the architecture is %q", arch)
		}
		if _, _, err := d.Meta.Strings("list"); err == nil {
			t.Error("an array outlived its file")
		}
		if err := EncodeGGUF(new(bytes.Buffer), d.Meta, nil); err == nil {
			t.Error("the metadata of a closed file were written")
		}
	}
}

// Every element type of ggml has its number and its block.
func TestElementTypes(t *testing.T) {
	for id, d := range ggmlTypes {
		if d == tensor.Invalid {
			continue
		}
		values, size := d.Block()
		b := head(3, 1, 0).info("t", uint32(id), 0, uint64(values), 3).pad(32).raw(make([]byte, 3*size)...).b
		got, err := OpenBytes(d.String(), b)
		if err != nil {
			t.Errorf("%s: %v", d, err)
			continue
		}
		if v := got.Tensors[0].View; v.DType != d || len(v.Data) != 3*size || !v.Shape.Equal(tensor.Shape{3, values}) {
			t.Errorf("%s: got %s %v", d, v.DType, v.Shape)
		}
		if back, ok := ggmlType(d); !ok || back != uint32(id) {
			t.Errorf("%s: number %d, %v", d, back, ok)
		}
	}
	for _, d := range []tensor.DType{tensor.Invalid, tensor.U8, tensor.F8E4M3, tensor.Bool} {
		if _, ok := ggmlType(d); ok {
			t.Errorf("%s has a number", d)
		}
	}
}

// hostile lists damaged files and texts that the error must contain.
func hostile() map[string]struct {
	b    []byte
	want []string
} {
	type c = struct {
		b    []byte
		want []string
	}
	key := func() *builder { return head(3, 0, 1).str("k") }
	bomb := key().u32(9)
	for range 100_000 {
		bomb.u32(9).u64(1)
	}
	w := whole()
	cases := map[string]c{
		"empty":          {nil, []string{"magic", "end of the file"}},
		"magic":          {[]byte("PK\x03\x04 a zip file, in fact"), []string{`want "GGUF"`, `"PK\x03\x04"`}},
		"old magic":      {[]byte("tjgg............................"), []string{"before GGUF"}},
		"version 1":      {head(1, 0, 0).b, []string{"version", "want 2 or 3, got 1", "convert"}},
		"version 9":      {head(9, 0, 0).b, []string{"got 9", "newer"}},
		"big endian":     {head(3<<24, 0, 0).b, []string{"big-endian", "version 3"}},
		"keys 2^60":      {head(3, 0, 1<<60).b, []string{"number of metadata keys", "byte 16", "1152921504606846976"}},
		"tensors 2^60":   {head(3, 1<<60, 0).b, []string{"number of tensors", "byte 8"}},
		"tensors 2^64-1": {head(3, math.MaxUint64, 0).b, []string{"number of tensors"}},
		"tensors huge": {head(3, 100_000, 0).raw(make([]byte, 25*100_000)...).b,
			[]string{"number of tensors", "less memory than twice the file"}},
		"key 2^63":       {head(3, 0, 1).u64(1 << 63).raw(make([]byte, 64)...).b, []string{"metadata key 1 of 1", "byte 24"}},
		"key empty":      {head(3, 0, 1).str("").u32(4).u32(1).b, []string{"metadata key 1 of 1", "1 to 65535"}},
		"string 2^63":    {key().u32(8).u64(1 << 63).raw(make([]byte, 64)...).b, []string{`metadata "k"`, "string", "9223372036854775808"}},
		"value type":     {key().u32(13).u64(1).b, []string{`metadata "k"`, "type of the value", "0 to 12, got 13"}},
		"bool":           {key().u32(7).raw(2, 0, 0, 0).b, []string{`metadata "k"`, "0 or 1, got 2"}},
		"array 2^60":     {key().u32(9).u32(10).u64(1 << 60).u64(1).b, []string{"length of the array", "at most 1"}},
		"array of zip":   {key().u32(9).u32(77).u64(1).u64(1).b, []string{"type of the value", "got 77"}},
		"depth bomb":     {bomb.b, []string{"array", "at most 16 deep"}},
		"cut in a key":   {whole()[:30], []string{"byte 16", "number of metadata keys"}},
		"cut in a value": {whole()[:60], []string{`metadata "general.architecture"`}},
		"key twice":      {head(3, 0, 2).str("k").u32(4).u32(1).str("k").u32(4).u32(1).b, []string{`metadata "k"`, "every key once", "key 2 of 2"}},
		"alignment 0":    {head(3, 0, 1).str(alignmentKey).u32(4).u32(0).b, []string{"general.alignment", "power of two", "got 0"}},
		"alignment 24":   {head(3, 0, 1).str(alignmentKey).u32(4).u32(24).b, []string{"general.alignment", "got 24"}},
		"alignment text": {head(3, 0, 1).str(alignmentKey).u32(8).str("32").b, []string{"general.alignment", "whole number", "got string"}},
		"alignment huge": {head(3, 0, 1).str(alignmentKey).u32(10).u64(1 << 63).b, []string{"general.alignment"}},
		"cut tensor":     {w[:len(w)-40], []string{`tensor "w"`, "64 bytes for F32 [4, 4]", "cut"}},
		"cut last":       {w[:len(w)-1], []string{`tensor "q"`, "34 bytes for Q8_0 [32]", "33", "cut"}},
		"cut at data":    {w[:len(w)-98], []string{`tensor "w"`, "cut"}},
	}
	one := func(name string, id uint32, off uint64, dims ...uint64) []byte {
		return head(3, 1, 0).info(name, id, off, dims...).pad(32).raw(make([]byte, 256)...).b
	}
	two := func(a, b string, offB uint64) []byte {
		return head(3, 2, 0).info(a, 0, 0, 32).info(b, 0, offB, 32).pad(32).raw(make([]byte, 256)...).b
	}
	for name, x := range map[string]c{
		"dtype":          {one("t.w", 200, 0, 32), []string{`tensor "t.w"`, "element type", "got 200"}},
		"dtype gap":      {one("t.w", 40, 0, 32), []string{`tensor "t.w"`, "got 40"}},
		"dtype removed":  {one("t.w", 31, 0, 32), []string{`tensor "t.w"`, "Q4_0_4_4, removed"}},
		"block":          {one("t.w", 2, 0, 33), []string{`tensor "t.w"`, "blocks of 32 (Q4_0)"}},
		"dims 5":         {one("t.w", 0, 0, 1, 1, 1, 1, 1), []string{`tensor "t.w"`, "number of dimensions", "got 5"}},
		"dim 0":          {one("t.w", 0, 0, 4, 0), []string{`tensor "t.w"`, "dimension 1", "got 0"}},
		"dim 2^63":       {one("t.w", 0, 0, 1<<63), []string{`tensor "t.w"`, "dimension 0"}},
		"size overflow":  {one("t.w", 0, 0, 1<<31, 1<<31, 1<<31), []string{`tensor "t.w"`, "shape", "overflows"}},
		"bytes overflow": {one("t.w", 0, 0, 1<<62), []string{`tensor "t.w"`, "shape"}},
		"too large":      {one("t.w", 0, 0, 1<<40), []string{`tensor "t.w"`, "4398046511104 bytes", "cut"}},
		"offset odd":     {one("t.w", 0, 8, 4), []string{`tensor "t.w"`, "offset", "multiple of 32", "got 8"}},
		"offset 2^64":    {one("t.w", 0, math.MaxUint64&^31, 4), []string{`tensor "t.w"`, "offset"}},
		"offset end":     {one("t.w", 0, 256, 4), []string{`tensor "t.w"`, "cut"}},
		"name 2^63":      {head(3, 1, 0).u64(1 << 63).raw(make([]byte, 64)...).b, []string{"name of tensor 1 of 1"}},
		"overlap":        {two("a", "b", 96), []string{`tensor "b"`, `where tensor "a" ends`, "overlap"}},
		"same place":     {two("a", "b", 0), []string{`tensor "b"`, "overlap"}},
		"name twice":     {two("a", "a", 128), []string{`tensor "a"`, "every name once"}},
		"split":          {head(3, 0, 1).str(splitCount).u32(2).raw(2, 0).b, []string{"split.count", "merge"}},
	} {
		cases[name] = x
	}
	return cases
}

func TestHostileGGUF(t *testing.T) {
	for name, c := range hostile() {
		t.Run(name, func(t *testing.T) {
			var err error
			if n := await.Bytes(func() { _, err = OpenBytes("bad.gguf", c.b) }); n > int64(2*len(c.b)+slack) {
				t.Errorf("%d bytes of memory for a file of %d", n, len(c.b))
			}
			checkError(t, err, append(c.want, "bad.gguf"))
		})
	}
}

// checkError checks that err is a FormatError whose text contains all of want.
func checkError(t *testing.T, err error, want []string) {
	t.Helper()
	if _, ok := errors.AsType[*FormatError](err); !ok {
		t.Fatalf("got %T: %v", err, err)
	}
	for _, s := range want {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error does not say %q: %v", s, err)
		}
	}
}

// Files of many small entries take no more memory than the budget allows.
func TestSmallEntries(t *testing.T) {
	const n = 100_000
	keys := head(3, 0, n)
	for i := range n {
		keys.str(fmt.Sprintf("%x", i)).u32(0).raw(1)
	}
	infos := head(3, n, 1).str(alignmentKey).u32(0).raw(1)
	for i := range n {
		infos.info(fmt.Sprintf("%x", i), 24, uint64(i), 1)
	}
	infos.raw(make([]byte, n)...)
	for name, b := range map[string][]byte{"keys": keys.b, "tensors": infos.b} {
		var err error
		got := await.Bytes(func() { _, err = OpenBytes(name, b) })
		if got > int64(2*len(b)+slack+slack/4) {
			t.Errorf("%s: %d bytes of memory for a file of %d", name, got, len(b))
		}
		t.Logf("%s: file %d, memory %d, %v", name, len(b), got, err)
	}
	// Empty strings are the worst case of a list.
	b := head(3, 0, 1).str("k").u32(9).u32(8).u64(n).raw(make([]byte, 8*n)...).b
	d, err := OpenBytes("strings", b)
	if err != nil {
		t.Fatal(err)
	}
	if got := await.Bytes(func() { d.Meta.Strings("k") }); got > int64(2*len(b)+slack) {
		t.Errorf("%d bytes of memory for a list of %d", got, len(b))
	}
	b = head(3, 0, 1).str("k").u32(9).u32(0).u64(1 << 20).raw(make([]byte, 1<<20)...).b
	if d, err = OpenBytes("bytes", b); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Meta.Ints("k"); err == nil {
		t.Error("a megabyte became eight")
	}
	if x, ok, err := d.Meta.Bytes("k"); !ok || err != nil || len(x) != 1<<20 {
		t.Errorf("%d bytes, %v, %v", len(x), ok, err)
	}
}

// Every prefix of a file is rejected, and no single changed byte makes the reader
// panic.
func TestDamageGGUF(t *testing.T) {
	b := whole()
	for n := range len(b) {
		if _, err := OpenBytes("cut", b[:n:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were accepted", n, len(b))
		}
	}
	for i := range b {
		for _, x := range []byte{1, 0x80, 0xff} {
			c := slices.Clone(b)
			c[i] ^= x
			if d, err := OpenBytes("changed", c); err == nil {
				touch(d)
			}
		}
	}
}

// touch uses everything that a description offers.
func touch(d *Description) (sum int) {
	for key, v := range d.Meta.All() {
		sum += len(key) + len(v.String()) + v.Len()
		d.Meta.Strings(key)
		d.Meta.Ints(key)
		d.Meta.Floats(key)
	}
	for i := range d.Tensors {
		v := d.Tensors[i].View
		if n, err := v.Shape.Bytes(v.DType); err != nil || n != len(v.Data) {
			panic(fmt.Sprintf("%s: %d bytes for %s %v", d.Tensors[i].Name, len(v.Data), v.DType, v.Shape))
		}
		if t, ok := d.Tensor(d.Tensors[i].Name); !ok || t != &d.Tensors[i] {
			panic("the index is wrong")
		}
		for _, x := range v.Data {
			sum += int(x)
		}
	}
	d.Summary()
	return sum
}

func FuzzGGUF(f *testing.F) {
	f.Add(whole())
	for _, c := range hostile() {
		if len(c.b) < 4096 {
			f.Add(c.b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := OpenBytes("fuzz", b)
		if err != nil {
			if _, ok := errors.AsType[*FormatError](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			_ = err.Error()
			return
		}
		touch(d)
		// What was read can be written, unless a name is longer than ggml
		// allows, and then reads the same.
		var ts []TensorSource
		for _, x := range d.Tensors {
			ts = append(ts, SourceOf(x.Name, x.View))
		}
		var w bytes.Buffer
		if d.Alignment > 1<<16 || EncodeGGUF(&w, d.Meta, ts) != nil {
			return
		}
		e, err := OpenBytes("again", w.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		same(t, d, e)
		d.Close()
	})
}

// same checks that two descriptions are equal.
func same(t *testing.T, a, b *Description) {
	t.Helper()
	if a.Meta.Len() != b.Meta.Len() || len(a.Tensors) != len(b.Tensors) {
		t.Fatalf("%d keys and %d tensors became %d and %d", a.Meta.Len(), len(a.Tensors), b.Meta.Len(), len(b.Tensors))
	}
	for key, v := range a.Meta.All() {
		w, ok := b.Meta.Get(key)
		if !ok || v.kind != w.kind || v.elem != w.elem || v.n != w.n || v.bits != w.bits && !math.IsNaN(math.Float64frombits(v.bits)) || !bytes.Equal(v.raw, w.raw) {
			t.Errorf("%q: %v became %v", key, v, w)
		}
	}
	for i, x := range a.Tensors {
		y := b.Tensors[i]
		if x.Name != y.Name || x.View.DType != y.View.DType || !x.View.Shape.Equal(y.View.Shape) || !bytes.Equal(x.View.Data, y.View.Data) {
			t.Errorf("tensor %d: %s %s %v became %s %s %v", i, x.Name, x.View.DType, x.View.Shape, y.Name, y.View.DType, y.View.Shape)
		}
	}
}

func TestOpenPath(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := write("blob", whole()) // known by its magic
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	touch(d)
	if d.Tensors[0].File != path || d.Parts[0].Path != path || d.Parts[0].Data != d.Tensors[0].Offset {
		t.Errorf("got %+v", d.Parts)
	}
	for a := WillNeed; a <= DontNeed; a++ {
		if err := errors.Join(d.Advise(a), d.Advise(a, &d.Tensors[1])); err != nil {
			t.Error(err)
		}
	}
	if d.Advise(DontNeed+1) == nil {
		t.Error("unknown advice was taken")
	}
	touch(d)
	d.Close()
	for _, c := range []struct {
		path string
		want []string
	}{
		{write("notes.txt", []byte("hello")), []string{"want a .gguf file or a Hugging Face folder", "another kind"}},
		{write("empty.gguf", nil), []string{"magic"}},
		{write("zip.gguf", []byte("PK\x03\x04....")), []string{`got "PK`}},
		{write("x.safetensors", []byte("12345678{}")), []string{"name the folder", dir}},
		{filepath.Join(dir, "absent.gguf"), []string{"want a .gguf file", "nothing of that name"}},
		{dir, []string{"config.json", "name a file in it", ".gguf"}},
	} {
		_, err := Open(c.path)
		checkError(t, err, append(c.want, c.path))
	}
}
