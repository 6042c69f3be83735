package place_test

import (
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/place"
)

func small(t testing.TB) *place.Placement {
	t.Helper()
	p, err := place.Place(place.Input{
		Tensors: model(2), RAM: 200 << 20, Rates: rates, Files: []place.Part{{Name: "m.gguf", Bytes: 300 << 20}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func text(t testing.TB, f *place.File) string {
	t.Helper()
	b, err := f.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A plan that is written and read again is the same plan.
func TestFileRoundTrip(t *testing.T) {
	t.Parallel()
	p := small(t)
	written := text(t, p.File())
	f, err := place.Parse([]byte(written))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(f, p.File()) || text(t, f) != written {
		t.Errorf("another file:\n%s", text(t, f))
	}
	in := p.Input()
	in.RAM = 0
	q, err := place.Reload(in, f)
	if err != nil {
		t.Fatal(err)
	}
	q.Next, q.Larger = p.Next, p.Larger
	if !reflect.DeepEqual(p, q) {
		t.Errorf("another plan:\n%+v\n%+v", p, q)
	}
}

// A user edits the tier of a tensor: the placement follows, gives the file as the
// reason, and updates its sums. An edit beyond the budget is rejected with the
// numbers.
func TestFileEdited(t *testing.T) {
	t.Parallel()
	p := small(t)
	f := p.File()
	edit := func(name string, to memory.Tier) {
		for i := range f.Tensors {
			if f.Tensors[i].Name == name {
				f.Tensors[i].Tier = to
			}
		}
	}
	edit("output", memory.SSD)
	in := p.Input()
	in.RAM = 170 << 20
	_, err := place.Reload(in, f)
	var floor *place.FloorError
	if !errors.As(err, &floor) || floor.Floor <= in.RAM {
		t.Fatalf("a ring for the head: %v", err)
	}
	in.RAM = floor.Floor
	q, err := place.Reload(in, f)
	if err != nil {
		t.Fatal(err)
	}
	if x, _ := q.Tensor("output"); x.Tier != memory.SSD || x.Rule != place.RuleFile || q.Ring.Largest <= p.Ring.Largest {
		t.Errorf("%+v, ring %+v", x, q.Ring)
	}
	in.RAM = 300 << 20
	in.Pins = []place.Pin{{Match: regexp.MustCompile("^output$"), Tier: memory.RAM}}
	if q, err = place.Reload(in, f); err != nil {
		t.Fatal(err)
	}
	if x, _ := q.Tensor("output"); x.Tier != memory.RAM || x.Rule != place.RulePin {
		t.Errorf("a pin counts before the file: %+v", x)
	}
	in = p.Input()
	in.Tensors[3].Bytes++ // of a copy
	if _, err := place.Reload(in, f); !errors.Is(err, place.ErrMismatch) {
		t.Errorf("another model: %v", err)
	}
	edit("blk.0.attn_norm", memory.SSD)
	if _, err := place.Reload(p.Input(), f); !errors.Is(err, place.ErrPin) {
		t.Errorf("a vector on the ssd: %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	good := text(t, small(t).File())
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{`"tier":"Ram"`, `"tier":"Rom"`, `line 13, byte `},
		{`"tier":"Ram"`, `"tier":"Rom"`, `no tier "Rom"`},
		{`"tier":"Ram"`, `"tier":"ram"`, ``},
		{`"tier":"Ram"`, `"tier":"cpu"`, `want Vram, Ram or Ssd`},
		{`"tier":"Ram"`, `"tire":"Ram"`, `unknown field "tire"`},
		{`"tier":"Ram"`, `"tier":"Ram","device":"gpu0"`, `only Vram has devices`},
		{`"ram": 209715200`, `"ram": -1`, `line 4, byte `},
		{`"ram": 209715200`, `"ram": "much"`, `ram: not what belongs here`},
		{`"ram": 209715200`, `"rams": 1`, `there is no such field`},
		{`"ram": 209715200`, `"ssd": 1`, `ssd: a second time`},
		{`"atenia.plan/1"`, `"atenia.plan/2"`, `want "atenia.plan/1"`},
		{`"name":"blk.0.attn_q"`, `"name":"blk.0.attn_k"`, `blk.0.attn_k: a second time`},
		{"\n  ]\n}\n", "\n  ]\n}\n{}", "something follows the end"},
		{"\n  ]\n}\n", "", "unexpected EOF"},
		{`"class":"vector"`, `"class":"victor"`, `no class "victor"`},
	} {
		_, err := place.Parse([]byte(strings.Replace(good, c.old, c.new, 1)))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.new, err)
		case c.want != "" && (!errors.Is(err, place.ErrFile) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}

// For any bytes, Parse returns an error or a value that survives printing and
// parsing, and which is then rejected or followed within its budget.
func FuzzParse(f *testing.F) {
	p := small(f)
	good := text(f, p.File())
	f.Add(good)
	f.Add(strings.ReplaceAll(good, "Ssd", "Ram"))
	f.Add(strings.ReplaceAll(good, `"Ram"`, `"Vram","device":"gpu0"`))
	f.Add(good[:len(good)/2])
	f.Add(`{"format":"atenia.plan/1","tensors":[{"name":"a","tier":"ssd","class":"kv"}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		x, err := place.Parse([]byte(s))
		if err != nil {
			var e *place.FileError
			if !errors.As(err, &e) || e.Line < 1 || e.Offset < 0 || e.Offset > int64(len(s)) {
				t.Fatalf("%v", err)
			}
			return
		}
		printed := text(t, x)
		y, err := place.Parse([]byte(printed))
		if err != nil || !reflect.DeepEqual(x, y) || text(t, y) != printed {
			t.Fatalf("%v\n%s", err, printed)
		}
		x.Model.SHA256 = p.File().Model.SHA256
		in := p.Input()
		in.RAM = 0
		if q, err := place.Reload(in, x); err == nil && x.RAM > 0 && q.RAM() > x.RAM {
			t.Fatalf("%d bytes of a budget of %d", q.RAM(), x.RAM)
		}
	})
}
