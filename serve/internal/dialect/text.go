package dialect

import (
	"bufio"
	"net"
	"net/http"
	"slices"
	"time"
)

// RFC 6455, section 8.1, wants a connection to fail at the first byte that is not UTF-8, in
// a message as in the reason of a close frame. The library checks neither, so what it reads
// is checked on its way.

// lastWait is how long a client may take to answer the close frame after [errNotText]: that
// of the library for other close frames.
const lastWait = 5 * time.Second

// A hijacker gives the library a connection whose text is checked.
type hijacker struct {
	http.ResponseWriter
	from http.Hijacker
}

// checked returns a response whose connection is checked, or w if it cannot be taken over.
func checked(w http.ResponseWriter) http.ResponseWriter {
	for u := w; ; {
		switch t := u.(type) {
		case http.Hijacker:
			return &hijacker{w, t}
		case interface{ Unwrap() http.ResponseWriter }:
			u = t.Unwrap()
		default:
			return w
		}
	}
}

func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := h.from.Hijack()
	if err != nil {
		return nil, nil, err
	}
	first, _ := rw.Reader.Peek(rw.Reader.Buffered())
	t := &textConn{Conn: c, first: slices.Clone(first)}
	rw.Reader.Reset(t)
	return t, rw, nil
}

// A textConn is a connection of a client. Read ends with [errNotText] before the first byte
// that ends a valid text; then it waits for the client's close frame and passes nothing on.
type textConn struct {
	net.Conn
	first  []byte // was read with the handshake
	frames frames
	failed bool // a byte was refused
	told   bool // Read has said so
}

func (c *textConn) Read(p []byte) (int, error) {
	for {
		if c.failed && !c.told {
			c.told = true
			_ = c.SetReadDeadline(time.Now().Add(lastWait)) // without one the client decides how long the library waits
			return 0, errNotText
		}
		if c.failed && c.frames.closed {
			return 0, errNotText
		}
		n, err := copy(p, c.first), error(nil)
		if c.first = c.first[n:]; n == 0 {
			n, err = c.Conn.Read(p)
		}
		bad := c.frames.check(p[:n])
		switch {
		case c.failed:
			if err != nil {
				return 0, errNotText
			}
			continue
		case bad < n:
			c.failed = true
			if n = bad; n == 0 {
				continue
			}
			return n, nil
		}
		return n, err
	}
}

// frames follows the frames of a client (RFC 6455, section 5.2) as far as their text needs
// it. What else is wrong with them the library finds.
type frames struct {
	head   [14]byte // of the frame that is read
	have   int      // bytes of head
	need   int      // bytes that head will have
	left   uint64   // bytes of the payload that come
	at     int      // bytes of the payload so far, modulo 4
	code   int      // bytes of a close frame's status that come, before its reason
	text   bool     // the message is text
	of     runes    // the message
	reason runes    // of a close frame
	closed bool     // a close frame has ended
}

// Opcodes of frames.
const (
	opText   = 1 // 0 continues a message
	opBinary = 2
	opClose  = 8
)

// check follows some bytes and returns the index of the first that text cannot have, or how
// many there are.
func (f *frames) check(b []byte) int {
	bad := len(b)
	for i := 0; i < len(b); {
		if f.left == 0 {
			if !f.header(b[i]) {
				bad = min(bad, i)
			}
			i++
			continue
		}
		n := int(min(f.left, uint64(len(b)-i)))
		if at := f.payload(b[i : i+n]); at < n {
			bad = min(bad, i+at)
		}
		i += n
	}
	return bad
}

// header takes a byte of a header and reports whether text may go on with it.
func (f *frames) header(c byte) bool {
	f.head[f.have] = c
	f.have++
	if f.have < 2 {
		return true
	}
	if f.have == 2 {
		f.need = 2
		switch c & 0x7f {
		case 126:
			f.need += 2
		case 127:
			f.need += 8
		}
		if c&0x80 != 0 {
			f.need += 4
		}
	}
	if f.have < f.need {
		return true
	}
	long := f.head[2:f.need]
	if f.head[1]&0x80 != 0 {
		long = long[:len(long)-4]
	}
	f.left, f.at, f.have = uint64(f.head[1]&0x7f), 0, 0
	if len(long) > 0 {
		f.left = 0
		for _, v := range long {
			f.left = f.left<<8 | uint64(v)
		}
	}
	f.code = 0
	switch f.op() {
	case opText, opBinary:
		f.text, f.of = f.op() == opText, runes{}
	case opClose:
		f.code, f.reason = 2, runes{}
	}
	return f.left > 0 || f.end()
}

func (f *frames) op() byte { return f.head[0] & 0x0f }

// payload takes bytes of one payload and returns the index of the first that text cannot
// have, or how many there are.
func (f *frames) payload(b []byte) int {
	bad := len(b)
	if r := f.follows(); r != nil {
		var key [4]byte
		if f.head[1]&0x80 != 0 {
			copy(key[:], f.head[f.need-4:])
		}
		for i, c := range b {
			switch c ^= key[(f.at+i)%4]; {
			case f.code > 0:
				f.code--
			case r.left == 0 && c < 0x80:
			case !r.next(c):
				bad = min(bad, i)
			}
		}
	}
	f.at = (f.at + len(b)) % 4
	if f.left -= uint64(len(b)); f.left == 0 && !f.end() {
		bad = min(bad, len(b)-1)
	}
	return bad
}

// follows returns the text that the payload belongs to, or nil if it is none.
func (f *frames) follows() *runes {
	switch op := f.op(); {
	case op == opClose:
		return &f.reason
	case op <= opText && f.text:
		return &f.of
	}
	return nil
}

// end ends a frame and reports whether its text may end there.
func (f *frames) end() bool {
	r := f.follows()
	if f.op() == opClose {
		f.closed = true
	} else if f.head[0]&0x80 == 0 { // the message goes on
		return true
	}
	return r == nil || r.left == 0
}

// runes follows UTF-8 byte by byte (table 3-7 of the Unicode Standard).
type runes struct {
	left      int  // bytes of the rune that come
	low, high byte // bounds of the next of them
}

// next takes a byte and reports whether it may come next.
func (r *runes) next(c byte) bool {
	if r.left > 0 {
		ok := r.low <= c && c <= r.high
		r.left, r.low, r.high = r.left-1, 0x80, 0xbf
		return ok
	}
	r.low, r.high = 0x80, 0xbf
	switch {
	case c < 0x80:
		return true
	case c < 0xc2 || c > 0xf4:
		return false
	case c < 0xe0:
		r.left = 1
	case c < 0xf0:
		r.left = 2
	default:
		r.left = 3
	}
	switch c {
	case 0xe0: // shorter forms exist
		r.low = 0xa0
	case 0xed: // surrogates
		r.high = 0x9f
	case 0xf0:
		r.low = 0x90
	case 0xf4: // beyond U+10FFFF
		r.high = 0x8f
	}
	return true
}
