package main

import (
	"fmt"
	"strings"
	"testing"
)

// Words of each kind of instruction are those that binutils 2.40 makes of the
// text beside them.
func TestEncode(t *testing.T) {
	for _, c := range []struct {
		word uint32
		text string
		emit func()
	}{
		{0x4e3ed45f, "fadd v31.4s, v2.4s, v30.4s", func() { fadd(31, 2, 30) }},
		{0x4f829b9f, "fmul v31.4s, v28.4s, v2.s[2]", func() { fmulElement(31, 28, 2, 2) }},
		{0x4fbde83e, "sdot v30.4s, v1.16b, v29.4b[3]", func() { sdotElement(30, 1, 29, 3) }},
		{0x4f390441, "sshr v1.4s, v2.4s, #7", func() { sshr(1, 2, 7) }},
		{0x4f0c5441, "shl v1.16b, v2.16b, #4", func() { shl8(1, 2, 4) }},
		{0x4f08a41f, "sshll2 v31.8h, v0.16b, #0", func() { sxtl8h(31, 0, 0) }},
		{0x4e61783f, "fcvtl2 v31.2d, v1.4s", func() { double2(31, 1) }},
		{0x6ea0d861, "fcmle v1.4s, v3.4s, #0.0", func() { fcmle0(1, 3) }},
		{0x4e030041, "tbl v1.16b, {v2.16b}, v3.16b", func() { tbl(1, 2, 3) }},
		{0x4d20b1e4, "st4 {v4.s, v5.s, v6.s, v7.s}[3], [x15]", func() { st4(4, 3, 15) }},
	} {
		fn = &function{}
		c.emit()
		if got, want := strings.TrimSpace(fn.body.String()), fmt.Sprintf("WORD $%#08x // %s", c.word, c.text); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
