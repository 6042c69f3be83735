package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"atenia/internal/golden/await"
)

// TestMain lets the test binary be a process that runs a peer for long.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "parent" {
		p := &Peer{Program: "/bin/sh", Args: []string{"-c", "echo $$ > " + os.Args[2] + "; exec sleep 3600", "sh"}}
		fmt.Println(p.Run(context.Background(), &PeerTest{}))
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
	var over atomic.Bool
	ended := make(chan struct{})
	go func() {
		_ = parent.Wait()
		over.Store(true)
		close(ended)
	}()
	pid := 0
	await.Until(t, "the peer's process", func() bool {
		b, _ := os.ReadFile(file)
		if bytes.HasSuffix(b, []byte("\n")) {
			pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		}
		return pid != 0 || over.Load()
	})
	if pid == 0 {
		t.Skip("no shell that could be run")
	}
	_ = parent.Process.Kill()
	await.Value(t, "the end of the parent", ended)
	defer syscall.Kill(pid, syscall.SIGKILL) // if it goes on
	await.Until(t, fmt.Sprintf("the end of process %d", pid), func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, state, _ := strings.Cut(string(b), ") ")
		return err != nil || strings.HasPrefix(state, "Z")
	})
}
