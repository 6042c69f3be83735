package atenia_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"atenia/train"
)

// moves splits the target of a decision of offloading.
func (d *decided) moves() []string {
	if d.Target == "" {
		return nil
	}
	return strings.Split(d.Target, ", ")
}

// A squeeze is a run whose memory becomes short, comes back and becomes short
// again.
type squeeze struct {
	path                 string
	log                  []decided
	ticks                []ticked
	first, second, third decided // under pressure
}

func newSqueeze(t *testing.T) *squeeze {
	t.Helper()
	s := &squeeze{path: trained(t, "", train.Options{})}
	r := runWithin(t, s.path, 60, func(row int) int64 {
		if row >= 5 && row < 20 || row >= 22 && row < 40 {
			return little
		}
		return plenty
	})
	s.log, s.ticks = decisionsOf(t, r.decisions, "offload"), ticksOf(t, r.timeline)
	var high []decided
	for _, d := range s.log {
		if d.Rule == "RamHigh" && !d.Inputs.Now && d.Tick > 0 {
			high = append(high, d)
		}
	}
	if len(high) < 3 {
		t.Fatalf("%d decisions under pressure", len(high))
	}
	s.first, s.second, s.third = high[0], high[1], high[2]
	return s
}

// TestRunOffload: what leaves memory in a run, and when, as memory comes and
// goes.
func TestRunOffload(t *testing.T) {
	s := newSqueeze(t)
	log, first, third := s.log, s.first, s.third
	t.Run("OF-2", func(t *testing.T) {
		now := slices.IndexFunc(log, func(d decided) bool { return d.Inputs.Now })
		if now < 0 {
			t.Fatal("nothing left at once")
		}
		d := log[now]
		var want []string
		for _, x := range d.Inputs.Tensors {
			if x.Tier == "Ram" {
				want = append(want, "MoveToSsd "+x.ID)
			}
		}
		if d.Reason != "RAM pressure high" || len(want) == 0 || !slices.Equal(d.moves(), want) {
			t.Errorf("%s: %v, want %v", d.Reason, d.moves(), want)
		}
		// They did leave: later they come back.
		for _, x := range log[now+1].Inputs.Tensors {
			if x.Tier != "Ssd" {
				t.Errorf("%s is in %s", x.ID, x.Tier)
			}
		}
		back := 0
		for _, d := range log[now+1:] {
			for _, m := range d.moves() {
				if strings.HasPrefix(m, "MoveToRam ") {
					back++
				}
			}
		}
		if back != len(want) {
			t.Errorf("%d of %d came back", back, len(want))
		}
	})
	t.Run("OF-6", func(t *testing.T) {
		if n := len(first.moves()); n == 0 || !strings.HasPrefix(first.Reason, "RAM pressure high; Priority offloading enabled; selected ") {
			t.Errorf("%d: %s", n, first.Reason)
		}
		for _, x := range third.Inputs.Tensors {
			if x.Moved == nil || third.Tick-*x.Moved >= third.Inputs.Config.Cooldown {
				t.Errorf("%s is moved again too late for this test, in tick %d", x.ID, third.Tick)
			}
		}
		if want := "RAM pressure high but no offloadable tensors in RAM; some tensors skipped due to cooldown"; third.Reason != want || third.Target != "" {
			t.Errorf("%q, %v", third.Reason, third.moves())
		}
		again := 0 // once the time has passed
		for _, d := range log {
			for _, x := range d.Inputs.Tensors {
				if x.Moved != nil && d.Tick-*x.Moved >= d.Inputs.Config.Cooldown && slices.Contains(d.moves(), "MoveToRam "+x.ID) {
					again++
				}
			}
		}
		if again == 0 {
			t.Error("nothing moved again")
		}
	})
	t.Run("OF-7", func(t *testing.T) {
		most := first.Inputs.Config.Max
		all := slices.Clone(first.Inputs.Tensors)
		if len(all) <= most {
			t.Fatalf("%d tensors, a tick may move %d", len(all), most)
		}
		slices.SortStableFunc(all, func(a, b struct {
			ID, Tier string
			Bytes    uint64
			Moved    *uint64 `json:"last_moved"`
		},
		) int {
			return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.ID, b.ID))
		})
		if all[0].Bytes == all[len(all)-1].Bytes {
			t.Error("all have one size")
		}
		var want []string
		for _, x := range all[:most] {
			want = append(want, "MoveToSsd "+x.ID)
		}
		if !slices.Equal(first.moves(), want) {
			t.Errorf("%v, want %v", first.moves(), want)
		}
		if want := fmt.Sprintf("RAM pressure high; Priority offloading enabled; selected %d/%d", most, len(all)); first.Reason != want {
			t.Errorf("%q, want %q", first.Reason, want)
		}
	})
	t.Run("OF-8", func(t *testing.T) {
		size, left := map[string]uint64{}, map[string]bool{}
		for _, x := range first.Inputs.Tensors {
			size["MoveToSsd "+x.ID], left["MoveToSsd "+x.ID] = x.Bytes, true
		}
		taken := first.moves()
		for _, m := range taken {
			delete(left, m)
		}
		last, equal := taken[len(taken)-1], 0
		for m := range left {
			if size[m] == size[last] {
				equal++
				if m < last {
					t.Errorf("%s stays and %s leaves", m, last)
				}
			}
		}
		if equal == 0 {
			t.Error("none that stays has the size of one that leaves")
		}
	})
	t.Run("OF-5", func(t *testing.T) {
		if d := log[0]; d.Rule != "NotNeeded" || d.Reason != "No offloading needed" || d.Target != "" {
			t.Errorf("with plenty: %+v", d)
		}
		if d := band(t, s.path).log[0]; d.Reason != "No new offloading due to hysteresis band" || d.Target != "" {
			t.Errorf("in the band: %+v", d)
		}
	})
}

// TestRunTicks: the lines of a run's ticks, and what they leave in memory.
func TestRunTicks(t *testing.T) {
	s := newSqueeze(t)
	log, ticks, first, second, third := s.log, s.ticks, s.first, s.second, s.third
	t.Run("BL-1", func(t *testing.T) {
		if d := log[0]; d.Tick != 0 || d.Target != "" || d.Reason != "No offloading needed" {
			t.Errorf("tick 0: %+v", d)
		}
		wantLines(t, ticks[0], first, "ok")
		for i := range ticks {
			if ticks[i].tick == fmt.Sprint(third.Tick) {
				wantLines(t, ticks[i], third, "skipped")
			}
		}
	})
	t.Run("BL-2", func(t *testing.T) {
		b := band(t, s.path)
		for _, d := range b.log {
			if d.Target != "" {
				t.Errorf("%+v", d)
			}
		}
		for _, l := range linesOf(t, b.timeline) {
			if strings.HasPrefix(l, "OFFLOAD_") || strings.Contains(l, "SsdPrefetch") {
				t.Error(l)
			}
		}
	})
	t.Run("BL-3", func(t *testing.T) {
		// The tick after the first has in memory only what the first left.
		taken := first.moves()
		var want []string
		for _, x := range first.Inputs.Tensors {
			if !slices.Contains(taken, "MoveToSsd "+x.ID) {
				want = append(want, x.ID)
			}
		}
		var got []string
		for _, x := range second.Inputs.Tensors {
			if x.Tier == "Ram" {
				got = append(got, x.ID)
			}
		}
		if !slices.Equal(got, want) || len(got) == 0 {
			t.Errorf("%v stayed, want %v", got, want)
		}
	})
}

// wantLines compares the lines of offloading in a tick.
func wantLines(t *testing.T, k ticked, d decided, end string) {
	t.Helper()
	want := []string{
		fmt.Sprintf("OFFLOAD_PLAN tick=%d actions=%d reason=%s", d.Tick, len(d.moves()), d.Reason),
		fmt.Sprintf("OFFLOAD_APPLY tick=%d %s", d.Tick, end),
	}
	if !slices.Equal(k.lines, want) {
		t.Errorf("%q, want %q", k.lines, want)
	}
}

type banded struct {
	run
	log []decided
}

// band runs a model with a little more memory than it needs.
func band(t *testing.T, path string) banded {
	t.Helper()
	within := func(limit int64) banded {
		r := runWithin(t, path, 12, func(int) int64 { return limit })
		return banded{r, decisionsOf(t, r.decisions, "offload")}
	}
	need := float64(*within(plenty).log[0].Inputs.Pressures.RAM) * plenty
	return within(int64(need / 0.93))
}
