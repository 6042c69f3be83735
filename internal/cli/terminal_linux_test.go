package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"atenia/internal/cli/command"
	"atenia/internal/golden/await"
)

// A screen is a terminal whose output is recorded.
type screen struct {
	t      *testing.T
	master *os.File
	tty    *os.File
	mu     sync.Mutex
	seen   bytes.Buffer
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)); err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, master: master, tty: tty}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			s.mu.Lock()
			s.seen.Write(buf[:n])
			s.mu.Unlock()
		}
	}()
	t.Cleanup(func() { tty.Close(); master.Close() })
	return s
}

func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// wait returns the output since the last wait, once it contains text.
func (s *screen) wait(text string) string {
	s.t.Helper()
	var out string
	defer func() {
		if out == "" {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t.Logf("there is %q", s.seen.String())
		}
	}()
	await.Until(s.t, fmt.Sprintf("%q", text), func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if i := strings.Index(s.seen.String(), text); i >= 0 {
			out = string(s.seen.Next(i + len(text)))
		}
		return out != ""
	})
	return out
}

// TestTerminalChat chats with the embedded model through a terminal.
func TestTerminalChat(t *testing.T) {
	s := newScreen(t)
	code := make(chan int, 1)
	go func() {
		code <- Main([]string{"chat", "--temp", "0", "--ctx", "60000", "--ignore-eos"}, s.tty, s.tty, s.tty)
	}()
	s.wait("/help for help")
	s.wait("> ")

	// Ctrl-C during an answer stops the answer. (Here it is a signal.)
	s.press("Hello!\r")
	s.wait("Hello!\r\n")
	s.wait("e")
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	s.wait("> ")

	// At the prompt it abandons the line; the program stays.
	s.press("not asked\x03")
	s.wait("^C")
	s.wait("leave)")
	s.wait("> ")

	// History recalls lines, without the abandoned one.
	s.press("/undo\r")
	s.wait("> ")
	s.press("\x1b[A\x1b[A!\x7f")
	s.wait("Hello!")
	s.press("\x15/system Be kind.\r") // Ctrl-U clears the line
	s.wait("> ")
	s.press("/history\r")
	s.wait("system: Be kind.")
	s.wait("> ")
	s.press("/hlep\r")
	s.wait("no command /hlep")
	s.wait("> ")
	s.press("/help\r")
	s.wait("/retry")
	s.wait("> ")

	// A paste of several lines is one message.
	s.press(pasteStart + "/history\n/bye" + pasteEnd)
	s.wait("[paste 1: 2 lines, 13 bytes]")
	s.press("\x03")
	s.wait("leave)")
	s.wait("> ")

	s.press("\x04")
	if c := await.Value(t, "the end by Ctrl-D", code); c != command.OK {
		t.Errorf("exit %d", c)
	}
	state, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	if err != nil || state.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != unix.ICANON|unix.ECHO|unix.ISIG {
		t.Errorf("the terminal is left raw: %+v (%v)", state, err)
	}
}
