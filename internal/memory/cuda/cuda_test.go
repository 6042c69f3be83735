//go:build (amd64 || arm64) && linux && !static

package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"atenia/internal/machine/hw"
	"atenia/internal/machine/library"
	"atenia/internal/memory"
	"atenia/internal/memory/memorytest"
)

// noise returns bytes that differ everywhere.
func noise(n int, seed uint64) []byte {
	r := rand.NewChaCha8([32]byte{byte(seed)})
	b := make([]byte, n)
	r.Read(b)
	return b
}

func TestAbsent(t *testing.T) {
	for name, c := range map[string]func() (*driver, error){
		"no library":     func() (*driver, error) { return open([]string{"libatenia-none.so.1"}, nil) },
		"not even names": func() (*driver, error) { return open(nil, nil) },
	} {
		d, err := c()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if list, err := d.Devices(t.Context(), hw.Full); len(list) != 0 || err != nil {
			t.Errorf("%s: %v, %v", name, list, err)
		}
		if _, err := d.Device(0); err == nil {
			t.Errorf("%s: a device was opened", name)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestBroken: a driver that is there and does not work is an error, one without
// devices is none.
func TestBroken(t *testing.T) {
	f := newFake(t)
	f.fail("cuInit", 1, 999)
	var e *callError
	if _, err := open([]string{f.path}, nil); !errors.As(err, &e) || e.Code != 999 || e.Call != "cuInit" {
		t.Errorf("got %v", err)
	}
	f.fail("cuInit", 1, codeNoDevice)
	if d, err := open([]string{f.path}, nil); err != nil || d.count != 0 {
		t.Errorf("no device: %v", err)
	}
	library.Call(f.at["fake_devices"], 0)
	if d, err := open([]string{f.path}, []string{f.path}); err != nil || d.count != 0 {
		t.Errorf("no devices: %v", err)
	}
	if _, err := open([]string{"libm.so.6"}, nil); err == nil {
		t.Error("a library without the functions is no driver")
	}
}

func TestDevices(t *testing.T) {
	f := newFake(t)
	d := f.open(t)
	list, err := d.Devices(t.Context(), hw.None)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if f.count("contexts") != 0 || f.count("threads") != 0 {
		t.Error("a context was made although NVML knows how much memory is free")
	}
	v := list[1]
	if v.ID != "cuda:1" || v.Backend != hw.BackendCUDA || v.Name != "Fake 1" || v.Driver != "580.1" || v.Compute != "9.0" ||
		*v.VRAMTotalBytes != 1<<30 || *v.VRAMFreeBytes != 1<<30 || *v.BandwidthGBps != 2048 || *v.ComputeScore != 25600 ||
		*v.Utilization != 37 || *v.Temperature != 55 || *v.LinkGen != 1 || *v.LinkWidth != 8 || *v.LinkMaxGen != 5 || *v.LinkMaxWidth != 16 || v.UploadBytes != nil {
		t.Errorf("got %+v", v)
	}
	list, err = d.Devices(t.Context(), hw.Full)
	if err != nil || *list[0].UploadBytes <= 0 || *list[0].DownloadBytes <= 0 {
		t.Errorf("full: %+v, %v", list[0], err)
	}
	library.Call(f.at["fake_rot"], 1) // a broken device
	if list, err = d.Devices(t.Context(), hw.Full); err == nil || list[0].UploadBytes != nil || !list[0].Tried || list[0].Fault == "" {
		t.Errorf("a device that forgets: %+v, %v", list[0], err)
	}
	library.Call(f.at["fake_rot"], 0)
	f.fail("cuMemAlloc_v2", 1, codeOutOfMemory)
	list, err = d.Devices(t.Context(), hw.Full)
	if !errors.Is(err, errOutOfMemory) || len(list) != 2 || list[0].UploadBytes != nil || list[1].UploadBytes == nil || list[0].Tried || !list[1].Tried {
		t.Errorf("a device without room: %+v, %v", list, err)
	}
}

// TestWithoutNVML: the device itself is asked for its free memory.
func TestWithoutNVML(t *testing.T) {
	f := newFake(t)
	d, err := open([]string{f.path}, []string{"libatenia-none.so.1"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := d.Devices(t.Context(), hw.None)
	if err != nil || *list[0].VRAMFreeBytes != 1<<30 || list[0].Temperature != nil {
		t.Errorf("%+v, %v", list, err)
	}
}

var sizes = []int{0, 1, smallBytes, smallBytes + 1, minSlotBytes - 1, 3*minSlotBytes + 7, 4 * minSlotBytes, 11*minSlotBytes + 5}

func TestRoundTrip(t *testing.T) {
	f := newFake(t)
	d := f.device(t)
	for i, n := range sizes {
		if err := d.Upload(fmt.Sprint(i), noise(n, uint64(i))); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range sizes {
		got, err := d.Download(fmt.Sprint(i))
		if err != nil || !bytes.Equal(got, noise(n, uint64(i))) {
			t.Errorf("%d bytes: %d came back, %v", n, len(got), err)
		}
	}
	if got := f.count("allocations"); got != len(sizes)-1 {
		t.Errorf("%d allocations", got)
	}
	if err := d.Upload("1", noise(9, 9)); err != nil { // replaces
		t.Error(err)
	}
	if got, err := d.Download("1"); err != nil || !bytes.Equal(got, noise(9, 9)) {
		t.Error("not replaced: ", err)
	}
	if err := d.Free("1"); err != nil {
		t.Error(err)
	}
	if _, err := d.Download("1"); !errors.Is(err, errNotHere) {
		t.Errorf("freed: %v", err)
	}
	if n := f.count("pinned bytes"); n > ringSlots*minSlotBytes {
		t.Errorf("%d bytes are pinned", n)
	}
	if n := f.count("threads"); n != 1 {
		t.Errorf("contexts were used on %d threads", n)
	}
}

// TestAdapter runs the suite of all adapters.
func TestAdapter(t *testing.T) {
	d := newFake(t).device(t)
	memorytest.RunAdapter(t, func() memory.Adapter { return d })
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	memorytest.RunAdapter(t, func() memory.Adapter { return d })
}

// TestConcurrent: goroutines that move tensors at once, on whatever threads.
func TestConcurrent(t *testing.T) {
	f := newFake(t)
	d := f.device(t)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 6 {
				id, want := fmt.Sprint(g, i), noise(minSlotBytes+g*977*1000, uint64(g*6+i))
				if err := d.Upload(id, want); err != nil {
					t.Error(err)
				}
				if got, err := d.Download(id); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: %v", id, err)
				}
				if i%2 == 0 {
					if err := d.Free(id); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := f.count("threads"); n != 1 {
		t.Errorf("contexts were used on %d threads", n)
	}
}

func TestOutOfMemory(t *testing.T) {
	f := newFake(t)
	d := f.device(t)
	f.limits(1<<20, 1<<30)
	old := noise(1<<19, 1)
	if err := d.Upload("a", old); err != nil {
		t.Fatal(err)
	}
	err := d.Upload("a", noise(1<<20, 2))
	if !errors.Is(err, errOutOfMemory) || !errors.Is(err, memory.ErrBackendUnavailable) {
		t.Errorf("got %v", err)
	}
	if e, ok := errors.AsType[*memory.MoveError](err); !ok || e.ID != "a" {
		t.Errorf("got %v", err)
	}
	if got, err := d.Download("a"); err != nil || !bytes.Equal(got, old) {
		t.Errorf("the old bytes are gone: %v", err)
	}
	if free, total, err := d.Memory(); err != nil || free != 1<<19 || total != 1<<20 {
		t.Errorf("%d of %d free, %v", free, total, err)
	}
}

// TestNoPinnedMemory: where the host cannot pin memory, copies go without.
func TestNoPinnedMemory(t *testing.T) {
	f := newFake(t)
	for _, pinned := range []int{0, minSlotBytes, 2 * minSlotBytes} {
		d := f.device(t)
		f.limits(1<<30, pinned)
		want := noise(5*minSlotBytes+3, 4)
		if err := d.Upload("a", want); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Download("a"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d pinned bytes: %v", pinned, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOverlap: while the device stands still, all slots of the ring are filled
// and sent, and no more: a slot is not written again before it was fetched.
func TestOverlap(t *testing.T) {
	f := newFake(t)
	d := f.device(t)
	want := noise(9*minSlotBytes, 5)
	f.hold(true)
	done := make(chan error)
	go func() { done <- d.Upload("a", want) }()
	for f.count("in flight") < ringSlots {
		runtime.Gosched()
	}
	select {
	case err := <-done:
		t.Errorf("an upload was done before its copies: %v", err)
	default:
	}
	f.hold(false)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := f.count("most in flight"); n != ringSlots {
		t.Errorf("at most %d copies were under way, want %d", n, ringSlots)
	}
	if got, err := d.Download("a"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the bytes are others: %v", err)
	}
	f.hold(true)
	go func() {
		got, err := d.Download("a")
		if err == nil && !bytes.Equal(got, want) {
			err = errors.New("the bytes are others")
		}
		done <- err
	}()
	for f.count("in flight") < ringSlots {
		runtime.Gosched()
	}
	f.hold(false)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestFaults fails the n-th call for all n: what fails says so and leaves the
// tensor as it was, and after Close nothing is left, except what the driver
// itself refused to give back.
func TestFaults(t *testing.T) {
	f := newFake(t)
	old, fresh := noise(3*minSlotBytes, 1), noise(6*minSlotBytes, 2)
	for n := 1; ; n++ {
		d := f.device(t)
		if err := d.Upload("a", old); err != nil {
			t.Fatal(err)
		}
		f.fail("", n, 700)
		err := d.Upload("a", fresh)
		if f.count("failing") != 0 { // fewer calls than that
			if err != nil {
				t.Error(err)
			}
			f.fail("", 0, 0)
			break
		}
		if err == nil {
			t.Errorf("call %d: no error", n)
		}
		if e, ok := errors.AsType[*callError](err); !ok || e.Code != 700 {
			t.Errorf("call %d: %v", n, err)
		}
		if got, err := d.Download("a"); err != nil || !bytes.Equal(got, old) {
			t.Errorf("call %d: the old bytes are gone: %v", n, err)
		}
		f.fail("", n, 700)
		got, err := d.Download("a")
		if failed := f.count("failing") == 0; failed != (err != nil) || err == nil && !bytes.Equal(got, old) {
			t.Errorf("call %d of a download: %v", n, err)
		}
		f.fail("", 0, 0)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		for _, what := range []string{"allocations", "pinned", "contexts", "streams", "events"} {
			if left := f.count(what); left != 0 {
				t.Fatalf("call %d: %d %s are left", n, left, what)
			}
		}
	}
	for _, name := range []string{"cuDevicePrimaryCtxRetain", "cuCtxSetCurrent"} {
		f.fail(name, 1, 201)
		if _, err := f.open(t).Device(0); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestClosed(t *testing.T) {
	d := newFake(t).device(t)
	if err := d.Upload("a", noise(100, 1)); err != nil || !d.Available() {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := d.Upload("a", nil); d.Available() || !errors.Is(err, memory.ErrBackendUnavailable) {
		t.Errorf("closed: %v", err)
	}
}

// TestDriver runs on the machine's own driver, where there is one.
func TestDriver(t *testing.T) {
	driver, err := openDriver()
	if err != nil {
		t.Skip("the driver does not work: ", err)
	}
	defer driver.Close()
	list, err := driver.Devices(t.Context(), hw.Full)
	if len(list) == 0 {
		t.Skip("no device")
	}
	if err != nil {
		t.Error(err)
	}
	for i, v := range list {
		t.Logf("%+v", v)
		d, err := driver.Device(i)
		if err != nil {
			t.Fatal(err)
		}
		want := noise(200<<20+3, uint64(i))
		if err := d.Upload("a", want); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Download("a"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("other bytes came back: %v", err)
		}
		if err := d.Upload("b", make([]byte, 1<<20)); err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
