package serve

// Slots in files: llama.cpp's POST /slots/{id}?action=save, restore and erase.

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"atenia"
	"atenia/serve/internal/host"
)

// longestName bounds the name of a slot's file, in bytes.
const longestName = 200

// slotFile saves a slot of a model to a file, restores one, or erases what a slot has.
// The slot 0 is the one used last, or for a restore the idle one with the shortest
// sequence; the answer to an erase repeats the number that was asked for.
func (s *Server) slotFile(_ http.ResponseWriter, r *host.Request) error {
	slot, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || slot < 0 {
		return host.Invalid("id", "the slot %q is no number from 0 on", r.PathValue("id"))
	}
	action := r.URL.Query().Get("action")
	if action != "save" && action != "restore" && action != "erase" {
		return host.Invalid("action", "the action is %q, want save, restore or erase", action)
	}
	var q struct {
		Filename string `json:"filename"`
		Model    string `json:"model"`
	}
	body, err := r.ReadBody()
	if err == nil && len(body) > 0 {
		err = r.Decode(body, &q)
	}
	if err != nil {
		return err
	}
	path := ""
	if action != "erase" {
		if path, err = s.savePath(q.Filename); err != nil {
			return err
		}
	}
	l, err := r.Borrow(q.Model)
	if err != nil {
		return err
	}
	defer l.Release()
	start := time.Now()
	took := func(name string) map[string]float64 {
		return map[string]float64{name: float64(time.Since(start).Microseconds()) / 1e3}
	}
	switch action {
	case "save":
		f, err := l.SaveSlot(r.Context(), slot, path)
		if err != nil {
			return slotProblem(err, q.Filename)
		}
		return r.WriteJSON(http.StatusOK, map[string]any{"id_slot": f.Slot, "filename": q.Filename, "n_saved": f.Tokens, "n_written": f.Bytes, "timings": took("save_ms")})
	case "restore":
		f, err := l.RestoreSlot(r.Context(), slot, path)
		if err != nil {
			return slotProblem(err, q.Filename)
		}
		return r.WriteJSON(http.StatusOK, map[string]any{"id_slot": f.Slot, "filename": q.Filename, "n_restored": f.Tokens, "n_read": f.Bytes, "timings": took("restore_ms")})
	default:
		n, err := l.EraseSlot(slot)
		if err != nil {
			return err
		}
		return r.WriteJSON(http.StatusOK, map[string]any{"id_slot": slot, "n_erased": n})
	}
}

// savePath returns the path of a slot's file: one name in the folder of slots, never a path
// out of it. A symbolic link that the operator put there is followed when it is restored,
// and replaced when it is saved.
func (s *Server) savePath(name string) (string, error) {
	if s.saves == "" {
		return "", &host.Problem{Status: http.StatusNotImplemented, Code: "not_supported", Message: "This server does not save slots: start it with --slot-save-path."}
	}
	if name == "" || len(name) > longestName || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\\:\x00") || !filepath.IsLocal(name) || filepath.Base(name) != name {
		return "", host.Invalid("filename", "the file name %q is not one name of 1 to %d bytes, without a path and a leading dot", name, longestName)
	}
	if err := os.MkdirAll(s.saves, 0o700); err != nil {
		return "", err
	}
	return filepath.Join(s.saves, name), nil
}

// slotProblem tells what is wrong with a file by its name: the folder is no client's
// business. A folder or a pipe of that name is no file of a slot. Other errors of the file
// system are internal errors, whose text the log alone has.
func slotProblem(err error, name string) error {
	p := &host.Problem{Status: http.StatusBadRequest, Code: "invalid_value", Param: "filename", Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.Status, p.Code, p.Message = http.StatusNotFound, "not_found", "There is no file "+strconv.Quote(name)+"."
	case errors.Is(err, atenia.ErrSlotFile):
		p.Message = "The file " + strconv.Quote(name) + " is damaged, or no file of a slot."
	case errors.Is(err, atenia.ErrSlotFileOther):
		p.Message = "The file " + strconv.Quote(name) + " is of another model, or of this one with other settings."
	default:
		return err
	}
	return p
}
