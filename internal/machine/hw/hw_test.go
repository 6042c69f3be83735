package hw

import (
	"encoding/json"
	"reflect"
	"testing"
)

func ptr[T any](v T) *T { return &v }

// TestSnapshotJSON: a snapshot survives JSON with every field, and what is
// absent stays absent.
func TestSnapshotJSON(t *testing.T) {
	full := Snapshot{
		TimestampEpochMS: 7,
		CPU:              CPU{PhysicalCores: ptr(uint32(2)), LogicalCores: ptr(uint32(4)), SIMD: []string{"AVX2"}},
		GPUs: []GPU{
			{ID: "a", Backend: BackendCUDA, VRAMTotalBytes: ptr(uint64(1) << 63), VRAMFreeBytes: ptr(uint64(0)), BandwidthGBps: ptr(float32(1.5)), ComputeScore: ptr(float32(0))},
			{ID: "b", Backend: BackendUnknown},
		},
		RAM: RAM{TotalBytes: ptr(uint64(9)), FreeBytes: ptr(uint64(0))},
		SSD: SSD{CacheDir: "d", ReadMBps: ptr(float32(0)), WriteMBps: ptr(float32(2)), LatencyMS: ptr(float32(.5))},
		Reliability: map[string]Reliability{
			"a": {OK: 1, Fail: 2, LastError: "e", LastErrorEpochMS: ptr(uint64(0))},
			"b": {},
		},
		Pressure: Pressure{RAM: ptr(float32(0)), VRAM: ptr(float32(1))},
	}
	half := Snapshot{GPUs: []GPU{{ID: "a", Backend: BackendVulkan, VRAMFreeBytes: ptr(uint64(0))}}, Pressure: Pressure{RAM: ptr(float32(.5))}}
	t.Run("HW-2", func(t *testing.T) {
		for name, want := range map[string]Snapshot{"full": full, "half": half, "zero": {}} {
			b, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			var got Snapshot
			if err := json.Unmarshal(b, &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, want %+v from %s", name, got, want, b)
			}
		}
	})
	t.Run("every field is set", func(t *testing.T) { nothingZero(t, reflect.ValueOf(full), "Snapshot") })
}

// nothingZero finds fields that the filled snapshot forgets. A second element
// of a list may be bare.
func nothingZero(t *testing.T, v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			nothingZero(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		if v.Len() > 0 {
			nothingZero(t, v.Index(0), path+"[0]")
			return
		}
		t.Errorf("%s is empty", path)
	case reflect.Map:
		nothingZero(t, v.MapIndex(reflect.ValueOf("a")), path+"[a]")
	default:
		if v.IsZero() {
			t.Errorf("%s is zero", path)
		}
	}
}

func TestDepth(t *testing.T) {
	for _, d := range []Depth{None, Quick, Full} {
		var got Depth
		if err := got.UnmarshalText([]byte(d.String())); err != nil || got != d {
			t.Errorf("%v: got %v, %v", d, got, err)
		}
	}
	if err := new(Depth).UnmarshalText([]byte("deep")); err == nil {
		t.Error("an unknown depth was read")
	}
}
