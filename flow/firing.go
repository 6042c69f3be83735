package flow

import (
	"fmt"
	"strings"
)

// A Firing is one call of a node.
type Firing struct {
	Block  int64
	Node   string
	Tokens int
}

// A Log is the calls of a stream in the order in which they were made.
type Log []Firing

// String has one line for each block in which a node fired.
//
//	2: osc 64, up 64, out 256
func (l Log) String() string {
	var b strings.Builder
	for i, f := range l {
		switch {
		case i == 0:
			fmt.Fprintf(&b, "%d: ", f.Block)
		case l[i-1].Block != f.Block:
			fmt.Fprintf(&b, "\n%d: ", f.Block)
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d", f.Node, f.Tokens)
	}
	if len(l) > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}
