package pool

import "sync/atomic"

// chunksPerShare is the maximum number of chunks in a worker's part of a range.
// More would balance better but shorten the kernels' sequential streams.
const chunksPerShare = 8

// A Ranger is work over a range of indices.
type Ranger interface {
	// Range processes the indices [lo, hi). It is called with disjoint chunks,
	// several times per worker; worker is as for [Task.Run]. The assignment of
	// chunks to workers differs from call to call.
	Range(worker, lo, hi int)
}

// Range runs f over [0, n). Chunks start at multiples of grain (fewer than 1
// counts as 1) and, except the last, are multiples of it. Each worker starts on
// its own contiguous part, the same one every time, and then steals chunks from
// the parts of others. A range of one grain or less runs on the caller's
// goroutine alone. Otherwise it behaves like [Pool.Do].
func (p *Pool) Range(n, grain int, f Ranger) {
	if n <= 0 {
		return
	}
	grain = max(grain, 1)
	workers := int(p.limit.Load())
	if n <= grain {
		workers = 1
	}
	p.begin()
	p.ranged.cut(n, grain, workers, f)
	p.do(&p.ranged, workers)
}

// A rangeTask is the Task of Range; a pool reuses a single one.
type rangeTask struct {
	f       Ranger
	n       int
	chunk   int      // indices, a multiple of grain
	cursors []cursor // [workers]
}

// A cursor is the rest of one worker's part, in chunks.
type cursor struct {
	next atomic.Int64
	end  int64
	_    line
}

func (r *rangeTask) cut(n, grain, workers int, f Ranger) {
	r.f, r.n, r.chunk = f, n, n // a single share: one call
	chunks := 1
	if workers > 1 {
		grains := (n-1)/grain + 1
		perChunk := max(grains/(workers*chunksPerShare), 1)
		chunks = (grains-1)/perChunk + 1
		r.chunk = perChunk * grain
	}
	for i := range workers {
		r.cursors[i].next.Store(int64(chunks * i / workers))
		r.cursors[i].end = int64(chunks * (i + 1) / workers)
	}
}

// Run processes the worker's own part, then those after it.
func (r *rangeTask) Run(worker, workers int) {
	for k := range workers {
		c := &r.cursors[(worker+k)%workers]
		for {
			i := c.next.Add(1) - 1
			if i >= c.end {
				break
			}
			lo := int(i) * r.chunk
			r.f.Range(worker, lo, lo+min(r.chunk, r.n-lo))
		}
	}
}
