package flow

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"atenia/flow/graph"
	"atenia/internal/cli/command"
)

// A change is a plan to go over to at a frame.
type change struct {
	frame int64
	plan  *graph.Plan
}

// openChanges reads the plans of --change, by frame.
func (r *runner) openChanges() (all []change, err error) {
	for _, given := range r.changes {
		at, path, ok := strings.Cut(given, "=")
		frame, bad := strconv.ParseInt(at, 10, 64)
		if !ok || bad != nil || frame < 0 {
			return nil, command.Usagef("--change %s: want FRAME=GRAPH", given)
		}
		other := r.source
		other.set = nil // of the first graph alone
		p, err := other.parse(path)
		if err != nil {
			return nil, err
		}
		all = append(all, change{frame, p})
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.frame, b.frame) })
	for i := 1; i < len(all); i++ {
		if all[i].frame < all[i-1].frame+r.fade {
			return nil, command.Usagef("--change %d: the change at %d has a fade of %d frames: want one after another", all[i].frame, all[i-1].frame, r.fade)
		}
	}
	return all, nil
}

// nextChange announces the next change when the one before has begun, at the block of a frame.
func (p *player[F]) nextChange(at int64) error {
	block := int64(p.s.Linked().BlockFrames)
	if len(p.changes) == 0 || at+block <= p.changes[0].frame {
		return nil
	}
	c := p.changes[0]
	p.changes = p.changes[1:]
	if len(p.changes) > 0 && p.changes[0].frame < at+block {
		return command.Usagef("--change %d and %d are in one block: want a smaller --block", c.frame, p.changes[0].frame)
	}
	return p.s.Change(c.frame, p.fade, c.plan)
}
