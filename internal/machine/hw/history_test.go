package hw

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

// TestCalls: calls of devices add up over probes, an error is known for good, and a device
// that is gone is missed.
func TestCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), CallsName)
	probe := func(all ...Device) (*Snapshot, *Details) {
		t.Helper()
		s, d, err := fake(fstest.MapFS{}).probe(t.Context(), Options{GPUs: gpus{devices: all}, Calls: path})
		if err != nil {
			t.Fatal(err)
		}
		return s, d
	}
	if probe(); exists(path) {
		t.Error("a file without devices")
	}
	a, b := device("a", known(1), known(1)), device("b", known(1), known(1))
	a.Calls, b.Calls = Reliability{OK: 3}, Reliability{OK: 2, Fail: 1, LastError: strings.Repeat("x", 2*maxFault)}
	probe(a, b)
	b.Calls = Reliability{OK: 5}
	s, d := probe(b)
	if r := s.Reliability["b"]; r.OK != 7 || r.Fail != 1 || len(r.LastError) != maxFault || r.LastErrorEpochMS == nil {
		t.Errorf("b: %+v", r)
	}
	if !warned(d, "device-gone") || warned(d, "device-calls") {
		t.Errorf("warnings %v", d.Warnings)
	}
	if err := os.WriteFile(path, []byte("{\"version\":1,\"devices\":{}} more"), 0o666); err != nil {
		t.Fatal(err)
	}
	s, d = probe(b)
	if r := s.Reliability["b"]; r.OK != 5 || !warned(d, "device-calls") {
		t.Errorf("after damage: %+v, %v", r, d.Warnings)
	}
	if h, err := readHistory(nil, path); err != nil || h.Devices["b"].OK != 5 {
		t.Errorf("after damage the file has %+v, %v", h, err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func FuzzParseHistory(f *testing.F) {
	f.Add([]byte(`{"version":1,"devices":{"cuda:0":{"ok_count":3,"fail_count":1,"last_error":"x","last_error_epoch_ms":7}}}`))
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHistory(b)
		if err != nil {
			if e, ok := errors.AsType[*historyError](err); !ok || e.Offset < 0 || e.Offset > int64(len(b)) {
				t.Errorf("%v", err)
			}
			return
		}
		again, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parseHistory(again); err != nil || !reflect.DeepEqual(got, h) {
			t.Errorf("%+v, %v, want %+v", got, err, h)
		}
	})
}
