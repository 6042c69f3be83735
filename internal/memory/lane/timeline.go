package lane

import (
	"fmt"
	"math"
	"strings"

	"atenia/internal/spelling"
)

// A Queue is one of the three queues of a timeline.
type Queue uint8

// The queues in round-robin order.
const (
	CPU Queue = iota
	GPU
	SSDPrefetch
	queueCount
)

var queueNames = []string{"Cpu", "Gpu", "SsdPrefetch"}

func (q Queue) String() string { return spelling.Enum(queueNames, "Queue", q) }

// MarshalText writes the name of the queue.
func (q Queue) MarshalText() ([]byte, error) { return []byte(q.String()), nil }

// UnmarshalText reads the name of a queue.
func (q *Queue) UnmarshalText(b []byte) error { return spelling.ParseEnum(queueNames, "queue", b, q) }

// A TaskKind is the kind of work of a task.
type TaskKind uint8

// The kinds of tasks.
const (
	ComputeTask TaskKind = iota
	TransferTask
	IOTask
)

var taskKinds = []string{"Compute", "Transfer", "Io"}

func (k TaskKind) String() string { return spelling.Enum(taskKinds, "TaskKind", k) }

// MarshalText writes the name of the kind.
func (k TaskKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the name of a kind.
func (k *TaskKind) UnmarshalText(b []byte) error {
	return spelling.ParseEnum(taskKinds, "kind of task", b, k)
}

// A QueuedTask describes one piece of work.
type QueuedTask struct {
	Queue Queue    `json:"stream"`
	Kind  TaskKind `json:"kind"`
	Name  string   `json:"name"`
	Cost  uint64   `json:"cost"` // relative, no unit
}

// A Submitter accepts tasks and returns their ids, counted from 1.
type Submitter interface {
	Submit(QueuedTask) uint64
}

// A TimelineMode is the order in which a timeline runs queued tasks.
type TimelineMode uint8

const (
	// TakeTurns runs one task each of Cpu, Gpu and SsdPrefetch, round-robin.
	TakeTurns TimelineMode = iota
	// FallBack runs everything on Cpu, one queue after another, as a machine
	// without concurrent streams does.
	FallBack
)

// A Timeline writes the submitted tasks and the order in which they would run.
// It is not safe for concurrent use.
type Timeline struct {
	mode   TimelineMode
	sink   LineSink
	last   uint64
	queues [queueCount][]queued
}

type queued struct {
	id   uint64
	task QueuedTask
}

// NewTimeline returns an empty timeline whose lines go to the sink; nil discards
// them.
func NewTimeline(m TimelineMode, sink LineSink) *Timeline { return &Timeline{mode: m, sink: sink} }

// Submit queues a task and writes its ENQUEUE line. An unknown queue counts as
// Cpu.
func (t *Timeline) Submit(k QueuedTask) uint64 {
	if k.Queue >= queueCount {
		k.Queue = CPU
	}
	if t.last < math.MaxUint64 {
		t.last++
	}
	q := queued{t.last, k}
	t.queues[k.Queue] = append(t.queues[k.Queue], q)
	t.task("ENQUEUE", k.Queue, q)
	return q.id
}

// Run empties the queues and writes a RUN line for each task.
func (t *Timeline) Run() {
	if t.mode == FallBack {
		t.fallBack()
		return
	}
	for turn, ran := 0, true; ran; turn++ {
		ran = false
		for q := range queueCount {
			if turn < len(t.queues[q]) {
				t.task("RUN", q, t.queues[q][turn])
				ran = true
			}
		}
	}
	t.reset()
}

func (t *Timeline) fallBack() {
	for q := range queueCount {
		for _, w := range t.queues[q] {
			if q != CPU && t.sink != nil {
				t.Linef("FALLBACK stream=%s id=%d -> Cpu", q, w.id)
			}
			t.task("RUN", CPU, w)
		}
	}
	t.reset()
}

// reset drops the tasks that have run.
func (t *Timeline) reset() {
	for q := range t.queues {
		clear(t.queues[q])
		t.queues[q] = t.queues[q][:0]
	}
}

func (t *Timeline) task(verb string, q Queue, w queued) {
	if t.sink == nil {
		return // before the arguments of a line are allocated
	}
	k := w.task
	t.Linef("%s stream=%s id=%d kind=%s name=%s cost=%d", verb, q, w.id, k.Kind, k.Name, k.Cost)
}

// breaks replaces line breaks, which would split a line.
var breaks = strings.NewReplacer("\n", " ", "\r", " ")

// Linef writes an additional line for the caller that drives the timeline.
func (t *Timeline) Linef(format string, args ...any) {
	if t.sink == nil {
		return
	}
	t.sink.Line(breaks.Replace(fmt.Sprintf(format, args...)))
}
