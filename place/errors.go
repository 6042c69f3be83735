package place

import (
	"errors"
	"fmt"
	"strings"

	"atenia/internal/spelling"
)

// ErrFloor matches a [*FloorError].
var ErrFloor = errors.New("the budget is below the floor")

// A FloorError says that a budget is smaller than the model can run with. Floor is
// the smallest that would do, so a program can offer it:
//
//	if e, ok := errors.AsType[*place.FloorError](err); ok {
//		cfg.Budget.RAM = e.Floor
//	}
type FloorError struct {
	Tier   Tier
	Device string // of [TierVRAM]
	Budget int64  // bytes that were given
	Floor  int64  // bytes that would do
	Parts  []Part // what makes up the floor, largest first
	Why    string // which rule makes it the floor
	// Auto says that Budget is the memory that there is, and Maps that atenia.Open maps the
	// model there: Floor is then what streaming it needs.
	Auto, Maps bool
	// Inside says, of Maps, that the weights are part of the program, so that nothing can
	// be streamed: Floor is what the process takes beside pages that may be dropped.
	Inside bool
	// Most is what this process can have of RAM, when a model is opened within a budget:
	// if Floor is more than that, no budget helps here. Asked is what was asked for, if
	// Budget is less because of it. 0 = not known: the memory may be another machine's.
	Most, Asked int64
	// Unbound says that atenia.Open maps the model here if there is no budget.
	Unbound bool
	// Context is how many tokens have room where the model is mapped, if that is less
	// than its whole context; 0 = all have.
	Context int
}

// Paging says, of a model that is mapped, what happens where memory runs short.
func (e *FloorError) Paging() string {
	if e.Inside {
		return fmt.Sprintf("%s (%d bytes) is needed for it all to stay in memory: pages of the program, which its weights are a part of, are read again when they are used", spelling.Size(e.Floor), e.Floor)
	}
	return fmt.Sprintf("once memory runs short its weights are read from the disk for each token, which is slow; to be streamed it needs %s (%d bytes)", spelling.Size(e.Floor), e.Floor)
}

// A Part is a share of a sum of bytes.
type Part struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Error implements error.
func (e *FloorError) Error() string {
	parts := make([]string, len(e.Parts))
	for i, p := range e.Parts {
		parts[i] = p.Name + " " + spelling.Size(p.Bytes)
	}
	where := strings.ToLower(e.Tier.String())
	if e.Device != "" {
		where += "@" + e.Device
	}
	given := spelling.Size(e.Budget) + " of " + where + " is given"
	switch {
	case e.Asked > 0:
		given = fmt.Sprintf("%s of %s is asked for, %s can be allocated", spelling.Size(e.Asked), where, spelling.Size(e.Budget))
	case e.Auto:
		given = fmt.Sprintf("%s of %s can be allocated", spelling.Size(e.Budget), where)
	}
	return fmt.Sprintf("%v: %s, at least %s (%d bytes) is needed because %s: %s",
		ErrFloor, given, spelling.Size(e.Floor), e.Floor, e.Why, strings.Join(parts, ", "))
}

// Is reports whether target is [ErrFloor].
func (e *FloorError) Is(target error) bool { return target == ErrFloor }
