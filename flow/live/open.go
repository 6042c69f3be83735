package live

import (
	"io"
	"io/fs"
	"os"
)

// OpenMIDI opens what sends the bytes of MIDI for [LiveMIDI]: a device (/dev/snd/midiC1D0 on Linux), a named pipe or a file.
// Closing it ends a Read of a device or a pipe. A pipe does not end when those who write to it close it, so that others
// can.
func OpenMIDI(path string) (io.ReadCloser, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeNamedPipe != 0 {
		return os.OpenFile(path, os.O_RDWR, 0)
	}
	return os.Open(path)
}
