// Package lines reads and writes the lines of text forms: words, numbers and
// JSON values, one record per line.
//
//	node g Gain ratio=4 :gain=0.5 +color="red"
//	│    │ │    │       │         └ a [Line.JSON] value
//	└────┴─┴────┴───────┴ words: bare, or quoted as in JSON
package lines
