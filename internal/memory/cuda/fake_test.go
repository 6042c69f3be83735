//go:build (amd64 || arm64) && linux && !static

package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"atenia/internal/machine/library"
)

// A fake is the driver of testdata/fake.c, compiled and loaded. There is one
// in a process: tests that use it do not run in parallel.
type fake struct {
	path string
	at   map[string]uintptr
}

var fakePath string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "atenia-cuda")
	if err != nil {
		panic(err)
	}
	fakePath = filepath.Join(dir, "libfake.so")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func newFake(t testing.TB) *fake {
	t.Helper()
	if _, err := os.Stat(fakePath); err != nil {
		gcc, err := exec.LookPath("gcc")
		if err != nil {
			if os.Getenv("ATENIA_CI") != "" {
				t.Fatal("the fake driver needs gcc")
			}
			t.Skip("no gcc")
		}
		if out, err := exec.Command(gcc, "-Wall", "-O1", "-shared", "-fPIC", "-pthread", "-o", fakePath, filepath.Join("testdata", "fake.c")).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	lib, err := library.Open(fakePath)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{path: fakePath, at: map[string]uintptr{}}
	for _, n := range []string{"fake_reset", "fake_devices", "fake_limits", "fake_fail", "fake_hold", "fake_rot", "fake_count"} {
		if f.at[n], err = lib.Symbol(n); err != nil {
			t.Fatal(err)
		}
	}
	library.Call(f.at["fake_reset"])
	t.Cleanup(func() {
		for _, what := range []string{"allocations", "pinned", "contexts", "streams", "events", "inits", "misuse"} {
			if n := f.count(what); n != 0 {
				t.Errorf("%d %s are left", n, what)
			}
		}
	})
	return f
}

func (f *fake) count(what string) int {
	s := append([]byte(what), 0)
	n := library.Call(f.at["fake_count"], uintptr(unsafe.Pointer(&s[0])))
	runtime.KeepAlive(s)
	return int(int64(n))
}

// fail makes the n-th call of a function, "" = of any, return a code.
func (f *fake) fail(name string, n, code int) {
	s := append([]byte(name), 0)
	library.Call(f.at["fake_fail"], uintptr(unsafe.Pointer(&s[0])), uintptr(n), uintptr(code))
}

func (f *fake) limits(device, pinned int) {
	library.Call(f.at["fake_limits"], uintptr(device), uintptr(pinned))
}

func (f *fake) hold(on bool) {
	n := uintptr(0)
	if on {
		n = 1
	}
	library.Call(f.at["fake_hold"], n)
}

func (f *fake) open(t testing.TB) *driver {
	t.Helper()
	d, err := open([]string{f.path}, []string{f.path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// device opens the first device, with small slots.
func (f *fake) device(t testing.TB) *Device {
	t.Helper()
	d, err := f.open(t).Device(0)
	if err != nil {
		t.Fatal(err)
	}
	d.ring.most = minSlotBytes
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
