package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"atenia/internal/bench"
	"atenia/internal/cli/command"
	"atenia/place"
)

func canned() *streamResult {
	t := turns{limit: 1000, rates: []place.Rates{{SSD: 100, SSDBusy: 80, RAM: 2000, RAMBusy: 1500}, {SSD: 120, SSDBusy: 80, RAM: 2000, RAMBusy: 1500}}}
	for _, s := range [][]float64{{9, 4, 5, 6}, {9, 7, 8, 4}} {
		t.mapped = append(t.mapped, &bench.PassesReport{Seconds: s, ReadBytes: []int64{1300, 1330, 1331, 1332}, Hash: "a", Peak: 1000})
	}
	for _, s := range [][]float64{{5, 2, 2.5, 3}, {5, 2, 2.2, 1.9}} {
		t.streamed = append(t.streamed, &bench.PassesReport{Seconds: s, ReadBytes: []int64{230, 220, 220, 220}, Hash: "a", Peak: 990, Held: 700, Streamed: 220, Ring: 50, Overlap: 0.95, Predicted: 2.1})
	}
	return &streamResult{Model: "m.gguf", Bytes: 1330, LRU: "classic LRU", ControlGroup: "v1", Prompt: 8, Passes: 3, Rounds: 2, Rows: []row{t.row(1330)}}
}

func TestWrite(t *testing.T) {
	r := canned()
	r.before = canned()
	r.before.Rows[0].Streamed.Median = 4.2
	var b strings.Builder
	if err := r.write(&b); err != nil {
		t.Fatal(err)
	}
	const want = `m.gguf: 0.00 GB; classic LRU; control group: v1
1.33: disk 0.00 GB/s, memory 0.0; both at once 0.00 and 0.0
medians (least–most) of 2 × 3 passes of one token after a prompt of 8

| model / memory | memory | mapped, s a pass | streamed, s a pass | faster | streamed / disk bound | predicted | overlap | read a pass | most memory | logits |
|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|
| 1.33 | 0.00 GB | 5.500 (4.000–8.000) | 2.100 (1.900–3.000) | 2.6× | 2.017 s, 1.04 | 2.100 s, +0 % | 0.95 | 0.00 → 0.00 GB | 99.0 % | equal |
1000 bytes of memory: 2.100 s a pass, 4.200 before (-50.0 %)
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestVerify(t *testing.T) {
	if err := canned().verify(); err != nil {
		t.Error(err)
	}
	r := canned()
	r.Rows[0].Equal = false
	if err := r.verify(); !errors.Is(err, command.ErrVerify) {
		t.Errorf("different logits: %v", err)
	}
	r = canned()
	r.Rows[0].Streamed.Peak = 1011
	if err := r.verify(); !errors.Is(err, command.ErrVerify) {
		t.Errorf("more memory than the budget: %v", err)
	}
}

func FuzzBenchstreamResult(f *testing.F) {
	b, err := json.Marshal(canned())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"rows":[{}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		before, err := parseStreamResult(b)
		if err != nil {
			return
		}
		r := canned()
		r.before = before
		var s strings.Builder
		if err := r.write(&s); err != nil {
			t.Fatal(err)
		}
	})
}

// A file system without a disk below it counts no reads.
func TestWriteUnknownReads(t *testing.T) {
	r := canned()
	r.Rows[0].Mapped.Read, r.Rows[0].Streamed.Read = sideOf(nil).Read, 0
	var b strings.Builder
	if err := r.write(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "| not known |") {
		t.Errorf("got\n%s", b.String())
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}
