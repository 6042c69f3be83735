package lane

// Passes are the steps of a model as tasks of the goroutine that computes them.
type Passes struct {
	x     *Executor
	tasks [2]Task // prefill, decode
	now   *Task
	id    uint64
}

// NewPasses returns the passes of an executor. If parts of a pass have lines in
// the timeline, as units of streamed weights do, the pass has none.
func NewPasses(x *Executor, parts bool) *Passes {
	p := &Passes{x: x}
	for i, name := range [...]string{"prefill", "decode"} {
		if !parts {
			name = "compute:" + name
		}
		p.tasks[i].Name, p.tasks[i].Part = name, parts
	}
	return p
}

// Begin begins a pass over a number of rows.
func (p *Passes) Begin(decode bool, rows int) {
	p.now = &p.tasks[0]
	if decode {
		p.now = &p.tasks[1]
	}
	p.now.Cost = uint64(rows)
	p.id = p.x.Enter(p.now)
}

// End ends the pass.
func (p *Passes) End(err error) { p.x.Leave(p.id, p.now, err) }
