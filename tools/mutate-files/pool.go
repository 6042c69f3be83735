package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// stuck is how long a case may take before its process is ended.
const stuck = 60 * time.Second

// A campaign is many cases of one seed.
type campaign struct {
	seed    uint64
	wheel   []*format
	root    string
	temp    string
	only    *format // nil: all
	from    uint64
	cases   uint64 // 0: until the time is over
	end     time.Time
	workers int
}

// next returns the index after i that belongs to the campaign.
func (c *campaign) has(i uint64) bool {
	return c.only == nil || c.wheel[i%uint64(len(c.wheel))] == c.only
}

func (c *campaign) over(done uint64) bool {
	return c.cases > 0 && done >= c.cases || !c.end.IsZero() && time.Now().After(c.end)
}

// batch is how many cases a process gets at once.
const batch = 500

// run runs the campaign in processes and collects what they say.
func (c *campaign) run(ctx context.Context, r *report) error {
	var next, done atomic.Uint64
	next.Store(c.from)
	errs := make(chan error, c.workers)
	var mu sync.Mutex
	for range c.workers {
		go func() {
			errs <- func() error {
				w := &worker{c: c}
				defer w.stop()
				for !c.over(done.Load()) && ctx.Err() == nil { // a batch at a time
					from := next.Add(batch) - batch
					to := from + batch
					if c.cases > 0 && c.only == nil {
						to = min(to, c.from+c.cases)
					}
					if from >= to {
						return nil
					}
					err := w.do(from, to, func(v verdict) {
						mu.Lock()
						defer mu.Unlock()
						done.Add(1)
						r.add(v)
					})
					if err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	var err error
	for range c.workers {
		if e := <-errs; err == nil {
			err = e
		}
	}
	return err
}

// A worker is a process that runs cases.
type worker struct {
	c     *campaign
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan []byte
	err   bytes.Buffer
}

func (w *worker) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w.err.Reset()
	w.cmd = exec.Command(self, "-child", "-root", w.c.root, "-temp", w.c.temp, "-seed", strconv.FormatUint(w.c.seed, 10))
	w.cmd.Stderr = &limitedBuffer{b: &w.err}
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	lines := make(chan []byte, 64)
	w.lines = lines
	if err := w.cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer close(lines)
		s := bufio.NewScanner(out)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			lines <- bytes.Clone(s.Bytes())
		}
	}()
	return nil
}

// A limitedBuffer keeps the beginning of what a process says.
type limitedBuffer struct{ b *bytes.Buffer }

func (l *limitedBuffer) Write(p []byte) (int, error) {
	if room := 64<<10 - l.b.Len(); room > 0 {
		l.b.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

func (w *worker) stop() {
	if w.cmd == nil {
		return
	}
	_ = w.in.Close()
	_ = w.cmd.Wait() // its verdicts were read
	w.cmd = nil
}

// do runs the cases of a range; each that ends its process is a finding, and the
// next process goes on after it.
func (w *worker) do(from, to uint64, add func(verdict)) error {
	for from < to {
		if w.cmd == nil {
			if err := w.start(); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(w.in, from, to, w.c.only.orNone()); err != nil {
			w.stop()
			continue
		}
		at, why, began := from, "", false
	reading:
		for {
			select {
			case line, ok := <-w.lines:
				if !ok {
					why = "the process ended"
					break reading
				}
				var m message
				if err := json.Unmarshal(line, &m); err != nil {
					return fmt.Errorf("%q: %w", line, err)
				}
				switch {
				case m.Done:
					return nil
				case m.Begin != nil:
					at, began = *m.Begin, true
				case m.Verdict != nil:
					add(*m.Verdict)
					at = m.Verdict.Index + 1
				}
			case <-time.After(stuck):
				why = fmt.Sprintf("nothing happened for %v", stuck)
				_ = w.cmd.Process.Signal(syscall.SIGQUIT) // prints the stacks
				time.Sleep(time.Second)
				_ = w.cmd.Process.Kill()
				break reading
			}
		}
		_ = w.cmd.Wait()
		w.cmd = nil
		if !began {
			return fmt.Errorf("a process did not begin: %s: %s", why, w.err.String())
		}
		kind := "panic"
		if why != "the process ended" {
			kind = "time"
		}
		add(verdict{Index: at, Format: w.c.wheel[at%uint64(len(w.c.wheel))].name, Fault: kind, Text: why + "\n" + w.err.String()})
		from = at + 1
	}
	return nil
}

// A message is a line of a child.
type message struct {
	Begin   *uint64  `json:",omitempty"`
	Verdict *verdict `json:",omitempty"`
	Done    bool     `json:",omitempty"`
}

func (f *format) orNone() string {
	if f == nil {
		return "-"
	}
	return f.name
}

// child runs the ranges that come in.
func (c *campaign) child(in io.Reader, out io.Writer) error {
	x := &scratch{ctx: context.Background(), dir: filepath.Join(c.temp, "case")}
	if err := os.MkdirAll(x.dir, 0o755); err != nil {
		return err
	}
	debug.SetGCPercent(400) // samples are alive all the time
	w := bufio.NewWriter(out)
	e := json.NewEncoder(w)
	s := bufio.NewScanner(in)
	for s.Scan() {
		var from, to uint64
		var only string
		if _, err := fmt.Sscan(s.Text(), &from, &to, &only); err != nil {
			return err
		}
		for i := from; i < to; i++ {
			if only != "-" && c.wheel[i%uint64(len(c.wheel))].name != only {
				continue
			}
			if err := e.Encode(message{Begin: &i}); err != nil {
				return err
			}
			if err := w.Flush(); err != nil { // before the case: it may end this process
				return err
			}
			v := judge(x, c.makeCase(i), true)
			if err := e.Encode(message{Verdict: &v}); err != nil {
				return err
			}
		}
		if err := e.Encode(message{Done: true}); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return s.Err()
}

// together runs cases with several readers at once in this process, for the race
// detector.
func (c *campaign) together(readers int, r *report) error {
	var next, done atomic.Uint64
	next.Store(c.from)
	var mu sync.Mutex
	errs := make(chan error, readers)
	for n := range readers {
		go func() {
			x := &scratch{ctx: context.Background(), dir: filepath.Join(c.temp, fmt.Sprintf("case%d", n))}
			err := os.MkdirAll(x.dir, 0o755)
			for err == nil && !c.over(done.Load()) {
				i := next.Add(1) - 1
				if !c.has(i) {
					continue
				}
				v := judge(x, c.makeCase(i), false)
				mu.Lock()
				r.add(v)
				mu.Unlock()
				done.Add(1)
			}
			errs <- err
		}()
	}
	var err error
	for range readers {
		if e := <-errs; err == nil {
			err = e
		}
	}
	return err
}
