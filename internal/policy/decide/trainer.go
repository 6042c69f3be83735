package decide

import "math"

// defaultDriftPenalty is the amount by which one episode with drift lowers the
// score of its row, see [Trainer].
const defaultDriftPenalty = 5

// Stats counts the episodes of one backend in one bucket. Every number saturates
// instead of wrapping.
type Stats struct {
	Count   uint32 `json:"count"`
	Success uint32 `json:"success"`
	Score   int64  `json:"score_sum"`
	Drift   uint32 `json:"drift"` // episodes with drift
}

// Value returns score/count − drift·penalty/count, each quotient an integer,
// toward zero; 0 without episodes.
func (s Stats) Value(penalty uint32) int64 {
	if s.Count == 0 {
		return 0
	}
	mean := s.Score / int64(s.Count)
	cost := int64(min(uint64(s.Drift)*uint64(penalty)/uint64(s.Count), math.MaxInt64))
	if v := mean - cost; v <= mean { // cost is not negative, so a larger value has wrapped
		return v
	}
	return math.MinInt64
}

// add counts an episode.
func (s *Stats) add(success bool, score int32, drift bool) {
	s.Count = addOne(s.Count, true)
	s.Success = addOne(s.Success, success)
	s.Drift = addOne(s.Drift, drift)
	d := int64(score)
	switch sum := s.Score + d; {
	case d > 0 && sum < s.Score:
		s.Score = math.MaxInt64
	case d < 0 && sum > s.Score:
		s.Score = math.MinInt64
	default:
		s.Score = sum
	}
}

// halve halves all counts, so that old episodes fade.
func (s *Stats) halve() {
	s.Count, s.Success, s.Score, s.Drift = s.Count/2, s.Success/2, s.Score/2, s.Drift/2
}

func addOne(n uint32, yes bool) uint32 {
	if yes && n < math.MaxUint32 {
		n++
	}
	return n
}

// A Row is one line of the table.
type Row struct {
	Bucket
	Backend Backend `json:"backend"`
	Stats
}

// A Trainer is the table of statistics. The zero value is empty. It is not safe
// for concurrent use; a copy is independent.
type Trainer struct {
	// DriftPenalty is the weight of drift against score; 0 means
	// [defaultDriftPenalty].
	DriftPenalty uint32

	rows  [buckets * 2]Stats // by Bucket.index, then Backend
	known uint64             // bit i is set if rows[i] exists
}

func (t *Trainer) penalty() uint32 {
	if t.DriftPenalty == 0 {
		return defaultDriftPenalty
	}
	return t.DriftPenalty
}

func rowIndex(b Bucket, k Backend) int { return 2*b.index() + int(min(k, GPU)) }

// Set replaces a row.
func (t *Trainer) Set(r Row) {
	*t.row(r.Bucket, r.Backend) = r.Stats
}

// Stats returns a row; false if it is empty.
func (t *Trainer) Stats(b Bucket, k Backend) (Stats, bool) {
	i := rowIndex(b, k)
	return t.rows[i], t.known>>i&1 != 0
}

// Record counts an episode: where it executed, with what score, and whether
// placement had drifted from the checkpoint's.
func (t *Trainer) Record(c Context, k Backend, success bool, score int32, drift bool) {
	t.row(c.Bucket(), k).add(success, score, drift)
}

// row returns a row for modification and marks it as existing.
func (t *Trainer) row(b Bucket, k Backend) *Stats {
	i := rowIndex(b, k)
	t.known |= 1 << i
	return &t.rows[i]
}

// Rows returns the table sorted by (GPU, VRAM, RAM, Cpu before Gpu).
func (t *Trainer) Rows() []Row {
	out := []Row{}
	for i := range t.rows {
		if t.known>>i&1 != 0 {
			out = append(out, Row{bucketAt(i / 2), Backend(i % 2), t.rows[i]})
		}
	}
	return out
}

// Recommend returns the backend to prefer in a bucket: the device if it is
// there and its value is higher, the processor otherwise.
func (t *Trainer) Recommend(b Bucket) Backend {
	cpu, _ := t.Stats(b, CPU)
	gpu, _ := t.Stats(b, GPU)
	return prefer(b.GPU, cpu.Value(t.penalty()), gpu.Value(t.penalty()))
}

func prefer(gpuThere bool, cpu, gpu int64) Backend {
	if gpuThere && gpu > cpu {
		return GPU
	}
	return CPU
}
