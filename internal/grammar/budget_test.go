package grammar

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// A leaver is a context that is cancelled once it has been asked so many times.
type leaver struct {
	context.Context
	asked, most int
}

func (l *leaver) Err() error {
	if l.asked++; l.asked > l.most {
		return context.Canceled
	}
	return nil
}

type source struct{ schema, gbnf string }

func (s source) compile(b *Budget, v *Vocabulary) error {
	var g *Grammar
	var err error
	if s.schema != "" {
		g, err = FromSchema(b, []byte(s.schema))
	} else {
		g, err = Parse(b, s.gbnf)
	}
	if err == nil {
		_, err = v.Compile(b, g)
	}
	return err
}

// TestBudget: a source that takes more than there is ends with where, how many states
// and how long, wherever the work is; a client that leaves ends it too.
func TestBudget(t *testing.T) {
	v := NewVocabulary(oneByte(), nil, false)
	var chain strings.Builder // each rule may begin with all that follow
	const links = 3000
	for i := range links {
		fmt.Fprintf(&chain, "a%d ::= \"x\"? a%d\n", i, i+1)
	}
	sources := map[string]source{
		"/properties/n/items": {schema: (`{"properties":{"a":{"type":"string"},"n":{"items":{"type":"object","properties":{"s":{"maxLength":60000},"t":{"enum":["` + strings.Repeat("x", 1<<18) + `"]}}}}}}`)},
		"byte 11":             {gbnf: "root ::= x\nx ::= y{60000} y{60000} y{60000} y{60000} y{60000}\ny ::= [a-z]?\n"},
		"chain":               {gbnf: "root ::= a0\n" + chain.String() + fmt.Sprintf("a%d ::= \"y\"", links)},
	}
	for at, s := range sources {
		err := s.compile(NewBudget(t.Context(), time.Hour), v)
		if at != "chain" {
			e, ok := errors.AsType[*LimitError](err)
			if !ok || e.What != "states" || e.States < CompileStates || e.Took <= 0 || !strings.Contains(err.Error(), at) {
				t.Errorf("%s: %v", at, err)
			}
		}
		err = s.compile(NewBudget(t.Context(), 0), v)
		if e, ok := errors.AsType[*LimitError](err); !ok || e.What != "seconds" || e.Took <= 0 {
			t.Errorf("%s without time: %v", at, err)
		}
		for _, most := range []int{1, 3, 40} {
			err = s.compile(NewBudget(&leaver{t.Context(), 0, most}, time.Hour), v)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s, cancelled after %d looks: %v", at, most, err)
			}
		}
	}
}
