package place_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/place"
)

const mib = 1 << 20

// units returns n tensors of one MiB, each in a separate unit.
func units(n int) (ts []place.Tensor) {
	for i := range n {
		ts = append(ts, place.Tensor{Name: fmt.Sprintf("w%02d", i), Bytes: mib, Uses: 1, Unit: i})
	}
	return ts
}

// marks prints a letter for each tensor: where it is.
func marks(p *place.Placement) string {
	var b strings.Builder
	for i := range p.Tensors {
		b.WriteByte(p.Tensors[i].Tier.Lower()[0])
	}
	return b.String()
}

func placeAll(t *testing.T, in place.Input) *place.Placement {
	t.Helper()
	p, err := place.Place(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Streamed units are spread evenly over the pass, however many they are.
func TestSpread(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ram  int64
		want string
	}{
		{20, "srsrsrsrsrsrsrsrsrsrsrsrsrsrsrsr"},
		{28, "rrsrrrsrrrsrrrsrrrsrrrsrrrsrrrsr"},
		{12, "sssrsssrsssrsssrsssrsssrsssrsssr"},
	} {
		p := placeAll(t, place.Input{Tensors: units(32), RAM: c.ram*mib - mib/2, Rates: rates})
		if got := marks(p); strings.Contains(got, strings.Repeat("s", strings.Count(c.want, "s")/8+1)) || strings.Contains(got, strings.Repeat("r", strings.Count(c.want, "r")/8+2)) {
			t.Errorf("%d MiB: %s, want something like %s", c.ram, got, c.want)
		}
	}
}

// Tensors that are read most per byte are pinned first: weights, then frequently
// chosen experts, then the others, then tables.
func TestValue(t *testing.T) {
	t.Parallel()
	ts := []place.Tensor{{Name: "table", Bytes: mib, Class: place.Table, ByRow: true, RowBytes: 4096}}
	for i := range 4 {
		ts = append(ts,
			place.Tensor{Name: fmt.Sprint("cold", i), Bytes: mib, Class: place.Expert, Uses: 0.1, Unit: 3 * i},
			place.Tensor{Name: fmt.Sprint("hot", i), Bytes: mib, Class: place.Expert, Uses: 0.5, Unit: 3*i + 1},
			place.Tensor{Name: fmt.Sprint("weight", i), Bytes: mib, Uses: 1, Unit: 3*i + 2})
	}
	for _, ram := range []int64{8, 11, 12, 13} {
		p := placeAll(t, place.Input{Tensors: ts, RAM: ram * mib, Rates: rates})
		held := map[byte]int{}
		for i := range p.Tensors {
			if x := &p.Tensors[i]; x.Tier == memory.RAM {
				held[x.Name[0]]++
			}
		}
		if held['w'] < 4 || held['c'] > 0 && held['h'] < 4 || held['t'] > 0 && held['c'] < 4 {
			t.Errorf("%d MiB: %s", ram, marks(p))
		}
	}
}

// VRAM in the budget is used device by device; pins select one. A requirement that
// cannot be met is an error.
func TestDevices(t *testing.T) {
	t.Parallel()
	in := place.Input{Tensors: units(8), Rates: rates, Devices: []place.Device{{ID: "a", Bytes: 3 * mib}, {ID: "b", Bytes: 2 * mib}}}
	p := placeAll(t, in)
	if got := marks(p); got != "vvvvvrrr" || p.Tensors[2].Device != "a" || p.Tensors[3].Device != "b" {
		t.Errorf("%s, %+v", got, p.Tensors[:4])
	}
	pins := func(s ...string) (out []place.Pin) {
		for _, x := range s {
			pin, err := place.ParsePin(x)
			if err != nil || pin.String() != x {
				t.Fatal(pin, err)
			}
			out = append(out, pin)
		}
		return out
	}
	in.Pins = pins("^w07$=vram@b", "^w00$=ram", "^w0[0-1]$=ssd")
	if p = placeAll(t, in); marks(p) != "rsvvvvrv" || p.Tensors[7].Device != "b" || p.Ring.Units != 1 {
		t.Errorf("%s, %+v", marks(p), p.Ring)
	}
	if d := p.Decision(1).String(); !strings.Contains(d, "w01: ssd by rule pin: 1 MiB, as a pin says") {
		t.Error(d)
	}
	vram, ram := memory.VRAM, memory.RAM
	for _, c := range []struct {
		change func(*place.Input)
		want   error
	}{
		{func(in *place.Input) { in.RequireGPU = true }, place.ErrRequire},
		{func(in *place.Input) { in.MaxTier, in.Pins = &vram, nil }, place.ErrRequire},
		{func(in *place.Input) { in.MaxTier = &ram }, place.ErrPin}, // w01 is pinned to the ssd
		{func(in *place.Input) { in.MaxTier, in.Pins, in.RAM = &ram, nil, 2*mib }, place.ErrFloor},
		{func(in *place.Input) { in.Pins = pins("w0=vram@c") }, place.ErrPin},
		{func(in *place.Input) { in.Pins = pins("w0=vram@b") }, place.ErrPin}, // too many
		{func(in *place.Input) { in.Pins = pins("nothing=ram") }, place.ErrPin},
		{func(in *place.Input) { in.Pins, in.RAM, in.Devices, in.SSD = nil, 6*mib, nil, mib }, place.ErrFloor},
		{func(in *place.Input) { in.Tensors = append(units(2), units(1)...) }, place.ErrInput},
		{func(in *place.Input) { in.Slots = 1 }, place.ErrInput},
	} {
		x := in
		c.change(&x)
		if _, err := place.Place(x); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
}

func TestParsePin(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "=ram", "a", "a=", "a=cpu", "a=ram@x", "(=ram"} {
		if _, err := place.ParsePin(bad); !errors.Is(err, place.ErrPin) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if p, err := place.ParsePin("a=b=Ssd"); err != nil || p.Match.String() != "a=b" || p.Tier != memory.SSD {
		t.Error(p, err)
	}
}
