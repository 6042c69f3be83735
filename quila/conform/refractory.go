package conform

// firingRows are the rows of who fires, of what is selected and
// of traces: sections 4.2, 4.3, 4.6 and 4.7 as far as the grid runs them.
func firingRows() []experiment {
	return []experiment{
		{ID: "INV-5", Section: "4.2", What: "masks depend on recurrence weight, trace and magnitude alone, by one selection that also schedules", Check: unity},
		{ID: "REFR-TABLE", Section: "4.3", What: "confidence to counter", Check: refractoryTable},
		{ID: "ACTIVE-CAP", Section: "4.3", What: "of 1,024 neurons at most 195 fire, and none waits more than 14 ticks", Check: activeCap},
		{ID: "PH2", Section: "4.6", What: "no encoder call, 16 iterations, masks open, a need vector of D_e, twice the trace", Check: phaseTwo},
		{ID: "TRACE-LAW", Section: "4.7", What: "a constant activation gives a/(1−λ); a million positions keep nothing; inference leaves it alone", Check: traceLaw},
		{ID: "TRACE-PHASE", Section: "4.7", What: "the session's trace grows by the phase's weight, confidence and mean |h|; of the band low by step 3's h", Check: tracePhase},
		{ID: "LAMBDA", Section: "4.7", What: "the mean of λ stays over 1,000 random updates", Check: lambda},
	}
}
