package parked

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"
)

// ErrContainer is matched by what is wrong with a container.
var ErrContainer = errors.New("not a container")

// A containerError says what is wrong with a container, and where.
type containerError struct {
	Offset int
	Why    string
}

func (e *containerError) Error() string {
	return fmt.Sprintf("cic container: %s at byte %d", e.Why, e.Offset)
}

// Is reports whether target is [ErrContainer].
func (e *containerError) Is(target error) bool { return target == ErrContainer }

// A Kind is what the chunks of a channel are.
type Kind uint8

// The kinds.
const (
	kindState Kind = iota
	kindKFE
	kindParam
	kindText
	kindImage
	kindAudio
	kinds
)

var kindNames = [kinds]string{"STATE", "KFE", "PARAM", "TEXT", "IMAGE", "AUDIO"}

// String returns the kind's name in the message.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// containerVersion is the only one there is.
const containerVersion = 1

// A Part is one channel of a container: what it is, and its chunks in order.
type Part struct {
	ID     uint32
	Name   string
	Kind   Kind
	Meta   map[string]string
	Chunks [][]byte
}

// A Container is chunks of several channels.
type Container struct {
	Parts []Part // by ascending id
}

// Extract returns the container of some of its channels, which keep their ids. Ids
// that are not there are left out.
func (c *Container) Extract(ids ...uint32) *Container {
	out := &Container{}
	for _, p := range c.Parts {
		if slices.Contains(ids, p.ID) {
			out.Parts = append(out.Parts, p)
		}
	}
	return out
}

// MergeContainers puts the channels of containers together. No two may have a channel of the
// same id.
func MergeContainers(parts ...*Container) (*Container, error) {
	out := &Container{}
	for _, c := range parts {
		out.Parts = append(out.Parts, c.Parts...)
	}
	slices.SortFunc(out.Parts, func(a, b Part) int { return cmp.Compare(a.ID, b.ID) })
	for i := 1; i < len(out.Parts); i++ {
		if out.Parts[i].ID == out.Parts[i-1].ID {
			return nil, &containerError{Why: fmt.Sprintf("channel %d is there twice", out.Parts[i].ID)}
		}
	}
	return out, nil
}

// Append appends the container's bytes to b. Chunks alternate: the first of every
// channel, then the second of every channel.
func (c *Container) Append(b []byte) ([]byte, error) {
	start := len(b)
	if len(c.Parts) == 0 {
		return b, &containerError{Why: "no channels"}
	}
	b = uvarint(b, 1, containerVersion)
	most := 0
	for i, p := range c.Parts {
		switch {
		case i > 0 && p.ID <= c.Parts[i-1].ID:
			return b[:start], &containerError{Why: fmt.Sprintf("channel %d after %d", p.ID, c.Parts[i-1].ID)}
		case p.Kind >= kinds || !utf8.ValidString(p.Name):
			return b[:start], &containerError{Why: fmt.Sprintf("channel %d has an unknown kind or a name that is no text", p.ID)}
		}
		for key, value := range p.Meta {
			if !utf8.ValidString(key) || !utf8.ValidString(value) {
				return b[:start], &containerError{Why: fmt.Sprintf("channel %d has a note that is no text", p.ID)}
			}
		}
		b = bytesField(b, 2, p.header())
		most = max(most, len(p.Chunks))
	}
	for seq := range most {
		for _, p := range c.Parts {
			if seq < len(p.Chunks) {
				f := uvarint(uvarint(nil, 1, uint64(p.ID)), 2, uint64(seq))
				if len(p.Chunks[seq]) > 0 {
					f = bytesField(f, 3, p.Chunks[seq])
				}
				b = bytesField(b, 3, f)
			}
		}
	}
	return b, nil
}

// header returns the bytes of a Channel.
func (p *Part) header() []byte {
	b := uvarint(nil, 1, uint64(p.ID))
	if p.Name != "" {
		b = bytesField(b, 2, []byte(p.Name))
	}
	b = uvarint(uvarint(b, 3, uint64(p.Kind)), 4, uint64(len(p.Chunks)))
	for _, key := range slices.Sorted(maps.Keys(p.Meta)) {
		b = bytesField(b, 5, bytesField(bytesField(nil, 1, []byte(key)), 2, []byte(p.Meta[key])))
	}
	return b
}

// uvarint appends a number unless it is 0.
func uvarint(b []byte, field int, v uint64) []byte {
	if v == 0 {
		return b
	}
	return binary.AppendUvarint(append(b, byte(field<<3)), v)
}

func bytesField(b []byte, field int, v []byte) []byte {
	b = append(b, byte(field<<3|2))
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}

// A cursor reads the fields of a message. The first fault ends it.
type cursor struct {
	b    []byte
	at   int // of b in the container
	last int // the last field
	err  *containerError
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = &containerError{c.at, fmt.Sprintf(format, args...)}
	}
	c.b = nil
}

// number reads a varint in its shortest form.
func (c *cursor) number() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 || n > 1 && c.b[n-1] == 0 {
		c.fail("a number is cut or longer than it need be")
		return 0
	}
	c.b, c.at = c.b[n:], c.at+n
	return v
}

// next reads the tag of the next field; 0 at the end. Fields ascend; those of
// repeated may be there again.
func (c *cursor) next(most int, repeated ...int) (field int, bytes bool) {
	if len(c.b) == 0 {
		return 0, false
	}
	tag := c.number()
	field = int(tag >> 3)
	switch wire := tag & 7; {
	case c.err != nil:
	case tag>>3 > uint64(most) || field == 0 || wire != 0 && wire != 2:
		c.fail("unknown field %d of type %d", tag>>3, wire)
	case field < c.last || field == c.last && !slices.Contains(repeated, field):
		c.fail("field %d after field %d", field, c.last)
	}
	if c.err != nil {
		return 0, false
	}
	c.last = field
	return field, tag&7 == 2
}

// value reads the number of a field, which is not 0.
func (c *cursor) value(bytes bool, most uint64) uint64 {
	if bytes {
		c.fail("field %d is not a number", c.last)
		return 0
	}
	v := c.number()
	if c.err == nil && (v == 0 || v > most) {
		c.fail("field %d is %d, not 1 to %d", c.last, v, most)
	}
	return v
}

// data reads the bytes of a field.
func (c *cursor) data(bytes bool) []byte {
	if !bytes {
		c.fail("field %d is a number", c.last)
		return nil
	}
	n := c.number()
	if c.err == nil && n > uint64(len(c.b)) {
		c.fail("field %d has %d bytes, %d are left", c.last, n, len(c.b))
	}
	if c.err != nil {
		return nil
	}
	v := c.b[:n:n]
	c.b, c.at = c.b[n:], c.at+int(n)
	return v
}

// message reads the bytes of a field as a message of its own.
func (c *cursor) message(bytes bool) *cursor {
	v := c.data(bytes)
	return &cursor{b: v, at: c.at - len(v)}
}

// leave takes over the fault of a message inside.
func (c *cursor) leave(m *cursor) {
	if c.err == nil && m.err != nil {
		c.err, c.b = m.err, nil
	}
}

// Parse reads a container. It has to be whole and in the one form that
// [Container.Append] writes; one without channels is none. It allocates in proportion to the input.
func Parse(b []byte) (*Container, error) {
	c, out := &cursor{b: b}, &Container{}
	counts, by := []uint64{}, map[uint32]int{}
	version := uint64(0)
	seq, channel := uint64(0), int64(-1)
	for {
		field, bytes := c.next(3, 2, 3)
		if field == 0 {
			break
		}
		switch field {
		case 1:
			version = c.value(bytes, math.MaxUint32)
		case 2:
			p, n := c.channel(bytes)
			if k := len(out.Parts); c.err == nil && k > 0 && p.ID <= out.Parts[k-1].ID {
				c.fail("channel %d after %d", p.ID, out.Parts[k-1].ID)
			}
			by[p.ID] = len(out.Parts)
			out.Parts, counts = append(out.Parts, p), append(counts, n)
		case 3:
			id, number, chunk := c.frame(bytes)
			at, ok := by[id]
			switch {
			case c.err != nil:
			case !ok || number != uint64(len(out.Parts[at].Chunks)):
				c.fail("chunk %d of channel %d is out of place", number, id)
			case number < seq || number == seq && int64(id) <= channel:
				c.fail("chunk %d of channel %d after chunk %d of %d", number, id, seq, channel)
			default:
				out.Parts[at].Chunks = append(out.Parts[at].Chunks, chunk)
				seq, channel = number, int64(id)
			}
		}
	}
	if c.err == nil && (version != containerVersion || len(out.Parts) == 0) {
		c.fail("version %d with %d channels", version, len(out.Parts))
	}
	for i, p := range out.Parts {
		if c.err == nil && counts[i] != uint64(len(p.Chunks)) {
			c.fail("channel %d has %d chunks of %d", p.ID, len(p.Chunks), counts[i])
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	return out, nil
}

// channel reads a Channel.
func (c *cursor) channel(bytes bool) (p Part, n uint64) {
	m := c.message(bytes)
	last := ""
	for {
		field, bytes := m.next(5, 5)
		switch field {
		case 0:
			c.leave(m)
			return p, n
		case 1:
			p.ID = uint32(m.value(bytes, math.MaxUint32))
		case 2:
			p.Name = m.text(bytes)
			if m.err == nil && p.Name == "" {
				m.fail("an empty name")
			}
		case 3:
			p.Kind = Kind(m.value(bytes, uint64(kinds-1)))
		case 4:
			n = m.value(bytes, math.MaxInt64)
		case 5:
			key, value := m.pair(bytes)
			if m.err == nil && p.Meta != nil && key <= last {
				m.fail("key %q after %q", key, last)
			}
			if p.Meta == nil {
				p.Meta = map[string]string{}
			}
			p.Meta[key], last = value, key
		}
	}
}

// text reads a string.
func (c *cursor) text(bytes bool) string {
	v := c.data(bytes)
	if !utf8.Valid(v) {
		c.fail("field %d is no UTF-8", c.last)
	}
	return string(v)
}

// pair reads an entry of a map, which has both fields.
func (c *cursor) pair(bytes bool) (key, value string) {
	m := c.message(bytes)
	for field := 1; field <= 2; field++ {
		got, bytes := m.next(2)
		if m.err == nil && got != field {
			m.fail("an entry of a map lacks field %d", field)
		}
		if v := m.text(bytes); field == 1 {
			key = v
		} else {
			value = v
		}
	}
	if len(m.b) > 0 {
		m.fail("an entry of a map has a third field")
	}
	c.leave(m)
	return key, value
}

// frame reads a Frame.
func (c *cursor) frame(bytes bool) (id uint32, seq uint64, chunk []byte) {
	m := c.message(bytes)
	for {
		field, bytes := m.next(3)
		switch field {
		case 0:
			c.leave(m)
			return id, seq, chunk
		case 1:
			id = uint32(m.value(bytes, math.MaxUint32))
		case 2:
			seq = m.value(bytes, math.MaxInt64)
		case 3:
			if chunk = m.data(bytes); m.err == nil && len(chunk) == 0 {
				m.fail("an empty chunk is written by leaving it out")
			}
		}
	}
}
