package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/memorytest"
)

func full(vram, ram float32) memory.Snapshot {
	return memory.Snapshot{VRAM: memory.Status{Pressure: &vram}, RAM: memory.Status{Pressure: &ram}}
}

// logical returns a manager of tensors by their lengths, in one tier.
func logical(t *testing.T, at memory.Tier, sizes map[string]uint64) *memory.Manager {
	t.Helper()
	m := memory.New(memory.Config{Dir: ssd(t), Adapter: &memorytest.FakeVRAM{}})
	for id, n := range sizes {
		if err := m.Register(id, n, at); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func wantPlan(t *testing.T, p memory.PlannedOffload, actions, reason string) {
	t.Helper()
	if got := fmt.Sprint(p.Actions); got != actions || p.Reason != reason {
		t.Errorf("%s %q, want %s %q", got, p.Reason, actions, reason)
	}
}

func apply(t *testing.T, o *memory.Offload, p memory.PlannedOffload, m *memory.Manager) {
	t.Helper()
	if done, err := o.Apply(context.Background(), p, m); err != nil || len(done.Done) != len(p.Actions) {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestOffload(t *testing.T) {
	const cooling = "; some tensors skipped due to cooldown"
	config := func(max int) memory.OffloadConfig { c := memory.DefaultOffload(); c.MaxActions = max; return c }
	t.Run("OF-1", func(t *testing.T) {
		m, o := logical(t, memory.VRAM, map[string]uint64{"t1": 8}), memory.NewOffload(memory.DefaultOffload())
		p := o.Plan(full(.99, .1), []string{"t1"}, m)
		wantPlan(t, p, "[MoveToRam t1]", "VRAM pressure high")
		apply(t, o, p, m)
		wantTier(t, m, "t1", memory.RAM)
	})
	t.Run("OF-2", func(t *testing.T) {
		m, o := logical(t, memory.RAM, nil), memory.NewOffload(memory.DefaultOffload())
		register(t, m, "t2", []byte{1}, memory.RAM)
		p := o.Plan(full(.1, .99), []string{"t2"}, m)
		wantPlan(t, p, "[MoveToSsd t2]", "RAM pressure high")
		apply(t, o, p, m)
		wantTier(t, m, "t2", memory.SSD)
	})
	t.Run("OF-3", func(t *testing.T) {
		m, o := logical(t, memory.RAM, nil), memory.NewOffload(memory.DefaultOffload())
		register(t, m, "t3", []byte{1}, memory.RAM)
		move(t, m, "t3", memory.VRAM)
		register(t, m, "t4", []byte{2}, memory.RAM)
		p := o.Plan(full(.99, .99), []string{"t3", "t4"}, m)
		wantPlan(t, p, "[MoveToSsd t3 MoveToSsd t4]", "VRAM and RAM pressure high")
		apply(t, o, p, m)
		wantTier(t, m, "t3", memory.SSD)
		wantTier(t, m, "t4", memory.SSD)
	})
	t.Run("OF-4", func(t *testing.T) {
		m, o := logical(t, memory.VRAM, map[string]uint64{"t1": 8}), memory.NewOffload(memory.DefaultOffload())
		wantPlan(t, o.Plan(full(.1, .1), []string{"t1"}, m), "[]", "No offloading needed")
	})
	t.Run("OF-5", func(t *testing.T) {
		m, o := logical(t, memory.VRAM, map[string]uint64{"t": 8}), memory.NewOffload(memory.DefaultOffload())
		wantPlan(t, o.PlanWithTick(full(.90, .1), []string{"t"}, m, 1), "[]", "No new offloading due to hysteresis band")
		wantPlan(t, o.PlanWithTick(full(.80, .1), []string{"t"}, m, 2), "[]", "No offloading needed")
	})
	t.Run("OF-6", func(t *testing.T) {
		m, o := logical(t, memory.VRAM, map[string]uint64{"t": 8}), memory.NewOffload(memory.DefaultOffload())
		const moved = "VRAM pressure high; Priority offloading enabled; selected 1/1"
		wantPlan(t, o.PlanWithTick(full(.97, .1), []string{"t"}, m, 10), "[MoveToRam t]", moved)
		wantPlan(t, o.PlanWithTick(full(.97, .1), []string{"t"}, m, 12), "[]", "VRAM pressure high but no offloadable tensors in VRAM"+cooling)
		wantPlan(t, o.PlanWithTick(full(.97, .1), []string{"t"}, m, 15), "[MoveToRam t]", moved)
	})
	t.Run("OF-7", func(t *testing.T) {
		m, o := logical(t, memory.RAM, map[string]uint64{"a": 10, "b": 100, "c": 50}), memory.NewOffload(config(2))
		p := o.PlanWithTick(full(.1, .99), []string{"a", "b", "c"}, m, 1)
		wantPlan(t, p, "[MoveToSsd b MoveToSsd c]", "RAM pressure high; Priority offloading enabled; selected 2/3")
	})
	t.Run("OF-8", func(t *testing.T) {
		m, o := logical(t, memory.RAM, map[string]uint64{"tB": 10, "tA": 10}), memory.NewOffload(config(1))
		p := o.PlanWithTick(full(.1, .99), []string{"tB", "tA"}, m, 1)
		wantPlan(t, p, "[MoveToSsd tA]", "RAM pressure high; Priority offloading enabled; selected 1/2")
	})
	t.Run("OF-9", func(t *testing.T) {
		m, o := logical(t, memory.RAM, map[string]uint64{"large": 100, "small": 1}), memory.NewOffload(config(1))
		ids := []string{"small", "large"}
		wantPlan(t, o.PlanWithTick(full(.1, .99), ids, m, 10), "[MoveToSsd large]", "RAM pressure high; Priority offloading enabled; selected 1/2")
		wantPlan(t, o.PlanWithTick(full(.1, .99), ids, m, 12), "[MoveToSsd small]", "RAM pressure high"+cooling+"; Priority offloading enabled; selected 1/1")
	})
	t.Run("OF-10", func(t *testing.T) {
		c := memory.DefaultOffload()
		c.Cooldown = 0
		m, o := logical(t, memory.RAM, map[string]uint64{"t": 1}), memory.NewOffload(c)
		ids := []string{"t", "t", "unknown"}
		wantPlan(t, o.PlanWithTick(full(.1, .99), ids, m, 3), "[MoveToSsd t]", "RAM pressure high; Priority offloading enabled; selected 1/1")
		wantPlan(t, o.PlanWithTick(full(.1, .99), ids, m, 3), "[]", "RAM pressure high but no offloadable tensors in RAM"+cooling)
	})
}

// TestOffloadTakesBack checks that a tensor whose move failed, and those after
// it, may be moved at once.
func TestOffloadTakesBack(t *testing.T) {
	v := &memorytest.FakeVRAM{Fail: memorytest.Refuse(map[memorytest.Call][]string{memorytest.Download: {"b"}})}
	m, o := memory.New(memory.Config{Adapter: v}), memory.NewOffload(memory.DefaultOffload())
	ids := []string{"a", "b", "c"}
	for i, id := range ids {
		register(t, m, id, make([]byte, 3-i), memory.RAM)
		move(t, m, id, memory.VRAM)
	}
	p := o.PlanWithTick(full(.99, .1), ids, m, 1)
	done, err := o.Apply(context.Background(), p, m)
	if !errors.Is(err, memory.ErrBackendUnavailable) || fmt.Sprint(done.Done, done.Failed, done.Left) != "[MoveToRam a] MoveToRam b [MoveToRam c]" {
		t.Errorf("%v %v %v, %v", done.Done, done.Failed, done.Left, err)
	}
	if p := o.PlanWithTick(full(.99, .1), ids, m, 2); fmt.Sprint(p.Actions) != "[MoveToRam b MoveToRam c]" {
		t.Errorf("then %v, %q", p.Actions, p.Reason)
	}

	// Each mark is restored: "c" gets an older one, "b" none.
	o = memory.NewOffload(memory.DefaultOffload())
	_ = o.PlanWithTick(full(.99, .1), []string{"c"}, m, 1)
	p = o.PlanWithTick(full(.99, .1), ids, m, 10)
	if _, err := o.Apply(context.Background(), p, m); !errors.Is(err, memory.ErrBackendUnavailable) {
		t.Error(err)
	}
	if p := o.PlanWithTick(full(.99, .1), ids, m, 4); fmt.Sprint(p.Actions) != "[MoveToRam b]" || !strings.Contains(p.Reason, "cooldown") {
		t.Errorf("then %v, %q", p.Actions, p.Reason)
	}
}

// TestOffloadPromotes checks that demoted tensors are promoted to their former
// tier once there is room, and only if that was requested.
func TestOffloadPromotes(t *testing.T) {
	for _, promote := range []bool{false, true} {
		c := memory.DefaultOffload()
		c.Promote = promote
		m, o := memory.New(memory.Config{Dir: ssd(t), Adapter: &memorytest.FakeVRAM{}}), memory.NewOffload(c)
		ids := []string{"a", "b", "elsewhere"}
		for _, id := range ids {
			register(t, m, id, []byte(id), memory.RAM)
		}
		move(t, m, "b", memory.VRAM)
		move(t, m, "elsewhere", memory.SSD)
		apply(t, o, o.PlanWithTick(full(.99, .99), ids, m, 1), m)
		wantTier(t, m, "a", memory.SSD)
		wantTier(t, m, "b", memory.SSD)
		p := o.PlanWithTick(full(.1, .1), ids, m, 9)
		apply(t, o, p, m)
		wantTier(t, m, "elsewhere", memory.SSD)
		if !promote {
			wantPlan(t, p, "[]", "No offloading needed")
			wantTier(t, m, "a", memory.SSD)
			continue
		}
		wantPlan(t, p, "[MoveToRam a MoveToVram b]", "No offloading needed; bringing back 2/2")
		wantTier(t, m, "a", memory.RAM)
		wantTier(t, m, "b", memory.VRAM)
		if p := o.PlanWithTick(full(.1, .1), ids, m, 20); len(p.Actions) > 0 || strings.Contains(p.Reason, "back") {
			t.Errorf("again: %v %q", p.Actions, p.Reason)
		}
		move(t, m, "a", memory.SSD) // by another caller: the engine must not undo it
		wantPlan(t, o.PlanWithTick(full(.1, .1), ids, m, 30), "[]", "No offloading needed")
	}
}

func BenchmarkOffload(b *testing.B) {
	m, o := memory.New(memory.Config{}), memory.NewOffload(memory.DefaultOffload())
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = fmt.Sprintf("blk.%d.attn_q.weight", i)
		_ = m.Register(ids[i], uint64(i*7919%1000), memory.RAM)
	}
	s, tick := full(.1, .99), uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		tick += 10
		o.PlanWithTick(s, ids, m, tick)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(ids)), "ns/tensor")
}
