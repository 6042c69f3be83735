package sched

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"sync/atomic"
	"time"

	"atenia/internal/fault"
	"atenia/internal/store/sequence"
)

// segmentTokens is the least number of tokens whose pages of a state are one file: a
// prompt that leaves a sequence computes at most so many again.
const segmentTokens = 32

// What the configuration and errors of sequences in files are made of.
type (
	Folder = sequence.Folder
	Key    = sequence.Key
)

// Kinds of errors of files: see package sequence.
var (
	ErrDamaged = sequence.ErrDamaged
	ErrOther   = sequence.ErrOther
)

// OpenFolder opens the folder of [Config.Disk] with a limit in bytes.
func OpenFolder(dir string, limit int64, k Key) (*Folder, error) {
	return sequence.OpenFolder(nil, dir, limit, k)
}

// fromDisk is whose prefix it is that was read from the disk.
const fromDisk = "the disk"

const (
	fileSeconds   = 100e-6 // to open and check a file
	firstRate     = 500e6  // bytes a second that reading is expected to reach before it was measured
	mostDeclined  = 32     // times that reading is declined before it is measured again
	saveAgain     = time.Minute
	closingSaves  = 10 * time.Second
	mostLoads     = 4  // at a time
	fewPromptRows = 8  // in a step that is too short to measure computing by
	mostUnsaved   = 64 // sequences that wait to be written; older ones are not
)

// A disk is the prefix cache beyond memory: sequences that left their slots are written
// behind, from pages that nobody writes any more, and read when a prompt begins like
// one. The loop looks names up and hands pages over; goroutines of their own read and
// write. Results do not depend on it.
//
// Every state has files of its own, of so many tokens each, named by the hash of all
// tokens up to their end, so that sequences with one beginning share its files. What is
// after the last whole file, and states without positions, are in files that end where
// the sequence ended, or had a snapshot.
type disk struct {
	folder *sequence.Folder // nil = none
	key    func() sequence.Key
	warn   func(what string, err error)
	group  fault.Group
	queue  []*prefix   // of kept sequences that are not written yet
	save   *transfer   // nil = none
	loads  []*transfer // under way, or for requests that wait
	moves  []*transfer // to and from files of a caller
	after  time.Time   // nothing is written before

	row      float64 // seconds to compute a row of a prompt; 0 = not measured
	rate     float64 // bytes a second that are read; 0 = not measured
	declined int     // times in a row
	always   bool    // for tests: what it costs does not count

	write func(path string, h *sequence.Header, pages [][]byte) error // a file of a caller

	memory, disk counter
}

// A counter counts prompts that began with keys and values that were there.
type counter struct{ prompts, tokens atomic.Int64 }

func newDisk(cfg *Config) disk {
	if cfg.Key == nil {
		cfg.Key = func() (k sequence.Key) { return k }
	}
	warn := cfg.Warn
	if warn == nil {
		warn = func(string, error) {}
	}
	write := func(path string, h *sequence.Header, pages [][]byte) error {
		return sequence.Write(nil, path, h, pages)
	}
	return disk{folder: cfg.Disk, key: cfg.Key, warn: warn, write: write}
}

// hit counts a prompt that begins with n tokens which need not be computed.
func (d *disk) hit(n int, read bool) {
	c := &d.memory
	if read {
		c = &d.disk
	}
	if n > 0 {
		c.prompts.Add(1)
		c.tokens.Add(int64(n))
	}
}

// observe learns from a step how long prompts take.
func (d *disk) observe(answers, rows int, took time.Duration) {
	if answers == 0 && rows >= fewPromptRows {
		d.row = average(d.row, took.Seconds()/float64(rows))
	}
}

// average moves a measured value towards a new one; 0 = there is none.
func average(old, now float64) float64 {
	if old == 0 {
		return now
	}
	return old + (now-old)/4
}

// reads returns how long reading takes.
func (d *disk) reads(files int, bytes int64) float64 {
	return float64(files)*fileSeconds + float64(bytes)/cmp.Or(d.rate, firstRate)
}

// A transfer is pages on their way to or from files. The loop owns it, and its
// goroutine only the bytes of pages until done is closed.
type transfer struct {
	p         *prefix // nil once its pages are freed
	request   string
	stop      atomic.Bool
	done      chan struct{}
	bytes     int64
	took      time.Duration
	abandoned bool  // nobody waits for it: it is freed when it has ended
	err       error // valid once done is closed
}

// transfer starts to move pages. When work has ended, the loop is woken.
func (s *Scheduler) transfer(p *prefix, work func(*transfer) error) *transfer {
	t := &transfer{p: p, done: make(chan struct{})}
	s.kept.disk.group.Go(func() {
		start := time.Now()
		t.err = fault.Call(func() error { return work(t) })
		t.took = time.Since(start)
		close(t.done)
		s.kick()
	})
	return t
}

func (t *transfer) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// reading reports whether a prefix of a waiting request is still being read.
func (st *Stream) reading() bool { return st.load != nil && !st.load.ended() }

// errStopped ends a transfer whose pages are wanted.
var errStopped = errors.New("the memory was wanted for a request")

// endTransfers stops all transfers and frees what they hold. It reports whether there
// was any. A goroutine looks after every file and every page whether it is to stop.
func (s *Scheduler) endTransfers() bool {
	d := &s.kept.disk
	all := slices.Concat(d.loads, d.moves)
	if d.save != nil {
		all = append(all, d.save)
	}
	for _, t := range all {
		t.stop.Store(true)
	}
	for _, t := range all {
		<-t.done
		t.free()
	}
	d.save, d.loads, d.moves = nil, nil, nil
	return len(all) > 0
}

// free gives the pages back.
func (t *transfer) free() {
	if t.p != nil {
		t.p.clear()
		t.p = nil
	}
}

// finishTransfers ends transfers that are done, before requests are admitted, and starts the next
// one to the disk.
func (s *Scheduler) finishTransfers() {
	d := &s.kept.disk
	if d.folder == nil {
		return
	}
	if t := d.save; t != nil && t.ended() {
		t.free()
		d.save = nil
		if t.err != nil {
			d.warn("keys and values were not written", t.err)
			d.after = time.Now().Add(saveAgain)
		}
	}
	if len(d.loads) > 0 {
		waiting := s.admission.waiting()
		d.loads = slices.DeleteFunc(d.loads, func(t *transfer) bool { return s.finishLoad(t, waiting) })
	}
	for d.save == nil && len(d.queue) > 0 && !s.changed && s.broken == nil && !d.after.After(time.Now()) {
		p := d.queue[0]
		d.queue = d.queue[1:]
		if p.gone {
			continue
		}
		if copied := p.forked(); copied != nil {
			d.save = s.startSave(copied)
		}
	}
}

// finishLoad ends a load and reports whether nobody waits for it any more. Its sequence is
// kept like one that a slot had.
func (s *Scheduler) finishLoad(t *transfer, waiting []*Stream) bool {
	if !t.ended() {
		return false
	}
	if t.err != nil {
		if t.p != nil {
			s.record(Decision{Request: t.request, Action: actionCompute, Rule: byDamage, Observed: int64(t.p.done)})
			if !errors.Is(t.err, fs.ErrNotExist) && !errors.Is(t.err, errStopped) {
				s.kept.disk.warn("keys and values of a file are not used", t.err)
			}
		}
		t.free()
		return true
	}
	if t.bytes > 0 {
		s.kept.disk.rate = average(s.kept.disk.rate, float64(t.bytes)/max(t.took.Seconds(), 1e-6))
		t.bytes = 0
	}
	if slices.ContainsFunc(waiting, func(st *Stream) bool { return st.load == t }) {
		return false
	}
	p := t.p
	t.p = nil
	s.keep(p)
	return true
}

// findRead returns the sequence read from the disk that shares more than *keep tokens
// with a request, and sets *keep to how many; nil if none does.
func (s *Scheduler) findRead(r *Request, keep *int) (best *transfer) {
	for _, t := range s.kept.disk.loads {
		if !t.ended() || t.err != nil || t.p == nil {
			continue
		}
		if n := t.p.shares(r); n > *keep {
			best, *keep = t, n
		}
	}
	return best
}

// awaitsDisk reports whether a request waits for a prefix that is read for it. It decides
// that once, when the request is the next to be admitted: by what reading and computing
// are expected to take.
func (s *Scheduler) awaitsDisk(st *Stream) bool {
	d, r := &s.kept.disk, &st.req
	if d.folder == nil || st.looked || r.All || s.storage.scoped {
		return st.reading()
	}
	st.looked = true
	now := 0
	for _, sl := range s.admission.slots {
		now = max(now, sl.shares(r))
	}
	now = s.reusable(r, now)
	_ = s.findRead(r, &now)
	f := s.onDisk(r, now+forkTokens)
	if f.n == 0 {
		return false
	}
	for _, t := range d.loads { // another request's may serve both
		if !t.ended() && commonPrefix(t.p.tokens, r.Prompt, min(f.n, t.p.done)) == f.n {
			st.load = t
			return true
		}
	}
	read, compute := d.reads(len(f.ids), f.bytes), float64(f.n-now)*d.row
	cost := Decision{Request: r.ID, Action: actionRead, Other: fromDisk, Rule: byCost, Observed: int64(1e6 * read), Limit: int64(1e6 * compute)}
	if compute > 0 && read > compute && d.declined < mostDeclined && !d.always || len(d.loads) >= mostLoads {
		d.declined++
		cost.Action = actionCompute
		s.record(cost)
		return false
	}
	d.declined = 0
	p := s.roomToRead(f, r)
	if p == nil {
		return false
	}
	s.record(cost)
	st.load = s.startLoad(p, f)
	st.load.request = r.ID
	d.loads = append(d.loads, st.load)
	return true
}

// roomToRead returns a sequence with pages for what is read, nil if there is no memory but
// that of slots.
func (s *Scheduler) roomToRead(f found, r *Request) *prefix {
	for {
		p, err := s.blank(r.Prompt[:f.n], r.span())
		if err == nil {
			return p
		}
		old := s.kept.memory.oldest()
		if old == nil {
			return nil
		}
		s.record(old.memoryDecision(actionEvict, r.ID))
		s.kept.memory.drop(old)
	}
}

// blank returns a sequence of some tokens, with pages as they would be after these were
// computed, whose content is to be filled in.
func (s *Scheduler) blank(tokens []int32, span int) (*prefix, error) {
	s.admission.clock++
	sl := s.newSlot()
	sl.tokens, sl.done, sl.span, sl.by, sl.began = slices.Clone(tokens), len(tokens), span, fromDisk, s.admission.clock
	for i, x := range sl.states {
		if !s.storage.pools[i].Persistent() {
			continue
		}
		if err := s.grow(i, x, len(tokens)); err != nil {
			sl.clear()
			return nil, err
		}
	}
	return &prefix{slot: sl}, nil
}

// grow binds a state and opens n positions, without those behind the window.
func (s *Scheduler) grow(state int, x *State, n int) error {
	if err := x.Alloc(); err != nil {
		return err
	}
	for size := s.storage.pools[state].Cache().Config().PageTokens; x.Len() < n; x.Seq().SlideTo(x.Len()) {
		if err := x.Extend(min(n, x.Len()+size)); err != nil {
			return err
		}
	}
	return nil
}

// forked returns a sequence that shares the pages of another, nil if it cannot be
// written.
func (p *prefix) forked() *prefix {
	if !p.portable() {
		return nil
	}
	old := *p.slot
	old.st, old.spill, old.snapshots, old.pages, old.spans = nil, nil, nil, nil, nil
	old.states = make([]*State, len(p.states))
	for i, x := range p.states {
		old.states[i] = p.s.storage.pools[i].Unbound()
		if p.s.storage.pools[i].Persistent() && x.Bound() {
			old.states[i], _ = x.Fork() // bound, and allowed in this lifecycle
		}
	}
	for i := range p.snapshots {
		old.snapshots = append(old.snapshots, p.snapshots[i].copy())
	}
	return &prefix{slot: &old}
}

// queueSave puts a sequence that is kept in line to be written.
func (s *Scheduler) queueSave(p *prefix) {
	d := &s.kept.disk
	if d.folder == nil || p.by == fromDisk || !s.worthSaving(p.slot) {
		return
	}
	if d.queue = append(d.queue, p); len(d.queue) > mostUnsaved {
		d.queue = d.queue[1:]
	}
}

// worthSaving reports whether a sequence may be read again, and more quickly than it is
// computed.
func (s *Scheduler) worthSaving(sl *slot) bool {
	if !sl.portable() {
		return false
	}
	d := &s.kept.disk
	compute := float64(sl.done) * d.row
	return compute == 0 || d.always || d.reads(len(sl.states)*(1+sl.done/segmentTokens), sl.pageBytes()) < compute
}

// saveOrDrop writes a sequence that memory does not keep, unless another is being written.
func (s *Scheduler) saveOrDrop(p *prefix) {
	d := &s.kept.disk
	if d.folder == nil || p.by == fromDisk || d.save != nil || s.changed || d.after.After(time.Now()) || !s.worthSaving(p.slot) {
		p.clear()
		return
	}
	d.save = s.startSave(p)
}

// saveAll writes what slots have and what is kept, last of all, for the next process.
func (s *Scheduler) saveAll() {
	s.endTransfers()
	d := &s.kept.disk
	if d.folder == nil || s.changed || s.broken != nil {
		return
	}
	var all []*prefix
	for _, sl := range s.admission.slots {
		if sl.spill != nil {
			if sl.startRestore() == nil { // what cannot be read is computed again
				<-sl.spill.load.done
				sl.finishRestore()
			}
		}
		if sl.done >= segmentTokens {
			all = append(all, &prefix{slot: sl})
		}
	}
	all = append(all, s.kept.memory.list...)
	slices.SortFunc(all, func(a, b *prefix) int { return cmp.Compare(b.began, a.began) })
	until := time.Now().Add(closingSaves)
	for _, p := range all {
		if !s.worthSaving(p.slot) {
			continue
		}
		if err := d.folder.Put(s.items(p), func() bool { return time.Now().After(until) }); err != nil {
			d.warn("keys and values were not written", err)
			return
		}
	}
}

// A CacheStats counts what prompts began with that was not computed for them.
type CacheStats struct {
	MemoryPrompts, MemoryTokens int64 // with keys and values that were in memory
	DiskPrompts, DiskTokens     int64 // with some that were read from the disk
	Disk                        sequence.Stats
}

// Cache returns the counts. It is safe for concurrent use.
func (s *Scheduler) Cache() (c CacheStats) {
	d := &s.kept.disk
	c.MemoryPrompts, c.MemoryTokens = d.memory.prompts.Load(), d.memory.tokens.Load()
	c.DiskPrompts, c.DiskTokens = d.disk.prompts.Load(), d.disk.tokens.Load()
	if d.folder != nil {
		c.Disk = d.folder.Stats()
	}
	return c
}
