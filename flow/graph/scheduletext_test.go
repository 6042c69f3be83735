package graph_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
)

const joinText = `block 64 warmup 2
node x stage 0 tokens 64 first 0 late 0
node a stage 1 tokens 64 first 0 late 0
node m stage 2 tokens 64 first 2 late 100
node o stage 3 tokens 64 first 2 late 100 sink
edge x -> a rate 1 hold 0 prefill 0 capacity 64 least 64
edge a -> m.in0 rate 1 hold 100 prefill 0 capacity 192 least 192
edge x -> m.in1 rate 1 hold 0 prefill 0 capacity 192 least 192
edge m -> o rate 1 hold 0 prefill 0 capacity 64 least 64
call x 64
call a 64
call m 64
call o 64
`

func TestScheduleText(t *testing.T) {
	t.Parallel()
	s := of(t, fmt.Sprintf(join, ""), 64)
	if s.String() != joinText {
		t.Errorf("\n%s", s)
	}
	back, err := graph.ParseSchedule(joinText)
	if err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("%v\n%+v\n%+v", err, back, s)
	}
	for _, c := range []struct{ text, path, says string }{
		{"", "line 1", "word"}, {"node x", "line 1", "block"}, {"block 8 warmup 0\nblock 8 warmup 0", "line 2", "first line"}, {"block 8 warmup 0\ncall x 3", "line 2", "no node"},
		{"block 8 warmup 0\nnode x stage 0 tokens 8 first 0 late 2/-4", "line 2", "fraction"}, {"block 8 warmup 0\nnode x stage 0 tokens 8 first 0 late 0 tail", "line 2", "sink"},
		{"block 8 warmup 0 1", "line 1", "unexpected text"}, {"block 8 warmup 0\nedge x > y", "line 2", "->"},
	} {
		_, err := graph.ParseSchedule(c.text)
		if e, ok := errors.AsType[*graph.Error](err); !ok || e.Code != graph.Malformed || e.Path != c.path || !strings.Contains(e.Text, c.says) {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}

// FuzzScheduleParse requires a table that survives printing and parsing, or a
// typed error.
func FuzzScheduleParse(f *testing.F) {
	f.Add(joinText)
	f.Add("block 8 warmup 1\nnode \"a b\" stage 0 tokens 12 first 1 late 7/3\nedge \"a b\" -> c.in rate 3/2 hold 0 prefill 4 capacity 8 least 8\ncall \"a b\" 3")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := graph.ParseSchedule(text)
		if err != nil {
			if _, ok := errors.AsType[*graph.Error](err); !ok {
				t.Fatal(err)
			}
			return
		}
		back, err := graph.ParseSchedule(s.String())
		if err != nil || !reflect.DeepEqual(back, s) {
			t.Fatalf("%v\n%+v\n%+v", err, back, s)
		}
	})
}

// Example_schedule rehearses a chain whose second edge holds 100 frames back.
func Example_schedule() {
	p, err := graph.ParseText("graph\nnode x Input\nnode g Gain :gain=0.5\nnode o Probe\nedge x -> g\nedge g -> o delay=100")
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := graph.Link(p, flow.ShippedTypes(), graph.Options{BlockFrames: 64})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := graph.NewSchedule(l)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(s)
	// Output:
	// block 64 warmup 2
	// node x stage 0 tokens 64 first 0 late 0
	// node g stage 1 tokens 64 first 0 late 0
	// node o stage 2 tokens 64 first 2 late 100 sink
	// edge x -> g rate 1 hold 0 prefill 0 capacity 64 least 64
	// edge g -> o rate 1 hold 100 prefill 0 capacity 192 least 192
	// call x 64
	// call g 64
	// call o 64
}
