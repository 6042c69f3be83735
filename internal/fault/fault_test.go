package fault

import (
	"errors"
	"strings"
	"testing"
)

func TestCall(t *testing.T) {
	mine := errors.New("mine")
	if err := Call(func() error { return mine }); err != mine {
		t.Errorf("an error came as %v", err)
	}
	if err := Call(func() error { return nil }); err != nil {
		t.Errorf("no error came as %v", err)
	}
	err := Call(func() error { panic(mine) })
	p, ok := errors.AsType[*Panic](err)
	if !ok || !errors.Is(err, mine) || !strings.Contains(string(p.Stack), "TestCall") {
		t.Fatalf("a panic came as %v", err)
	}
	if again := Call(func() error { panic(p) }); again != err {
		t.Errorf("a panic passed on came as %v", again)
	}
	var list []int
	if err := Call(func() error { return errors.New(string(rune(list[3]))) }); err == nil || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("a panic of the runtime came as %v", err)
	}
}
