package amp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"atenia/flow/amp"
)

// With a manifest beside it, a library is listed without being loaded.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	text := `{"abi": [2, 0], "nodes": [{"type": "Smooth", "inputs": ["in"], "outputs": ["out"], "params": ["a"]}]}`
	for name, content := range map[string]string{"filters.amp.so": "", "filters.amp.json": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			fmt.Println(err)
			return
		}
	}
	c, err := amp.OpenCatalog(context.Background(), amp.CatalogConfig{Scan: amp.ScanConfig{Folders: []string{dir}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for _, t := range c.Types() {
		fmt.Println(t.Name, t.Ins, t.Outs)
	}
	// Output: Smooth [in] [out]
}
