package decide

// A Snapshot is a readable copy of the table.
type Snapshot struct {
	Entries []Entry `json:"entries"` // sorted by (GPU, VRAM, RAM, Cpu before Gpu)
	Summary Summary `json:"summary"`
}

// An Entry is one row with the preferred backend of its bucket.
type Entry struct {
	Context            Bucket     `json:"context"`
	Backend            Backend    `json:"backend"`
	RecommendedBackend Backend    `json:"recommended_backend"`
	Stats              EntryStats `json:"stats"`
}

// EntryStats is [Stats] with a mean.
type EntryStats struct {
	Episodes     uint32  `json:"episodes"`
	Successes    uint32  `json:"successes"`
	DriftEvents  uint32  `json:"drift_events"`
	AverageScore float32 `json:"average_score"`
}

// A Summary totals the entries.
type Summary struct {
	TotalEntries       int     `json:"total_entries"`
	TotalEpisodes      uint64  `json:"total_episodes"`
	GPUPreferenceRatio float32 `json:"gpu_preference_ratio"` // share of entries whose bucket prefers the device
}

// Snapshot copies the table.
func (t *Trainer) Snapshot() Snapshot {
	s := Snapshot{Entries: []Entry{}}
	gpu := 0
	for _, r := range t.Rows() {
		e := Entry{Context: r.Bucket, Backend: r.Backend, RecommendedBackend: t.Recommend(r.Bucket)}
		e.Stats = EntryStats{Episodes: r.Count, Successes: r.Success, DriftEvents: r.Drift}
		if r.Count > 0 {
			e.Stats.AverageScore = float32(r.Score) / float32(r.Count)
		}
		if e.RecommendedBackend == GPU {
			gpu++
		}
		s.Entries = append(s.Entries, e)
		s.Summary.TotalEpisodes += uint64(r.Count) // 64 rows of 32 bits cannot overflow
	}
	s.Summary.TotalEntries = len(s.Entries)
	if len(s.Entries) > 0 {
		s.Summary.GPUPreferenceRatio = float32(gpu) / float32(len(s.Entries))
	}
	return s
}

// Buckets returns the nonempty buckets, in order.
func (t *Trainer) Buckets() []Bucket {
	var out []Bucket
	for i := range buckets {
		if t.known>>(2*i)&3 != 0 {
			out = append(out, bucketAt(i))
		}
	}
	return out
}
