package fit

import (
	"fmt"

	"atenia/internal/spelling"
	"atenia/internal/tape"
	"atenia/internal/train"
)

// A request is what a plan is made for.
type request struct {
	Budget  int64 // bytes of the process
	Program int64 // that the process has before the model, with room to grow
	Senses  int64 // of encoders of images and sounds, and of the rows that are kept
	Threads int
	Rows    int // of a batch
	Batches int // of a step
	// Values are those of all parameters, Trained those that are stepped.
	Values, Trained int64
	Block, Group    int64 // bytes of the largest block's values and gradients, and of the largest group's gradient
	Frozen          int64 // bytes of the largest block's frozen values
	Bytes           tape.Bytes
	BF16            bool // rounded parameters beside the float32 ones
	Slots           int  // of the optimizer
	Offload         bool // the recipe keeps the state in files anyway
	Recompute       bool // the recipe computes layers twice anyway
	InFiles         bool // the run was begun with its state in files
}

// A plan says what is where.
type plan struct {
	Budget, InMemory, Floor int64
	Paged                   bool  // parameters and state are in files
	Kept, Blocks            int   // blocks that keep their values, of all
	Gradients               int64 // bytes that stay in memory
	Chunk                   int   // bytes of the state that are read at once
	Buffers                 int64 // bytes of chunks
	Heap                    int64 // of the budget, what is on Go's heap beside the program
	Moved                   int64 // bytes of files that a step reads and writes, about
	request                 request
}

// A FloorError says that a budget is too small for a run. It matches
// [train.ErrConfig].
type FloorError struct{ Budget, Floor int64 }

func (e *FloorError) Error() string {
	return fmt.Sprintf("training needs at least %s of memory, %s are there: allow --budget ram=%d, or use shorter or fewer rows (data.row, data.rows)",
		spelling.Size(e.Floor), spelling.Size(e.Budget), e.Floor)
}

// Is reports whether target is [train.ErrConfig].
func (e *FloorError) Is(target error) bool { return target == train.ErrConfig }

// Speeds that are assumed to choose between two uses of memory.
const (
	diskRate   = 400e6 // bytes a second
	threadRate = 15e9  // operations a second
)

const (
	mostChunk  = 16 << 20
	leastChunk = 1 << 16
	chunks     = 6 // buffers of package offload
	// Each byte of a chunk's state comes with a sixth of rounded parameters.
	chunkShare = 7.0 / 6
)

// decide makes a plan.
func decide(r request) (*plan, error) {
	p := &plan{Budget: r.Budget, Blocks: len(r.Bytes.Kept), request: r}
	all := p.Blocks - 1
	kept := all
	if r.Recompute {
		kept = 0
	}
	each := int64(4 + 4 + 4*r.Slots) // value, gradient, moments
	if r.BF16 {
		each += 4
	}
	if r.Offload {
		each = 8
	}
	p.InMemory = r.Program + r.Senses + 4*(r.Values-r.Trained) + each*r.Trained + r.Bytes.All(kept)
	if r.Offload {
		p.InMemory += r.Group + int64(chunks*chunkShare*mostChunk)
	}
	if p.InMemory <= r.Budget && (!r.InFiles || r.Offload) {
		return p, nil
	}
	p.Paged = true
	for p.Chunk = mostChunk; p.Chunk > leastChunk && int64(p.Chunk) > r.Budget/64; {
		p.Chunk /= 2
	}
	for p.floor(each); p.Floor > r.Budget && p.Chunk > leastChunk; p.floor(each) {
		p.Chunk /= 2
	}
	if p.Floor > r.Budget {
		return nil, &FloorError{r.Budget, p.Floor}
	}
	paged := r.Trained
	if r.Frozen > 0 { // the pairs of an adapter are in memory
		paged = 0
	}
	p.spend(r.Budget-p.Floor, paged)
	return p, nil
}

// floor finds the least memory that a run with its state in files needs.
func (p *plan) floor(each int64) {
	r := &p.request
	if r.Frozen > 0 {
		p.Floor = r.Program + r.Senses + each*r.Trained + r.Frozen + r.Bytes.All(0)
		p.Heap = r.Senses + each*r.Trained + r.Bytes.All(0) - r.Bytes.Edges
		return
	}
	p.Buffers = int64(chunks * chunkShare * float64(p.Chunk))
	p.Floor = r.Program + r.Senses + p.Buffers + int64(p.Chunk) + max(r.Block, r.Group) + r.Bytes.All(0)
	p.Heap = r.Senses + p.Buffers + r.Bytes.All(0) - r.Bytes.Edges
}

// spend uses what is left above the floor.
func (p *plan) spend(left, paged int64) {
	r := &p.request
	passes := int64(2*r.Batches) * valueBytes(r) // values of forward and backward passes
	state := int64(12+12) + valueBytes(r)        // read and written, with the rounded parameters
	if r.Frozen > 0 {
		passes, state = int64(2*r.Batches)*4, 0
		paged = r.Values
	}
	grads := int64(8 * r.Batches) // written and read again
	if r.Frozen > 0 {
		grads = 0
	}
	p.Moved = paged * (passes + state + grads)
	compute := 8 * float64(r.Values) * float64(r.Rows) * float64(r.Batches) / (threadRate * float64(max(1, r.Threads)))
	keep := func() {
		for p.Kept < p.Blocks-1 {
			n := r.Bytes.Kept[p.Blocks-2-p.Kept]
			if n > left {
				return
			}
			left -= n
			p.Heap += n
			p.Kept++
		}
	}
	hold := func() {
		if r.Frozen == 0 {
			// What is read ahead and written behind takes a block's room.
			p.Gradients = min(max(0, left-r.Block/2), 4*paged)
			left -= p.Gradients
			p.Moved -= 2 * int64(r.Batches) * p.Gradients
		}
	}
	if compute > float64(p.Moved)/diskRate {
		keep()
		hold()
	} else {
		hold()
		keep()
	}
}

// valueBytes returns the bytes of a value in files.
func valueBytes(r *request) int64 {
	if r.BF16 {
		return 2
	}
	return 4
}

// String describes the plan in one line.
func (p *plan) String() string {
	r := &p.request
	switch {
	case !p.Paged:
		return fmt.Sprintf("%s of %s are used: everything is in memory", spelling.Size(p.InMemory), spelling.Size(p.Budget))
	case p.InMemory <= p.Budget:
		return "the run was begun with its state in files and goes on there"
	}
	rest := fmt.Sprintf("%d of %s keep their values, the others are computed twice", p.Kept, spelling.Count(p.Blocks, "block"))
	if r.Frozen > 0 {
		return fmt.Sprintf("%s do not fit into %s: frozen parameters are read from the model's file block by block; %s", spelling.Size(p.InMemory), spelling.Size(p.Budget), rest)
	}
	return fmt.Sprintf("%s do not fit into %s: parameters and the optimizer's state are in files, read block by block; %s of %s of gradients stay in memory; %s; about %s are read and written in a step",
		spelling.Size(p.InMemory), spelling.Size(p.Budget), spelling.Size(p.Gradients), spelling.Size(4*r.Trained), rest, spelling.Size(p.Moved))
}
