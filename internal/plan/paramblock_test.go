package plan

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
)

func attentionBlock(t *testing.T) ParamBlock {
	t.Helper()
	b, err := EncodeParams(OpAttention, &AttentionParams{Heads: 7, KVHeads: 7, HeadDim: 8, Scale: 0.125})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wantABI checks the fields of a block's error.
func wantABI(t *testing.T, b ParamBlock, op Opcode) {
	t.Helper()
	err := b.Check(op)
	if !errors.Is(err, ErrInvalidParamBlockABI) {
		t.Fatalf("got %v, want %v", err, ErrInvalidParamBlockABI)
	}
	if e, ok := errors.AsType[*ParamABIError](err); !ok || e.Op != op {
		t.Fatalf("got %#v, want a ParamABIError of %s", err, op)
	}
}

func TestParamVersionMismatch(t *testing.T) {
	for _, v := range []uint8{0, 2, 255} {
		b := attentionBlock(t)
		b.Version = v
		wantABI(t, b, OpAttention)
		if _, err := b.Decode(); !errors.Is(err, ErrInvalidParamBlockABI) {
			t.Errorf("version %d decodes: %v", v, err)
		}
	}
}

func TestParamSizeMismatch(t *testing.T) {
	full := attentionBlock(t)
	for _, n := range []int{0, 1, 8, len(full.Data) - 8, len(full.Data) - 1} {
		b := full
		b.Data = full.Data[:n]
		wantABI(t, b, OpAttention)
	}
	b := full
	b.Data = append(bytes.Clone(full.Data), make([]byte, 8)...)
	wantABI(t, b, OpAttention)
}

func TestParamWrongOpcode(t *testing.T) {
	wantABI(t, attentionBlock(t), OpMoE)
	if _, err := EncodeParams(OpNorm, &AttentionParams{}); !errors.Is(err, ErrInvalidParamBlockABI) {
		t.Errorf("a payload of another opcode encodes: %v", err)
	}
	if _, err := EncodeParams(200, nil); !errors.Is(err, ErrUnsupportedOpcode) {
		t.Errorf("a block of an unknown opcode encodes: %v", err)
	}
}

func TestParamOver256(t *testing.T) {
	b := attentionBlock(t)
	b.Data = make([]byte, MaxParamBytes+8)
	wantABI(t, b, OpAttention)
}

// The bytes are little-endian and part of the format: they are hashed and
// stored.
func TestParamLittleEndianGolden(t *testing.T) {
	b, err := EncodeParams(OpNorm, &NormParams{Dim: 0x01020304, Kind: NormLayer, Eps: 1, Offset: -2, Groups: 5})
	if err != nil {
		t.Fatal(err)
	}
	const want = "04030201" + "01000000" + "0000803f" + "000000c0" + "05000000" + "00000000"
	if got := hex.EncodeToString(b.Data); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Payloads have the documented form: fields of fixed size, no pointers, no
// padding, a multiple of eight bytes, at most 256; and they round-trip.
func TestParamRoundTripAllOpcodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range Specs {
		if s == nil {
			continue
		}
		if s.Params == nil {
			b, err := EncodeParams(s.Op, nil)
			if err != nil || len(b.Data) != 0 {
				t.Errorf("%s: empty payload: %v", s.Name, err)
			}
			continue
		}
		v := s.Params()
		typ := reflect.TypeOf(v).Elem()
		sum := 0
		for i := range typ.NumField() {
			f := typ.Field(i)
			sum += int(f.Type.Size())
			switch f.Type.Kind() {
			case reflect.Uint32:
				reflect.ValueOf(v).Elem().Field(i).SetUint(uint64(rng.Uint32()))
			case reflect.Float32:
				reflect.ValueOf(v).Elem().Field(i).SetFloat(float64(rng.Float32()))
			default:
				t.Errorf("%s.%s has kind %s", typ.Name(), f.Name, f.Type.Kind())
			}
		}
		if sum != int(typ.Size()) || sum != binary.Size(v) || sum != s.ParamBytes() || sum%8 != 0 || sum > MaxParamBytes {
			t.Errorf("%s: fields %d, size %d, encoded %d", typ.Name(), sum, typ.Size(), binary.Size(v))
		}
		b, err := EncodeParams(s.Op, v)
		if err != nil {
			t.Fatal(err)
		}
		back, err := b.Decode()
		if err != nil || !reflect.DeepEqual(back, v) {
			t.Errorf("%s: %v comes back as %v (%v)", s.Name, v, back, err)
		}
	}
}

// Field names of payloads are unique after the change of spelling.
func TestParamFieldNames(t *testing.T) {
	for _, s := range Specs {
		if s == nil || s.Params == nil {
			continue
		}
		seen := make(map[string]bool)
		for _, f := range payloadFields(s.Params()) {
			if seen[f.name] {
				t.Errorf("%s has two fields %s", s.Name, f.name)
			}
			seen[f.name] = true
		}
	}
	for in, want := range map[string]string{"KVHeads": "kv_heads", "QKNormEps": "qk_norm_eps", "TopK": "top_k", "L2Eps": "l2_eps", "V": "v", "KDim": "k_dim", "MropeT": "mrope_t", "DtMin": "dt_min"} {
		if got := snake(in); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}
