package checkpoint

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/store/blob"
)

func TestParseErrors(t *testing.T) {
	t.Parallel()
	good := manifestText(entryText("t1", "ram", 3, "vram", "x"))
	replace := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for _, c := range []struct {
		text, want string
		line       int
	}{
		{"", "want version=", 0},
		{"garbage", "got \"garbage\", want version=", 1},
		{replace("version=1", "version=2"), "version 2; this program reads version 1", 1},
		{replace("created_unix=1234", "created_unix=-1"), "want a number below 2^64", 2},
		{replace("entry_count=1", "entry_count=2"), "1 entries, but entry_count=2", 13},
		{replace("is_grad=0", "is_grad=2"), "want 0 or 1", 6},
		{replace("tier=ram", "tier=Ram"), "want vram, ram, ssd or cpu", 7},
		{replace("len=3", "len=3x"), "want a number", 8},
		{replace("cache_kind=tensor", "cache_kind=kernelmeta"), "want tensor, gradient, kernel_meta or none", 9},
		{replace("cache_kind=tensor", "cache_kind=none"), "one is none and the other is not", 13},
		{replace("cache_key=tensor:t1:len3", "cache_key=none"), "one is none and the other is not", 13},
		{replace("cache_key=tensor:t1:len3\n", ""), "without cache_key", 12},
		{replace("desired_tier=vram", "desired_tier=hbm"), "want vram, ram, ssd or cpu", 11},
		{replace("plan_summary=x", "colour=red"), "want one of id=", 12},
		{replace("plan_summary=x", "tier=ssd"), "a second tier in one entry", 12},
		{replace("id=t1", "id=t\x01"), "control characters", 5},
		{replace("id=t1", "id=\xff"), "not UTF-8", 5},
		{strings.ReplaceAll(good, "\n", "\r\n"), "line ends were changed", 1},
		{manifestText(entryText("t1", "ram", 3, "vram", "x"), entryText("t1", "ram", 3, "vram", "x")), "a second entry", 22},
	} {
		_, err := parse([]byte(c.text))
		e, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, ErrInvalidFormat) || e.Line != c.line || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q in line %d", c.text, err, c.want, c.line)
		}
	}
}

// A manifest survives printing and parsing.
func TestManifestText(t *testing.T) {
	t.Parallel()
	m := &Manifest{Created: 1<<64 - 1}
	for i, summary := range []string{"", "none", " none", "  none", "none ", "a=b", "tab\tbed", "ünï"} {
		m.Entries = append(m.Entries, Entry{
			ID: strings.Repeat("i", i+1) + "/ =:", IsGrad: i%2 == 0, Tier: memory.Tier(i % 4), Bytes: uint64(i) << 60,
			Hint: memory.Hint{Desired: ptr(memory.Tier(3 - i%4)), Summary: summary, HasSummary: true},
		})
	}
	m.Entries[0].Blob = &Blob{blob.KernelMeta, "k v"}
	m.Entries[1].Hint = memory.Hint{}
	text, err := m.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := parse(text); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%v\n%s\n%+v", err, text, got)
	}
	for _, e := range []Entry{{ID: "a\nb"}, {ID: "\xff"}, {ID: "a", Blob: &Blob{Key: "none"}}, {ID: "a", Blob: &Blob{Key: "x\r"}}, {ID: "a", Hint: memory.Hint{Summary: "\xff", HasSummary: true}}} {
		m := &Manifest{Entries: []Entry{e}}
		if _, err := m.MarshalText(); !errors.Is(err, ErrInvalidFormat) {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(manifestText(entryText("t1", "ram", 3, "vram", " none"), entryText("é", "cpu", 0, "none", "none"))))
	f.Add([]byte("version=1\ncreated_unix=0\nentry_count=18446744073709551615\n"))
	f.Add([]byte("version=01\ncreated_unix=0\nentry_count=1\nid=\nis_grad=0\nlen=007\ntier=ssd\ncache_key=k\ncache_kind=gradient\n \t\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parse(data)
		if err != nil {
			if !errors.Is(err, ErrInvalidFormat) {
				t.Errorf("another kind of error: %v", err)
			}
			return
		}
		text, err := m.MarshalText()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := parse(text)
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Fatalf("%v: %q is read as another manifest", err, text)
		}
		if twice, _ := again.MarshalText(); !bytes.Equal(twice, text) {
			t.Errorf("%q is written as %q", text, twice)
		}
	})
}

func FuzzSums(f *testing.F) {
	m := &Manifest{Entries: []Entry{{ID: "t1", Hash: blob.HashOf(nil)}, {ID: "\"ü"}, {ID: "t2", Hash: blob.HashOf([]byte("x"))}}}
	manifest := blob.HashOf([]byte("manifest"))
	f.Add(m.sumsText(manifest))
	f.Add([]byte("atenia_checkpoint_sums=1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := &Manifest{Entries: []Entry{{ID: "t1"}, {ID: "\"ü"}, {ID: "t2"}}}
		if line, why := got.parseSums(string(text), manifest); why != "" {
			if line > bytes.Count(text, []byte("\n"))+1 {
				t.Errorf("line %d of %q", line, text)
			}
			return
		}
		if again := got.sumsText(manifest); again != nil && len(again) > len(text) {
			t.Errorf("%q is written as %q", text, again)
		}
	})
}
