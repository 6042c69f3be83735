package ledger

import "testing"

// TestRecent: what was used longest ago gives way, to the bound and to the account.
func TestRecent(t *testing.T) {
	a := New(nil, 100)
	var c Recent[int, string]
	has := func(want ...int) {
		t.Helper()
		held := int64(0)
		for i, r := range c.all {
			if held += r.room.Bytes(); i >= len(want) || r.key != want[i] {
				t.Errorf("entry %d has key %d, want %v", i, r.key, want)
			}
		}
		if len(c.all) != len(want) || c.bytes != held || a.Of(Scratch) != held {
			t.Errorf("%d entries of %v, %d bytes of %d, %d in the account", len(c.all), want, c.bytes, held, a.Of(Scratch))
		}
	}
	for key, bytes := range []int64{20, 20, 20} {
		c.Put(key, "v", bytes, 60, a)
	}
	if v, ok := c.Get(0); v != "v" || !ok {
		t.Errorf("%q, %t", v, ok)
	}
	if _, ok := c.Get(7); ok {
		t.Error("there is a key that was not put")
	}
	has(1, 2, 0)
	c.Put(3, "w", 30, 60, a) // the bound
	has(0, 3)
	c.Put(4, "one", 90, 60, a) // more than the bound, alone
	has(4)
	c.Put(5, "all", 200, 1000, a) // more than the account
	has()
	other, err := a.Reserve(Weights, 70)
	if err != nil {
		t.Fatal(err)
	}
	c.Put(6, "a", 20, 60, a)
	c.Put(7, "b", 20, 60, a) // the account
	has(7)
	other.Release()
	c.Clear()
	has()
}
