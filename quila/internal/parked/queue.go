package parked

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"unsafe"

	"atenia/grad"
	"atenia/internal/memory"
	"atenia/quila/internal/stores"
	"atenia/tensor"
)

// The errors of a queue, for [errors.Is].
var (
	ErrQueueShape     = errors.New("wrong length")
	ErrQueueNotFinite = errors.New("not finite")
	errConfig         = errors.New("no such queue")
)

// A queueValueError says which operation was given what. It matches its Err.
type queueValueError struct {
	Op, Want, Got string
	Err           error
}

func (e *queueValueError) Error() string {
	return fmt.Sprintf("wmq %s: want %s, got %s: %v", e.Op, e.Want, e.Got, e.Err)
}

// Unwrap returns what the error is matched by.
func (e *queueValueError) Unwrap() error { return e.Err }

// A QueueConfig is the shape of a queue.
type QueueConfig struct {
	Dim       int
	Hot, Cold int     // entries
	Enqueue   float64 // relation above which an entry is admitted
	Dealloc   float64 // utility above which one survives a turn's end once
	Half      bool    // contents are kept in half precision, the profile fp16
}

// An entry is what a queue knows of a content.
type entry struct {
	id         uint64
	row        int // of the content, in its zone's memory
	relation   float32
	stage      int
	utility    float32
	trajectory uint32
	extra      bool // survives the next turn's end
}

// A zone is a list of entries, oldest first, with the memory of their contents.
type zone[F grad.Float] struct {
	list []entry
	rows []F // [capacity, dim]
	free []int
	room *stores.Group
}

// A QueueHit is an entry that was retrieved. Its content is valid until the queue
// changes.
type QueueHit[F grad.Float] struct {
	ID      uint64
	Dot     F
	Content []F
}

// A Queue is a working-memory queue. Its zero value is of no use: see [NewQueue].
type Queue[F grad.Float] struct {
	c         QueueConfig
	serial    uint64
	hot, cold zone[F]
	buffer    []entry // what ended, without contents: nothing reads them
	found     []found
	moved     []entry
}

// A found is an entry that may be retrieved.
type found struct {
	dot  float32
	id   uint64
	cold bool
}

// NewQueue makes an empty queue with memory of its own, reserved in full. name tells
// queues of one memory apart.
func NewQueue[F grad.Float](c QueueConfig, m *stores.Memory, name string) (*Queue[F], error) {
	if c.Dim < 1 || c.Hot < 1 || c.Cold < 0 || c.Hot > 1<<20 || c.Cold > 1<<20 || c.Dim > 1<<16 {
		return nil, &queueValueError{"new", "dimensions, a hot zone and a cold zone", fmt.Sprintf("%d, %d, %d", c.Dim, c.Hot, c.Cold), errConfig}
	}
	q := &Queue[F]{c: c}
	// One more row than entries, for the one that overflows.
	if err := q.hot.open(m, "wmq/"+name+"/hot", stores.WMQHot, stores.L2, c.Hot+1, c.Dim); err != nil {
		return nil, err
	}
	if err := q.cold.open(m, "wmq/"+name+"/cold", stores.WMQCold, stores.L3, c.Cold+1, c.Dim); err != nil {
		return nil, errors.Join(err, q.hot.room.Close())
	}
	return q, nil
}

func (z *zone[F]) open(m *stores.Memory, name string, tag stores.Tag, at stores.Level, rows, dim int) (err error) {
	z.room, err = m.Group(name, tag, []stores.Quota{{Level: at, Bytes: memory.NoQuota}}, nil)
	if err != nil {
		return err
	}
	var x F
	p, err := z.room.Page("rows", rows*dim*int(unsafe.Sizeof(x)), at)
	if err != nil {
		return errors.Join(err, z.room.Close())
	}
	z.rows = stores.Floats[F](p.Bytes())
	z.list = make([]entry, 0, rows)
	z.free = make([]int, rows)
	for i := range z.free {
		z.free[i] = rows - 1 - i
	}
	return nil
}

func (z *zone[F]) row(e *entry, dim int) []F { return z.rows[e.row*dim : (e.row+1)*dim] }

// put appends an entry with a copy of its content.
func (z *zone[F]) put(e entry, content []F) {
	e.row = z.free[len(z.free)-1]
	z.free = z.free[:len(z.free)-1]
	copy(z.row(&e, len(content)), content)
	z.list = append(z.list, e)
}

// take removes entry i; its content stays until the next put.
func (z *zone[F]) take(i int) entry {
	e := z.list[i]
	z.list = slices.Delete(z.list, i, i+1)
	z.free = append(z.free, e.row)
	return e
}

// lowest returns the entry of the lowest relation, among equals the oldest.
func (z *zone[F]) lowest() (at int) {
	for i, e := range z.list {
		if low := &z.list[at]; e.relation < low.relation || e.relation == low.relation && e.id < low.id {
			at = i
		}
	}
	return at
}

// Close gives the memory back.
func (q *Queue[F]) Close() error { return errors.Join(q.hot.room.Close(), q.cold.room.Close()) }

// check refuses contents that a queue cannot keep.
func (q *Queue[F]) check(op string, content []F, more ...float64) error {
	if len(content) != q.c.Dim {
		return &queueValueError{op, fmt.Sprintf("%d dimensions", q.c.Dim), fmt.Sprint(len(content)), ErrQueueShape}
	}
	for _, x := range content {
		if x-x != 0 {
			return &queueValueError{op, "numbers", fmt.Sprint(x), ErrQueueNotFinite}
		}
	}
	for _, x := range more {
		if x-x != 0 {
			return &queueValueError{op, "numbers", fmt.Sprint(x), ErrQueueNotFinite}
		}
	}
	return nil
}

// Relation is the largest cosine of a content with those of the hot zone, 0 if
// that is empty.
func (q *Queue[F]) Relation(content []F) (most F) {
	for i := range q.hot.list {
		e := q.hot.row(&q.hot.list[i], q.c.Dim)
		r := dotQueue(content, e) / max(norm(content)*norm(e), 1e-12)
		if i == 0 || r > most {
			most = r
		}
	}
	return most
}

// Seed enters a content with relation 1 and stage 0, as the Planner does for its
// plan: without it nothing has a relation.
func (q *Queue[F]) Seed(content []F, trajectory uint32) error {
	if err := q.check("seed", content); err != nil {
		return err
	}
	q.enter(content, entry{relation: 1, trajectory: trajectory})
	return nil
}

// Offer enters a content whose relation is above the threshold, and returns the
// relation. utility is the Thinker's at this time.
func (q *Queue[F]) Offer(content []F, stage int, utility float64, trajectory uint32) (F, error) {
	if err := q.check("offer", content, utility); err != nil {
		return 0, err
	}
	r := q.Relation(content)
	if float32(r) > float32(q.c.Enqueue) {
		q.enter(content, entry{relation: float32(r), stage: stage, utility: float32(utility), trajectory: trajectory})
	}
	return r, nil
}

// enter appends to the hot zone.
func (q *Queue[F]) enter(content []F, e entry) {
	e.id = q.serial
	q.serial++
	q.hot.put(e, content)
	if q.c.Half {
		row := q.hot.row(&q.hot.list[len(q.hot.list)-1], q.c.Dim)
		for i, x := range row {
			row[i] = F(tensor.F16ToF32(tensor.F32ToF16(float32(x))))
		}
	}
	q.spill()
}

// spill keeps the capacities.
func (q *Queue[F]) spill() {
	for len(q.hot.list) > q.c.Hot {
		e := q.hot.take(q.hot.lowest())
		q.cold.put(e, q.hot.row(&e, q.c.Dim))
		for len(q.cold.list) > q.c.Cold {
			q.cold.take(q.cold.lowest())
		}
	}
}

// Retrieve appends to dst the k entries of both zones with the largest dot product
// with a state, ties to the oldest, among those of the given trajectories: the
// caller's own and its ancestors. Those that were cold become hot.
func (q *Queue[F]) Retrieve(dst []QueueHit[F], state []F, k int, trajectories ...uint32) ([]QueueHit[F], error) {
	if err := q.check("retrieve", state); err != nil {
		return dst, err
	}
	q.found = q.found[:0]
	for _, z := range []*zone[F]{&q.hot, &q.cold} {
		for i := range z.list {
			if e := &z.list[i]; slices.Contains(trajectories, e.trajectory) {
				q.found = append(q.found, found{float32(dotQueue(state, z.row(e, q.c.Dim))), e.id, z == &q.cold})
			}
		}
	}
	slices.SortFunc(q.found, func(a, b found) int {
		switch {
		case a.dot != b.dot && a.dot > b.dot:
			return -1
		case a.dot != b.dot:
			return 1
		case a.id < b.id:
			return -1
		}
		return 1
	})
	q.found = q.found[:min(max(k, 0), len(q.found))]
	first := len(dst)
	for _, f := range q.found {
		dst = append(dst, QueueHit[F]{ID: f.id, Dot: F(f.dot)})
	}
	q.warm()
	for i := range dst[first:] {
		h := &dst[first+i]
		h.Content = q.content(h.ID)
		h.Dot = dotQueue(state, h.Content)
	}
	return dst, nil
}

// warm moves what was found from the cold zone to the hot one, in the order in
// which it was found. The hot zone has one row too many at a time, so the
// overflow rule runs as often as there are entries to make room for: the lowest
// relations of old and new entries together leave.
func (q *Queue[F]) warm() {
	q.moved = q.moved[:0]
	for _, f := range q.found {
		if !f.cold {
			continue
		}
		i := slices.IndexFunc(q.cold.list, func(e entry) bool { return e.id == f.id })
		q.moved = append(q.moved, q.cold.list[i])
	}
	for _, e := range q.moved {
		i := slices.IndexFunc(q.cold.list, func(c entry) bool { return c.id == e.id })
		if i < 0 {
			continue
		}
		e := q.cold.take(i)
		q.hot.put(e, q.cold.row(&e, q.c.Dim))
		q.spill()
	}
}

// content returns the content of an entry; nil if the overflow rule has dropped it.
func (q *Queue[F]) content(id uint64) []F {
	for _, z := range []*zone[F]{&q.hot, &q.cold} {
		for i := range z.list {
			if z.list[i].id == id {
				return z.row(&z.list[i], q.c.Dim)
			}
		}
	}
	return nil
}

// mostEnded bounds the deletion buffer within a turn; the oldest leave first.
const mostEnded = 1 << 16

// StageEnd moves the entries of a stage to the deletion buffer. Their contents are
// not kept, since retrieval does not reach them there; of more entries than both
// zones hold the oldest are forgotten.
func (q *Queue[F]) StageEnd(stage int) {
	for _, z := range []*zone[F]{&q.hot, &q.cold} {
		for i := 0; i < len(z.list); {
			if z.list[i].stage != stage {
				i++
				continue
			}
			e := z.take(i)
			e.extra = e.utility > float32(q.c.Dealloc)
			q.buffer = append(q.buffer, e)
		}
	}
	// A turn may have any number of stages.
	if over := len(q.buffer) - max(mostEnded, q.c.Hot+q.c.Cold); over > 0 {
		q.buffer = slices.Delete(q.buffer, 0, over)
	}
}

// TurnEnd frees the deletion buffer but for what survives once.
func (q *Queue[F]) TurnEnd() {
	n := 0
	for _, e := range q.buffer {
		if e.extra {
			e.extra = false
			q.buffer[n] = e
			n++
		}
	}
	q.buffer = q.buffer[:n]
}

// An QueueItem is an entry, for inspection and tests.
type QueueItem struct {
	ID         uint64
	Zone       string // hot, cold or buffer
	Relation   float32
	Stage      int
	Utility    float32
	Trajectory uint32
}

// Items yields the entries of the hot zone, the cold zone and the deletion buffer.
func (q *Queue[F]) Items() iter.Seq[QueueItem] {
	return func(yield func(QueueItem) bool) {
		for i, list := range [][]entry{q.hot.list, q.cold.list, q.buffer} {
			for _, e := range list {
				if !yield(QueueItem{e.id, [...]string{"hot", "cold", "buffer"}[i], e.relation, e.stage, e.utility, e.trajectory}) {
					return
				}
			}
		}
	}
}

func dotQueue[F grad.Float](a, b []F) (s F) {
	for i, x := range a {
		s += x * b[i]
	}
	return s
}

func norm[F grad.Float](a []F) F { return F(math.Sqrt(float64(dotQueue(a, a)))) }
