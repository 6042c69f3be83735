package pool

import "sync/atomic"

// chunksPerShare is into how many chunks a worker's part of a range is cut at
// most. More would balance finer and cut kernels' streams shorter.
const chunksPerShare = 8

// A Ranger is work over a range of indices.
type Ranger interface {
	// Range does the indices [lo, hi). It is called with disjoint chunks,
	// several times per worker; worker is as for [Task.Run]. Which worker
	// gets which chunk differs from call to call.
	Range(worker, lo, hi int)
}

// Range runs f over [0, n). Chunks begin at multiples of grain (fewer than 1
// counts as 1) and are multiples of it, the last one apart. Each worker starts
// on its own contiguous part, the same one every time, and when that is used
// up takes chunks from the parts of others. A range of one grain or less runs
// on the caller's goroutine alone. Otherwise as [Pool.Do].
func (p *Pool) Range(n, grain int, f Ranger) {
	if n <= 0 {
		return
	}
	grain = max(grain, 1)
	workers := len(p.shares)
	if n <= grain {
		workers = 1
	}
	p.begin()
	p.ranged.cut(n, grain, workers, f)
	p.do(&p.ranged, workers)
}

// A rangeTask is the Task behind Range; the pool has one and uses it again
// and again.
type rangeTask struct {
	f       Ranger
	n       int
	chunk   int      // indices, a multiple of grain
	cursors []cursor // [workers]
}

// A cursor is what is left of one worker's part, in chunks.
type cursor struct {
	next atomic.Int64
	end  int64
	_    line
}

func (r *rangeTask) cut(n, grain, workers int, f Ranger) {
	r.f, r.n, r.chunk = f, n, n // nobody to share with: one call
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

// Run drains the worker's own part, then those after it.
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
