package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"atenia/internal/golden/await"
)

// TestManyConnections: two thousand connections, or ten thousand in the long run, half of which have sent half a
// request, do not keep the server from answering another client. It is a process
// of its own, which has as many descriptors as the clients.
func TestManyConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 2,000 connections")
	}
	manyConnections := 2000 // clients that connect and then say little
	if await.Long() {
		manyConnections = 10_000
	}
	needDescriptors(t, uint64(manyConnections)+500)
	pid, url := startServer(t)
	address := strings.TrimPrefix(url, "http://")
	ask := func() {
		t.Helper()
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := c.Post(url+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"Once","max_tokens":4,"ignore_eos":true}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || err != nil {
			t.Fatal(resp.StatusCode, string(b), err)
		}
	}
	ask()
	before, memory := descriptors(t, pid), resident(t, pid)
	all := make([]net.Conn, 0, manyConnections)
	closeAll := func() {
		for _, c := range all {
			c.Close()
		}
		all = nil
	}
	defer closeAll()
	for i := range manyConnections {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("after %d connections: %v", i, err)
		}
		all = append(all, c)
		// Those that are cut off first come last: silent ones and half a header have ten
		// seconds, half a body has a minute, one that waits for the next request two.
		switch {
		case i < manyConnections*4/10:
			io.WriteString(c, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
				t.Fatalf("connection %d: %q, %v", i, line, err)
			}
		case i < manyConnections*8/10:
			io.WriteString(c, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"prompt\":")
		case i < manyConnections*9/10:
			io.WriteString(c, "POST /v1/completions HTTP/1.1\r\nHos")
		}
	}
	ask()
	held, grown := descriptors(t, pid)-before, resident(t, pid)-memory
	t.Logf("%d connections of %d are open, the process has grown by %d bytes for each", held, manyConnections, grown/int64(max(1, held)))
	if held < manyConnections/2 {
		t.Errorf("only %d connections are open", held)
	}
	closeAll()
	await.Until(t, fmt.Sprintf("the %d descriptors that there were before", before), func() bool { return descriptors(t, pid) <= before })
	ask()
}

// needDescriptors raises the limit on descriptors of this process and those that it
// starts, and skips the test where it may not; in a test of a whole machine that is
// an error.
func needDescriptors(t *testing.T, n uint64) {
	t.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	if l.Cur >= n {
		return
	}
	raised := syscall.Rlimit{Cur: n, Max: max(l.Max, n)}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err != nil {
		err = fmt.Errorf("%d descriptors are wanted, the limit is %d: %w", n, l.Max, err)
		if os.Getenv("ATENIA_CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
			t.Error(err)
		}
	})
}

// startServer starts the program as a server of the embedded model, and ends it with
// SIGTERM when the test is over.
func startServer(t *testing.T, args ...string) (pid int, url string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, append([]string{"serve", "--port", "0", "--threads", "1", "--drain-seconds", "1"}, args...)...)
	c.Env = append(os.Environ(), programVar+"=1", "XDG_CACHE_HOME="+t.TempDir())
	var log lockedBuffer
	c.Stderr = &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		if err := c.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		defer c.Process.Kill() // if it does not end, which is reported
		if err := await.Value(t, "the end of the server", ended); err != nil {
			t.Errorf("the server ended with %v:\n%.2000s", err, log.String())
		}
	})
	return c.Process.Pid, log.address(t)
}

// descriptors returns how many descriptors a process has.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// resident returns the bytes of a process that are in memory.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
