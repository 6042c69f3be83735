package place

import (
	"fmt"
	"io"
	"strings"
	"time"

	"atenia/internal/spelling"
)

// A Streaming says how a model's weights lie in memory and on disk, and what
// has been read of them so far. Numbers of the ring are 0 when nothing is
// streamed.
type Streaming struct {
	Automatic bool          // nobody set the budget: the model does not fit
	Notes     []string      // what was decided about memory that nobody asked for
	Held      int64         // bytes of weights in memory, as far as they are not mapped
	Streamed  int64         // bytes that each pass reads
	RingBytes int64         // memory of the ring
	Passes    int64         // that were ended well
	Read      int64         // bytes, from files
	Reads     int64         // of files
	Hits      int64         // units that were there when they were wanted
	Late      int64         // units that were waited for
	Stall     time.Duration // that computing waited
	Busy      time.Duration // with at least one read in flight
	Wall      time.Duration // of the passes that were ended well
	First     time.Duration // of the first of them, which has units to wait for
	Overlap   float64       // part of the shorter of moving and computing that the other hid, at most 1
	Experts   ExpertCache   // zero unless experts of a mixture are read when tokens choose them
	Codec     string        // the form in which weights are streamed, and why; "" = none are
	Lanes     []LaneWork    // what the executor of moves and work did, by lane
}

// WriteText prints what was read in lines: passes, the ring, and experts.
func (s *Streaming) WriteText(w io.Writer) error {
	var b strings.Builder
	if n := s.Passes - 1; n > 0 {
		each := (s.Wall - s.First).Seconds() / float64(n)
		fmt.Fprintf(&b, "%-8s %s, %.3g s each after the first (%.3g a second)\n", "passes", spelling.Count(s.Passes, "pass"), each, 1/each)
	}
	if s.Read > 0 {
		fmt.Fprintf(&b, "%-8s %s read from the ssd, waited %.3g s for it\n", "ssd", spelling.Size(s.Read), s.Stall.Seconds())
	}
	if s.RingBytes > 0 {
		fmt.Fprintf(&b, "%-8s %s; %s ready when wanted, %d late\n", "ring", spelling.Size(s.RingBytes), spelling.Count(s.Hits, "unit"), s.Late)
	}
	if e := &s.Experts; e.Experts > 0 {
		fmt.Fprintf(&b, "%-8s %d of %d in %s; %s and %s, %.1f %% hits; %s read, waited %.3g s\n", "experts", e.Slots, e.Experts, spelling.Size(e.Bytes),
			spelling.Count(e.Hits, "hit"), spelling.Count(e.Misses, "miss"), 100*e.HitRate(), spelling.Size(e.Read), e.Wait.Seconds())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// CacheStats counts, since the model was opened, how much of prompts was not computed for
// them because their beginnings had been.
type CacheStats struct {
	MemoryPrompts int64 `json:"memory_prompts"` // prompts that began with keys and values in memory
	MemoryTokens  int64 `json:"memory_tokens"`  // of them, tokens that were not computed
	DiskPrompts   int64 `json:"disk_prompts"`   // prompts that began with keys and values read from atenia.Config.CacheDir
	DiskTokens    int64 `json:"disk_tokens"`
	DiskFiles     int64 `json:"disk_files"` // in the folder, of all models; what other processes did since it was listed is left out
	DiskBytes     int64 `json:"disk_bytes"`
	ReadBytes     int64 `json:"read_bytes"`
	WrittenBytes  int64 `json:"written_bytes"`
	Damaged       int64 `json:"damaged"` // files that were removed because they were damaged
	Failed        int64 `json:"failed"`  // times that writing failed, such as with a full disk
}

// StepCounts counts what steps did: instructions that they dispatched, and how often they
// submitted work to the worker pool.
type StepCounts struct {
	Dispatches int64 `json:"dispatches"`
	Launches   int64 `json:"launches"`
}

// A Resumed says what an open model took from its atenia.Config.Checkpoint.
type Resumed struct {
	Dir       string   // the folder
	Restored  int      // tensors of the model that the checkpoint has
	Bytes     int64    // of them; they are read when they are first needed
	Sequences int      // conversations that can be continued without computing them again
	Tokens    int      // of them
	Drift     []string // what is not as it was saved, such as a device that is missing
	WarmStart string   // how many tensors stay, are wanted in faster memory, or in slower
	Wanted    int      // weights that the checkpoint wants in a tier of memory
	Followed  int      // of these, as far as the budget allows
	Reused    int      // tokens of prompts that were not computed again, so far
	Leftovers int      // files that killed processes had left, and that were removed
	Ignored   string   // what was not used, and why; "" if all was
	// NotDurable are the tensors of the checkpoint that was saved when the model was
	// closed whose bytes no restore will find, each with why.
	NotDurable []string

	Line string // that says all of it
}

// String is one line.
func (r Resumed) String() string { return r.Line }

// A LaneWork is what one lane of the executor did.
type LaneWork struct {
	Lane         string // Io reads, Transfer decodes and aligns, Compute computes
	Tasks, Bytes int64  // bytes are those that the tasks read, moved, or computed with
}

// An ExpertCache says what the cache of a mixture's experts holds, and what it has
// read so far. What it reads and waits for is part of a [Streaming]'s numbers.
type ExpertCache struct {
	Bytes     int64 // memory of the cache
	Slots     int   // experts that it holds at once
	Experts   int   // of all layers
	Hits      int64 // experts that were in memory when tokens chose them
	Misses    int64
	Evictions int64
	Read      int64         // bytes, from files
	Wait      time.Duration // that computing waited for reads
}

// HitRate returns the share of chosen experts that were in memory: 1 if none was
// chosen.
func (e *ExpertCache) HitRate() float64 {
	if e.Hits+e.Misses == 0 {
		return 1
	}
	return float64(e.Hits) / float64(e.Hits+e.Misses)
}
