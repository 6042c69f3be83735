package engine

import (
	"strings"
	"testing"

	"atenia/internal/model/lora"
	"atenia/tensor"
)

// TestUnloadedAdapter: what an adapter took of the budget is there again without it.
func TestUnloadedAdapter(t *testing.T) {
	e, d, end := opened(t, "llama3", Config{Threads: 1, Context: 64})
	defer end()
	p, dir := e.Plan, t.TempDir()
	shapes := map[string]tensor.Shape{}
	for i := range d.Tensors {
		if strings.HasSuffix(d.Tensors[i].Name, "q_proj.weight") {
			shapes[d.Tensors[i].Name] = d.Tensors[i].View.Shape
		}
	}
	a, err := lora.New(lora.Config{Rank: 2, Base: d.Path}, shapes, 1)
	if err == nil {
		err = a.Write(nil, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	before, held := p.adapterBytes.Load(), p.account.Held()
	for range 2 {
		if err := e.LoadAdapter(AdapterFile{Name: "a", Path: dir}); err != nil {
			t.Fatal(err)
		}
		if p.adapterBytes.Load() == before || p.account.Held() == held {
			t.Error("an adapter takes nothing")
		}
		if err := e.UnloadAdapter("a"); err != nil {
			t.Fatal(err)
		}
		if p.adapterBytes.Load() != before || p.account.Held() != held {
			t.Errorf("%d bytes of adapters are booked, %d before; %d are held, %d before", p.adapterBytes.Load(), before, p.account.Held(), held)
		}
	}
}
