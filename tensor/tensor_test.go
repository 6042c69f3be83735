package tensor

import (
	"errors"
	"math"
	"testing"
)

func TestDTypeText(t *testing.T) {
	for d := Invalid + 1; d < numDTypes; d++ {
		got, err := ParseDType(d.String())
		if err != nil || got != d {
			t.Errorf("%v parses to %v, %v", d, got, err)
		}
		if v, b := d.Block(); v == 0 || b == 0 {
			t.Errorf("%v has no layout", d)
		}
	}
	if _, err := ParseDType("Q9_9"); err == nil {
		t.Error("an unknown type was accepted")
	}
}

func TestRowBytes(t *testing.T) {
	if n, err := Q4_K.RowBytes(512); n != 288 || err != nil {
		t.Errorf("512 values of Q4_K: %d, %v", n, err)
	}
	if _, err := Q4_K.RowBytes(896); err == nil {
		t.Error("896 values are not whole blocks of Q4_K")
	} else if _, ok := errors.AsType[*BlockError](err); !ok {
		t.Errorf("error type %T", err)
	}
	if _, err := F32.RowBytes(math.MaxInt); err == nil {
		t.Error("an overflowing row was accepted")
	}
}

func TestShapeBytes(t *testing.T) {
	if n, err := (Shape{3, 64}).Bytes(Q8_0); n != 3*68 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	if _, err := (Shape{math.MaxInt, 64}).Bytes(F32); err == nil {
		t.Error("an overflowing shape was accepted")
	}
	if got := (Shape{2, 3}).String(); got != "[2, 3]" {
		t.Errorf("got %q", got)
	}
}

// Every half survives the way to float32 and back, and every float32 between
// two halves goes to the nearer one.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		f := F16ToF32(uint16(h))
		back := F32ToF16(f)
		if math.IsNaN(float64(f)) {
			if !math.IsNaN(float64(F16ToF32(back))) {
				t.Fatalf("%#04x: NaN became %#04x", h, back)
			}
			continue
		}
		if back != uint16(h) {
			t.Fatalf("%#04x → %g → %#04x", h, f, back)
		}
		if h&0x7fff < 0x7bff { // the value halfway to the next one ties to even
			next := F16ToF32(uint16(h + 1))
			mid := float32((float64(f) + float64(next)) / 2)
			want := uint16(h) + uint16(h)&1
			if got := F32ToF16(mid); got != want {
				t.Fatalf("halfway above %#04x: got %#04x, want %#04x", h, got, want)
			}
			if got := F32ToF16(math.Nextafter32(mid, f)); got != uint16(h) {
				t.Fatalf("below halfway above %#04x: got %#04x", h, got)
			}
		}
	}
	if F32ToF16(65520) != 0x7c00 || F32ToF16(65519) != 0x7bff {
		t.Fatal("the largest half rounds wrongly")
	}
}

func TestBF16(t *testing.T) {
	for h := range 1 << 16 {
		f := BF16ToF32(uint16(h))
		if back := F32ToBF16(f); back != uint16(h) && !math.IsNaN(float64(f)) {
			t.Fatalf("%#04x → %g → %#04x", h, f, back)
		}
	}
	if got := F32ToBF16(math.Float32frombits(0x3f808000)); got != 0x3f80 {
		t.Fatalf("tie: got %#04x", got)
	}
	if f := BF16ToF32(F32ToBF16(math.Float32frombits(0x7f800001))); !math.IsNaN(float64(f)) {
		t.Fatal("NaN lost")
	}
}

func TestView(t *testing.T) {
	v := FromF32(Shape{3, 2}, []float32{1, 2, 3, 4, 5, 6})
	got, ok := v.Rows(1, 3).F32()
	if !ok || len(got) != 4 || got[0] != 3 {
		t.Fatalf("rows 1 to 3: %v", got)
	}
	if _, err := NewView(F32, Shape{3}, make([]byte, 11)); err == nil {
		t.Fatal("a short view was accepted")
	}
}
