//go:build static || !(linux || windows) || !(amd64 || arm64)

package cuda

import (
	"testing"

	"atenia/internal/machine/hw"
)

// TestNone: a build without the libraries finds no devices and no fault.
func TestNone(t *testing.T) {
	d, err := openDriver()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if list, err := d.Devices(t.Context(), hw.Full); len(list) != 0 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
}
