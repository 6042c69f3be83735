package decide

import (
	"slices"
	"strings"
	"testing"
)

func TestSnapshot(t *testing.T) {
	t.Run("LS-1", func(t *testing.T) {
		check(t, "empty", new(Trainer).Snapshot(), Snapshot{Entries: []Entry{}})
		tr := train(zero, ep{GPU, 1, 10, true, false})
		first := Entry{Bucket{true, 0, 0}, GPU, GPU, EntryStats{1, 1, 0, 10}}
		check(t, "one", tr.Snapshot(), Snapshot{[]Entry{first}, Summary{1, 1, 1}})
		tr.Record(NewContext(false, 0, 0), CPU, true, 1, false)
		check(t, "two", tr.Snapshot(), Snapshot{
			[]Entry{{Bucket{false, 0, 0}, CPU, CPU, EntryStats{1, 1, 0, 1}}, first}, Summary{2, 2, 0.5},
		})
		check(t, "buckets", tr.Buckets(), []Bucket{{false, 0, 0}, {true, 0, 0}})
	})
}

const oneEpisode = "GPU was selected because this context has been observed 1 times, with 1 successful executions and low drift. " +
	"Historical performance favors GPU execution under similar memory conditions."

func TestExplain(t *testing.T) {
	t.Run("LE-1", func(t *testing.T) {
		tr := train(zero, ep{GPU, 1, 10, true, false})
		b := Bucket{true, 3, 3}
		if _, ok := tr.Explain(b); ok {
			t.Error("an explanation from nothing")
		}
		if _, ok := tr.Factors(b); ok {
			t.Error("factors from nothing")
		}
		if _, ok := tr.Narrative(b); ok {
			t.Error("a narrative from nothing")
		}
	})
	t.Run("LE-2", func(t *testing.T) {
		e, _ := train(zero, ep{GPU, 1, 10, true, false}).Explain(zero.Bucket())
		check(t, "explanation", e, Explanation{GPU, 1, oneEpisode})
	})
	t.Run("LE-3", func(t *testing.T) {
		e, _ := train(zero, ep{GPU, 1, 1, false, true}, ep{CPU, 1, 5, true, false}).Explain(zero.Bucket())
		if e.RecommendedBackend != CPU || e.Confidence != 0 || !strings.Contains(e.Text, "instability or drift") {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("LE-4", func(t *testing.T) {
		e, _ := train(NewContext(true, 1, 1), ep{GPU, 3, 10, true, false}).Explain(Bucket{true, 3, 3})
		check(t, "backend", e.RecommendedBackend, GPU)
	})
}

func weights(s Structured) []float32 {
	var w []float32
	for _, f := range s.Factors {
		w = append(w, f.Weight)
	}
	return w
}

func TestFactors(t *testing.T) {
	t.Run("LF-1", func(t *testing.T) {
		s, _ := train(zero, ep{GPU, 8, 1, true, false}, ep{GPU, 2, 1, false, false}).Factors(zero.Bucket())
		if !slices.Equal(weights(s), []float32{.8, 0, .2, 1}) {
			t.Errorf("weights %v", weights(s))
		}
		check(t, "text", s.Factors[0].Description, "Historical success rate for this context is 0.80 (8 successes over 10 episodes).")
		s, _ = train(zero, ep{GPU, 200, 1, true, true}).Factors(zero.Bucket())
		if !slices.Equal(weights(s), []float32{1, 1, 1, 0}) {
			t.Errorf("weights %v", weights(s))
		}
	})
}

func TestNarrative(t *testing.T) {
	t.Run("LN-1", func(t *testing.T) {
		got, _ := train(zero, ep{GPU, 1, 10, true, false}).Narrative(zero.Bucket())
		check(t, "text", got, "Atenia selected GPU execution with a confidence of 100%. "+oneEpisode+"\n\n"+
			"The decision is based on a strong historical success rate under similar memory conditions. "+
			"No significant drift or instability has been observed in this context.\n\n"+
			"Key contributing factors include historical success factor has high influence. drift impact factor has low influence. "+
			"observation count factor has low influence. memory stability factor has high influence.")
	})
}
