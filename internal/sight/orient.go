package sight

import "encoding/binary"

// orientation returns the Exif orientation of a JPEG file, 1 to 8; 1 if it has
// none (Exif 2.32, sections 4.5.4 and 4.6.4).
func orientation(data []byte) int {
	const upright = 1
	at := 2
	for at+4 <= len(data) && data[at] == 0xff {
		kind, size := data[at+1], int(binary.BigEndian.Uint16(data[at+2:]))
		if kind == 0xda || size < 2 || at+2+size > len(data) { // pixels follow
			return upright
		}
		if seg := data[at+4 : at+2+size]; kind == 0xe1 && len(seg) > 14 && string(seg[:6]) == "Exif\x00\x00" {
			return tiffOrientation(seg[6:])
		}
		at += 2 + size
	}
	return upright
}

func tiffOrientation(b []byte) int {
	var order binary.ByteOrder = binary.BigEndian
	if b[0] == 'I' {
		order = binary.LittleEndian
	}
	at := int(order.Uint32(b[4:]))
	if at < 0 || at+2 > len(b) {
		return 1
	}
	n := int(order.Uint16(b[at:]))
	for i := range n {
		e := at + 2 + 12*i
		if e+12 > len(b) {
			break
		}
		if order.Uint16(b[e:]) == 0x0112 {
			if v := int(order.Uint16(b[e+8:])); v >= 1 && v <= 8 {
				return v
			}
		}
	}
	return 1
}

// oriented returns the picture as a camera held in an Exif orientation saw it.
func (p *Picture) oriented(o int) *Picture {
	if o == 1 {
		return p
	}
	q := &Picture{Width: p.Width, Height: p.Height, Pix: make([]byte, len(p.Pix))}
	if o >= 5 {
		q.Width, q.Height = p.Height, p.Width
	}
	for y := range q.Height {
		for x := range q.Width {
			var sx, sy int
			switch o {
			case 2:
				sx, sy = p.Width-1-x, y
			case 3:
				sx, sy = p.Width-1-x, p.Height-1-y
			case 4:
				sx, sy = x, p.Height-1-y
			case 5:
				sx, sy = y, x
			case 6:
				sx, sy = y, p.Height-1-x
			case 7:
				sx, sy = p.Width-1-y, p.Height-1-x
			case 8:
				sx, sy = p.Width-1-y, x
			}
			copy(q.Pix[3*(y*q.Width+x):][:3], p.Pix[3*(sy*p.Width+sx):])
		}
	}
	return q
}
