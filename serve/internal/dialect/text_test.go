package dialect

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// frame returns a client's frame.
func frame(r *rand.Rand, op byte, final bool, payload []byte) []byte {
	b := []byte{op, 0x80}
	if final {
		b[0] |= 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b[1] |= byte(n)
	case n < 1<<16:
		b[1] |= 126
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b[1] |= 127
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	key := binary.BigEndian.AppendUint32(nil, r.Uint32())
	b = append(b, key...)
	for i, c := range payload {
		b = append(b, c^key[i%4])
	}
	return b
}

// valid returns how many bytes of b some UTF-8 can begin with, by the standard library.
func valid(b []byte) int {
	at := 0
	for at < len(b) {
		c, n := utf8.DecodeRune(b[at:])
		if c != utf8.RuneError || n != 1 {
			at += n
			continue
		}
		for n := 1; at+n <= len(b); n++ {
			if utf8.FullRune(b[at : at+n]) {
				return at + n - 1
			}
		}
		return len(b) // a rune that is not complete
	}
	return at
}

// letters returns some text, now and then with a byte that it cannot have, or without its end.
func letters(r *rand.Rand, most int) []byte {
	var b []byte
	for n := r.IntN(most + 1); len(b) < n; {
		c := []rune{'a', 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xfffd, 0xffff, 0x10000, 0x10ffff, rune(r.IntN(0xd800))}
		b = utf8.AppendRune(b, c[r.IntN(len(c))])
	}
	if len(b) > 0 && r.IntN(3) == 0 {
		b[r.IntN(len(b))] = byte(r.Uint32())
	}
	return b[:min(len(b), most)]
}

// TestFrames: of random frames, in random pieces, the first byte that is refused is the one
// that the standard library would refuse of the text alone.
func TestFrames(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	refused := 0
	for n := range 5000 {
		var all []byte
		want := -1
		// put appends a frame, of which ok bytes of the payload are right.
		put := func(op byte, final bool, payload []byte, ok int) {
			b := frame(r, op, final, payload)
			if ok < len(payload) && want < 0 {
				want = len(all) + len(b) - len(payload) + ok
			}
			all = append(all, b...)
		}
		for range 1 + r.IntN(4) {
			most := []int{3, 20, 200, 70000}[min(r.IntN(20), 3)]
			if most == 70000 && n%50 != 0 {
				most = 20
			}
			text := letters(r, most)
			op, ok := byte(opText), valid(text)
			if r.IntN(4) == 0 {
				op, ok = opBinary, len(text)
			}
			if op == opText && ok == len(text) && !utf8.Valid(text) {
				ok-- // it ends too early, which shows at its last byte
			}
			for first := true; ; first = false {
				if r.IntN(3) == 0 {
					put(9, true, []byte{0xff, 0xfe}, 2)
				}
				if !first {
					op = 0
				}
				k := r.IntN(len(text) + 1)
				if r.IntN(2) == 0 {
					k = len(text)
				}
				final := k == len(text)
				put(op, final, text[:k], min(max(ok, 0), k))
				if text, ok = text[k:], ok-k; final {
					break
				}
			}
		}
		if r.IntN(2) == 0 {
			reason := letters(r, 123)
			ok := valid(reason)
			if ok == len(reason) && !utf8.Valid(reason) {
				ok--
			}
			put(opClose, true, append([]byte{0xff, 0xff}, reason...), 2+ok)
		}
		if want < 0 {
			want = len(all)
		} else {
			refused++
		}
		var f frames
		got := len(all)
		for at := 0; at < len(all); {
			k := 1 + r.IntN(min(len(all)-at, 1+r.IntN(3000)))
			if bad := f.check(all[at : at+k]); bad < k {
				got = at + bad
				break
			}
			at += k
		}
		if got != want {
			t.Fatalf("case %d: byte %d of %d is refused, want %d", n, got, len(all), want)
		}
	}
	if refused < 1000 {
		t.Errorf("only %d cases have something to refuse", refused)
	}
}

// raw returns a connection after its handshake, to which frames can be sent byte by byte.
func raw(t *testing.T, first []byte) (net.Conn, *bufio.Reader) {
	web := httptest.NewServer(New(testConfig(t)))
	t.Cleanup(web.Close)
	c, err := net.Dial("tcp", web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	q := "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
	if _, err := c.Write(append([]byte(q), first...)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(c)
	r, err := http.ReadResponse(in, nil)
	if err != nil || r.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v %v", r, err)
	}
	return c, in
}

// closing reads the server's close frame, which must come next, and returns its status.
func closing(t *testing.T, in *bufio.Reader) websocket.StatusCode {
	t.Helper()
	b := make([]byte, 4)
	if _, err := io.ReadFull(in, b); err != nil || b[0] != 0x80|opClose {
		t.Fatalf("% x %v", b, err)
	}
	if _, err := in.Discard(int(b[1]) - 2); err != nil {
		t.Fatal(err)
	}
	return websocket.StatusCode(binary.BigEndian.Uint16(b[2:]))
}

// TestNotText: text that is not UTF-8 ends a connection at its first wrong byte, with the
// status of that, in a message whose end is not there yet and in the reason of a close
// frame, also if it came with the handshake.
func TestNotText(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	half := frame(r, opText, true, []byte("{\"type\xed\xa0 and more"))[:6+8]
	cases := map[string][]byte{
		"half a frame":  half,
		"a fragment":    frame(r, opText, false, []byte{0xc0}),
		"close":         frame(r, opClose, true, []byte("\x03\xe8bye \xff")),
		"a cut reason":  frame(r, opClose, true, []byte("\x03\xe8bye \xe2\x82")),
		"after a pong":  append(frame(r, 10, true, []byte("\xff\xff")), half...),
		"a cut message": append(frame(r, opText, false, []byte("\xe2\x82")), frame(r, 0, true, nil)...),
	}
	for name, b := range cases {
		for _, first := range []bool{false, true} {
			var c net.Conn
			var in *bufio.Reader
			if first {
				c, in = raw(t, b)
			} else {
				c, in = raw(t, nil)
				if _, err := c.Write(b); err != nil {
					t.Fatal(err)
				}
			}
			if got := closing(t, in); got != websocket.StatusInvalidFramePayloadData {
				t.Errorf("%s: status %d", name, got)
			}
			// What follows is not taken for the rest of the frame: the client's close
			// frame is still seen, and ends the connection.
			if name == "half a frame" || name == "after a pong" {
				_, _ = c.Write(frame(r, opText, true, []byte("{\"type\xed\xa0 and more"))[6+8:])
			}
			if name != "close" && name != "a cut reason" {
				_, _ = c.Write(frame(r, opClose, true, []byte{0x03, 0xef}))
			}
			if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
				t.Errorf("%s: %v, want the end", name, err)
			}
		}
	}
}

// A taken is a request's connection as a handler takes it over, of which the client has the other end.
type taken struct {
	http.ResponseWriter
	conn net.Conn
}

func (h taken) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(bufio.NewReader(h.conn), bufio.NewWriter(h.conn)), nil
}

// TestLastWait: a client that is told that its text is none, and never answers, is waited for
// as long as lastWait says.
func TestLastWait(t *testing.T) {
	c := testConfig(t)
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer client.Close()
		q := httptest.NewRequest(http.MethodGet, "/", nil)
		for k, v := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg=="} {
			q.Header.Set(k, v)
		}
		go New(c).ServeHTTP(taken{httptest.NewRecorder(), server}, q)
		if _, err := client.Write(frame(rand.New(rand.NewPCG(4, 7)), opText, true, []byte("\xff and more"))[:6+1]); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(client)
		if got := closing(t, in); got != websocket.StatusInvalidFramePayloadData {
			t.Errorf("status %d", got)
		}
		told := time.Now()
		if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("%v, want the end", err)
		}
		if d := time.Since(told); d != lastWait {
			t.Errorf("the end is %v after the close frame, want %v", d, lastWait)
		}
	})
}

// FuzzFrames: no bytes of a client are too odd to be followed, and pieces do not matter.
func FuzzFrames(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 7))
	f.Add(frame(r, opText, true, []byte("{\"type\":\"ping\"}")), 3)
	f.Add(append(frame(r, opText, false, []byte("\xe2\x82")), frame(r, 0, true, []byte("\xac"))...), 9)
	f.Add(frame(r, opClose, true, []byte("\x03\xe8bye \xff")), 1)
	f.Add(frame(r, opBinary, true, make([]byte, 70000)), 8)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		cut = min(max(cut, 0), len(b))
		var whole, pieces frames
		want, got := whole.check(b), pieces.check(b[:cut])
		if got == cut {
			got += pieces.check(b[cut:])
		} else {
			pieces.check(b[cut:])
		}
		if got != want || whole != pieces {
			t.Errorf("byte %d, in pieces %d: %+v, %+v", want, got, whole, pieces)
		}
	})
}
