package convert

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
)

// A Matrix has the sums of a model.
type Matrix struct {
	Datasets  []string // that it was measured with
	Chunks    int      // windows of text
	ChunkSize int      // tokens of a window; 0 = unknown

	mu      sync.Mutex
	tensors map[string]*entry
}

// An entry is what one tensor was multiplied with.
type entry struct {
	cols   int
	sums   []float64 // [experts, cols]
	counts []float64 // [experts]: rows that were added
}

func (m *Matrix) entry(name string, cols int) *entry {
	if m.tensors == nil {
		m.tensors = map[string]*entry{}
	}
	e := m.tensors[name]
	if e == nil {
		e = &entry{cols: cols}
		m.tensors[name] = e
	}
	return e
}

// grow makes room for an expert.
func (e *entry) grow(expert int) {
	for len(e.counts) <= expert {
		e.counts = append(e.counts, 0)
		e.sums = append(e.sums, make([]float64, e.cols)...)
	}
}

// Add adds rows, [rows, cols], that the matrix of an expert in a tensor is
// multiplied with; the expert is 0 if there is one matrix.
func (m *Matrix) Add(name string, expert int, rows []float32, cols int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(name, cols)
	if e.cols != cols {
		return fmt.Errorf("importance of %s: rows of %d columns after rows of %d", name, cols, e.cols)
	}
	e.grow(expert)
	sums := e.sums[expert*cols : (expert+1)*cols]
	for ; len(rows) >= cols; rows = rows[cols:] {
		for i, x := range rows[:cols] {
			sums[i] += float64(x) * float64(x)
		}
		e.counts[expert]++
	}
	return nil
}

// Tensors returns the names of the tensors, sorted.
func (m *Matrix) Tensors() []string { return slices.Sorted(maps.Keys(m.tensors)) }

// Of returns the mean square of each column for an expert of a tensor, nil if it
// is not known. Of an expert that no row was routed to, all columns are alike.
// Its error says that the tensor has another shape.
func (m *Matrix) Of(name string, expert, experts, cols int) ([]float32, error) {
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
	}
	if m == nil || m.tensors[name] == nil {
		return nil, nil
	}
	e := m.tensors[name]
	if e.cols == experts*cols {
		e.split(experts)
	}
	if e.cols != cols || len(e.counts) > experts {
		return nil, &shapeError{name, [2]int{experts, cols}, [2]int{len(e.counts), e.cols}}
	}
	out := make([]float32, cols)
	for i := range out {
		out[i] = 1
		if expert < len(e.counts) && e.counts[expert] > 0 {
			out[i] = float32(min(e.sums[expert*cols+i]/e.counts[expert], math.MaxFloat32))
		}
	}
	return out, nil
}

// A shapeError says that an importance matrix is of another model.
type shapeError struct {
	Tensor    string
	Want, Got [2]int // experts and columns
}

func (e *shapeError) Error() string {
	return fmt.Sprintf("importance of %s: want %d experts of %d columns, got %d of %d: the matrix is of another model", e.Tensor, e.Want[0], e.Want[1], e.Got[0], e.Got[1])
}
