package sched

// kept are the sequences that can be continued and are in no slot: in memory, on disk,
// or outside of the scheduler. Results do not depend on it.
type kept struct {
	memory     prefixCache  // of ended requests whose slots were given to others
	disk       disk         // of those that left memory, and of processes before
	remembered []Remembered // by the caller
}

func newKept(cfg *Config, pools int) kept {
	return kept{memory: newPrefixCache(cfg.KeepBytes, cfg.CacheBytes, pools), disk: newDisk(cfg), remembered: cfg.Remembered}
}

// reusable returns how many tokens of a prompt need not be computed: now, or more that a
// sequence has which is kept in memory or remembered.
func (s *Scheduler) reusable(r *Request, now int) int {
	_, n := s.kept.memory.find(r)
	now = max(now, n)
	_ = s.findRemembered(r, &now)
	return now
}
