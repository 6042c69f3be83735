package exec

import "atenia/internal/kernel"

// attendQueries is about how many queries are scored together, so that each
// cached byte serves all of them. More would not fit in L1 beside a tile of
// keys.
const attendQueries = 48

// attending is the part of an attention between cache write and output
// projection. The unit of work is a block, some consecutive rows of one run,
// with one key head: its queries pass over the cache span by span
// ([kernel.AttentionSpan]). If there are too few such units for all workers, as
// for one row with few key heads, each span is a unit, and the partial sums are
// merged afterwards, by the same additions in the same order.
//
//	positions   0 … 255      256 … 511    512 … 600
//	            ┌────────────┬────────────┬───────┐   each span: scores, e^score,
//	a block     │ span 0     │ span 1     │ span 2│   weighted values
//	            └─────┬──────┴─────┬──────┴───┬───┘
//	                  └──▶ merge ──┴─▶ merge ─┴─▶ result
type attending struct {
	a         *attention
	rows      int // of a block, at most
	blocks    []attendBlock
	work      scratch // of every worker
	parts     scratch // sums of spans that are computed separately
	partRows  int     // rows for which parts has room, of all query heads
	task      rowTask
	spanTask  rowTask
	mergeTask rowTask
	spans     []attendSpan
	used      int // rows of parts
}

// An attendBlock is rows [first, first+n) of a step, of one run.
type attendBlock struct {
	run      *Run
	first, n int
	part     int // first row of its sums in parts
}

// An attendSpan is one span of one block.
type attendSpan struct{ block, span int }

func (t *attending) bind(a *attention, b *Bind) {
	t.a = a
	t.rows = max(1, min(attendQueries/a.group, b.maxRows))
	t.blocks = make([]attendBlock, 0, b.maxRows)
	t.work = b.floats(t.workFloats() * a.x.cfg.Threads)
	spans := (max(a.x.cfg.Context, a.cross) + kernel.AttentionSpan - 1) / kernel.AttentionSpan
	if a.x.cfg.Threads > 1 && spans > 1 {
		t.partRows = 2 * spans
		t.spans = make([]attendSpan, 0, t.partRows)
		t.parts = b.floats(t.partRows * a.heads * (a.width + 2))
	}
	t.task.run, t.spanTask.run, t.mergeTask.run = t.attendItems, t.attendSpans, t.mergeItems
}

// workFloats is the scratch memory of a worker: scores, queries, two sets of sums
// and, for latent attention, the scores of the rotated keys.
func (t *attending) workFloats() int {
	scores := kernel.AttentionSpan
	if t.a.latent != nil {
		scores *= 2
	}
	return t.rows * t.a.group * (scores + t.a.dim + 2*(t.a.width+2))
}

// run computes the outputs of all rows of a step.
func (t *attending) run(s *Step) {
	t.cut(s)
	items := len(t.blocks) * t.a.kvHeads
	if !t.apart(items) {
		t.task.s = s
		s.parallel(items, 1, &t.task)
		return
	}
	t.spanTask.s, t.mergeTask.s = s, s
	s.parallel(len(t.spans)*t.a.kvHeads, 1, &t.spanTask)
	s.parallel(items, 1, &t.mergeTask)
}

// cut divides the rows of a step into blocks.
func (t *attending) cut(s *Step) {
	t.blocks = t.blocks[:0]
	runs := s.Runs
	if t.a.p.Windows != 0 {
		runs = s.windows
	}
	for i := range runs {
		run := &runs[i]
		for r := 0; r < run.Len; r += t.rows {
			t.blocks = append(t.blocks, attendBlock{run: run, first: run.First + r, n: min(t.rows, run.Len-r)})
		}
	}
}

// apart lists the spans of all blocks if computing them separately pays: items
// do not divide evenly among the workers, and there is more than one span.
func (t *attending) apart(items int) bool {
	threads := t.a.x.cfg.Threads
	if t.partRows == 0 || items%threads == 0 || items >= 4*threads {
		return false
	}
	t.spans = t.spans[:0]
	used := 0
	for i := range t.blocks {
		b := &t.blocks[i]
		first, end := t.a.spansOf(b)
		b.part = used
		used += (end - first) * b.n
		if used > t.partRows {
			return false
		}
		for span := first; span < end; span++ {
			t.spans = append(t.spans, attendSpan{i, span})
		}
	}
	t.used = used
	return len(t.spans) > len(t.blocks)
}

// attendItems computes items lo to hi, one block and one key head each.
func (t *attending) attendItems(s *Step, worker, lo, hi int) {
	for i := lo; i < hi; i++ {
		w := t.worker(worker)
		b, kv := &t.blocks[i/t.a.kvHeads], i%t.a.kvHeads
		t.a.gather(s, b, kv, w.q)
		w.sums.Reset()
		first, end := t.a.spansOf(b)
		for span := first; span < end; span++ {
			lo, hi := t.a.attendSpan(&w, &w.part, b, kv, span)
			w.sums.Merge(&w.part, lo*t.a.group, hi*t.a.group)
		}
		t.a.finish(s, b, kv, &w.sums)
	}
}

// attendSpans computes items lo to hi, one span and one key head each.
func (t *attending) attendSpans(s *Step, worker, lo, hi int) {
	for i := lo; i < hi; i++ {
		w := t.worker(worker)
		at, kv := t.spans[i/t.a.kvHeads], i%t.a.kvHeads
		b := &t.blocks[at.block]
		t.a.gather(s, b, kv, w.q)
		part := t.part(b, kv, at.span)
		t.a.attendSpan(&w, &part, b, kv, at.span)
	}
}

// mergeItems merges the spans of items lo to hi, one block and one key head
// each.
func (t *attending) mergeItems(s *Step, worker, lo, hi int) {
	for i := lo; i < hi; i++ {
		w := t.worker(worker)
		b, kv := &t.blocks[i/t.a.kvHeads], i%t.a.kvHeads
		w.sums.Reset()
		first, end := t.a.spansOf(b)
		for span := first; span < end; span++ {
			part := t.part(b, kv, span)
			lo, hi := t.a.rowsIn(b, span)
			w.sums.Merge(&part, lo*t.a.group, hi*t.a.group)
		}
		t.a.finish(s, b, kv, &w.sums)
	}
}

// An attendWork is the memory of one worker.
type attendWork struct {
	scores, q  []float32 // [queries, AttentionSpan], [queries, dim]
	more       []float32 // like scores
	sums, part kernel.Sums
}

func (t *attending) worker(i int) attendWork {
	n := t.rows * t.a.group
	all := t.a.x.floatsOf(t.work)[i*t.workFloats() : (i+1)*t.workFloats()]
	w := attendWork{scores: all[:n*kernel.AttentionSpan]}
	all = all[len(w.scores):]
	w.q, all = all[:n*t.a.dim], all[n*t.a.dim:]
	w.sums, w.part = t.a.sums(all, n), t.a.sums(all[n*(t.a.width+2):], n)
	w.more = all[2*n*(t.a.width+2):]
	return w
}

// part returns the sums of a span that is computed separately.
func (t *attending) part(b *attendBlock, kv, span int) kernel.Sums {
	first, _ := t.a.spansOf(b)
	row := kv*t.used + b.part + (span-first)*b.n
	size := t.a.group * (t.a.width + 2)
	return t.a.sums(t.a.x.floatsOf(t.parts)[row*size:], b.n*t.a.group)
}

// sums cuts the sums of n queries.
func (a *attention) sums(all []float32, n int) kernel.Sums {
	return kernel.Sums{Top: all[:n], Sum: all[n : 2*n], Acc: all[2*n : n*(a.width+2)], Dim: a.width}
}

// sees returns the positions that row r of a block attends to.
func (a *attention) sees(b *attendBlock, r int) (lo, hi int) {
	if a.cross > 0 {
		return 0, a.cross
	}
	pos := b.run.Pos + b.first + r - b.run.First
	if a.p.Causal == 0 {
		if w := int(a.p.Window) / 2; w > 0 && a.p.Windows == 0 {
			return max(0, pos-w), min(b.run.Len, pos+w+1)
		}
		return 0, b.run.Len
	}
	if a.p.Window > 0 {
		lo = max(0, pos-int(a.p.Window)+1)
	}
	if a.p.Images != 0 {
		if p := b.run.spanAt(pos); p != nil {
			return min(lo, p.At), p.end()
		}
	}
	return lo, pos + 1
}

// spansOf returns the spans that a block attends to.
func (a *attention) spansOf(b *attendBlock) (first, end int) {
	lo, _ := a.sees(b, 0)
	_, hi := a.sees(b, b.n-1)
	return lo / kernel.AttentionSpan, (hi-1)/kernel.AttentionSpan + 1
}

// rowsIn returns the rows of a block that attend to positions of a span.
func (a *attention) rowsIn(b *attendBlock, span int) (lo, hi int) {
	for lo = 0; lo < b.n; lo++ {
		if _, end := a.sees(b, lo); end > span*kernel.AttentionSpan {
			break
		}
	}
	for hi = b.n; hi > lo; hi-- {
		if first, _ := a.sees(b, hi-1); first < (span+1)*kernel.AttentionSpan {
			break
		}
	}
	return lo, hi
}

// gather copies the queries of a block.
func (a *attention) gather(s *Step, b *attendBlock, kv int, dst []float32) {
	q, n := a.x.floatsOf(a.q), a.group*a.dim
	for r := range b.n {
		copy(dst[r*n:(r+1)*n], q[((b.first+r)*a.heads+kv*a.group)*a.dim:])
	}
}

// attendSpan sums the values of one span for the rows of a block that attend to
// it, and returns those rows.
func (a *attention) attendSpan(w *attendWork, part *kernel.Sums, b *attendBlock, kv, span int) (first, end int) {
	keys, values := a.rows(b.run, kv)
	first, end = a.rowsIn(b, span)
	base := span * kernel.AttentionSpan
	within := func(r int) (lo, hi int) {
		lo, hi = a.sees(b, r)
		return max(lo, base), min(hi, base+kernel.AttentionSpan)
	}
	lo, _ := within(first)
	_, hi := within(end - 1)
	at, n := first*a.group, (end-first)*a.group
	if a.latent != nil {
		a.latent.scores(w, at, n, b.run, lo, hi)
	} else {
		kernel.Scores(w.scores[at*kernel.AttentionSpan:], w.q[at*a.dim:], n, &keys, lo, hi, a.p.Scale)
	}
	for r := first; r < end; r++ {
		lo, hi := within(r)
		for h := r * a.group; h < (r+1)*a.group; h++ {
			line := w.scores[h*kernel.AttentionSpan : (h+1)*kernel.AttentionSpan]
			if a.p.Softcap != 0 {
				kernel.Softcap(line[lo-base:hi-base], a.p.Softcap)
			}
			part.Top[h], part.Sum[h] = kernel.SoftmaxSpan(line, lo-base, hi-base)
		}
	}
	// Positions that all rows attend to are summed for all rows together;
	// positions before and after them row by row.
	acc := part.Acc[at*a.width : (at+n)*a.width]
	clear(acc)
	all, _ := within(end - 1)
	_, most := within(first)
	each := func(cut func(lo, hi int) (int, int)) {
		for r := first; r < end; r++ {
			from, to := cut(within(r))
			h := r * a.group
			kernel.Weighted(part.Acc[h*a.width:], w.scores[h*kernel.AttentionSpan:], a.group, &values, from, to)
		}
	}
	if most <= all { // windows so short that the rows have no common position
		each(func(lo, hi int) (int, int) { return lo, hi })
		return first, end
	}
	each(func(lo, _ int) (int, int) { return lo, all })
	kernel.Weighted(acc, w.scores[at*kernel.AttentionSpan:], n, &values, all, most)
	each(func(_, hi int) (int, int) { return most, hi })
	return first, end
}

// finish writes the outputs of a block.
func (a *attention) finish(s *Step, b *attendBlock, kv int, sums *kernel.Sums) {
	y := a.x.floatsOf(a.y)
	for r := range b.n {
		for g := range a.group {
			if a.sinks != nil {
				sums.Sink(r*a.group+g, a.sinks[kv*a.group+g])
			}
			at := ((b.first+r)*a.heads + kv*a.group + g) * a.width
			sums.Result(y[at:at+a.width], r*a.group+g)
		}
	}
}
