package bench

import (
	"slices"
	"time"
)

// A LoadReport is what clients saw. Times between tokens are those of readers that are
// not slow, between one event and the next: a server that holds text back, for
// example until it is whole UTF-8, has fewer events than tokens.
type LoadReport struct {
	Streams   int      `json:"streams"`
	Seconds   float64  `json:"seconds"`
	Requests  int      `json:"requests"`
	Completed int      `json:"completed"`
	Cancelled int      `json:"cancelled"`
	Slow      int      `json:"slow"`    // read slowly, whether completed or cancelled
	Refused   int      `json:"refused"` // with status 429 or 503
	Failed    int      `json:"failed"`  // all else
	Errors    []string `json:"errors,omitempty"`
	Tokens    int      `json:"tokens"`
	// Speed is that of all streams together, from the first request to the last
	// answer's end.
	Speed   float64 `json:"tokens_per_second"`
	First   Times   `json:"first_token"`
	Between Times   `json:"between_tokens"`
}

// Times are seconds. They are 0 without samples.
type Times struct {
	Samples int     `json:"samples"`
	Median  float64 `json:"p50_seconds"`
	P99     float64 `json:"p99_seconds"`
	Max     float64 `json:"max_seconds"`
}

// Tail returns p99 as a multiple of the median, 0 without samples.
func (t Times) Tail() float64 {
	if t.Median == 0 {
		return 0
	}
	return t.P99 / t.Median
}

// samples are those of one stream.
type samples struct {
	completed, cancelled, slow, refused, failed, tokens int
	errors                                              []string
	first, between                                      []time.Duration
}

// mostErrors is how many errors of a stream are kept.
const mostErrors = 3

// add counts an outcome and reports whether the server answered.
func (s *samples) add(o outcome) bool {
	s.tokens += o.tokens
	if o.slow {
		s.slow++
	}
	switch {
	case o.status == 429 || o.status == 503:
		s.refused++
		return false
	case o.err != nil:
		s.failed++
		if len(s.errors) < mostErrors {
			s.errors = append(s.errors, o.err.Error())
		}
		return false
	case o.cancelled:
		s.cancelled++
	default:
		s.completed++
	}
	s.first = append(s.first, o.first)
	if !o.slow {
		s.between = append(s.between, o.gaps...)
	}
	return true
}

// report sums up the streams.
func report(c *LoadConfig, took time.Duration, all []samples) *LoadReport {
	r := &LoadReport{Streams: c.Streams, Seconds: took.Seconds()}
	var first, between []time.Duration
	for i := range all {
		s := &all[i]
		r.Completed, r.Cancelled, r.Slow = r.Completed+s.completed, r.Cancelled+s.cancelled, r.Slow+s.slow
		r.Refused, r.Failed, r.Tokens = r.Refused+s.refused, r.Failed+s.failed, r.Tokens+s.tokens
		if len(r.Errors) < mostErrors {
			r.Errors = append(r.Errors, s.errors...)
		}
		first, between = append(first, s.first...), append(between, s.between...)
	}
	r.Requests = r.Completed + r.Cancelled + r.Refused + r.Failed
	r.Speed = float64(r.Tokens) / r.Seconds
	r.First, r.Between = timesOf(first), timesOf(between)
	return r
}

// timesOf sorts the samples.
func timesOf(d []time.Duration) Times {
	if len(d) == 0 {
		return Times{}
	}
	slices.Sort(d)
	at := func(percent int) float64 { return d[(len(d)-1)*percent/100].Seconds() }
	return Times{Samples: len(d), Median: at(50), P99: at(99), Max: d[len(d)-1].Seconds()}
}
