package amp

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"atenia/flow/amp/internal/abi"
	"atenia/flow/node"
	"atenia/internal/fault"
	"atenia/internal/machine/library"
	"atenia/internal/machine/watch"
)

// A CLAPLibrary is a .clap file that [OpenCLAP] loaded into this process. A crash of one of its
// plug-ins ends the process: load only trusted libraries this way, and others
// with [OpenCLAPCatalog].
//
// Each library has a system thread of its own, which is CLAP's main thread for
// its plug-ins: they are made, activated, queried, saved and destroyed there.
// The audio thread is whichever thread calls Forward.
type CLAPLibrary struct {
	path      string
	rate      float64
	entry     *cEntry
	factory   uintptr
	callbacks *abi.Callbacks
	log       []byte
	table     cCallbacks
	mem       *abi.Memory // texts and tables of the host, never freed: plug-ins keep addresses
	shared    hostTexts

	place *watch.Place // of what is no plug-in's
	jobs  chan job
	gone  chan struct{}
	main  uint64 // id of the main thread

	mu     sync.Mutex
	closed bool
	known  map[string]*CLAPPlugin
	plugs  []*plug // not yet closed
	left   []Event
	list   []CLAPPlugin // id, name, vendor, version
}

type hostTexts struct{ name, vendor, url, version, extensions uintptr }

// A job is a function that the main thread runs.
type job struct {
	f    func() error
	done chan error
}

// tick is how often the main thread looks for requests of plug-ins
// (request_callback): CLAP wants an answer within 33 ms.
const tick = 10 * time.Millisecond

// defaultRate is the sample rate at which plug-ins are described.
const defaultRate = 48000

// OpenCLAP loads a library. The error is of type *[CLAPRefusedError] or
// ErrUnsupported.
func OpenCLAP(path string) (*CLAPLibrary, error) { return openCLAP(path, nil) }

// openCLAP is Open with memory for messages, nil = their own.
func openCLAP(path string, log []byte) (*CLAPLibrary, error) {
	if err := abi.Check(); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	l := &CLAPLibrary{path: abs, place: watch.New("library " + abs), log: log, rate: defaultRate, jobs: make(chan job), gone: make(chan struct{}), known: map[string]*CLAPPlugin{}, table: callbackTable()}
	var g fault.Group
	g.Go(l.serve)
	if err := l.do(l.place, l.load); err != nil {
		close(l.gone)
		if _, ok := errors.AsType[*CLAPRefusedError](err); !ok {
			err = &CLAPRefusedError{Path: abs, Text: err.Error()}
		}
		return nil, err
	}
	return l, nil
}

// serve is the main thread.
func (l *CLAPLibrary) serve() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	atomic.StoreUint64(&l.main, callingThread())
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case j := <-l.jobs:
			j.done <- fault.Call(j.f)
		case <-t.C:
			fault.Call(func() error { l.answer(); return nil })
		case <-l.gone:
			return
		}
	}
}

// do runs f on the main thread, at a place, and waits for it.
func (l *CLAPLibrary) do(at *watch.Place, f func() error) error {
	j := job{func() error { at.Enter(); defer at.Leave(); return f() }, make(chan error, 1)}
	select {
	case l.jobs <- j:
		return <-j.done
	case <-l.gone:
		return &CLAPRefusedError{Path: l.path, Text: "the library is closed"}
	}
}

// answer calls on_main_thread of the plug-ins that asked for it.
func (l *CLAPLibrary) answer() {
	l.mu.Lock()
	list := slices.Clone(l.plugs)
	l.mu.Unlock()
	for _, p := range list {
		if atomic.SwapUint64(&p.context.Asked, 0) != 0 && p.c.MainThread != 0 {
			l.place.Enter() // a call of the plug-in's place may be running
			library.Call(p.c.MainThread, p.address)
			l.place.Leave()
		}
	}
}

// load loads the file and lists its plug-ins. On the main thread.
func (l *CLAPLibrary) load() error {
	h, err := library.Open(l.path)
	if err != nil {
		return err
	}
	libc, err := library.Open("libc.so.6")
	if err != nil {
		return err
	}
	if l.callbacks, err = abi.NewCallbacks(libc, l.log); err != nil {
		return err
	}
	at, err := h.Symbol("clap_entry")
	if err != nil || at == 0 {
		return errors.New("no clap_entry: not a CLAP plug-in?")
	}
	l.entry = abi.At[cEntry](at)
	switch {
	case l.entry.Version.Major != implemented.Major:
		return fmt.Errorf("CLAP version %d.%d, this host has %d.%d", l.entry.Version.Major, l.entry.Version.Minor, implemented.Major, implemented.Minor)
	case l.entry.Init == 0 || l.entry.GetFactory == 0:
		return errors.New("clap_entry lacks init or get_factory")
	}
	if err := l.texts(); err != nil {
		return err
	}
	m, err := abi.NewMemory(abi.SizeOf[byte](len(l.path) + 1))
	if err != nil {
		return err
	}
	if !truth(library.Call(l.entry.Init, abi.MakeString(m, l.path))) { // kept: plug-ins may keep the address
		return errors.New("clap_entry.init refuses")
	}
	id := abi.MakeString(l.mem, "clap.plugin-factory")
	if l.factory = library.Call(l.entry.GetFactory, id); l.factory == 0 {
		return errors.New("no factory of plug-ins")
	}
	return l.index()
}

// truth is a bool that C returned: its low byte.
func truth(r uintptr) bool { return r&0xff != 0 }

// texts makes what all hosts of this library's plug-ins share.
func (l *CLAPLibrary) texts() (err error) {
	type row struct {
		name  string
		table []uintptr
	}
	t := l.table
	rows := []row{
		{"clap.log", []uintptr{t.Log}},
		{"clap.thread-check", []uintptr{t.IsMain, t.IsAudio}},
		{"clap.latency", []uintptr{t.Changed}},
		{"clap.params", []uintptr{t.Nothing, t.Nothing, t.Nothing}},
		{"clap.state", []uintptr{t.Nothing}},
		{"clap.tail", []uintptr{t.Nothing}},
		{"clap.audio-ports", []uintptr{t.Nothing, t.Nothing}},
		{"clap.note-ports", []uintptr{t.Dialect, t.Nothing}},
	}
	if l.mem, err = abi.NewMemory(16 << 10); err != nil {
		return err
	}
	list := abi.Make[cExtension](l.mem, len(rows)+1)
	for i, r := range rows {
		v := abi.Make[uintptr](l.mem, len(r.table))
		copy(v, r.table)
		list[i] = cExtension{Name: abi.MakeString(l.mem, r.name), Table: abi.Address(v)}
	}
	l.shared = hostTexts{abi.MakeString(l.mem, "Atenia"), abi.MakeString(l.mem, "Atenia"), abi.MakeString(l.mem, ""), abi.MakeString(l.mem, "1.0"), abi.Address(list)}
	return nil
}

// index reads the descriptors of the plug-ins.
func (l *CLAPLibrary) index() error {
	f := abi.At[cFactory](l.factory)
	if f.Count == 0 || f.Descriptor == 0 || f.Create == 0 {
		return errors.New("the factory of plug-ins lacks a function")
	}
	n := uint32(library.Call(f.Count, l.factory))
	if n > maxPlugins {
		return fmt.Errorf("%d plug-ins, at most %d are allowed", n, maxPlugins)
	}
	for i := range n {
		at := library.Call(f.Descriptor, l.factory, uintptr(i))
		if at == 0 {
			return fmt.Errorf("no descriptor of plug-in %d of %d", i, n)
		}
		d := abi.At[cDescriptor](at)
		p := CLAPPlugin{ID: abi.Text(d.ID, maxPlugText+1), Name: clean(abi.Text(d.Name, maxPlugText)), Vendor: clean(abi.Text(d.Vendor, maxPlugText)), Version: clean(abi.Text(d.Own, maxPlugText))}
		if p.ID == "" || !sane(p.ID, maxPlugText) {
			return fmt.Errorf("plug-in %d of %d has an id that is empty, too long or no printable UTF-8", i, n)
		}
		if d.Version.Major < 1 || slices.ContainsFunc(l.list, func(x CLAPPlugin) bool { return x.ID == p.ID }) {
			continue // of a draft of CLAP, or a second of this id
		}
		l.list = append(l.list, p)
	}
	return nil
}

// Path returns the path of the file.
func (l *CLAPLibrary) Path() string { return l.path }

// Plugins lists the plug-ins by id, name, vendor and version; [CLAPLibrary.Describe]
// tells the rest.
func (l *CLAPLibrary) Plugins() []CLAPPlugin { return slices.Clone(l.list) }

// Types returns the plug-ins as node types, each under its id. A plug-in is
// made for a moment when it is first described.
func (l *CLAPLibrary) Types() node.Table {
	var t node.Table
	for i := range l.list {
		t = append(t, typeOf(&l.list[i], l.Describe, l))
	}
	return t
}

// New32 makes an instance that computes in float32.
func (l *CLAPLibrary) New32(cfg node.Config) (node.Instance[float32], error) {
	return newPlugged[float32](l, cfg)
}

// New64 makes an instance of a graph in float64: the plug-in itself computes in
// float32, to which its inputs are rounded.
func (l *CLAPLibrary) New64(cfg node.Config) (node.Instance[float64], error) {
	return newPlugged[float64](l, cfg)
}

// Events returns what happened since the last call: messages of plug-ins, and
// what they did that CLAP forbids or that this host cannot follow, each once a
// node.
func (l *CLAPLibrary) Events() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.left
	l.left = nil
	for _, p := range l.plugs {
		list = append(list, p.events()...)
	}
	if l.log != nil { // the host reads it
		return list
	}
	messages, lost := l.callbacks.Drain()
	for _, m := range messages {
		list = append(list, Event{Kind: Message, Level: m.Level, Text: clean(m.Text)})
	}
	if lost > 0 {
		list = append(list, Event{Kind: Message, Text: fmt.Sprintf("%d messages were lost", lost)})
	}
	return list
}

// Close destroys all plug-ins, which must not be used any more. The code stays
// loaded.
func (l *CLAPLibrary) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	list := l.plugs
	l.plugs = nil
	l.mu.Unlock()
	err := l.do(l.place, func() error {
		for _, p := range list {
			p.destroy()
		}
		if l.entry.Deinit != 0 {
			library.Call(l.entry.Deinit)
		}
		return nil
	})
	close(l.gone)
	return err
}
