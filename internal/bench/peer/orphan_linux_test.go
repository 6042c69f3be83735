package peer

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be a process that runs a peer for long.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "parent" {
		p := &Peer{Program: "/bin/sh", Args: []string{"-c", "echo $$ > " + os.Args[2] + "; exec sleep 60", "sh"}}
		fmt.Println(p.Run(context.Background(), &Test{}))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A peer ends with the process that runs it, even if that is killed.
func TestPeerEndsWithParent(t *testing.T) {
	file := t.TempDir() + "/pid"
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self, "parent", file)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid string
	for range 1000 {
		b, _ := os.ReadFile(file)
		if pid = strings.TrimSpace(string(b)); bytes.HasSuffix(b, []byte("\n")) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	if pid == "" {
		t.Skip("no shell that could be run")
	}
	for range 1000 {
		b, err := os.ReadFile("/proc/" + pid + "/stat")
		if _, state, _ := strings.Cut(string(b), ") "); err != nil || strings.HasPrefix(state, "Z") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %s goes on", pid)
}
