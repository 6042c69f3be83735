package amp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"atenia/flow/amp"
)

// A file that is no plug-in is listed with the reason.
func ExampleOpenCatalog() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "reverb.clap"), nil, 0o644); err != nil {
		fmt.Println(err)
		return
	}
	c, err := amp.OpenCLAPCatalog(context.Background(), amp.CLAPConfig{Folders: []string{dir}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for _, f := range c.Files() {
		fmt.Println(filepath.Base(f.Path), f.Err != nil)
	}
	fmt.Println(len(c.Types()), "types")
	// Output:
	// reverb.clap true
	// 0 types
}

// A score is text in a plan.
func ExampleParseCLAPNotes() {
	notes, err := amp.ParseCLAPNotes("0 60 0.8 24000, 24000 64 0.8 24000")
	fmt.Println(notes, err)
	// Output: [{0 60 0.8 24000 0} {24000 64 0.8 24000 0}] <nil>
}
