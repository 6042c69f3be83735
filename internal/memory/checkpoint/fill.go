package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"atenia/internal/memory"
	"atenia/internal/model/quant"
	"atenia/tensor"
)

// A Parameter is values that a checkpoint may have.
type Parameter struct {
	Name  string
	Value []float32
}

// Fill sets parameters to the tensors of their names, in the order given, each
// read when its turn comes and converted from the element type that it was saved
// with. It returns how many were set; one that the checkpoint has with another
// length, or not at all, is an error before any is set.
func (f *Folder) Fill(ctx context.Context, params []Parameter) (n int, err error) {
	release, err := Lock(ctx, f.dir, patience)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if _, err := Clean(f.dir, f.cache, nil); err != nil {
		return 0, err
	}
	m := memory.New(memory.Config{Cache: f.cache})
	r, err := Restore(ctx, f.dir, m, RestoreOptions{GPU: f.gpu, Lazy: true})
	if err != nil {
		return 0, err
	}
	types := make([]tensor.DType, len(params))
	for i, p := range params {
		if types[i], err = f.typeOf(r.Manifest, m, p); err != nil {
			return 0, err
		}
	}
	for i, p := range params {
		if err := fill(ctx, m, p, types[i]); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// typeOf returns the element type of a parameter's tensor.
func (f *Folder) typeOf(saved *Manifest, m *memory.Manager, p Parameter) (tensor.DType, error) {
	fail := func(format string, args ...any) error {
		return &Error{Kind: ErrOther, Path: f.dir, ID: p.Name, Why: fmt.Sprintf(format, args...) + ": it is not a checkpoint of the model that is trained"}
	}
	bytes, ok := m.Len(p.Name)
	if !ok {
		return 0, fail("the checkpoint has no such tensor")
	}
	t := tensor.F32
	if saved.Model != nil && saved.Model.Types[p.Name] != "" {
		var err error
		if t, err = tensor.ParseDType(saved.Model.Types[p.Name]); err != nil {
			return 0, fail("%v", err)
		}
	}
	if want, err := (tensor.Shape{len(p.Value)}).Bytes(t); err != nil || uint64(want) != bytes {
		return 0, fail("%d bytes were saved, %d values of type %v have %d", bytes, len(p.Value), t, want)
	}
	return t, nil
}

// fill sets one parameter. Its bytes are in memory only meanwhile.
func fill(ctx context.Context, m *memory.Manager, p Parameter, t tensor.DType) error {
	kind, key, cached := m.LazySource(p.Name)
	src, _ := m.LazyFile(p.Name)
	bytes, _ := m.Len(p.Name)
	var err error
	if cached { // in RAM, whatever tier it was saved in
		err = m.RegisterLazy(p.Name, bytes, memory.RAM, kind, key)
	} else if src.Path != "" {
		err = m.RegisterLazyFile(p.Name, bytes, memory.RAM, src)
	} else {
		err = &Error{Kind: ErrMissingBlob, ID: p.Name, Why: "the checkpoint names no bytes of it: save with its bytes in the cache"}
	}
	if err == nil {
		err = EnsureMaterialized(ctx, m, p.Name)
	}
	if err != nil {
		return err
	}
	l, err := m.Lease(ctx, p.Name)
	if err != nil {
		return err
	}
	err = quant.Dequantize(p.Value, t, l.Bytes)
	if l.Release(); err != nil {
		return &Error{Kind: ErrInvalidFormat, ID: p.Name, Why: fmt.Sprintf("its bytes are not of type %v", t), Err: err}
	}
	return m.Remove(p.Name)
}
