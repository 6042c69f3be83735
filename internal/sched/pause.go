package sched

import "atenia/internal/exec"

// A Pause is the time between two steps, in which nothing of the executor is in
// use. It is valid during a call of [Config.Between].
type Pause struct {
	s *Scheduler
	// Busy reports whether there are requests.
	Busy bool
	// Interrupted reports whether the last step was, see [Scheduler.Interrupt].
	Interrupted bool
}

// pause calls the function that wants to be called between two steps.
func (s *Scheduler) pause() {
	if s.between == nil || s.changed {
		return
	}
	s.rest.s, s.rest.Busy = s, false
	for _, sl := range s.admission.slots {
		s.rest.Busy = s.rest.Busy || !sl.idle()
	}
	s.rest.Interrupted = s.batch.stop.Load()
	s.between(&s.rest)
}

// Swap closes the executor and goes on with the one that build returns: the
// same model, with the same sizes and states, bound to weights that are
// elsewhere. Sequences keep their pages. If build fails, all requests end with
// its error, those to come included, until another Swap succeeds.
func (p *Pause) Swap(build func() (*exec.Executor, error)) error {
	s := p.s
	s.x.Close()
	x, err := build()
	if err != nil {
		s.broken = err
		for _, sl := range s.admission.slots {
			if !sl.idle() {
				sl.finish("", err)
			}
		}
		return err
	}
	s.broken, s.x = nil, x
	s.shared.Store(x)
	return nil
}

// Interrupt abandons the step in flight, if there is one, so that
// [Config.Between] is called now; afterwards the step is computed again, with
// the same results. It may be called from any goroutine.
func (s *Scheduler) Interrupt() {
	if s.batch.interrupt() {
		s.shared.Load().Wake()
	} else {
		s.kick()
	}
}
