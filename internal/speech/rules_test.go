package speech

import (
	"math"
	"slices"
	"testing"
)

// tiny is a vocabulary of ten words, six special tokens and ten timestamps.
var tiny = Tokens{Start: 11, Languages: map[string]int32{"en": 12}, Transcribe: 13, Translate: 14, Previous: 15, NoSpeech: 16, NoTimes: 17, End: 10, Time: 18, Blank: []int32{3}, Suppress: []int32{4}}

const tinyVocab = 28

// TestRules compares what may follow with a table, all tokens equally likely but
// timestamps, of which all together must not outweigh the text.
func TestRules(t *testing.T) {
	words := []int32{0, 1, 2, 3, 5, 6, 7, 8, 9}
	times := func(from, to int32) (ids []int32) {
		for i := from; i < to; i++ {
			ids = append(ids, 18+i)
		}
		return ids
	}
	for _, c := range []struct {
		name string
		said []int32
		want []int32
	}{
		{"the first is an early timestamp", nil, times(0, 6)},
		{"after one timestamp at the beginning, text or the end", []int32{20}, append(slices.Clone(words), 10, 12)},
		{"text goes on, or ends with a later timestamp", []int32{20, 1}, append(append(slices.Clone(words), 10, 12), times(3, 10)...)},
		{"after one of a pair its other, or a later one, or the end", []int32{20, 1, 23}, append([]int32{10}, append([]int32{12}, times(5, 10)...)...)},
		{"after a pair text, or the end", []int32{20, 1, 23, 23}, append(slices.Clone(words), 10, 12)},
		{"a later one than the last", []int32{20, 1, 23, 23, 2}, append(append(slices.Clone(words), 10, 12), times(6, 10)...)},
	} {
		logits := make([]float32, tinyVocab)
		for i := 18; i < tinyVocab; i++ {
			logits[i] = -5
		}
		o := order{t: &tiny, times: true, first: 5}
		o.apply(logits, c.said)
		var got []int32
		for i, v := range logits {
			if !math.IsInf(float64(v), -1) {
				got = append(got, int32(i))
			}
		}
		want := slices.Clone(c.want)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", c.name, got, want)
		}
	}
}

// TestTimesTogether: timestamps that are unlikely one by one come if all of them
// together are likelier than any text.
func TestTimesTogether(t *testing.T) {
	logits := make([]float32, tinyVocab)
	for i := 18; i < tinyVocab; i++ {
		logits[i] = -1.5 // ten of them: e^−1.5 · 7 > 1
	}
	o := order{t: &tiny, times: true, first: 5}
	o.apply(logits, []int32{20, 1})
	if best := pick(logits, 0, nil); best < 18 {
		t.Errorf("token %d, want a timestamp", best)
	}
}

// TestCut divides windows at pairs of timestamps, and says where the next begins.
func TestCut(t *testing.T) {
	m := Model{Tokens: tiny, Frames: 20, Mels: 1, Text: func(ids []int32) string { return string(make([]byte, len(ids))) }}
	for _, c := range []struct {
		name  string
		said  []int32
		times [][2]float64
		next  int
	}{
		{"one pair", []int32{18, 1, 2, 22}, [][2]float64{{1, 1.08}}, 120},
		{"two segments, the second cut off", []int32{18, 1, 20, 20, 2}, [][2]float64{{1, 1.04}}, 104},
		{"two, and text to the end of the last", []int32{18, 1, 20, 20, 2, 24}, [][2]float64{{1, 1.04}, {1.04, 1.12}}, 120},
		{"no timestamps", []int32{1, 2}, [][2]float64{{1, 1.2}}, 120},
	} {
		d := Decoded{Tokens: c.said}
		out, next := m.cut(&d, 100, 20, false)
		if next != c.next || len(out) != len(c.times) {
			t.Errorf("%s: %d segments, next %d; want %d, %d", c.name, len(out), next, len(c.times), c.next)
			continue
		}
		for i, g := range out {
			if math.Abs(g.Start-c.times[i][0])+math.Abs(g.End-c.times[i][1]) > 1e-9 {
				t.Errorf("%s: segment %d from %v to %v, want %v", c.name, i, g.Start, g.End, c.times[i])
			}
		}
	}
}

// TestLargest compares the choice of beams with sorting.
func TestLargest(t *testing.T) {
	v := []float32{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}
	if got := largest(v, 4); !slices.Equal(got, []int32{5, 7, 4, 8}) {
		t.Errorf("got %v", got)
	}
}

// TestResample keeps a tone's frequency and level.
func TestResample(t *testing.T) {
	const rate, hz = 44100, 440
	x := make([]float32, rate)
	for i := range x {
		x[i] = float32(math.Sin(2 * math.Pi * hz * float64(i) / rate))
	}
	y, err := resample(x, rate)
	if err != nil || len(y) != sampleRate {
		t.Fatalf("%d samples, %v", len(y), err)
	}
	var re, im float64
	for i, v := range y[1000:15000] {
		re += float64(v) * math.Cos(2*math.Pi*hz*float64(i)/sampleRate)
		im += float64(v) * math.Sin(2*math.Pi*hz*float64(i)/sampleRate)
	}
	if level := 2 * math.Hypot(re, im) / 14000; math.Abs(level-1) > .01 {
		t.Errorf("the tone has level %v", level)
	}
}
