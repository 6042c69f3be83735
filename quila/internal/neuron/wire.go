package neuron

import (
	"encoding/binary"
	"errors"
	"fmt"

	"atenia/quila/config"
	"atenia/tensor"
)

// Flags say how a payload is to be read.
type Flags uint8

// Bits of. A partial message has the divisor 4, whose log2 stands in
// bits 1 and 2.
const (
	Partial     Flags = 1
	Quarter     Flags = 2 << 1 // the divisor of a partial send
	Uncertainty Flags = 1 << 3 // the last row carries uncertainty

	divisorBits  Flags = 3 << 1
	reservedBits Flags = 0xF0
)

// HeaderBytes is how long a message is before its payload.
const HeaderBytes = 7

// BoundarySender is the id of the virtual neuron that speaks for modality 0;
// those of the others follow.
const BoundarySender = 0xFFFF0000

// A Message is what travels over one edge. Its payload is row-major, H or H÷4
// on a side.
type Message struct {
	Pos     uint16 // row<<8 | column of the receiver's board
	Sender  uint32
	Flags   Flags
	Payload []byte // E4M3
}

// ErrWire is the sentinel of malformed messages.
var ErrWire = errors.New("message: malformed")

// A WireError says which rule the bytes of a message break. It matches
// [ErrWire].
type WireError struct {
	Op        string // the field
	Want, Got int
}

func (e *WireError) Error() string {
	return fmt.Sprintf("message: %s: want %d, got %d", e.Op, e.Want, e.Got)
}

// Is ties the error to [ErrWire].
func (e *WireError) Is(target error) bool { return target == ErrWire }

// Side is how many rows and columns a payload with these flags has.
func Side(c *config.Config, f Flags) int {
	if f&Partial != 0 {
		return c.H / 4
	}
	return c.H
}

// Append adds the wire form of a message to b.
func (m *Message) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, m.Pos)
	b = binary.LittleEndian.AppendUint32(b, m.Sender)
	return append(append(b, byte(m.Flags)), m.Payload...)
}

// ParseMessage reads a message of a network with configuration c. The payload is that
// of b, not a copy. The error is a [*WireError].
func ParseMessage(c *config.Config, b []byte) (Message, error) {
	if len(b) < HeaderBytes {
		return Message{}, &WireError{"length", HeaderBytes, len(b)}
	}
	m := Message{
		Pos: binary.LittleEndian.Uint16(b), Sender: binary.LittleEndian.Uint32(b[2:]), Flags: Flags(b[6]), Payload: b[HeaderBytes:],
	}
	return m, m.check(c)
}

func (m *Message) check(c *config.Config) error {
	if m.Flags&reservedBits != 0 {
		return &WireError{"reserved flag bits", 0, int(m.Flags & reservedBits)}
	}
	var divisor Flags
	if m.Flags&Partial != 0 {
		divisor = Quarter
	}
	if got := m.Flags & divisorBits; got != divisor {
		return &WireError{"divisor", int(divisor >> 1), int(got >> 1)}
	}
	side := Side(c, m.Flags)
	if want := side * side; len(m.Payload) != want {
		return &WireError{"payload bytes", want, len(m.Payload)}
	}
	row, col := int(m.Pos>>8), int(m.Pos&255)
	limit := c.H - 1
	if m.Flags&Partial != 0 {
		limit = c.H - side
	}
	if row > limit || col > limit {
		return &WireError{"position", limit, max(row, col)}
	}
	return nil
}

// hasNaN reports whether a payload has a NaN; its message is to be dropped.
func hasNaN(codes []byte) bool {
	for _, c := range codes {
		if c&0x7F == 0x7F {
			return true
		}
	}
	return false
}

// An Inbox takes messages in their wire form, and counts those it refuses.
type Inbox struct {
	Config   *config.Config
	Messages []Message
	Rejected int // malformed
	NaN      int // dropped for a NaN in the payload
}

// Receive parses a message and keeps it. A malformed one is an error and
// counted; one with a NaN is counted and dropped.
func (in *Inbox) Receive(b []byte) error {
	m, err := ParseMessage(in.Config, b)
	if err != nil {
		in.Rejected++
		return err
	}
	if hasNaN(m.Payload) {
		in.NaN++
		return nil
	}
	in.Messages = append(in.Messages, m)
	return nil
}

// EncodeMessage rounds a payload to codes and reports whether it is free of NaN.
func EncodeMessage(dst []byte, payload []float32) bool {
	tensor.EncodeE4M3(dst, payload, true)
	return !hasNaN(dst)
}
