//go:build unix

package durable

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestOpenPipe: nobody will ever write to the pipe.
func TestOpenPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRegular(name); !isKind(err) {
		t.Errorf("%v", err)
	}
	if f, err := openNow(name); err != nil { // as if it had taken a file's place
		t.Error(err)
	} else {
		f.Close()
	}
	if _, err := ReadRegular(name, 10); !isKind(err) {
		t.Errorf("%v", err)
	}
}
