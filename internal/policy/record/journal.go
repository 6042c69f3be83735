package record

import "sync"

// A Listener receives every record in order, one at a time. It must be quick,
// because the decider waits for it.
type Listener interface {
	Decided(*Record)
}

// A Config configures a [Journal]. The zero value has no listeners.
type Config struct {
	Listeners []Listener
	Now       func() int64 // nanoseconds since 1970; nil: records have no time
	After     *Record      // the record to continue from, see [Open]; nil starts a new log
}

// A Journal numbers records, chains them and passes them to its listeners. A nil
// journal discards them. It is safe for concurrent use.
type Journal struct {
	mu     sync.Mutex
	cfg    Config
	seq    uint64
	parent string
}

// NewJournal returns an empty journal.
func NewJournal(cfg Config) *Journal {
	j := &Journal{cfg: cfg}
	if cfg.After != nil {
		j.seq, j.parent = cfg.After.Seq+1, cfg.After.Hash
	}
	return j
}

// Add records a decision.
func (j *Journal) Add(d Draft) (Record, error) {
	if j == nil {
		return Record{}, nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	now := int64(0)
	if j.cfg.Now != nil {
		now = j.cfg.Now()
	}
	r, err := Make(&d, j.seq, j.parent, now)
	if err != nil {
		return r, err
	}
	j.seq, j.parent = j.seq+1, r.Hash
	for _, l := range j.cfg.Listeners {
		l.Decided(&r)
	}
	return r, nil
}

// Len returns the number of records, including those before the one the journal
// continues from.
func (j *Journal) Len() uint64 {
	if j == nil {
		return 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seq
}
