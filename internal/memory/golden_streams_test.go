package memory_test

import (
	"slices"
	"testing"

	"atenia/internal/memory/lane"
)

func init() { goldenTopics["streams"] = runStreams }

// goldenTimeline returns a timeline as cases describe it, and its lines.
func goldenTimeline(advanced bool) (*lane.Timeline, *lane.Lines) {
	mode := lane.FallBack
	if advanced {
		mode = lane.TakeTurns
	}
	lines := new(lane.Lines)
	return lane.NewTimeline(mode, lines), lines
}

func runStreams(t *testing.T, c *goldenCase) {
	var in struct {
		Advanced bool `json:"advanced_streams_supported"`
		Steps    []struct {
			Op string
			lane.QueuedTask
		}
	}
	var want struct {
		IDs      []uint64 `json:"task_ids"`
		Timeline []string
	}
	c.decode(t, &in, &want)
	timeline, lines := goldenTimeline(in.Advanced)
	ids := []uint64{}
	for _, s := range in.Steps {
		if s.Op == "run_to_completion" {
			timeline.Run()
		} else {
			ids = append(ids, timeline.Submit(s.QueuedTask))
		}
	}
	if !slices.Equal(ids, want.IDs) {
		t.Errorf("ids %v, want %v", ids, want.IDs)
	}
	checkLines(t, "timeline", *lines, want.Timeline)
}
