package memory_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"atenia/internal/policy/decide"
)

func init() { goldenTopics["explain"] = runExplain }

type explainWant struct {
	Explanation *decide.Explanation
	Structured  *struct {
		Backend    decide.Backend `json:"recommended_backend"`
		Confidence float32
		Factors    []struct {
			Kind     decide.FactorKind
			Weight   float32
			Contains []string `json:"description_contains"`
		}
	}
	Narrative *struct {
		P1, P2, P3 string
		Narrative  *string
	}
}

func runExplain(t *testing.T, c *goldenCase) {
	var in struct {
		Table    []decide.Row
		Contexts []decide.Bucket
	}
	var want struct {
		Snapshot decide.Snapshot
		Contexts []explainWant
	}
	c.decode(t, &in, &want)
	tr := learnTable(in.Table)
	got := tr.Snapshot()
	for i := range got.Entries { // the mean alone is compared within a tolerance
		a, b := &got.Entries[i].Stats.AverageScore, &want.Snapshot.Entries[i].Stats.AverageScore
		if math.Abs(float64(*a)-float64(*b)) <= 1e-6*math.Abs(float64(*b)) {
			*a = *b
		}
	}
	if !reflect.DeepEqual(got, want.Snapshot) {
		t.Errorf("snapshot %+v, want %+v", got, want.Snapshot)
	}
	for i, b := range in.Contexts {
		explainBucket(t, tr, b, &want.Contexts[i])
	}
}

func explainBucket(t *testing.T, tr *decide.Trainer, b decide.Bucket, w *explainWant) {
	e, ok := tr.Explain(b)
	s, okS := tr.Factors(b)
	text, okN := tr.Narrative(b)
	if there := w.Explanation != nil; ok != there || okS != there || okN != there {
		t.Errorf("%+v: got %v, %v, %v, want %v", b, ok, okS, okN, there)
		return
	}
	if !ok {
		return
	}
	if e != *w.Explanation {
		t.Errorf("%+v: got %+v, want %+v", b, e, *w.Explanation)
	}
	if s.RecommendedBackend != w.Structured.Backend || s.Confidence != w.Structured.Confidence || len(s.Factors) != len(w.Structured.Factors) {
		t.Fatalf("%+v: got %+v, want %+v", b, s, *w.Structured)
	}
	for i, f := range s.Factors {
		wf := w.Structured.Factors[i]
		if f.Kind != wf.Kind || f.Weight != wf.Weight {
			t.Errorf("%+v: factor %+v, want %+v", b, f, wf)
		}
		for _, part := range wf.Contains {
			if !strings.Contains(f.Description, part) {
				t.Errorf("%+v: %s: %q lacks %q", b, f.Kind, f.Description, part)
			}
		}
	}
	n := w.Narrative
	if n.Narrative != nil {
		if text != *n.Narrative {
			t.Errorf("%+v: got %q, want %q", b, text, *n.Narrative)
		}
	} else if p := strings.Split(text, "\n\n"); len(p) != 3 || p[0] != n.P1 || !strings.HasPrefix(p[1], n.P2) || p[2] != n.P3 {
		t.Errorf("%+v: got %q, want %q, %q…, %q", b, text, n.P1, n.P2, n.P3)
	}
}
