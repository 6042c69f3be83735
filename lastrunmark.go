package atenia

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"atenia/internal/store/durable"
	"atenia/place"
)

// A runMark is a file beside a model's account that is there while a run has not written
// its own. The process has the file's lock, so that a run that was killed is told from one
// that goes on, and each run has a file, so that two at once are. Its name ends with when
// the run began; it holds the model's name.
type runMark struct {
	dir, model string
	opened     int64 // ns since 1970
	release    func() error
}

// markEnding ends the names of marks.
const markEnding = ".open"

// markRun says that a run began. Nothing of a run depends on it: a folder that is full or
// read-only has no mark, and the account, which has no room either, is what is told.
func markRun(dir, model string) *runMark {
	m := &runMark{dir: dir, model: model, opened: time.Now().UnixNano()}
	if dir == "" || os.MkdirAll(filepath.Join(dir, accountFolder), 0o777) != nil {
		return m
	}
	err := os.WriteFile(m.path(), []byte(fullName(model)), 0o666)
	if err == nil {
		m.release, err = durable.Lock(m.path()) // which others have for a moment alone
	}
	if err != nil {
		_ = os.Remove(m.path())
	}
	return m
}

func (m *runMark) path() string { return m.prefix() + strconv.FormatInt(m.opened, 10) + markEnding }

// prefix begins the paths of the model's marks.
func (m *runMark) prefix() string { return markPrefix(accountPath(m.dir, m.model)) }

// markPrefix is prefix by the path of the model's account.
func markPrefix(account string) string { return strings.TrimSuffix(account, accountEnding) + "." }

// leave ends the run without an account: its mark stays, and says so. Those of runs
// before it say no more than it does.
func (m *runMark) leave() {
	if m.release != nil {
		m.sweep()
		_ = m.release()
		m.release = nil
	}
}

// drop removes the mark of a run that is told of otherwise: by its account, or by the
// error of a model that was not opened.
func (m *runMark) drop() {
	if m.release != nil {
		_ = os.Remove(m.path()) // with the lock, which nobody else may have
		_ = m.release()
		m.release = nil
		_ = os.Remove(m.path()) // where what is open cannot be removed
	}
}

// sweep removes what runs of the model left that began before this one and have ended.
func (m *runMark) sweep() {
	for path, at := range marks(m.dir) {
		if at >= m.opened || !strings.HasPrefix(path, m.prefix()) {
			continue
		}
		if held, known := durable.Held(path); known && !held {
			_ = os.Remove(path)
		}
	}
}

// marks returns when the runs began that left no account, by the paths of their marks.
func marks(dir string) map[string]int64 {
	found := map[string]int64{}
	all, _ := os.ReadDir(filepath.Join(dir, accountFolder))
	for _, e := range all {
		name, ok := strings.CutSuffix(e.Name(), markEnding)
		at, err := strconv.ParseInt(name[strings.LastIndexByte(name, '.')+1:], 10, 64)
		if ok && err == nil {
			found[filepath.Join(dir, accountFolder, e.Name())] = at
		}
	}
	return found
}

// lastWithout returns the last run of a model, of any for a prefix of all, that began after
// another and left no account, nil if there is none.
func lastWithout(dir, prefix string, after int64) (last *place.RunWithout) {
	latest := after
	for path, at := range marks(dir) {
		held, known := durable.Held(path)
		if !known || at <= latest || !strings.HasPrefix(path, prefix) {
			continue
		}
		b, err := durable.ReadRegular(path, mostMark)
		if err != nil {
			continue // it has ended meanwhile
		}
		last, latest = &place.RunWithout{Model: string(b), Started: at / int64(time.Second), Running: held}, at
	}
	return last
}

// mostMark bounds what is read of a mark: the path of a model.
const mostMark = 1 << 16
