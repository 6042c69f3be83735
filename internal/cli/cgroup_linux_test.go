package cli

import "testing"

func TestOwnGroup(t *testing.T) {
	for s, want := range map[string][2]string{
		"4:memory:/a/b\n3:cpu,cpuacct:/\n0::/c\n": {"v1", "/a/b"},
		"0::/user.slice/x:y\n":                    {"v2", "/user.slice/x:y"},
		"9:cpu,memory:/z\n":                       {"v1", "/z"},
		"3:cpu:/\nnonsense\n":                     {"", ""},
	} {
		if v, p := ownControlGroup(s); v != want[0] || p != want[1] {
			t.Errorf("%q: %s %s", s, v, p)
		}
	}
}

func TestGroup(t *testing.T) {
	g, err := newControlGroup(64 << 20)
	if err != nil {
		t.Skip("no control group: ", err)
	}
	if err := g.remove(); err != nil {
		t.Error(err)
	}
	if _, err := newControlGroup(-7); err == nil {
		t.Error("a negative limit was set")
	}
}
