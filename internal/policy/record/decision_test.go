package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"atenia/internal/store/faultfs"
)

// A listener is a function that listens.
type listener func(*Record)

func (f listener) Decided(r *Record) { f(r) }

type inputs struct {
	Bytes    uint64 `json:"bytes"`
	Pressure *Float `json:"pressure"`
}

func draft(i int) Draft {
	p := Float(i) / 4
	return Draft{
		Tick: uint64(i), Component: "placement", Rule: "R" + fmt.Sprint(i%3), Evaluated: []string{"R0", "R" + fmt.Sprint(i%3)},
		Target: "Vram", Device: "gpu0", Reason: "x < y & z", Inputs: inputs{uint64(i), &p}, Config: map[string]int{"high": 9},
	}
}

// ended is a log of n records with its end.
func ended(t testing.TB, n int) string {
	t.Helper()
	log := text(t, n)
	var last *Record
	for l := range Read(strings.NewReader(log)) {
		if l.Component != "" {
			last = &l.Record
		}
	}
	return log + string(EndAfter(last).AppendLine(nil)) + "\n"
}

// text is a log of n records without its end.
func text(t testing.TB, n int) string {
	t.Helper()
	var b bytes.Buffer
	j := NewJournal(Config{Now: func() int64 { return 5 }, Listeners: []Listener{listener(func(r *Record) {
		line, err := r.AppendLine(nil)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	})}})
	for i := range n {
		if _, err := j.Add(draft(i)); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestRecord(t *testing.T) {
	const want = `{"seq":0,"tick":0,"component":"placement","rule":"R0","evaluated":["R0","R0"],"target":"Vram","device":"gpu0",` +
		`"reason":"x < y & z","inputs":{"bytes":0,"pressure":0},"config_hash":"HASH","parent":"","hash":"HASH","t_ns":5}` + "\n"
	if got := regexp.MustCompile(`[0-9a-f]{32}`).ReplaceAllString(text(t, 1), "HASH"); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	if _, err := NewJournal(Config{}).Add(Draft{Inputs: math.NaN()}); err == nil {
		t.Error("inputs that JSON cannot hold were recorded")
	}
	var none *Journal
	if _, err := none.Add(draft(0)); err != nil || none.Len() != 0 {
		t.Error("a nil journal does something")
	}
}

// intact reports whether the hash matches the content.
func intact(r *Record) bool {
	c := *r
	_, err := c.seal()
	return err == nil && c.Hash == r.Hash
}

// If any field is altered, the hash does not match.
func TestIntact(t *testing.T) {
	var r Record
	for l, err := range Read(strings.NewReader(ended(t, 3))) {
		if err != nil || !intact(&l.Record) {
			t.Fatalf("line %d: %v", l.Number, err)
		}
		r = l.Record
	}
	v := reflect.ValueOf(&r.Content).Elem()
	for i := range v.NumField() {
		old := reflect.ValueOf(v.Field(i).Interface())
		switch f := v.Field(i).Addr().Interface().(type) {
		case *uint64:
			*f++
		case *string:
			*f += "x"
		case *[]string:
			*f = append(*f, "x")
		case *json.RawMessage:
			*f = json.RawMessage(`{"bytes":3}`)
		default:
			t.Fatalf("field of type %T", f)
		}
		if intact(&r) {
			t.Errorf("altered %s: nothing was noticed", v.Type().Field(i).Name)
		}
		v.Field(i).Set(old)
		if !intact(&r) {
			t.Fatal("not put back")
		}
	}
}

func TestJournal(t *testing.T) {
	j := NewJournal(Config{})
	var last Record
	for i := range 8 {
		r, err := j.Add(draft(i))
		if err != nil {
			t.Fatal(err)
		}
		if r.Seq != uint64(i) || r.Parent != last.Hash {
			t.Errorf("%d: %+v follows %+v", i, r, last)
		}
		last = r
	}
	if j.Len() != 8 {
		t.Errorf("%d records", j.Len())
	}
	j = NewJournal(Config{After: &last})
	if r, _ := j.Add(draft(0)); r.Seq != 8 || r.Parent != last.Hash {
		t.Errorf("goes on with %+v", r)
	}
}

func readAll(s string) (lines []Line, err error) {
	for l, e := range Read(strings.NewReader(s)) {
		if e != nil {
			return lines, e
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func TestRead(t *testing.T) {
	log := text(t, 3)
	whole := ended(t, 3)
	end := whole[len(log):]
	first := strings.Index(log, "\n") + 1
	for _, c := range []struct {
		log   string
		lines int
		kind  error
		text  string
	}{
		{whole, 3, nil, ""},
		{ended(t, 0), 0, nil, ""},
		{"", 0, ErrCut, "line 1 at byte 0"},
		{log, 3, ErrCut, "line 4"},
		{strings.TrimSuffix(log, "\n"), 2, ErrCut, "line 3"},
		{log[:5], 0, ErrCut, "not complete"},
		{strings.TrimSuffix(whole, "\n"), 3, ErrCut, "line 4"},
		{log[:first] + end, 1, errEnd, "it counts 3, there are 1"},
		{whole + log[:first], 3, errEnd, "line 5"},
		{whole + end, 3, errEnd, "something follows"},
		{whole + "x", 3, errEnd, "something follows"},
		{log + strings.Replace(end, "decisions/1", "decisions/2", 1), 3, errEnd, "decisions/2"},
		{log + strings.Replace(end, `"hash":"`, `"hash":"0`, 1), 3, errEnd, "its hash"},
		{log + strings.Replace(end, `,"hash"`, `, "hash"`, 1), 3, errEnd, "as it was written"},
		{log[:first] + "{}\n", 1, errFormat, fmt.Sprintf("line 2 at byte %d", first)},
		{log[:first] + log[:first-1] + " {}\n", 1, errFormat, "more than one value"},
		{log[:first] + "\n", 1, errFormat, "line 2"},
		{strings.Replace(log, `"tick"`, `"tock"`, 1), 0, errFormat, "tock"},
		{"GGUF\x03\x00", 0, ErrForeign, "line 1"},
		{"{\"learning\":1}\n", 0, ErrForeign, "line 1"},
	} {
		lines, err := readAll(c.log)
		if len(lines) != c.lines || !errors.Is(err, c.kind) || c.kind != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: %d lines, %v", c.log, len(lines), err)
		}
	}
	if _, err := readAll(strings.Repeat("x", maxLine+2<<16)); !errors.Is(err, ErrForeign) {
		t.Errorf("a line without end: %v", err)
	}
}

// write appends records i to n-1 through the file system and returns how many
// were acknowledged.
func write(cfg WriterConfig, n int) (acknowledged int, err error) {
	w, last, err := Open(cfg)
	if err != nil {
		return 0, err
	}
	j := NewJournal(Config{After: last, Listeners: []Listener{w}})
	for int(j.Len()) < n {
		if _, err := j.Add(draft(int(j.Len()))); err != nil {
			return 0, errors.Join(err, w.Close())
		}
		if w.Err() == nil {
			acknowledged++
		}
	}
	return acknowledged, w.Close()
}

func TestWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.jsonl")
	want := strings.ReplaceAll(ended(t, 5), `"t_ns":5`, `"t_ns":0`)
	for _, n := range []int{2, 2, 5} { // with nothing to add, too
		if _, err := write(WriterConfig{Path: path, Sync: true}, n); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	for cut := 0; cut < len(want); cut += 17 { // a truncated log can be appended to
		if err := os.WriteFile(path, []byte(want[:cut]), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := write(WriterConfig{Path: path}, 5); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Fatalf("cut at %d: got %s", cut, got)
		}
	}
	broken := strings.Replace(want, `"records":5`, `"records":6`, 1)
	for _, other := range []string{"precious", "precious\n", "{\n", want + "x\n", broken} { // not ours
		if err := os.WriteFile(path, []byte(other), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := write(WriterConfig{Path: path}, 5); !errors.Is(err, errFormat) && !errors.Is(err, ErrForeign) && !errors.Is(err, errEnd) {
			t.Errorf("%q: %v", other, err)
		}
		if got, _ := os.ReadFile(path); string(got) != other {
			t.Errorf("%q became %q", other, got)
		}
	}
	if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
		t.Fatal(err)
	}
	w, _, err := Open(WriterConfig{Path: path}) // as long as it is open, and after a kill, the log has no end
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(string(must(os.ReadFile(path)))); !errors.Is(err, ErrCut) {
		t.Errorf("while it is written: %v", err)
	}
	if err := w.Close(); err != nil || string(must(os.ReadFile(path))) != want {
		t.Errorf("%v", err)
	}
	if w.Close() == nil || string(must(os.ReadFile(path))) != want {
		t.Error("closed twice")
	}
	if _, _, err := Open(WriterConfig{Path: filepath.Join(path, "x")}); !errors.Is(err, errIO) {
		t.Errorf("got %v", err)
	}
}

// If any call fails, every acknowledged record is complete and in order.
func TestWriterFaults(t *testing.T) {
	want, _ := readAll(strings.ReplaceAll(ended(t, 6), `"t_ns":5`, `"t_ns":0`))
	for fault := range faultfs.Full + 1 {
		for n, fsys := range faultfs.Each(fault) {
			path := filepath.Join(t.TempDir(), "d.jsonl")
			if _, err := write(WriterConfig{Path: path, Sync: true}, 3); err != nil {
				t.Fatal(err)
			}
			ack, _ := write(WriterConfig{Path: path, Sync: true, FS: fsys}, 6)
			fsys.PowerCut()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines, err := readAll(string(data))
			if err != nil && !errors.Is(err, ErrCut) || len(lines) < 3+ack {
				t.Fatalf("fault %d at call %d: %d of %d records, %v", fault, n, len(lines), 3+ack, err)
			}
			for i := range lines {
				if lines[i].Hash != want[i].Hash {
					t.Fatalf("fault %d at call %d: record %d is another", fault, n, i)
				}
			}
			if _, err := write(WriterConfig{Path: path}, 6); err != nil {
				t.Fatal(err)
			}
			if lines, err := readAll(string(must(os.ReadFile(path)))); err != nil || len(lines) != 6 {
				t.Fatalf("fault %d at call %d: afterwards %d records, %v", fault, n, len(lines), err)
			}
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func TestFloat(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, x := range []float32{0, float32(math.Copysign(0, -1)), 1, 0.1, 1e-45, math.MaxFloat32, 1e21, nan, inf, -inf} {
		b, err := json.Marshal(FloatOf(&x))
		if err != nil {
			t.Fatal(err)
		}
		var back *Float
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if got := *back.Value(); math.Float32bits(got) != math.Float32bits(x) && (got == got || x == x) {
			t.Errorf("%v: %s is read as %v", x, b, got)
		}
	}
	if FloatOf(nil) != nil || (*Float)(nil).Value() != nil {
		t.Error("nothing became something")
	}
	if err := new(Float).UnmarshalJSON([]byte(`"nan"`)); err == nil {
		t.Error("another word was read")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(text(f, 2)))
	f.Add([]byte(ended(f, 2)))
	f.Add([]byte(ended(f, 0)))
	f.Add([]byte(ended(f, 0) + ended(f, 1)))
	f.Add([]byte(strings.TrimSuffix(ended(f, 1), "\n")))
	f.Add([]byte(`{"end":"atenia.decisions/2","records":0,"hash":""}` + "\n"))
	f.Add([]byte(`{"seq":0,"component":"x","inputs":null,"evaluated":null}` + "\n" + `{"inputs":{" ":1e400}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for l, err := range Read(bytes.NewReader(data)) {
			if err != nil {
				if _, ok := errors.AsType[*LogError](err); !ok {
					t.Fatalf("%T: %v", err, err)
				}
				return
			}
			once, err := l.AppendLine(nil)
			if err != nil {
				t.Fatal(err)
			}
			back, err := Parse(once)
			if err != nil {
				t.Fatalf("%s: %v", once, err)
			}
			if twice, err := back.AppendLine(nil); err != nil || !bytes.Equal(once, twice) {
				t.Fatalf("%s is read and printed as %s, %v", once, twice, err)
			}
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	w, _, err := Open(WriterConfig{Path: filepath.Join(b.TempDir(), "d.jsonl")})
	if err != nil {
		b.Fatal(err)
	}
	j := NewJournal(Config{Listeners: []Listener{w}})
	d := draft(1)
	for b.Loop() {
		if _, err := j.Add(d); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}
