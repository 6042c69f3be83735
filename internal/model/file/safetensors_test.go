package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden/await"
	"atenia/tensor"
)

// safe puts a header before n bytes of data.
func safe(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, n)...)
}

const (
	entryA = `"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}`
	entryB = `"b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]}`
)

func TestSafetensors(t *testing.T) {
	for name, b := range map[string][]byte{
		"plain":    safe("{"+entryA+","+entryB+"}", 22),
		"padded":   safe("{"+entryB+" , "+entryA+"}  \n", 22),
		"metadata": safe(`{"__metadata__":{"format":"pt"},`+entryA+","+entryB+"}", 22),
		"escapes":  safe(`{"\u0061":{"x":[{"y":[-1.5e3,true,null,"\"\\"]}],"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},`+entryB+"}", 22),
		"empty":    safe(`{`+entryA+","+entryB+`,"z":{"dtype":"I64","shape":[0,7],"data_offsets":[16,16]}}`, 22),
	} {
		t.Run(name, func(t *testing.T) {
			ts, meta, data, err := parseSafetensors("file", b)
			if err != nil {
				t.Fatal(err)
			}
			a, last := ts[0], ts[len(ts)-1]
			if a.Name != "a" || !a.View.Shape.Equal(tensor.Shape{2, 2}) || a.View.DType != tensor.F32 || &a.View.Data[0] != &b[data] {
				t.Errorf("a is %+v", a)
			}
			if last.Name != "b" || last.View.DType != tensor.BF16 || last.Offset != int64(data)+16 || len(last.View.Data) != 6 {
				t.Errorf("b is %+v", last)
			}
			if f, ok, _ := meta.String("format"); ok != (name == "metadata") || ok && f != "pt" {
				t.Errorf("format %q, %v", f, ok)
			}
		})
	}
}

// hostileSafetensors lists damaged files and texts that the error must contain.
func hostileSafetensors() map[string]struct {
	b    []byte
	want []string
} {
	type c = struct {
		b    []byte
		want []string
	}
	one := func(entry string, n int) []byte { return safe(`{"t":`+entry+`}`, n) }
	typed := func(dtype, shape, offsets string, n int) []byte {
		return one(fmt.Sprintf(`{"dtype":%s,"shape":%s,"data_offsets":%s}`, dtype, shape, offsets), n)
	}
	good := safe("{"+entryA+","+entryB+"}", 22)
	long := binary.LittleEndian.AppendUint64(nil, 1<<63)
	return map[string]c{
		"empty":           {nil, []string{"length of the header", "a file of 0"}},
		"short":           {[]byte("1234567"), []string{"length of the header", "a file of 7"}},
		"length 2^63":     {append(long, '{', '}'), []string{"at most 100000000", "9223372036854775808"}},
		"length past end": {binary.LittleEndian.AppendUint64(nil, 99), []string{"at most the 0 bytes", "got 99", "cut"}},
		"no object":       {safe("[]", 0), []string{"byte 8", "a JSON object"}},
		"no header":       {safe("", 0), []string{"a JSON object"}},
		"not JSON":        {safe(`{"a":{"dtype" "F32"}}`, 0), []string{"byte 22", `tensor "a"`, "want ':'", `got '"'`}},
		"more after":      {safe("{} x", 0), []string{"byte 11", "end of the text", "'x'"}},
		"never ends":      {safe(`{"a`, 0), []string{"byte 9", "never ends"}},
		"not UTF-8":       {safe("{\"\xff\":1}", 0), []string{"byte 10", "UTF-8", "0xff"}},
		"bad escape":      {safe(`{"\x":1}`, 0), []string{"after a backslash"}},
		"bad number":      {safe(`{"a":{"x":-}}`, 0), []string{"a number"}},
		"bad word":        {safe(`{"a":{"x":NaN}}`, 0), []string{"a value", "'N'"}},
		"depth bomb":      {safe(`{"a":{"x":`+strings.Repeat("[", 50_000), 0), []string{"at most 256 deep"}},
		"no dtype":        {one(`{"shape":[1],"data_offsets":[0,4]}`, 4), []string{`tensor "t"`, `want "dtype", got none`}},
		"no shape":        {one(`{"dtype":"F32","data_offsets":[0,4]}`, 4), []string{`tensor "t"`, `want "shape", got none`}},
		"no offsets":      {one(`{"dtype":"F32","shape":[1]}`, 4), []string{`tensor "t"`, `want "data_offsets", got none`}},
		"dtype":           {typed(`"F128"`, "[1]", "[0,16]", 16), []string{`tensor "t"`, "dtype", "F8_E5M2", `got "F128"`}},
		"block dtype":     {typed(`"Q4_0"`, "[32]", "[0,18]", 18), []string{`tensor "t"`, `got "Q4_0"`}},
		"negative":        {typed(`"F32"`, "[-1]", "[0,4]", 4), []string{`tensor "t"`, "shape", `-1`, "whole number"}},
		"fraction":        {typed(`"F32"`, "[1.0]", "[0,4]", 4), []string{`tensor "t"`, `1.0`}},
		"dim 2^64":        {typed(`"F32"`, "[18446744073709551616]", "[0,4]", 4), []string{`tensor "t"`, "shape"}},
		"overflow":        {typed(`"F32"`, "[4294967296,4294967296,4]", "[0,4]", 4), []string{`tensor "t"`, "shape", "overflows"}},
		"rank":            {typed(`"F32"`, "["+strings.Repeat("1,", 99)+"1]", "[0,4]", 4), []string{`tensor "t"`, "at most 64 dimensions"}},
		"one offset":      {typed(`"F32"`, "[1]", "[0]", 4), []string{"two numbers, got 1"}},
		"three offsets":   {typed(`"F32"`, "[1]", "[0,4,8]", 4), []string{"two numbers, got more"}},
		"backwards":       {typed(`"F32"`, "[1]", "[4,0]", 4), []string{`tensor "t"`, "4 bytes for F32 [1]", "4 to 0"}},
		"wrong size":      {typed(`"F32"`, "[2]", "[0,4]", 4), []string{`tensor "t"`, "8 bytes for F32 [2]", "0 to 4"}},
		"far away":        {typed(`"U8"`, "[1]", fmt.Sprintf("[%d,%d]", math.MaxInt-1, math.MaxInt), 1), []string{`tensor "t"`, "hole"}},
		"hole before":     {typed(`"F32"`, "[1]", "[4,8]", 8), []string{`tensor "t"`, "4 bytes later: a hole"}},
		"hole":            {safe("{"+entryA+`,"b":{"dtype":"U8","shape":[1],"data_offsets":[20,21]}}`, 21), []string{`tensor "b"`, "hole"}},
		"overlap":         {safe("{"+entryA+`,"b":{"dtype":"U8","shape":[8],"data_offsets":[12,20]}}`, 20), []string{`tensor "b"`, `where tensor "a" ends`, "overlap"}},
		"more data":       {safe("{"+entryA+"}", 17), []string{"1 more bytes that belong to no tensor"}},
		"cut in a":        {good[:len(good)-20], []string{`tensor "a"`, "16 bytes for F32 [2, 2]", "got 2", "cut"}},
		"cut in b":        {good[:len(good)-1], []string{`tensor "b"`, "6 bytes for BF16 [3]", "got 5", "cut"}},
		"name twice":      {safe("{"+entryA+`,"a":{"dtype":"U8","shape":[4],"data_offsets":[16,20]}}`, 20), []string{`tensor "a"`, "every name once"}},
		"name twice by \\u": {safe("{"+entryA+`,"\u0061":{"dtype":"U8","shape":[4],"data_offsets":[16,20]}}`, 20),
			[]string{`tensor "a"`, "every name once"}},
		"field twice":    {typed(`"F32","dtype":"F32"`, "[1]", "[0,4]", 4), []string{`tensor "t"`, "dtype", "once"}},
		"metadata twice": {safe(`{"__metadata__":{},"__metadata__":{}}`, 0), []string{"__metadata__", "every name once"}},
		"note twice":     {safe(`{"__metadata__":{"k":"a","k":"b"}}`, 0), []string{"__metadata__", "every key once"}},
		"note number":    {safe(`{"__metadata__":{"k":1}}`, 0), []string{"a string"}},
	}
}

func TestHostileSafetensors(t *testing.T) {
	for name, c := range hostileSafetensors() {
		t.Run(name, func(t *testing.T) {
			var err error
			if n := await.Bytes(func() { _, _, _, err = parseSafetensors("bad.safetensors", c.b) }); n > int64(2*len(c.b)+slack) {
				t.Errorf("%d bytes of memory for a file of %d", n, len(c.b))
			}
			checkError(t, err, append(c.want, "bad.safetensors"))
		})
	}
}

func TestDamageSafetensors(t *testing.T) {
	b := safe("{"+entryA+","+entryB+"}", 22)
	for n := range len(b) {
		if _, _, _, err := parseSafetensors("cut", b[:n:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were accepted", n, len(b))
		}
	}
	for i := range b {
		for _, x := range []byte{1, 0x80, 0xff} {
			c := slices.Clone(b)
			c[i] ^= x
			parseSafetensors("changed", c)
		}
	}
}

func FuzzSafetensors(f *testing.F) {
	f.Add(safe("{"+entryA+","+entryB+"}", 22))
	for _, c := range hostileSafetensors() {
		if len(c.b) < 4096 {
			f.Add(c.b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ts, meta, _, err := parseSafetensors("fuzz", b)
		if err == nil {
			d := &Description{Tensors: ts, Meta: meta}
			if err := d.finish(); err != nil {
				t.Fatal(err)
			}
			touch(d)
			return
		}
		if _, ok := errors.AsType[*FormatError](err); !ok {
			t.Fatalf("%T: %v", err, err)
		}
		_ = err.Error()
	})
}

func FuzzIndex(f *testing.F) {
	for _, s := range []string{
		`{"metadata":{"total_size":1},"weight_map":{"a":"x.safetensors","b":"y.safetensors"}}`,
		`{"weight_map":{"a":"../x"}}`, `{"weight_map":{"a":1}}`, `{"weight_map":{}}`, `{}`, `[`, "",
		`{"weight_map":{"a":"x","a":"y"}}`, `{"weight_map":{"a":"x"},"weight_map":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		weights, files, err := parseIndex("fuzz", b)
		if err != nil {
			if _, ok := errors.AsType[*FormatError](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		for _, w := range weights {
			if i, ok := findWeight(weights, w.tensor); !ok || weights[i].file != w.file || !slices.Contains(files, w.file) {
				t.Fatalf("%+v is lost", w)
			}
		}
	})
}

// folder writes a Hugging Face folder with two weight files.
func folder(t *testing.T) (dir string, put func(name, text string)) {
	t.Helper()
	dir = t.TempDir()
	put = func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("config.json", `{"model_type": "llama", "limit": [0.0, Infinity, -Infinity, NaN]}`)
	put("tokenizer.json", `{}`)
	put("1_Pooling/config.json", `{}`)
	put("model-00001-of-00002.safetensors", string(safe("{"+entryA+"}", 16)))
	put("model-00002-of-00002.safetensors", string(safe(`{"c":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"d":{"dtype":"I64","shape":[],"data_offsets":[3,11]}}`, 11)))
	put(indexName, `{"metadata": {"total_size": 27}, "weight_map": {"d": "model-00002-of-00002.safetensors", "c": "model-00002-of-00002.safetensors", "a": "model-00001-of-00002.safetensors"}}`)
	return dir, put
}

func TestFolder(t *testing.T) {
	dir, put := folder(t)
	put("config.v5.json", `{"dialect": 5}`)
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	touch(d)
	var names []string
	for _, x := range d.Tensors {
		names = append(names, x.Name)
	}
	if !slices.Equal(names, []string{"a", "c", "d"}) || d.Format != HuggingFace || len(d.Parts) != 2 {
		t.Errorf("got %v in %d parts", names, len(d.Parts))
	}
	if !strings.Contains(string(d.Config), "llama") || string(d.Files["1_Pooling/config.json"]) != "{}" || len(d.Files) != 2 {
		t.Errorf("config %s, files %v", d.Config, d.Files)
	}
	if s := d.Summary(); s.Parameters != 4+3+1 || s.Bytes != 27 || s.Files != 2 || s.BitsPerParameter() != 27 {
		t.Errorf("summary %+v", s)
	}
	e, err := Open(dir, ConfigName("config.v5.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if string(e.Config) != `{"dialect": 5}` {
		t.Errorf("config %s", e.Config)
	}
	// A single file wins over an index, as in the reference.
	put(singleName, string(safe("{"+entryA+","+entryB+"}", 22)))
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, ok := s.Tensor("b"); !ok || len(s.Tensors) != 2 {
		t.Errorf("got %d tensors", len(s.Tensors))
	}
	o, err := OpenSafetensors(filepath.Join(dir, singleName))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if o.Format != Safetensors || len(o.Tensors) != 2 {
		t.Errorf("got %+v", o)
	}
}

// A tensor that two files have is taken from the one that the index names.
func TestLeftover(t *testing.T) {
	dir, put := folder(t)
	put("model-00001-of-00002.safetensors", string(safe(`{"c":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},"more":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}`, 12)))
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if c, ok := d.Tensor("c"); !ok || c.View.DType != tensor.U8 {
		t.Errorf("c is %+v", c)
	}
	if _, ok := d.Tensor("more"); !ok || len(d.Tensors) != 4 {
		t.Errorf("%d tensors; one that the index does not know is lost", len(d.Tensors))
	}
}

func TestHeaderOnly(t *testing.T) {
	dir, _ := folder(t)
	for _, name := range []string{"model-00002-of-00002.safetensors", "model-00001-of-00002.safetensors", indexName} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without %s: %v", name, err)
		}
		d, err := Open(dir, HeaderOnly())
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
	}
}

func TestHostileFolder(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(dir string, put func(name, text string))
		want   []string
	}{
		{"absent file", func(dir string, _ func(string, string)) {
			os.Remove(filepath.Join(dir, "model-00002-of-00002.safetensors"))
		}, []string{"model-00002-of-00002.safetensors", "no such file"}},
		{"absent tensor", func(_ string, put func(string, string)) {
			put(indexName, `{"weight_map": {"a": "model-00001-of-00002.safetensors", "e": "model-00002-of-00002.safetensors"}}`)
		}, []string{`tensor "e"`, "model-00002-of-00002.safetensors", "without it"}},
		{"cut file", func(_ string, put func(string, string)) {
			put("model-00001-of-00002.safetensors", string(safe("{"+entryA+"}", 15)))
		}, []string{"model-00001-of-00002.safetensors", `tensor "a"`, "cut"}},
		{"no config", func(dir string, _ func(string, string)) { os.Remove(filepath.Join(dir, "config.json")) },
			[]string{"want config.json", "without config.json"}},
		{"config syntax", func(_ string, put func(string, string)) {
			put("config.json", "{\n  \"a\": 1,\n  \"é\": tru\n}")
		}, []string{"config.json:3:8", "a value", "'t'"}},
		{"config cut", func(_ string, put func(string, string)) { put("config.json", "{\n  \"a\": 1,\n") },
			[]string{"config.json:3:1", "a string", "end of the text"}},
		{"config empty", func(_ string, put func(string, string)) { put("config.json", "") },
			[]string{"config.json:1:1", "a value"}},
		{"generation syntax", func(_ string, put func(string, string)) { put("generation_config.json", "{]") },
			[]string{"generation_config.json:1:2", "']'"}},
		{"config is a folder", func(dir string, _ func(string, string)) {
			os.Remove(filepath.Join(dir, "config.json"))
			os.Mkdir(filepath.Join(dir, "config.json"), 0o700)
		}, []string{"config.json", "regular file"}},
		{"tokenizer of a terabyte", func(dir string, _ func(string, string)) { os.Truncate(filepath.Join(dir, "tokenizer.json"), 1<<40) },
			[]string{"tokenizer.json", "at most 268435456 bytes", "got 1099511627776"}},
		{"index syntax", func(_ string, put func(string, string)) { put(indexName, "{\"weight_map\":\n{\"a\" 1}}") },
			[]string{indexName + ":2:6", "want ':'"}},
		{"index empty", func(_ string, put func(string, string)) { put(indexName, "{}") },
			[]string{indexName, "weight_map", "none or an empty one"}},
		{"index twice", func(_ string, put func(string, string)) {
			put(indexName, `{"weight_map": {"a": "model-00001-of-00002.safetensors", "a": "model-00002-of-00002.safetensors"}}`)
		}, []string{indexName, `tensor "a"`, "every tensor once"}},
		{"index outside", func(_ string, put func(string, string)) {
			put(indexName, `{"weight_map": {"a": "../../etc/passwd"}}`)
		}, []string{indexName + ":1:17", "folder of the index", "../../etc/passwd"}},
		{"no index", func(dir string, _ func(string, string)) { os.Remove(filepath.Join(dir, indexName)) },
			[]string{"weights", "and no index", "fetch " + indexName}},
		{"pickles", func(dir string, put func(string, string)) {
			m, _ := filepath.Glob(filepath.Join(dir, "model*"))
			for _, f := range m {
				os.Remove(f)
			}
			put("pytorch_model.bin", "x")
		}, []string{"weights", "pytorch_model.bin", "convert"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, put := folder(t)
			c.change(dir, put)
			_, err := Open(dir)
			checkError(t, err, append(c.want, dir))
		})
	}
}
