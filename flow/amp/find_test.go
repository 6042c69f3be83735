package amp

import (
	"fmt"
	"testing"
)

func ExampleFolders() {
	env := map[string]string{"AMP_NODE_PATH": "/opt/nodes", "HOME": "/home/me"}
	for _, dir := range Folders([]string{"./here"}, func(name string) string { return env[name] }) {
		fmt.Println(dir)
	}
	// Output:
	// ./here
	// /opt/nodes
	// /home/me/.local/share/amp/nodes
	// /usr/local/lib/amp
	// /usr/lib/amp
}

// FuzzEntry: a damaged cache is an error and does not panic.
func FuzzEntry(f *testing.F) {
	f.Add([]byte(`{"path": "/a", "size": 1, "manifest": {"abi": [2, 0], "nodes": []}}`))
	f.Add([]byte(`{"quarantined": "crashed"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		e, err := parseEntry(in)
		if err == nil && e.manifest == nil && e.Quarantined == "" {
			t.Error("neither a manifest nor a reason")
		}
	})
}
