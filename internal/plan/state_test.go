package plan

import (
	"errors"
	"fmt"
	"testing"
)

// The matrix is total, a forbidden action is a typed error, and a state that is
// not addressed by position reads as zero whenever a new owner gets it.
func TestLifecycleMatrix(t *testing.T) {
	forbidden := map[[2]uint8]bool{
		{uint8(RequestScoped), uint8(ActReset)}: true,
		{uint8(RequestScoped), uint8(ActReuse)}: true,
	}
	for l := range NumLifecycles {
		for a := range NumActions {
			for k := range NumStateKinds {
				for _, zeroInit := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%s/%s/%t", l, a, k, zeroInit), func(t *testing.T) {
						d := StateDescriptor{Kind: k, Lifecycle: l, ZeroInit: zeroInit}
						zero, err := d.ZeroOn(a)
						if no := forbidden[[2]uint8{uint8(l), uint8(a)}]; no != errors.Is(err, ErrStateLifecycle) || no == Matrix[l][a].Allowed {
							t.Fatalf("forbidden %v, got %v", no, err)
						}
						gives := a == ActAlloc || a == ActReset || a == ActReuse
						if err == nil && zeroInit && gives && !zero {
							t.Error("leaves stale bytes")
						}
						if zero && !gives {
							t.Error("zeroes what nobody will read")
						}
					})
				}
			}
		}
	}
}

// A lifecycle releases storage on evict and deinit and on nothing else.
func TestLifecycleRelease(t *testing.T) {
	for l := range NumLifecycles {
		for a := range NumActions {
			if want := a == ActEvict || a == ActDeinit; Matrix[l][a].Release != want {
				t.Errorf("%s of a %s state: release is %t", a, l, !want)
			}
		}
	}
}

func TestLifecycleUnknownValues(t *testing.T) {
	d := StateDescriptor{Lifecycle: NumLifecycles}
	if _, err := d.ZeroOn(ActAlloc); !errors.Is(err, ErrStateLifecycle) {
		t.Errorf("unknown lifecycle: %v", err)
	}
	d.Lifecycle = SlotPersistent
	if _, err := d.ZeroOn(NumActions); !errors.Is(err, ErrStateLifecycle) {
		t.Errorf("unknown action: %v", err)
	}
}
