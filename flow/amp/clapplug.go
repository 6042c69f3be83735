package amp

import (
	"fmt"
	"sync"
	"sync/atomic"

	"atenia/flow/amp/internal/abi"
	"atenia/internal/machine/library"
	"atenia/internal/machine/watch"
)

// A plug is one plug-in that was made: clap_plugin and the clap_host that it
// sees, outside Go's heap.
type plug struct {
	lib     *CLAPLibrary
	id      string
	node    string
	place   *watch.Place
	mem     *abi.Memory
	more    *abi.Memory // what process calls see; nil: none yet
	host    []cHost
	context *cContext
	address uintptr // of clap_plugin
	c       *cPlugin
	active  bool
	running bool
	once    sync.Once
	counts  [eventKinds]atomic.Uint32
	told    [eventKinds]bool
}

// A kind is something that a plug-in does and an event tells once.
type kind int

const (
	environment kind = iota
	badStatus
	overrun
	dropped
	restart
	latency
	eventKinds
)

var eventTexts = [eventKinds]string{
	environment: "changes the floating-point environment and does not set it back",
	badStatus:   "process returns a status that CLAP does not know",
	overrun:     "wrote more frames than it was asked for",
	dropped:     "more events in a process call than are passed on: changes of parameters come a call later",
	restart:     "asked to be restarted, which this host does not: run the graph again",
	latency:     "says that its latency changed: delays are those of its start",
}

// events returns what was not yet told.
func (p *plug) events() (list []Event) {
	if atomic.LoadUint64(&p.context.Restart) != 0 {
		p.counts[restart].Store(1)
	}
	if atomic.LoadUint64(&p.context.Changed) != 0 {
		p.counts[latency].Store(1)
	}
	for k := range eventKinds {
		if !p.told[k] && p.counts[k].Load() > 0 {
			p.told[k] = true
			list = append(list, Event{Node: p.node, Kind: Message, Level: warning, Text: p.node + ": " + eventTexts[k]})
		}
	}
	return list
}

// warning is CLAP_LOG_WARNING.
const warning = 2

// create makes a plug-in and calls its init. On the main thread.
func (l *CLAPLibrary) create(id, node string, place *watch.Place) (*plug, error) {
	refuse := func(format string, args ...any) error {
		return &CLAPRefusedError{l.path, id, fmt.Sprintf(format, args...)}
	}
	m, err := abi.NewMemory(abi.SizeOf[cHost](1) + abi.SizeOf[cContext](1) + abi.SizeOf[byte](len(id)+1))
	if err != nil {
		return nil, err
	}
	p := &plug{lib: l, id: id, node: node, place: place, mem: m, host: abi.Make[cHost](m, 1)}
	context := abi.Make[cContext](m, 1)
	p.context = &context[0]
	log := abi.At[abi.Host](l.callbacks.Host())
	*p.context = cContext{Main: l.main, Extensions: l.shared.extensions, LogData: log.Context, LogFunc: log.Log}
	t := &l.table
	p.host[0] = cHost{Version: implemented, Data: abi.Address(context), Name: l.shared.name, Vendor: l.shared.vendor, URL: l.shared.url, Own: l.shared.version,
		GetExtension: t.Extension, RequestRestart: t.Restart, RequestProcess: t.Start, Ask: t.Ask}
	p.address = library.Call(abi.At[cFactory](l.factory).Create, l.factory, abi.Address(p.host), abi.MakeString(m, id))
	if p.address == 0 {
		m.Release()
		return nil, refuse("create_plugin gives none")
	}
	p.c = abi.At[cPlugin](p.address)
	for _, f := range []struct {
		name string
		at   uintptr
	}{
		{"init", p.c.Init}, {"destroy", p.c.Destroy}, {"activate", p.c.Activate}, {"deactivate", p.c.Deactivate}, {"start_processing", p.c.StartProcessing},
		{"stop_processing", p.c.StopProcessing}, {"reset", p.c.Reset}, {"process", p.c.Process}, {"get_extension", p.c.Extension},
	} {
		if f.at == 0 {
			m.Release() // and not destroyed: what else is missing is unknown
			return nil, refuse("it has no %s", f.name)
		}
	}
	if !truth(library.Call(p.c.Init, p.address)) {
		p.destroy()
		return nil, refuse("init refuses")
	}
	return p, nil
}

// activate prepares for process calls of at most frames. On the main thread,
// which is the audio thread here, too.
func (p *plug) activate(rate float64, frames int) error {
	m, err := abi.NewMemory(abi.SizeOf[cActivation](1))
	if err != nil {
		return err
	}
	defer m.Release()
	a := abi.Make[cActivation](m, 1)
	a[0] = cActivation{Plugin: p.address, Func: p.c.Activate, Rate: rate, Min: uint32(frames), Max: uint32(frames)}
	if !truth(library.Call(p.lib.table.Activate, abi.Address(a))) {
		return &CLAPRefusedError{p.lib.path, p.id, fmt.Sprintf("activate refuses %v Hz and %d frames", rate, frames)}
	}
	p.active = true
	atomic.StoreUint64(&p.context.Changed, 0) // allowed while it is being activated
	return nil
}

// start begins processing. On the main thread, as the audio thread.
func (p *plug) start() error {
	atomic.StoreUint64(&p.context.Audio, p.context.Main)
	defer atomic.StoreUint64(&p.context.Audio, 0)
	if !truth(library.Call(p.c.StartProcessing, p.address)) {
		return &CLAPRefusedError{p.lib.path, p.id, "start_processing refuses"}
	}
	p.running = true
	return nil
}

// destroy ends a plug-in in the order that CLAP demands, once. On the main
// thread.
func (p *plug) destroy() {
	p.once.Do(func() {
		if p.running {
			atomic.StoreUint64(&p.context.Audio, p.context.Main)
			library.Call(p.c.StopProcessing, p.address)
			atomic.StoreUint64(&p.context.Audio, 0)
		}
		if p.active {
			library.Call(p.c.Deactivate, p.address)
		}
		library.Call(p.c.Destroy, p.address)
		p.mem.Release()
		if p.more != nil {
			p.more.Release()
		}
	})
}

// extension returns the plug-in's table of an extension, nil if it has none or
// one of its functions, which are the words of T, is missing.
func extension[T any](p *plug, id string, needed func(*T) bool) *T {
	m, err := abi.NewMemory(abi.SizeOf[byte](len(id) + 1))
	if err != nil {
		return nil
	}
	defer m.Release()
	at := library.Call(p.c.Extension, p.address, abi.MakeString(m, id))
	if at == 0 {
		return nil
	}
	if t := abi.At[T](at); needed(t) {
		return t
	}
	return nil
}
