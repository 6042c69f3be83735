package grammar

import (
	"fmt"
	"time"
)

// An Error says what of a grammar or a schema cannot be used, and where: at a
// byte of a GBNF text, or at a JSON pointer of a schema.
type Error struct {
	Offset  int    // byte of a GBNF text, from 0
	Pointer string // of a schema, "" is its root
	Schema  bool   // whether the text was a schema
	Why     string
	more    []*Error // further ones of the same schema
}

func (e *Error) Error() string {
	if !e.Schema {
		return fmt.Sprintf("grammar: byte %d: %s", e.Offset, e.Why)
	}
	at := e.Pointer
	if at == "" {
		at = "/"
	}
	return fmt.Sprintf("schema: at %s: %s", at, e.Why)
}

// A LimitError says which bound a grammar exceeds. The bounds keep a hostile
// grammar from taking the memory and the time of other requests.
type LimitError struct {
	What string // such as "states"
	Most int
	// Where it was exceeded, as in [Error], and after how many states and how long, if
	// that was while it was compiled: Took is 0 otherwise.
	Pointer string
	Offset  int
	Schema  bool
	States  int
	Took    time.Duration
}

func (e *LimitError) Error() string {
	if e.Took == 0 {
		return fmt.Sprintf("grammar: more than %d %s", e.Most, e.What)
	}
	return (&Error{Offset: e.Offset, Pointer: e.Pointer, Schema: e.Schema, Why: e.Why()}).Error()
}

// Why returns the error without the place.
func (e *LimitError) Why() string {
	return fmt.Sprintf("it takes more than %d %s; compiling it ended after %d states and %.2f seconds: bound repetitions and alternatives more closely", e.Most, e.What, e.States, e.Took.Seconds())
}

// The bounds.
const (
	maxSource  = 1 << 20 // bytes of a GBNF text or a schema
	maxNesting = 128     // groups in groups, schemas in schemas
	maxRules   = 1 << 15
	maxNodes   = 1 << 18 // states of the automaton before it runs; repetitions count as often as they may repeat
	maxRepeat  = 1 << 16 // bound of a repetition
	maxConfigs = 1 << 12 // stacks that a state follows at once
	maxWork    = 1 << 25 // configurations that one mask may visit
	maxStates  = 1 << 14 // states that are kept; beyond it they are forgotten and made again
	maxSets    = 1 << 10 // masks that are kept, 16 KiB each at a vocabulary of 128k
)
