package flow

import (
	"atenia/flow/node"
)

// A walk goes back over a stream by recomputing its blocks.
type walk[F node.Float] struct {
	*snapshots[F]
	sweep   *adjointSweep[F]
	journal *callJournal[F]
	report  *SweepReport
	held    int64 // bytes of snapshots
}

// back recomputes the blocks from a snapshot to block to with a journal and sweeps over them.
func (w *walk[F]) back(from *snapshot[F], to int64) error {
	j, made := w.journal, map[int]int64{}
	ch := 0
	for v, p := range w.s.procs {
		made[v] = from.procs[v].n0
		if len(p.out) > 0 {
			made[v] = from.made[ch] / int64(p.Spec.Prod[0])
		}
		ch += len(p.out)
	}
	j.Reset(func(v int) int64 { return made[v] })
	if err := w.again(from, to, j); err != nil {
		return err
	}
	w.report.Recomputed += int(to - from.block)
	w.report.KeptBytes = max(w.report.KeptBytes, j.Bytes())
	return w.sweep.Replay(j)
}

// segments sweeps over the blocks after each snapshot, last snapshot first.
func (w *walk[F]) segments(end int64) error {
	for i := len(w.points) - 1; i >= 0; i-- {
		w.report.SnapshotBytes += w.points[i].bytes()
		if err := w.back(w.points[i], end); err != nil {
			return err
		}
		end = w.points[i].block
	}
	return nil
}

// revolve sweeps from block end back to a snapshot with at most slots further snapshots, placed by the binomial
// schedule that minimizes recomputation (A. Griewank and A. Walther, Algorithm 799: Revolve, 2000).
func (w *walk[F]) revolve(from *snapshot[F], end int64, slots int) error {
	w.held += from.bytes()
	w.report.SnapshotBytes = max(w.report.SnapshotBytes, w.held)
	defer func() { w.held -= from.bytes() }()
	for end > from.block {
		mid := from.block + revolveCut(end-from.block, slots)
		if mid == from.block {
			return w.back(from, end)
		}
		if err := w.again(from, mid, idleInstance[F]{}); err != nil {
			return err
		}
		w.report.Recomputed += int(mid - from.block)
		point := w.s.save()
		if slots == 0 { // the last block alone, from a state that is not kept
			if err := w.back(point, end); err != nil {
				return err
			}
		} else if err := w.revolve(point, end, slots-1); err != nil {
			return err
		}
		end = mid
	}
	return nil
}
