package hw

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"atenia/internal/store/durable"
)

// Calls of devices are counted in a file, so that a device that fails now and then is known
// for it.

// CallsName is the name of that file in a folder of accounts.
const CallsName = "device-calls"

const (
	historyVersion  = 1
	maxHistoryBytes = 64 << 10
	maxHistory      = 64  // devices
	maxFault        = 512 // bytes of the text of an error
)

// A history holds the calls of devices by id, as the file has them.
type history struct {
	Version int                    `json:"version"`
	Devices map[string]Reliability `json:"devices"`
}

// A historyError says that a file of calls cannot be used.
type historyError struct {
	Offset int64 // in bytes
	Why    string
}

func (e *historyError) Error() string {
	return fmt.Sprintf("device calls: byte %d: %s", e.Offset, e.Why)
}

// readHistory reads a file; a missing file is empty.
func readHistory(fsys durable.FS, path string) (history, error) {
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() { // opening a pipe would wait
		return history{}, &historyError{0, path + " is no file"}
	}
	b, err := readUpTo(fsys, path, maxHistoryBytes+1)
	if errors.Is(err, fs.ErrNotExist) {
		return history{}, nil
	}
	if err != nil {
		return history{}, err
	}
	h, err := parseHistory(b)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return h, err
}

func parseHistory(b []byte) (h history, err error) {
	if len(b) > maxHistoryBytes {
		return history{}, &historyError{maxHistoryBytes, "the file is longer than any that was written"}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return history{}, &historyError{d.InputOffset(), err.Error()}
	}
	switch _, err := d.Token(); {
	case !errors.Is(err, io.EOF):
		return history{}, &historyError{d.InputOffset(), "something follows"}
	case h.Version != historyVersion:
		return history{}, &historyError{0, fmt.Sprintf("version %d, want %d", h.Version, historyVersion)}
	case len(h.Devices) > maxHistory:
		return history{}, &historyError{0, fmt.Sprintf("%d devices, want at most %d", len(h.Devices), maxHistory)}
	}
	return h, nil
}

// write replaces the file.
func (h *history) write(fsys durable.FS, path string) error {
	return durable.ReplaceIn(fsys, path, func(w io.Writer) error {
		b, err := json.MarshalIndent(h, "", "\t")
		if err != nil {
			return err
		}
		_, err = w.Write(append(b, '\n'))
		return err
	})
}

// Plus returns the calls of two times; those of more are later.
func (r Reliability) Plus(more Reliability) Reliability {
	sum := func(a, b uint64) uint64 { return a + min(b, math.MaxUint64-a) }
	out := Reliability{OK: sum(r.OK, more.OK), Fail: sum(r.Fail, more.Fail), LastError: r.LastError, LastErrorEpochMS: r.LastErrorEpochMS}
	if more.LastErrorEpochMS != nil {
		out.LastError, out.LastErrorEpochMS = more.LastError, more.LastErrorEpochMS
	}
	return out
}

// remember adds the calls of this probe to those of earlier ones, which the snapshot then
// has, and warns of devices that are gone. Without devices, now or before, it writes nothing.
func (p prober) remember(path string, s *Snapshot, d *Details) {
	if path == "" {
		return
	}
	h, err := readHistory(p.files, path)
	if err != nil { // it is begun anew
		d.warn("device-calls", err.Error()+": calls are counted anew; remove it if this stays")
		h = history{}
	}
	there := map[string]bool{}
	for i := range d.Devices {
		there[d.Devices[i].ID] = true
	}
	for id, r := range h.Devices {
		if !there[id] {
			d.warn("device-gone", fmt.Sprintf("%s was there before, with %d calls that succeeded and %d that failed, and is not there now", id, r.OK, r.Fail))
		}
	}
	if len(d.Devices) == 0 {
		return
	}
	if h.Devices == nil {
		h = history{historyVersion, map[string]Reliability{}}
	}
	for id, r := range s.Reliability {
		r.LastError = r.LastError[:min(len(r.LastError), maxFault)]
		if _, known := h.Devices[id]; known || len(h.Devices) < maxHistory {
			h.Devices[id] = h.Devices[id].Plus(r)
			s.Reliability[id] = h.Devices[id]
		}
	}
	if err := h.write(p.files, path); err != nil {
		d.warn("device-calls", fmt.Sprintf("what devices did is not kept: %v", err))
	}
}
