package lane

import (
	"slices"
	"strings"
	"testing"
)

func newTimeline(m TimelineMode) (*Timeline, *Lines) {
	lines := new(Lines)
	return NewTimeline(m, lines), lines
}

// field collects a field of all lines that start with the word.
func field(lines []string, word, name string) (out []string) {
	for _, l := range lines {
		if !strings.HasPrefix(l, word+" ") {
			continue
		}
		for f := range strings.FieldsSeq(l) {
			if v, ok := strings.CutPrefix(f, name+"="); ok {
				out = append(out, v)
			}
		}
	}
	return out
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTimeline is the table of orders.
func TestTimeline(t *testing.T) {
	t.Run("EX-1", func(t *testing.T) {
		tl, lines := newTimeline(TakeTurns)
		tl.Submit(QueuedTask{CPU, ComputeTask, "a", 10})
		tl.Submit(QueuedTask{CPU, ComputeTask, "b", 1})
		tl.Submit(QueuedTask{GPU, ComputeTask, "c", 1})
		tl.Submit(QueuedTask{SSDPrefetch, IOTask, "d", 1})
		tl.Run()
		wantLines(t, (*lines)[:1], "ENQUEUE stream=Cpu id=1 kind=Compute name=a cost=10")
		wantLines(t, field(*lines, "RUN", "name"), "a", "c", "d", "b")
	})
	t.Run("EX-2", func(t *testing.T) {
		tl, lines := newTimeline(FallBack)
		tl.Submit(QueuedTask{GPU, ComputeTask, "g", 1})
		tl.Submit(QueuedTask{SSDPrefetch, IOTask, "s", 2})
		tl.Run()
		wantLines(t, (*lines)[2:],
			"FALLBACK stream=Gpu id=1 -> Cpu",
			"RUN stream=Cpu id=1 kind=Compute name=g cost=1",
			"FALLBACK stream=SsdPrefetch id=2 -> Cpu",
			"RUN stream=Cpu id=2 kind=Io name=s cost=2")
	})
	t.Run("EX-3", func(t *testing.T) {
		tl, lines := newTimeline(TakeTurns)
		for _, q := range []Queue{GPU, CPU, SSDPrefetch, CPU} {
			tl.Submit(QueuedTask{Queue: q})
		}
		tl.Run()
		tl.Submit(QueuedTask{Queue: GPU})
		tl.Run()
		wantLines(t, field(*lines, "ENQUEUE", "id"), "1", "2", "3", "4", "5")
		// Each run begins with Cpu again.
		wantLines(t, field(*lines, "RUN", "id"), "2", "1", "3", "4", "5")
	})
	t.Run("EX-4", func(t *testing.T) {
		tl, lines := newTimeline(TakeTurns)
		tl.Submit(QueuedTask{SSDPrefetch, IOTask, "prefetch:t", 1})
		tl.Submit(QueuedTask{CPU, TransferTask, "move:ssd->ram:t", 1})
		tl.Submit(QueuedTask{CPU, ComputeTask, "k", 1})
		tl.Run()
		wantLines(t, field(*lines, "RUN", "id"), "2", "1", "3")
	})
}

// TestTimelineLine: an event is one line, for any name.
func TestTimelineLine(t *testing.T) {
	tl, lines := newTimeline(TakeTurns)
	tl.Submit(QueuedTask{Queue(7), ComputeTask, "a\nRUN stream=Gpu\r", 1})
	wantLines(t, *lines, "ENQUEUE stream=Cpu id=1 kind=Compute name=a RUN stream=Gpu  cost=1")
}

// TestEnums: every queue and kind of task is read as it is written.
func TestEnums(t *testing.T) {
	for q := range queueCount {
		var back Queue
		if b, _ := q.MarshalText(); back.UnmarshalText(b) != nil || back != q {
			t.Errorf("queue %v is read as %v", q, back)
		}
	}
	for k := range IOTask + 1 {
		var back TaskKind
		if b, _ := k.MarshalText(); back.UnmarshalText(b) != nil || back != k {
			t.Errorf("kind %v is read as %v", k, back)
		}
	}
	var q Queue
	err := q.UnmarshalText([]byte("Tape"))
	if want := `no queue "Tape"; there are [Cpu Gpu SsdPrefetch]`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if got := Queue(9).String(); got != "Queue(9)" {
		t.Error(got)
	}
}
