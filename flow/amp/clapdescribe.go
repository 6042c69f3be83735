package amp

import (
	"fmt"
	"math"

	"atenia/flow/amp/internal/abi"
	"atenia/internal/machine/library"
)

// Describe returns the ports, parameters and latency of a plug-in, for which it
// is made and destroyed once. Errors are of type *[CLAPRefusedError].
func (l *CLAPLibrary) Describe(id string) (*CLAPPlugin, error) {
	l.mu.Lock()
	p := l.known[id]
	l.mu.Unlock()
	if p != nil {
		return p, nil
	}
	err := l.do(l.place, func() error {
		made, err := l.create(id, id, l.place)
		if err != nil {
			return err
		}
		defer made.destroy()
		if p, err = made.describe(); err != nil {
			return err
		}
		if err := made.activate(l.rate, defaultFrames); err != nil {
			return err
		}
		p.Latency, p.Rate = made.latency(), l.rate
		return p.check(l.path)
	})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.known[id] = p
	l.mu.Unlock()
	return p, nil
}

// describe reads what does not need activation. On the main thread.
func (p *plug) describe() (*CLAPPlugin, error) {
	d := &CLAPPlugin{ID: p.id}
	for _, x := range p.lib.list {
		if x.ID == p.id {
			*d = x
		}
	}
	m, err := abi.NewMemory(abi.SizeOf[cPortInfo](1) + abi.SizeOf[cParamInfo](1))
	if err != nil {
		return nil, err
	}
	defer m.Release()
	port, param := abi.Make[cPortInfo](m, 1), abi.Make[cParamInfo](m, 1)
	given := newNames() // ports and parameters share their names: an edge leads to either
	if ports := extension(p, "clap.audio-ports", func(t *cPorts) bool { return t.Count != 0 && t.Get != 0 }); ports != nil {
		if d.Inputs, err = p.ports(ports, port, 1, "in", given); err != nil {
			return nil, err
		}
		if d.Outputs, err = p.ports(ports, port, 0, "out", newNames()); err != nil {
			return nil, err
		}
	}
	if notes := extension(p, "clap.note-ports", func(t *cPorts) bool { return t.Count != 0 && t.Get != 0 }); notes != nil {
		d.Notes = uint32(library.Call(notes.Count, p.address, 1)) > 0
	}
	d.State = p.state() != nil
	if d.Params, err = p.params(param, given); err != nil {
		return nil, err
	}
	return d, nil
}

func (p *plug) ports(t *cPorts, info []cPortInfo, input uintptr, otherwise string, given plugNames) ([]CLAPPort, error) {
	n := uint32(library.Call(t.Count, p.address, input))
	if n > maxPlugPorts {
		return nil, &CLAPRefusedError{p.lib.path, p.id, fmt.Sprintf("%d audio ports on one side, at most %d are allowed", n, maxPlugPorts)}
	}
	list := make([]CLAPPort, n)
	for i := range list {
		info[0] = cPortInfo{}
		if !truth(library.Call(t.Get, p.address, uintptr(i), input, abi.Address(info))) {
			return nil, &CLAPRefusedError{p.lib.path, p.id, fmt.Sprintf("it has %d audio ports, and does not describe port %d", n, i)}
		}
		if c := info[0].Channels; c < 1 || c > maxChannels {
			return nil, &CLAPRefusedError{p.lib.path, p.id, fmt.Sprintf("audio port %d has %d channels, 1 to %d are allowed", i, c, maxChannels)}
		}
		list[i] = CLAPPort{given.of(clean(plugText(info[0].Name[:])), fmt.Sprint(otherwise, i)), int(info[0].Channels)}
	}
	return list, nil
}

func (p *plug) params(info []cParamInfo, given plugNames) ([]CLAPParam, error) {
	t := extension(p, "clap.params", func(t *cParams) bool { return t.Count != 0 && t.Info != 0 })
	if t == nil {
		return nil, nil
	}
	n := uint32(library.Call(t.Count, p.address))
	if n > maxParams {
		return nil, &CLAPRefusedError{p.lib.path, p.id, fmt.Sprintf("%d parameters, at most %d are allowed", n, maxParams)}
	}
	list := []CLAPParam{}
	for i := range n {
		info[0] = cParamInfo{}
		if !truth(library.Call(t.Info, p.address, uintptr(i), abi.Address(info))) {
			return nil, &CLAPRefusedError{p.lib.path, p.id, fmt.Sprintf("it has %d parameters, and does not describe parameter %d", n, i)}
		}
		x := &info[0]
		if x.Flags&(hidden|readOnly) != 0 {
			continue
		}
		title, module := clean(plugText(x.Name[:])), clean(plugText(x.Module[:]))
		q := CLAPParam{ID: x.ID, Name: given.of(title, fmt.Sprint("p", x.ID)), Title: title, Min: x.Min, Max: x.Max, Default: x.Default, Stepped: x.Flags&stepped != 0}
		if module != "" && len(module) <= maxModule {
			q.Title = module + "/" + title
		}
		if finite(q.Min) && finite(q.Max) && q.Min <= q.Max && !math.IsNaN(q.Default) {
			q.Default = min(max(q.Default, q.Min), q.Max)
		}
		list = append(list, q)
	}
	return list, nil
}

// plugText returns the C string in a fixed array, which may lack its end.
func plugText(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// latency returns the frames by which the outputs of an active plug-in are
// late. On the main thread.
func (p *plug) latency() int {
	t := extension(p, "clap.latency", func(t *cLatency) bool { return t.Get != 0 })
	if t == nil {
		return 0
	}
	return int(uint32(library.Call(t.Get, p.address)))
}

func (p *plug) state() *cState {
	return extension(p, "clap.state", func(t *cState) bool { return t.Save != 0 && t.Load != 0 })
}
