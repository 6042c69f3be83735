package host

// Adapters by name: they belong to a model, and are asked for as models are.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"atenia"
	"atenia/internal/fault"
	"atenia/internal/spelling"
)

// findAdapter returns the entry that has an adapter, nil = none has. The pool is locked.
func (p *Pool) findAdapter(name string) (*entry, string) {
	for _, e := range p.entries {
		if e.adapter(name) >= 0 {
			return e, name
		}
	}
	return nil, ""
}

// adapter returns the number of an adapter, -1 if the model does not have it.
func (e *entry) adapter(name string) int {
	return slices.IndexFunc(e.beside, func(a atenia.Adapter) bool { return a.Name == name })
}

// taken reports whether a name is a model's or an adapter's.
func (p *Pool) taken(name string) bool {
	e, _ := p.find(name)
	return e != nil
}

// nameAdapters gives a model its adapters, whose names nothing else may have.
func (p *Pool) nameAdapters(e *entry, list []atenia.Adapter) error {
	var errs []error
	for _, a := range list {
		if p.taken(a.Name) {
			errs = append(errs, fmt.Errorf("an adapter and another or a model are named %q", a.Name))
		}
		e.beside = append(e.beside, a)
	}
	return errors.Join(errs...)
}

// adapters returns what a model is opened with.
func (p *Pool) adapters(e *entry) []atenia.Adapter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(e.beside)
}

// as returns the info of the model, or of one of its adapters.
func (e *entry) as(adapter string) Info {
	i := e.now()
	if k := e.adapter(adapter); adapter != "" && k >= 0 {
		i.Parent, i.Name, i.Base = i.Name, adapter, filepath.Base(e.beside[k].Path)
	}
	return i
}

// Served returns all that clients may ask for: models, the default first, each with its
// adapters behind it.
func (p *Pool) Served() []Info {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Info
	for _, e := range p.entries {
		out = append(out, e.now())
		for _, a := range e.beside {
			out = append(out, e.as(a.Name))
		}
	}
	for _, a := range p.aliases {
		if strings.ContainsAny(a.pattern, `*?[\`) {
			continue
		}
		e, adapter := p.find(a.of)
		i := e.as(adapter)
		i.Parent, i.Name = i.Name, a.pattern
		out = append(out, i)
	}
	return out
}

// LoadAdapter adds an adapter of the folder for adapters to the default model, which it
// loads first. path is relative to the folder.
func (p *Pool) LoadAdapter(ctx context.Context, name, path string) error {
	switch {
	case p.c.AdapterDir == "":
		return noAdapterDir()
	case name == "" || len(name) > 200:
		return Invalid("lora_name", "a name of 1 to 200 bytes is needed")
	case path == "" || !filepath.IsLocal(filepath.FromSlash(path)):
		return Invalid("lora_path", "%q is no path within the server's folder of adapters", path)
	}
	dir := filepath.Join(p.c.AdapterDir, filepath.FromSlash(path))
	if !within(p.c.AdapterDir, dir) {
		return Invalid("lora_path", "%q leads out of the server's folder of adapters", path)
	}
	l, err := p.Borrow(ctx, "")
	if err != nil {
		return err
	}
	defer l.Release()
	p.mu.Lock()
	taken := p.taken(name)
	p.mu.Unlock()
	if taken {
		return Invalid("lora_name", "%q is the name of a model or an adapter already", name)
	}
	a := atenia.Adapter{Name: name, Path: dir}
	if err := fault.Call(func() error { return l.Model.LoadAdapter(a) }); err != nil {
		if errors.Is(err, atenia.ErrNoRoom) {
			return &Problem{Status: http.StatusServiceUnavailable, Code: "out_of_memory", Message: err.Error(), Err: err}
		}
		if _, panicked := errors.AsType[*fault.Panic](err); panicked {
			return err
		}
		return &Problem{Status: http.StatusBadRequest, Code: "adapter_not_loaded", Param: "lora_path", Message: spelling.Sprintf("The adapter %q cannot be loaded: %v", name, err), Err: err}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.e.adapter(name) < 0 {
		l.e.beside = append(l.e.beside, a)
	}
	return nil
}

// within reports whether a file, or a folder and what is in it, lies in another folder
// when links are followed. What is not there is for others to say.
func within(root, path string) bool {
	in := func(path string) bool {
		a, err := filepath.EvalSymlinks(root)
		b, err2 := filepath.EvalSymlinks(path)
		if err != nil || err2 != nil {
			return errors.Is(err2, fs.ErrNotExist)
		}
		rel, err := filepath.Rel(a, b)
		return err == nil && filepath.IsLocal(rel)
	}
	files, _ := os.ReadDir(path) // none if it is a file
	for _, f := range files {
		if !in(filepath.Join(path, f.Name())) {
			return false
		}
	}
	return in(path)
}

// UnloadAdapter makes an adapter unknown to further requests.
func (p *Pool) UnloadAdapter(name string) error {
	if p.c.AdapterDir == "" {
		return noAdapterDir()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e, adapter := p.findAdapter(name)
	if e == nil {
		return &Problem{Status: http.StatusNotFound, Code: "adapter_not_found", Param: "lora_name", Message: spelling.Sprintf("There is no adapter %q.", name)}
	}
	k := e.adapter(adapter)
	e.beside = slices.Delete(slices.Clone(e.beside), k, k+1)
	if e.model == nil {
		return nil
	}
	err := e.model.UnloadAdapter(name)
	if errors.Is(err, atenia.ErrAdapter) { // the model was loaded without it
		err = nil
	}
	return err
}

func noAdapterDir() *Problem {
	return &Problem{Status: http.StatusForbidden, Code: "unsupported", Message: "Clients may not load adapters here: the server has no folder for them (--adapter-dir)."}
}
