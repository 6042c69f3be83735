package memory_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"atenia/internal/machine/hw"
	"atenia/internal/memory"
	"atenia/internal/memory/memorytest"
)

// A decision names its rule and numbers, and the rules that did not hold.
func ExampleDecide() {
	vram, ram := float32(.5), float32(.92)
	machine := hw.Snapshot{GPUs: []hw.GPU{{ID: "gpu0"}}, Pressure: hw.Pressure{VRAM: &vram, RAM: &ram}}
	d := memory.Decide(memory.TensorProfile{Name: "output.weight", Elements: 300 << 20, ElementBytes: 2}, machine, false)
	fmt.Println(d)
	for _, r := range d.Rejected() {
		fmt.Println("  not", r)
	}
	// Output:
	// output.weight to Ssd: RAM pressure is very high and tensor is huge but not compute-heavy; placing tensor on SSD as last resort [VeryHighRam: ram pressure 0.92, limit 0.9]
	//   not NoDevice: devices 1, limit 0
	//   not SafeVram: bytes 629145600, limit 536870912
	//   not AllCritical: vram pressure 0.5, limit 0.95
}

// A manager moves bytes within budgets.
func ExampleManager() {
	dir, err := os.MkdirTemp("", "tiers")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	m := memory.New(memory.Config{Dir: dir, Adapter: &memorytest.FakeVRAM{}, Budget: map[memory.Tier]uint64{memory.VRAM: 6}})
	ctx := context.Background()
	for _, id := range []string{"a", "b"} {
		if _, _, err := m.Place(ctx, id, []byte("four"), memory.RAM); err != nil {
			fmt.Println(err)
		}
	}
	for _, id := range []string{"a", "b"} {
		p, err := m.Move(ctx, id, memory.VRAM)
		fmt.Println(p.Reason, err)
		if errors.Is(err, memory.ErrBudget) {
			p, err = m.Move(ctx, id, memory.SSD)
			fmt.Println(p.Reason, err)
		}
	}
	l := m.Ledger()
	fmt.Println("VRAM", l.VRAM.Used, "of", l.VRAM.Total, "RAM", l.RAM.Used, "SSD", l.SSD.Used)
	// Output:
	// Moving from Ram to Vram <nil>
	// Moving from Ram to Vram "b": no room: Vram needs 4 bytes and has 2 free of 6: raise the budget or move something out of it
	// Moving from Ram to Ssd <nil>
	// VRAM 4 of 6 RAM 0 SSD 4
}
